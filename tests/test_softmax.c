/* The three results of a softmax (weighted mean, maximum, sum of weights) where scores are infinite or no numbers: the
 * compiled ones are the interpreted ones, in short rows and in rows that are cut in parts. */
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 3, LONG = 40000, NUM_EDGES = SHORT + LONG, ROWS = 3, MAX_WIDTH = 3 };

/* %s: the feature shape, "" or "3x". */
static const char text[] =
    "module {\n"
    "  \"gf.set\"() <{sym_name = \"V\"}> : () -> ()\n"
    "  \"gf.set\"() <{sym_name = \"U\"}> : () -> ()\n"
    "  \"gf.relation\"() <{dst = @V, src = @U, sym_name = \"r\"}> : () -> ()\n"
    "  func.func @main(%%arg0: tensor<?x%1$sf32, #gf.on<@r.edges>> {gf.name = \"edge.s\"}, "
    "%%arg1: tensor<?x%1$sf32, #gf.on<@r.edges>> {gf.name = \"edge.v\"}) -> "
    "(tensor<?x%1$sf32, #gf.on<@V>> {gf.name = \"o\"}, tensor<?x%1$sf32, #gf.on<@V>> {gf.name = "
    "\"M\"}, "
    "tensor<?x%1$sf32, #gf.on<@V>> {gf.name = \"l\"}) {\n"
    "    %%0:3 = \"gf_mp.softmax\"(%%arg0, %%arg1) <{map = @r::@dst}> : "
    "(tensor<?x%1$sf32, #gf.on<@r.edges>>, tensor<?x%1$sf32, #gf.on<@r.edges>>) -> "
    "(tensor<?x%1$sf32, #gf.on<@V>>, tensor<?x%1$sf32, #gf.on<@V>>, tensor<?x%1$sf32, "
    "#gf.on<@V>>)\n"
    "    return %%0#0, %%0#1, %%0#2 : tensor<?x%1$sf32, #gf.on<@V>>, tensor<?x%1$sf32, "
    "#gf.on<@V>>, "
    "tensor<?x%1$sf32, #gf.on<@V>>\n"
    "  }\n"
    "}\n";

static tg_program *program_of_width(int width) {
    char own[4096];
    snprintf(own, sizeof own, text, width == 1 ? "" : "3x");
    tg_program *p = tg_program_parse(own);
    if (!p) fail_msg("%s", tg_errmsg());
    return p;
}

/* Row 0 is empty, row 1 short, row 2 long. */
static tg_graph *rows(void) {
    static int64_t src[NUM_EDGES], dst[NUM_EDGES];
    for (int e = 0; e < NUM_EDGES; e++) src[e] = e, dst[e] = e < SHORT ? 1 : 2;
    return tg_graph_coo(ROWS, NUM_EDGES, NUM_EDGES, src, dst);
}

static tg_array field(const void *data, int width) {
    return width == 1 ? tg_f32(data, NUM_EDGES) : tg_f32(data, NUM_EDGES, width);
}

static tg_array result(const void *data, int width) {
    return width == 1 ? tg_f32(data, ROWS) : tg_f32(data, ROWS, width);
}

static void check_equal(const tg_program *p, const tg_graph *g, int width, const float *s,
                        const float *v) {
    float r[2][3][ROWS * MAX_WIDTH];
    for (int k = 0; k < 2; k++) {
        const tg_arg args[] = {{"edge.s", field(s, width)},
                               {"edge.v", field(v, width)},
                               {"o", result(r[k][0], width)},
                               {"M", result(r[k][1], width)},
                               {"l", result(r[k][2], width)}};
        if ((k ? tg_reference : tg_run)(p, g, args, 5)) fail_msg("%s", tg_errmsg());
    }
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < ROWS * width; i++) {
            float got = r[0][which][i], want = r[1][which][i];
            bool same = isfinite(want) ? fabsf(got - want) <= 1e-4f * fabsf(want)
                        : isnan(want)  ? isnan(got)
                                       : got == want;
            if (!same) fail_msg("result %d, element %d: %g, not %g", which, i, got, want);
        }
}

/* Scores that are `usual`, but `odd` at one place of each row: its first, one in the middle, its last. */
static void scores_that_are_no_numbers(void **state) {
    (void)state;
    static const float kinds[] = {NAN, INFINITY, -INFINITY, 0};
    static const int places[][2] = {{0, 0}, {1, LONG / 2}, {SHORT - 1, LONG - 1}};
    static float s[NUM_EDGES * MAX_WIDTH], v[NUM_EDGES * MAX_WIDTH];
    tg_graph *g = rows();
    for (int width = 1; width <= MAX_WIDTH; width += 2) {
        tg_program *p = program_of_width(width);
        for (int usual = 0; usual < 4; usual++)
            for (int odd = 0; odd < 4; odd++)
                for (int place = 0; place < 3; place++) {
                    for (int k = 0; k < NUM_EDGES * width; k++)
                        s[k] = kinds[usual] + (float)(k % 7), v[k] = (float)(k % 5);
                    for (int row = 0; row < 2; row++)
                        s[(row * SHORT + places[place][row]) * width] = kinds[odd];
                    check_equal(p, g, width, s, v);
                }
        tg_program_free(p);
    }
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores_that_are_no_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
