/* a * b + c becomes fma(a, b, c).
 *
 * The rule looks at the expression alone, never at who else uses the product, so an expression that
 * a backward program computes again has the bits that it had in the forward program:
 *
 *   x0 + x1 + ...   from the left, in the order of the operands; a product among x1, x2, ... is fused
 *                   into the sum so far; where x1 is none but x0 is one, x0 is fused with x1
 *   x - p * q       fma(-p, q, x)          p * q - x       fma(p, q, -x)
 *   p * q - r * s   stays: fused, two equal products would not cancel
 *   p * q * r       as a product is (p * q) * r
 *
 * Sums and products come out with two operands each: a later copy into another program, where hashes
 * may differ (a residual is an input there), cannot reorder them. Floats only. Needs nothing; breaks
 * bit equality with the program before, n-ary sums; running it twice changes nothing. */
#include "opt/opt.h"

#include "opt/rewrite.h"

static bool is_product(const Rewrite *r, uint32_t k) {
    return ir_op(r->from, r->node->args[k]) == OP_mul;
}

/* The product's last factor and the product of the others, in the new program. It was rewritten as a
 * chain already, whose last step is a mul of just these. */
static void factors(const Rewrite *r, uint32_t k, Val *p, Val *q) {
    *p = ir_arg(r->f, r->args[k], 0);
    *q = ir_arg(r->f, r->args[k], 1);
}

static Val fuse(const Rewrite *r, uint32_t k, Val sum) {
    Val p, q;
    factors(r, k, &p, &q);
    return ir_fma(r->f, p, q, sum);
}

static Val chain_of_two(const Rewrite *r) {
    Val v = r->args[0];
    for (uint32_t k = 1; k < r->node->num_args; k++)
        v = ir_elem(r->f, (Op)r->node->op, v, r->args[k], 0);
    return v;
}

static Val fuse_add(const Rewrite *r) {
    Val sum = r->args[0];
    for (uint32_t k = 1; k < r->node->num_args; k++) {
        if (is_product(r, k)) sum = fuse(r, k, sum);
        else if (k == 1 && is_product(r, 0)) sum = fuse(r, 0, r->args[1]);
        else sum = ir_add(r->f, sum, r->args[k]);
    }
    return sum;
}

static Val fuse_sub(const Rewrite *r) {
    Val p, q;
    if (is_product(r, 0) == is_product(r, 1)) return rewrite_same(r);
    if (is_product(r, 0)) return fuse(r, 0, ir_neg(r->f, r->args[1]));
    factors(r, 1, &p, &q);
    return ir_fma(r->f, ir_neg(r->f, p), q, r->args[0]);
}

static Val fma_rule(const Rewrite *r) {
    Op op = (Op)r->node->op;
    bool is_float = dtype_is_float((Dtype)r->node->types[0].dtype);
    if (op == OP_add && is_float) return fuse_add(r);
    if (op == OP_sub && is_float) return fuse_sub(r);
    if (op == OP_add || op == OP_mul) return chain_of_two(r);
    if (op == OP_row_scan) return rewrite_body(r, opt_fma);
    return rewrite_same(r);
}

Fn *opt_fma(Arena *takes, const Fn *f) { return rewrite_run(takes, f, fma_rule); }
