/* What status.c and mem.c share: the arenas that a guard owns until it ends well. */
#ifndef TIGA_BASE_MEM_INTERNAL_H
#define TIGA_BASE_MEM_INTERNAL_H

#include "base/mem.h"

typedef struct {
    Arena *first;
} ArenaList;

ArenaList *guard_arenas(void); /* NULL outside every guard */
void arena_list_free(ArenaList *list);
/* Hands the arenas to the outer guard's list, or to nobody where outer is NULL. */
void arena_list_release(ArenaList *list, ArenaList *outer);

#endif
