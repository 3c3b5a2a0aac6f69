/* The library's own version: in nothing, out a constant string. */
#include "tiga/tiga.h"

const char *tg_version(void) { return TG_VERSION; }
