#include "gcn_task.h"

#include "karate.h"

#include <math.h>
#include <string.h>

/* Edges with a self loop at each node, and their weights. */
static void spread_over(Task *t, int64_t num_edges, const int64_t *src, const int64_t *dst) {
    int64_t n = t->nodes, all = num_edges + n;
    int64_t *from = zeros(all, sizeof *from), *to = zeros(all, sizeof *to),
            *degree = zeros(n, sizeof *degree);
    memcpy(from, src, (size_t)num_edges * sizeof *src);
    memcpy(to, dst, (size_t)num_edges * sizeof *dst);
    for (int64_t i = 0; i < n; i++) from[num_edges + i] = to[num_edges + i] = i;
    for (int64_t e = 0; e < all; e++) degree[to[e]]++;
    t->weight = zeros(all, sizeof *t->weight);
    for (int64_t e = 0; e < all; e++)
        t->weight[e] = 1 / sqrtf((float)(degree[from[e]] * degree[to[e]]));
    t->graph = tg_graph_coo(n, n, all, from, to);
    check_handle(t->graph);
}

static void label_nodes(Task *t, int64_t num_train, const int64_t *train) {
    t->one_hot = zeros(t->nodes * t->classes, sizeof *t->one_hot);
    t->train = zeros(t->nodes, sizeof *t->train);
    for (int64_t i = 0; i < t->nodes; i++) t->one_hot[i * t->classes + t->label[i]] = 1;
    for (int64_t k = 0; k < num_train; k++) t->train[train[k]] = 1 / (float)num_train;
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
    Task t = {.nodes = labels.shape[0], .label = whole_numbers(labels)};
    t.features = *whole_numbers(read_npy(folder, "num_features"));
    for (int64_t i = 0; i < t.nodes; i++) {
        if (t.label[i] >= t.classes) t.classes = t.label[i] + 1;
        for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) dst[p] = i;
    }
    t.num_test = test.shape[0];
    t.test = whole_numbers(test);
    spread_over(&t, num_edges, src, dst);
    read_words(&t, folder);
    label_nodes(&t, train.shape[0], whole_numbers(train));
    return t;
}

Task karate_task(void) {
    int64_t src[2 * FRIENDSHIPS], dst[2 * FRIENDSHIPS];
    const int64_t labelled[] = {0, MEMBERS - 1};
    Task t = {.nodes = MEMBERS, .features = MEMBERS, .classes = 2, .num_test = MEMBERS - 2};
    for (int e = 0; e < FRIENDSHIPS; e++) {
        src[e] = dst[FRIENDSHIPS + e] = friends[e][0] - 1;
        dst[e] = src[FRIENDSHIPS + e] = friends[e][1] - 1;
    }
    spread_over(&t, 2 * FRIENDSHIPS, src, dst);
    make_features(&t, MEMBERS);
    t.label = zeros(MEMBERS, sizeof *t.label);
    t.test = zeros(t.num_test, sizeof *t.test);
    for (int i = 0; i < MEMBERS; i++) {
        t.label[i] = 1;
        t.place[i] = i * MEMBERS + i;
        t.entry[i] = 1;
    }
    for (size_t k = 0; k < sizeof with_member_1; k++) t.label[with_member_1[k] - 1] = 0;
    for (int k = 0; k < MEMBERS - 2; k++) t.test[k] = k + 1;
    label_nodes(&t, 2, labelled);
    return t;
}
