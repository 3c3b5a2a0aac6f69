"""export_npz.py FILE.npz FOLDER: each array of the file as FOLDER/NAME.npy, for programs in C."""

import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
with np.load(sys.argv[1]) as file:
    for name in file.files:
        np.save(folder / f"{name}.npy", np.ascontiguousarray(file[name]))
