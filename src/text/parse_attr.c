/* Types and attributes. */
#include "text/parse.h"

#include "ir/type.h"

#include <string.h>

/* ---- symbols ---- */

const Symbol *parse_find_symbol(const Parser *p, const char *name) {
    for (uint32_t k = 0; k < p->symbols.len; k++)
        if (!strcmp(p->symbols.data[k].name, name)) return &p->symbols.data[k];
    return NULL;
}

Set parse_set_symbol(Parser *p, const char *at, const char *name) {
    if (!strcmp(name, "all")) return SET_ALL;
    const Symbol *s = parse_find_symbol(p, name);
    if (s && s->kind == SYMBOL_set) return (Set)s->number;
    lex_fail(&p->lex, ST_NAME, at, "no set '%s' is declared", name);
    return SET_ALL;
}

static Set set_ref(Parser *p) {
    const char *at = p->lex.tok.start;
    return parse_set_symbol(p, at, lex_text(&p->lex, T_symbol, "a set's symbol"));
}

/* ---- types ---- */

static Dtype dtype_word(Parser *p) {
    for (int d = 0; d < NUM_DTYPES; d++)
        if (lex_take_word(&p->lex, dtype_name((Dtype)d))) return (Dtype)d;
    lex_expected(&p->lex, "an element type (i1, i32, i64, f32, f64)");
    return DT_bool;
}

/* A tensor's dimensions as written: one more than a Type holds, for a value on a set. */
typedef struct {
    int64_t dim[MAX_RANK + 1]; /* -1: a '?' whose set is not named yet */
    int num;
    Set set;
} Dims;

/* "#gf.on<@V>": behind the word */
static void read_on(Parser *p, Dims *d, const char *at) {
    lex_need(&p->lex, '<', "'<'");
    d->set = set_ref(p);
    if (d->set == SET_ALL) lex_fail(&p->lex, ST_SYNTAX, at, "a value on `all` has no #gf.on");
    else if (d->num == 0 || d->dim[0] != -1)
        lex_fail(&p->lex, ST_SYNTAX, at, "the first dimension of a value on a set is '?'");
    else memmove(d->dim, d->dim + 1, sizeof *d->dim * (size_t)--d->num);
    lex_need(&p->lex, '>', "'>'");
}

static void name_extent(Parser *p, Dims *d) {
    const char *at = p->lex.tok.start;
    Set s = set_ref(p);
    int k = 0;
    while (k < d->num && d->dim[k] != -1) k++;
    if (s == SET_ALL) lex_fail(&p->lex, ST_SYNTAX, at, "the extent of `all` is written 1");
    else if (k == d->num) lex_fail(&p->lex, ST_SYNTAX, at, "more sets than '?'");
    else d->dim[k] = dim_of(s);
}

/* "#gf.rows<@V>", "#gf.rows<[@V, @W]>": behind the word */
static void read_rows(Parser *p, Dims *d) {
    lex_need(&p->lex, '<', "'<'");
    bool list = lex_take(&p->lex, '[');
    do name_extent(p, d);
    while (list && lex_take(&p->lex, ','));
    if (list) lex_need(&p->lex, ']', "']'");
    lex_need(&p->lex, '>', "'>'");
}

static void read_encoding(Parser *p, Dims *d) {
    const char *at = p->lex.tok.start;
    const char *name = lex_text(&p->lex, T_attribute, "#gf.on or #gf.rows");
    if (!strcmp(name, "gf.on")) read_on(p, d, at);
    else if (!strcmp(name, "gf.rows")) read_rows(p, d);
    else lex_fail(&p->lex, ST_SYNTAX, at, "expected #gf.on or #gf.rows, found '#%s'", name);
}

Type parse_type(Parser *p) {
    Lex *x = &p->lex;
    const char *at = x->tok.start;
    Dims d = {.num = 0};
    if (lex_need_word(x, "tensor")) d.num = lex_dims(x, d.dim, MAX_RANK + 1);
    Dtype dtype = dtype_word(p);
    if (lex_take(x, ',')) read_encoding(p, &d);
    lex_need(x, '>', "'>'");
    for (int k = 0; k < d.num; k++)
        if (d.dim[k] == -1) lex_fail(x, ST_SYNTAX, at, "a '?' whose set is not named");
    if (d.num > MAX_RANK) lex_fail(x, ST_SYNTAX, at, "more than %d dimensions", MAX_RANK);
    return x->status ? (Type){0} : type_of(dtype, d.set, d.num, d.dim);
}

