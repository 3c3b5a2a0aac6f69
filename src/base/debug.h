/* Debug switches: read once from the environment, listed in one table that prints itself as help. */
#ifndef TIGA_BASE_DEBUG_H
#define TIGA_BASE_DEBUG_H

#include <stdbool.h>

/* The value of TIGA_<name>, or NULL where unset: debug_get("THREADS"). Names outside the table are
 * a broken invariant. */
const char *debug_get(const char *name);
/* True where word is one of the comma-separated words of TIGA_<name>: debug_has("OFF", "move"). */
bool debug_has(const char *name, const char *word);
/* The table as text, a line a switch. */
const char *debug_help(void);

#endif
