/* Graphs behind their handles. */
#ifndef TIGA_API_GRAPH_H
#define TIGA_API_GRAPH_H

#include "api/door.h"
#include "graph/graph.h"

/* The handle is the relation itself, counted. */
static inline Graph *graph_of(const tg_graph *g) { return (Graph *)(uintptr_t)g; }

#endif