/* ---- attributes ---- */

static void read_number(Parser *p, Prop *out) {
    Lex *x = &p->lex;
    out->kind = PROP_number;
    out->minus = lex_take(x, '-');
    out->is_float = lex_is(x, T_float);
    out->text = lex_text(x, out->is_float ? T_float : T_integer, "an attribute's value");
    out->is_hex = out->text[0] == '0' && out->text[1] == 'x';
    out->dtype = out->is_float ? DT_f64 : DT_i64;
    if (lex_take(x, ':')) out->dtype = dtype_word(p);
}

static int64_t read_int(Parser *p) {
    bool minus = lex_take(&p->lex, '-');
    uint64_t n = lex_count(&p->lex, minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX, "an integer");
    return (int64_t)(minus ? 0 - n : n);
}

/* "array<i64: 3, 1>", "array<i64>": behind the word */
static void read_ints(Parser *p, Prop *out) {
    Lex *x = &p->lex;
    VEC(int64_t) ints = {0};
    out->kind = PROP_ints;
    lex_need(x, '<', "'<'");
    lex_need_word(x, "i64");
    if (lex_take(x, ':')) {
        do *vec_push(p->arena, &ints) = read_int(p);
        while (lex_take(x, ','));
    }
    lex_need(x, '>', "'>'");
    out->ints = ints.data;
    out->num = ints.len;
}

/* behind the '[' */
static void read_strings(Parser *p, Prop *out) {
    Lex *x = &p->lex;
    VEC(const char *) list = {0};
    out->kind = PROP_strings;
    if (lex_take(x, ']')) return;
    do *vec_push(p->arena, &list) = lex_text(x, T_string, "a string");
    while (lex_take(x, ','));
    lex_need(x, ']', "']'");
    out->strings = list.data;
    out->num = list.len;
}

static void read_symbol(Parser *p, Prop *out) {
    out->kind = PROP_symbol;
    out->text = lex_text(&p->lex, T_symbol, "a symbol");
    if (lex_take(&p->lex, T_scope)) out->leaf = lex_text(&p->lex, T_symbol, "a symbol");
}

static void read_value(Parser *p, Prop *out) {
    Lex *x = &p->lex;
    if (lex_is_word(x, "true") || lex_is_word(x, "false")) {
        out->kind = PROP_bool;
        out->flag = lex_is_word(x, "true");
        lex_next(x);
    } else if (lex_is(x, T_string)) {
        out->kind = PROP_string;
        out->text = lex_text(x, T_string, "a string");
    } else if (lex_is(x, T_symbol)) read_symbol(p, out);
    else if (lex_take_word(x, "array")) read_ints(p, out);
    else if (lex_take(x, '[')) read_strings(p, out);
    else read_number(p, out);
}

static Prop *find(const Props *props, const char *key) {
    for (uint32_t k = 0; k < props->list.len; k++)
        if (!strcmp(props->list.data[k].key, key)) return &props->list.data[k];
    return NULL;
}

void parse_props(Parser *p, Props *props, int close) {
    Lex *x = &p->lex;
    if (lex_take(x, close)) return;
    do {
        Prop entry = {.at = x->tok.start};
        entry.key = lex_is(x, T_string) ? lex_text(x, T_string, "a name")
                                        : lex_text(x, T_word, "an attribute's name");
        if (find(props, entry.key))
            lex_fail(x, ST_SYNTAX, entry.at, "attribute '%s' is given twice", entry.key);
        lex_need(x, '=', "'='");
        read_value(p, &entry);
        *vec_push(p->arena, &props->list) = entry;
    } while (lex_take(x, ','));
    lex_need(x, close, close == T_close ? "'}>'" : "'}'");
}

/* ---- reading what was parsed ---- */

static const char *const kind_text[] = {"a number", "true or false",   "a string",
                                        "a symbol", "array<i64: ...>", "a list of strings"};

