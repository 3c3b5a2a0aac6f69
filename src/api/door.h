/* The one door: every public function runs its body behind a guard, so a failure anywhere below comes
 * out as a status and a message, arenas freed, arguments as they were. */
#ifndef TIGA_API_DOOR_H
#define TIGA_API_DOOR_H

#include "base/status.h"
#include "tiga/tiga.h"

_Static_assert((int)TG_EBUG == (int)ST_BUG && (int)TG_ESHAPE == (int)ST_SHAPE, "ORDER STATUS");

/* Runs body(ctx); TG_OK or what failed. */
tg_status door_run(Status (*body)(void *ctx), void *ctx);
/* A NULL handle: the message of what failed before stays; one is made where there is none. */
tg_status door_null(const char *what);
/* A pointer of the caller's own that is NULL: a failure by itself. */
tg_status door_missing(const char *what);
/* Text for the caller, from malloc; NULL and TG_ENOMEM where there is no memory. */
char *door_text(const char *text);

#endif
