/* What status.c and mem.c share: the arenas that a guard owns until it ends well. */
#ifndef TIGA_BASE_MEM_INTERNAL_H
#define TIGA_BASE_MEM_INTERNAL_H

#include "base/mem.h"

typedef struct {
    Arena *first;
} ArenaList;

ArenaList *guard_arenas(void); /* NULL outside every guard */
void arena_list_free(ArenaList *list);
/* The guard ended well: the arenas belong to whoever holds them. */
void arena_list_release(ArenaList *list);

#endif