const Prop *prop_get(Parser *p, Props *props, const char *key, PropKind kind, bool need) {
    if (p->lex.status) return NULL;
    Prop *found = find(props, key);
    if (found && found->kind == kind) {
        found->used = true;
        return found;
    }
    if (found) lex_fail(&p->lex, ST_SYNTAX, found->at, "%s: expected %s", key, kind_text[kind]);
    else if (need) lex_fail(&p->lex, ST_SYNTAX, props->at, "attribute '%s' is missing", key);
    return NULL;
}

bool prop_bool(Parser *p, Props *props, const char *key, bool otherwise) {
    const Prop *a = prop_get(p, props, key, PROP_bool, false);
    return a ? a->flag : otherwise;
}

/* Decimal digits with a sign, into a signed integer of that many bits. */
static bool digits_to_int(const Prop *a, int bits, int64_t *out) {
    uint64_t value = 0, most = ((uint64_t)1 << (bits - 1)) - !a->minus;
    for (const char *s = a->text; *s; s++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    }
    *out = (int64_t)(a->minus ? 0 - value : value);
    return value <= most;
}

const int64_t *prop_int(Parser *p, Props *props, const char *key, bool need) {
    const Prop *a = prop_get(p, props, key, PROP_number, need);
    int64_t value = 0;
    if (!a) return NULL;
    if (a->is_float || a->is_hex || a->dtype != DT_i64 || !digits_to_int(a, 64, &value))
        lex_fail(&p->lex, ST_SYNTAX, a->at, "%s: expected an i64", key);
    return arena_copy(p->arena, &value, sizeof value);
}

static bool hex_bits(const Prop *a, Dtype d, uint64_t *out) {
    size_t digits = strlen(a->text) - 2;
    if (a->minus || digits != 2u * (size_t)dtype_size(d)) return false;
    for (const char *s = a->text + 2; *s; s++)
        *out = *out * 16 + (uint64_t)(*s <= '9' ? *s - '0' : (*s | 32) - 'a' + 10);
    return true;
}

static bool number_bits(Parser *p, const Prop *a, Dtype d, uint64_t *out) {
    int64_t value;
    if (a->is_hex) return dtype_is_float(d) && hex_bits(a, d, out);
    if (dtype_is_float(d))
        return a->is_float &&
               text_get_float(arena_printf(p->arena, "%s%s", a->minus ? "-" : "", a->text), d, out);
    if (d == DT_bool || a->is_float || !digits_to_int(a, d == DT_i32 ? 32 : 64, &value))
        return false;
    *out = d == DT_i32 ? (uint32_t)value : (uint64_t)value;
    return true;
}

uint64_t prop_bits(Parser *p, Props *props, const char *key, Dtype d) {
    const Prop *a = prop_get(p, props, key, d == DT_bool ? PROP_bool : PROP_number, true);
    uint64_t bits = 0;
    if (!a) return 0;
    if (a->kind == PROP_bool) return a->flag;
    if (a->dtype != d || !number_bits(p, a, d, &bits))
        lex_fail(&p->lex, ST_SYNTAX, a->at, "%s: expected a number of %s", key, dtype_name(d));
    return bits;
}

/* "@r::@src", "@V::@all" */
Map prop_map(Parser *p, Props *props, bool need) {
    const Prop *a = prop_get(p, props, "map", PROP_symbol, need);
    if (!a) return MAP_NONE;
    const Symbol *s = parse_find_symbol(p, a->text);
    bool relation = s && s->kind == SYMBOL_relation;
    if (a->leaf && !strcmp(a->leaf, "all") && !relation)
        return map_all(parse_set_symbol(p, a->at, a->text));
    if (!relation) {
        lex_fail(&p->lex, ST_NAME, a->at, "no relation '%s' is declared", a->text);
    } else if (a->leaf && !strcmp(a->leaf, "src")) {
        return map_src((int)s->number);
    } else if (a->leaf && !strcmp(a->leaf, "dst")) {
        return map_dst((int)s->number);
    } else {
        lex_fail(&p->lex, ST_SYNTAX, a->at, "map: expected @%s::@src or @%s::@dst", a->text,
                 a->text);
    }
    return MAP_NONE;
}

void props_end(Parser *p, const Props *props) {
    for (uint32_t k = 0; k < props->list.len; k++)
        if (!props->list.data[k].used)
            lex_fail(&p->lex, ST_SYNTAX, props->list.data[k].at, "no attribute '%s' is known here",
                     props->list.data[k].key);
}
