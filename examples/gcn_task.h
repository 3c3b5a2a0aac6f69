/* What gcn.c learns from: nodes to classify, read from .npy files or the karate club's. */
#ifndef EXAMPLES_GCN_TASK_H
#define EXAMPLES_GCN_TASK_H

#include "common.h"

typedef struct {
    int64_t nodes, features, classes;
    tg_graph *graph; /* with self loops */
    float *weight;   /* by edge: 1 / sqrt(degree of its source * degree of its destination) */

    float *x;            /* nodes x features, mostly 0 */
    int64_t num_entries; /* of x that are not: x[place[k]] is entry[k] */
    int64_t *place;
    float *entry;

    int64_t *label;
    float *one_hot; /* nodes x classes */
    float *train;   /* 1 / (number of training nodes) on those, 0 elsewhere */
    int64_t num_test, *test;
} Task;

/* A citation graph: row_ptr, col_idx (neighbours of each paper), x_indptr, x_indices, x_data (its words, whose
 * values are made to sum to 1), num_features, labels, train, test. */
Task read_task(const char *folder);
/* The karate club: members 1 and 34 are labelled, features are one-hot. */
Task karate_task(void);

#endif
