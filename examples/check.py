"""check.py EXPECTED COMMAND...: runs the command, whose output must be the text of that file."""

import subprocess
import sys
from pathlib import Path

expected = Path(sys.argv[1]).read_text()
done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, text=True)
if done.returncode or done.stdout != expected:
    sys.exit(f"exit status {done.returncode}; expected:\n{expected}got:\n{done.stdout}")
