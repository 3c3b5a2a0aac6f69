#include "api/door.h"

#include <stdlib.h>
#include <string.h>

tg_status door_run(Status (*body)(void *ctx), void *ctx) { return (tg_status)guard_run(body, ctx); }

tg_status door_null(const char *what) {
    if (!err_status()) err_set(ST_INVAL, "%s is NULL", what);
    return (tg_status)err_status();
}

tg_status door_missing(const char *what) {
    return (tg_status)err_set(ST_INVAL, "%s is NULL", what);
}

char *door_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (!copy) return err_set(ST_NOMEM, "out of memory: %zu bytes of text", strlen(text) + 1), NULL;
    return strcpy(copy, text);
}

tg_status tg_errcode(void) { return (tg_status)err_status(); }

const char *tg_errmsg(void) { return err_message(); }

void tg_errclear(void) { err_clear(); }

void tg_free(void *text) { free(text); }
