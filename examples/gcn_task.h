/* What gcn.c learns from and how it is tried: nodes to classify, read from .npy files or the karate club's. */
#ifndef EXAMPLES_GCN_TASK_H
#define EXAMPLES_GCN_TASK_H

#include "common.h"

enum { TASK_ARGS = 5 };

typedef struct {
    int64_t nodes, features, classes;
    tg_graph *graph; /* with self loops */

    float *x;            /* nodes x features, mostly 0 */
    int64_t num_entries; /* of x that are not: x[place[k]] is entry[k] */
    int64_t *place;
    float *entry;

    /* edge.w: 1 / sqrt(degree of its source * degree of its destination); node.x; node.label: nodes x classes,
     * one-hot; node.train and node.test: 1 / (number of such nodes) on those, 0 elsewhere. */
    tg_arg args[TASK_ARGS];
} Task;

/* A citation graph: row_ptr, col_idx (neighbours of each paper), x_indptr, x_indices, x_data (its words, whose
 * values are made to sum to 1), num_features, labels, train, test. */
Task read_task(const char *folder);
/* The karate club: members 1 and 34 are labelled, features are one-hot. */
Task karate_task(void);

/* Dropout: the task's features and the nodes x hidden values that are multiplied by keep stay with probability
 * 1 - rate, scaled up. */
void drop(const Task *t, float *keep, int64_t hidden, float rate, uint64_t *coins);
/* tg_bind with the task's arrays beside own. */
tg_call *bind_task(const Task *t, const tg_program *p, const tg_arg *own, size_t num_own);
/* The task in the folder argv[1], else the karate club; train gives the accuracy in percent, argv[2] seeds long.
 * Prints each and their mean; what main returns. */
int mean_accuracy(int argc, char **argv, double (*train)(const Task *t, uint64_t seed));

#endif
