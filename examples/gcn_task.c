#include "gcn_task.h"

#include "karate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Edges with a self loop at each node; their weights. */
static tg_array spread_over(Task *t, int64_t num_edges, const int64_t *src, const int64_t *dst) {
    tg_graph *given = tg_graph_coo(t->nodes, t->nodes, num_edges, src, dst);
    t->graph = tg_graph_add_self_loops(given);
    tg_graph_free(given);
    check_handle(t->graph);
    int64_t all = tg_graph_num_edges(t->graph), *from = zeros(all, sizeof *from),
            *to = zeros(all, sizeof *to), *degree = zeros(t->nodes, sizeof *degree);
    check(tg_graph_edges(t->graph, from, to));
    check(tg_graph_degrees(t->graph, degree, NULL));
    float *weight = zeros(all, sizeof *weight);
    for (int64_t e = 0; e < all; e++)
        weight[e] = 1 / sqrtf((float)(degree[from[e]] * degree[to[e]]));
    return tg_f32(weight, all);
}

static tg_array one_hot(const Task *t, const int64_t *label) {
    float *hot = zeros(t->nodes * t->classes, sizeof *hot);
    for (int64_t i = 0; i < t->nodes; i++) hot[i * t->classes + label[i]] = 1;
    return tg_f32(hot, t->nodes, t->classes);
}

static tg_array share(const Task *t, int64_t num_members, const int64_t *members) {
    float *of = zeros(t->nodes, sizeof *of);
    for (int64_t k = 0; k < num_members; k++) of[members[k]] = 1 / (float)num_members;
    return tg_f32(of, t->nodes);
}

static void name_args(Task *t, tg_array weight, tg_array label, tg_array train, tg_array test) {
    const tg_arg args[TASK_ARGS] = {{"edge.w", weight},
                                    {"node.x", tg_f32(t->x, t->nodes, t->features)},
                                    {"node.label", label},
                                    {"node.train", train},
                                    {"node.test", test}};
    memcpy(t->args, args, sizeof args);
}

/* Room for x and its entries. */
static void make_features(Task *t, int64_t num_entries) {
    t->num_entries = num_entries;
    t->x = zeros(t->nodes * t->features, sizeof *t->x);
    t->place = zeros(num_entries, sizeof *t->place);
    t->entry = zeros(num_entries, sizeof *t->entry);
}

static void read_words(Task *t, const char *folder) {
    tg_array words = read_npy(folder, "x_indices"), values = read_npy(folder, "x_data");
    const int64_t *start = whole_numbers(read_npy(folder, "x_indptr")),
                  *word = whole_numbers(words);
    const float *value = values.data;
    if (values.dtype != TG_FLOAT32) die("x_data: not float32");
    make_features(t, words.shape[0]);
    for (int64_t i = 0; i < t->nodes; i++) {
        float total = 0;
        for (int64_t p = start[i]; p < start[i + 1]; p++) total += value[p];
        for (int64_t p = start[i]; p < start[i + 1]; p++) {
            t->place[p] = i * t->features + word[p];
            t->entry[p] = value[p] / total;
        }
    }
}

Task read_task(const char *folder) {
    tg_array neighbours = read_npy(folder, "col_idx"), labels = read_npy(folder, "labels");
    tg_array train = read_npy(folder, "train"), test = read_npy(folder, "test");
    const int64_t *row_ptr = whole_numbers(read_npy(folder, "row_ptr")),
                  *src = whole_numbers(neighbours);
    int64_t num_edges = neighbours.shape[0], *dst = zeros(num_edges, sizeof *dst);
    const int64_t *label = whole_numbers(labels);
    Task t = {.nodes = labels.shape[0]};
    t.features = *whole_numbers(read_npy(folder, "num_features"));
    for (int64_t i = 0; i < t.nodes; i++) {
        if (label[i] >= t.classes) t.classes = label[i] + 1;
        for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) dst[p] = i;
    }
    read_words(&t, folder);
    name_args(&t, spread_over(&t, num_edges, src, dst), one_hot(&t, label),
              share(&t, train.shape[0], whole_numbers(train)),
              share(&t, test.shape[0], whole_numbers(test)));
    return t;
}

Task karate_task(void) {
    int64_t src[2 * FRIENDSHIPS], dst[2 * FRIENDSHIPS];
    int64_t label[MEMBERS], all[MEMBERS];
    const int64_t labelled[] = {0, MEMBERS - 1};
    Task t = {.nodes = MEMBERS, .features = MEMBERS, .classes = 2};
    for (int e = 0; e < FRIENDSHIPS; e++) {
        src[e] = dst[FRIENDSHIPS + e] = friends[e][0] - 1;
        dst[e] = src[FRIENDSHIPS + e] = friends[e][1] - 1;
    }
    make_features(&t, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        all[i] = i;
        label[i] = 1;
        t.place[i] = i * MEMBERS + i;
        t.entry[i] = 1;
    }
    for (size_t k = 0; k < sizeof with_member_1; k++) label[with_member_1[k] - 1] = 0;
    name_args(&t, spread_over(&t, 2 * FRIENDSHIPS, src, dst), one_hot(&t, label),
              share(&t, 2, labelled), share(&t, MEMBERS - 2, all + 1));
    return t;
}

void drop(const Task *t, float *keep, int64_t hidden, float rate, uint64_t *coins) {
    const float scale = 1 / (1 - rate);
    for (int64_t k = 0; k < t->num_entries; k++)
        t->x[t->place[k]] = uniform(coins) < rate ? 0 : scale * t->entry[k];
    for (int64_t k = 0; k < t->nodes * hidden; k++) keep[k] = uniform(coins) < rate ? 0 : scale;
}

tg_call *bind_task(const Task *t, const tg_program *p, const tg_arg *own, size_t num_own) {
    tg_arg *args = zeros((int64_t)num_own + TASK_ARGS, sizeof *args);
    memcpy(args, own, num_own * sizeof *own);
    memcpy(args + num_own, t->args, sizeof t->args);
    return tg_bind(p, t->graph, args, num_own + TASK_ARGS);
}

int mean_accuracy(int argc, char **argv, double (*train)(const Task *t, uint64_t seed)) {
    Task task = argc > 1 ? read_task(argv[1]) : karate_task();
    uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    double sum = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        double percent = train(&task, seed);
        printf("seed %d  accuracy %.1f %%\n", (int)seed, percent);
        sum += percent;
    }
    printf("mean    accuracy %.2f %%\n", sum / (double)seeds);
    tg_graph_free(task.graph);
    return 0;
}
