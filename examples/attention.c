/* Attention over a relation: each query takes the mean of the values it may see, weighted by a softmax
 * over its own edges of query . key * scale. The softmax runs online, row by row: no score is stored.
 *
 * Three keys, three queries; the last query sees nothing and `empty` says what it gets. attention.py
 * is the same in Python. */
#include <stdio.h>
#include <tiga/tiga.h>

enum { KEYS = 3, QUERIES = 3, EDGES = 5, D = 2 };

static void print_rows(const char *name, const float v[][D], int rows) {
    for (int i = 0; i < rows; i++) printf("%s[%d] %.4f %.4f\n", name, i, v[i][0], v[i][1]);
}

int main(void) {
    const int64_t row_ptr[] = {0, 3, 5, 5}, col_idx[] = {0, 1, 2, 1, 2};
    const float key[KEYS][D] = {{1, 0}, {0, 1}, {1, .5f}};
    const float value[KEYS][D] = {{1, 2}, {3, 4}, {5, 6}};
    const float query[QUERIES][D] = {{1, 2}, {-1, 3}, {0, 0}};
    const float scale = .5f;
    const float cot[QUERIES][D] = {{1, 0}, {1, 0}, {1, 0}}; /* the gradient of sum(out[:, 0]) */
    float out[QUERIES][D], dquery[QUERIES][D], dkey[KEYS][D], dvalue[KEYS][D];

    tg_graph *graph = tg_graph_csr(QUERIES, KEYS, row_ptr, col_idx);
    tg_program *attention = tg_program_new(
        "out = softmax(sum(src.key * dst.query, axis=-1) * scale, src.value, empty=0)");
    tg_program *grad = tg_program_grad(attention, "out", "src.key src.value dst.query");
    const tg_arg args[] = {
        {"src.key", tg_f32(key, KEYS, D)},
        {"src.value", tg_f32(value, KEYS, D)},
        {"dst.query", tg_f32(query, QUERIES, D)},
        {"scale", tg_f32(&scale)},
        {"cot.out", tg_f32(cot, QUERIES, D)},
        {"out", tg_f32(out, QUERIES, D)},
        {"grad.dst.query", tg_f32(dquery, QUERIES, D)},
        {"grad.src.key", tg_f32(dkey, KEYS, D)},
        {"grad.src.value", tg_f32(dvalue, KEYS, D)},
    };
    tg_status status = tg_run(grad, graph, TG_ARGS(args));
    if (status) {
        fprintf(stderr, "attention: %s\n", tg_errmsg());
    } else {
        print_rows("out", out, QUERIES);
        print_rows("dquery", dquery, QUERIES);
        print_rows("dkey", dkey, KEYS);
        print_rows("dvalue", dvalue, KEYS);
    }
    tg_program_free(grad);
    tg_program_free(attention);
    tg_graph_free(graph);
    return status != TG_OK;
}
