/* The names under which kernels read degrees and extents. */
#include "plan/internal.h"

#include <string.h>

const char *fact_name(Arena *a, const Fn *f, Map m) {
    if (map_is_all(m)) return arena_printf(a, "size.%s", f->sets.data[map_from(f, m)].name);
    return arena_printf(a, "degree.%s.%s", f->relations.data[map_relation(m)].name,
                        map_is_dst(m) ? "dst" : "src");
}

Map fact_map(Arena *scratch, const Fn *f, const char *name) {
    for (Map m = -(Map)f->sets.len; m < 2 * (Map)f->relations.len; m++)
        if (!strcmp(fact_name(scratch, f, m), name)) return m;
    return MAP_NONE;
}
