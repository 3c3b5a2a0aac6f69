/* The debug ladder: a program's stages printed (TIGA_DEBUG), written as files that are valid inputs
 * (TIGA_DUMP), verified (TIGA_VERIFY), and a summary at exit (TIGA_STATS); and kept, where Tiga has a bug. */
#ifndef TIGA_API_LADDER_H
#define TIGA_API_LADDER_H

#include "plan/plan.h"
#include "run/exec.h"

/* Called once a program, when it was planned. ST_BUG where TIGA_VERIFY finds a violation. */
Status ladder_show(const Fn *domain, const Plan *plan, const Exec *exec);
/* After ST_BUG: writes the program into TIGA_DUMP's folder, else TMPDIR's, else /tmp, and says where in the message. */
void ladder_keep_bug(const Fn *domain);

#endif
