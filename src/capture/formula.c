/* A hand-written lexer and a precedence-climbing parser; Python's operators and precedence.
 *
 *   line    = NAME "=" expr | NAME "." PART ["(" NAME {"," NAME} ")"] "=" component {"," component}
 *   component = [NAME "="] expr                      names before values
 *   expr    = prefix {OPERATOR expr}                 by the table of precedences
 *   prefix  = ("-" | "+" | "~") prefix | postfix
 *   postfix = primary {"[" item {"," item} "]"}
 *   primary = NUMBER | NAME ["." NAME] ["(" [argument {"," argument}] ")"] | "(" expr {"," expr} ")"
 *           | "[" expr {"," expr} "]"
 *   argument = [NAME "="] expr      item = expr | [expr] ":" [expr] [":" [expr]] | "..." */
#include "capture/formula.h"

#include "base/locale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum { TOK_end, TOK_line, TOK_number, TOK_name, TOK_op, TOK_bad } TokenKind;

typedef struct {
    TokenKind kind;
    Where at;
    const char *start;
    size_t len;
} Token;

enum { MAX_DEPTH = 200, MAX_HEIGHT = 1000, MAX_BRACKETS = MAX_DEPTH + 2 };

typedef struct {
    Arena *arena;
    const char *p; /* next byte */
    Where here;
    Token tok;        /* the one looked at */
    const char *last; /* where the one before it ends */
    int brackets, depth;
    Where opened[MAX_BRACKETS]; /* where each open bracket is */
    bool in_part; /* of a reducer, where "NAME = expr" between commas names an intermediate value */
    Status status;
} Parser;

/* ---- lexer ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void advance(Parser *s, size_t n) {
    for (; n; n--, s->p++) {
        if (*s->p == '\n') s->here = (Where){s->here.line + 1, 1};
        else s->here.column++;
    }
}

static void skip_space(Parser *s) {
    for (;;) {
        bool breaks = *s->p == '\n' && s->brackets > 0;
        if (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || breaks) advance(s, 1);
        else if (*s->p == '#') advance(s, strcspn(s->p, "\n"));
        else return;
    }
}

static size_t number_length(const char *p) {
    size_t n = 0;
    while (is_digit(p[n])) n++;
    if (p[n] == '.' && p[n + 1] != '.') {
        n++;
        while (is_digit(p[n])) n++;
    }
    if (p[n] == 'e' || p[n] == 'E') {
        size_t e = n + 1 + (p[n + 1] == '+' || p[n + 1] == '-');
        if (is_digit(p[e])) {
            while (is_digit(p[e])) e++;
            n = e;
        }
    }
    return n;
}

static size_t operator_length(const char *p) {
    static const char *const longer[] = {"...", "**", "//", "<=", ">=", "==", "!=", "&&", "||"};
    for (size_t k = 0; k < sizeof longer / sizeof *longer; k++)
        if (!strncmp(p, longer[k], strlen(longer[k]))) return strlen(longer[k]);
    return strchr("+-*/%@<>=&|^~()[],:.", *p) ? 1 : 0;
}

static void next(Parser *s) {
    s->last = s->p;
    skip_space(s);
    Token t = {.at = s->here, .start = s->p, .len = 1};
    if (!*s->p) t = (Token){TOK_end, s->here, s->p, 0};
    else if (*s->p == '\n' || *s->p == ';') t.kind = TOK_line;
    else if (is_digit(*s->p) || (*s->p == '.' && is_digit(s->p[1]))) {
        t.kind = TOK_number;
        t.len = number_length(s->p);
    } else if (is_letter(*s->p)) {
        t.kind = TOK_name;
        while (is_letter(s->p[t.len]) || is_digit(s->p[t.len])) t.len++;
    } else {
        size_t n = operator_length(s->p);
        t.kind = n ? TOK_op : TOK_bad;
        t.len = n ? n : 1;
    }
    advance(s, t.len);
    s->tok = t;
}

static bool is_op(const Parser *s, const char *op) {
    return s->tok.kind == TOK_op && s->tok.len == strlen(op) &&
           !memcmp(s->tok.start, op, s->tok.len);
}

static const char *token_text(Parser *s) {
    char *text = arena_alloc(s->arena, s->tok.len + 1);
    memcpy(text, s->tok.start, s->tok.len);
    return text;
}

/* What other languages write, and formulas otherwise. */
static const struct {
    const char *word, *instead;
} foreign[] = {{"and", "write &, and each comparison in parentheses"},
               {"or", "write |, and each comparison in parentheses"},
               {"&&", "write &, and each comparison in parentheses"},
               {"||", "write |, and each comparison in parentheses"},
               {"not", "write ~"},
               {"!", "write ~"},
               {"if", "write where(condition, x, y)"},
               {"?", "write where(condition, x, y)"},
               {".", "there are no methods: write sum(x, axis=-1), transpose(W, 0, 1)"},
               {"\\", "a line goes on where a bracket is open"}};

static const char *foreign_word(const Parser *s) {
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
        if (s->tok.len == strlen(foreign[k].word) &&
            !memcmp(s->tok.start, foreign[k].word, s->tok.len))
            return foreign[k].instead;
    return NULL;
}

/* The bytes of the character at p in UTF-8; 0 where they are none. */
static int utf8_length(const char *p) {
    int lead = (unsigned char)p[0], n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    for (int k = 1; k < n; k++)
        if (((unsigned char)p[k] & 0xc0) != 0x80) return 0;
    return n;
}

static const char *token_shown(Parser *s) {
    if (s->tok.kind == TOK_end) return "the end";
    if (s->tok.kind == TOK_line) return "the end of the line";
    if (s->tok.kind == TOK_bad && (unsigned char)s->tok.start[0] >= 0x7f) {
        int n = utf8_length(s->tok.start);
        return n ? arena_printf(s->arena, "'%.*s' (a formula is ASCII)", n, s->tok.start)
                 : "a byte outside ASCII";
    }
    const char *instead = foreign_word(s);
    return arena_printf(s->arena, instead ? "'%.40s' (%s)" : "'%.40s'", token_text(s), instead);
}

/* "3:7: expected an expression, got ')'"; the first fault stays. */
static void *expected(Parser *s, const char *what) {
    if (!s->status)
        s->status = err_set(ST_SYNTAX, "%d:%d: expected %s, got %s", s->tok.at.line,
                            s->tok.at.column, what, token_shown(s));
    return NULL;
}

/* What ends the innermost bracket, which may be lines above. */
static void *expected_end(Parser *s, const char *end) {
    Where at = s->opened[s->brackets - 1];
    return expected(s, arena_printf(s->arena, "',' or '%s' (the bracket opened at %d:%d)", end,
                                    at.line, at.column));
}

static bool accept(Parser *s, const char *op) {
    if (!is_op(s, op)) return false;
    next(s);
    return true;
}

/* Line breaks do not count between brackets. */
static bool open_bracket(Parser *s, const char *op) {
    if (!is_op(s, op)) return false;
    s->opened[s->brackets++] = s->tok.at; /* expressions nest less deep than this has places */
    next(s);
    return true;
}

static bool close_bracket(Parser *s, const char *op) {
    if (!is_op(s, op)) return expected_end(s, op), false;
    s->brackets--;
    next(s);
    return true;
}

/* ---- expressions ---- */

typedef VEC(const Expr *) ExprList;

static const Expr *parse_expr(Parser *s, int least);

static Expr *new_expr(Parser *s, ExprKind kind, Where at) {
    Expr *e = ARENA_NEW(s->arena, Expr);
    e->kind = kind;
    e->at = at;
    return e;
}

/* e, complete: NULL where it is too high to walk. */
static const Expr *complete(Parser *s, Expr *e) {
    for (uint32_t k = 0; k < e->num_args; k++)
        if (e->args[k]->height >= e->height) e->height = e->args[k]->height + 1;
    for (uint32_t k = 0; k < e->num_keywords; k++)
        if (e->keywords[k].value->height >= e->height) e->height = e->keywords[k].value->height + 1;
    for (uint32_t k = 0; k < e->num_items; k++) {
        const Expr *at = e->items[k].start;
        if (at && at->height >= e->height) e->height = at->height + 1;
    }
    if (e->height <= MAX_HEIGHT) return e;
    return expected(
        s,
        "a shorter expression (1000 operations deep at most: name a part of it on a line above)");
}

static const Expr *new_call(Parser *s, Where at, const char *name, const Expr *x, const Expr *y) {
    Expr *e = new_expr(s, EXPR_call, at);
    const Expr *args[] = {x, y};
    e->text = name;
    e->num_args = y ? 2 : 1;
    e->args = arena_copy(s->arena, args, e->num_args * sizeof *args);
    return complete(s, e);
}

static const Expr *parse_number(Parser *s) {
    Expr *e = new_expr(s, EXPR_number, s->tok.at);
    e->text = token_text(s);
    locale_t old = locale_enter_c();
    e->number = strtod(e->text, NULL);
    locale_leave_c(old);
    errno = 0;
    e->whole = strtoll(e->text, NULL, 10);
    e->integer = !errno && !strpbrk(e->text, ".eE");
    next(s);
    return e;
}

typedef VEC(Keyword) KeywordList;

static bool parse_argument(Parser *s, ExprList *args, KeywordList *keywords) {
    const Expr *e = parse_expr(s, 0);
    if (!e) return false;
    if (e->kind == EXPR_name && is_op(s, "=")) {
        if (strchr(e->text, '.'))
            return expected(s, "'==' ('=' names a keyword, which no field is)"), false;
        next(s);
        const Expr *value = parse_expr(s, 0);
        if (!value) return false;
        *vec_push(s->arena, keywords) = (Keyword){e->text, value, e->at};
        return true;
    }
    if (keywords->len)
        return expected(s,
                        "'=' and a value (after a keyword argument come keyword arguments only)"),
               false;
    *vec_push(s->arena, args) = e;
    return true;
}

static const Expr *parse_call(Parser *s, Expr *e) {
    ExprList args = {0};
    KeywordList keywords = {0};
    e->kind = EXPR_call;
    while (!is_op(s, ")")) {
        if (!parse_argument(s, &args, &keywords)) return NULL;
        if (!accept(s, ",") && !is_op(s, ")")) return expected_end(s, ")");
    }
    close_bracket(s, ")");
    e->args = args.data;
    e->num_args = args.len;
    e->keywords = keywords.data;
    e->num_keywords = keywords.len;
    return s->status ? NULL : complete(s, e);
}

static const Expr *parse_name(Parser *s) {
    Expr *e = new_expr(s, EXPR_name, s->tok.at);
    e->text = token_text(s);
    next(s);
    if (accept(s, ".")) {
        if (s->tok.kind != TOK_name) return expected(s, "a field's name after '.'");
        e->text = arena_printf(s->arena, "%s.%s", e->text, token_text(s));
        next(s);
        if (is_op(s, "(")) return expected(s, "an operator (a function's name has no prefix)");
        return e;
    }
    return open_bracket(s, "(") ? parse_call(s, e) : e;
}

/* A value of a part, or a name for one before the values. */
static bool parse_component(Parser *s, ExprList *values, KeywordList *names) {
    const Expr *e = parse_expr(s, 0);
    if (!e) return false;
    bool is_name = s->in_part && e->kind == EXPR_name && !strchr(e->text, '.') && is_op(s, "=");
    if (!is_name) return *vec_push(s->arena, values) = e, true;
    if (values->len) return expected(s, "',' or ')' (names come before the values)"), false;
    next(s);
    const Expr *value = parse_expr(s, 0);
    if (value) *vec_push(s->arena, names) = (Keyword){e->text, value, e->at};
    return value != NULL;
}

/* (x), (x, y), [x, y]. */
static const Expr *parse_parens(Parser *s, Where at, const char *end) {
    ExprList parts = {0};
    KeywordList names = {0};
    bool tuple = *end == ']';
    do {
        if (tuple && is_op(s, end)) break;
        if (!parse_component(s, &parts, &names)) return NULL;
        tuple |= is_op(s, ",");
    } while (accept(s, ","));
    if (!close_bracket(s, end)) return NULL;
    if (!tuple && !names.len) return parts.data[0];
    Expr *e = new_expr(s, EXPR_tuple, at);
    e->args = parts.data;
    e->num_args = parts.len;
    e->keywords = names.data;
    e->num_keywords = names.len;
    return complete(s, e);
}

static const Expr *parse_primary(Parser *s) {
    Where at = s->tok.at;
    if (s->tok.kind == TOK_number) return parse_number(s);
    if (s->tok.kind == TOK_name && !foreign_word(s)) return parse_name(s);
    if (open_bracket(s, "(")) return parse_parens(s, at, ")");
    if (open_bracket(s, "[")) return parse_parens(s, at, "]");
    return expected(s, "an expression");
}

static bool parse_part(Parser *s, const Expr **out) {
    if (is_op(s, ":") || is_op(s, ",") || is_op(s, "]")) return true;
    *out = parse_expr(s, 0);
    return *out != NULL;
}

static bool parse_item(Parser *s, Item *item) {
    *item = (Item){0};
    if (accept(s, "...")) return item->rest = true;
    if (is_op(s, "]")) return expected(s, "a position or a slice"), false;
    if (!parse_part(s, &item->start)) return false;
    if (!accept(s, ":")) return item->start ? true : (expected(s, "a position or a slice"), false);
    item->slice = true;
    if (!parse_part(s, &item->stop)) return false;
    return accept(s, ":") ? parse_part(s, &item->step) : true;
}

static const Expr *parse_index(Parser *s, const Expr *of, Where at) {
    Expr *e = new_expr(s, EXPR_index, at);
    VEC(Item) items = {0};
    bool rest = false;
    do {
        Item item;
        if (rest && is_op(s, "..."))
            return expected(s, "a position or a slice ('...' stands once)");
        if (!parse_item(s, &item)) return NULL;
        rest |= item.rest;
        *vec_push(s->arena, &items) = item;
    } while (accept(s, ","));
    if (!close_bracket(s, "]")) return NULL;
    e->args = arena_copy(s->arena, &of, sizeof of);
    e->num_args = 1;
    e->items = items.data;
    e->num_items = items.len;
    return complete(s, e);
}

static const Expr *parse_postfix(Parser *s) {
    const Expr *e = parse_primary(s);
    while (e && is_op(s, "[")) {
        Where at = s->tok.at;
        open_bracket(s, "[");
        e = parse_index(s, e, at);
    }
    return e;
}

/* ORDER of precedence, as in Python: comparisons bind least, ** most (and to the right). */
enum { LEVEL_compare = 1, LEVEL_unary = 7, LEVEL_power = 8 };
static const struct {
    const char *op, *name;
    int level;
} operators[] = {{"<", "lt", LEVEL_compare},
                 {"<=", "le", LEVEL_compare},
                 {">", "gt", LEVEL_compare},
                 {">=", "ge", LEVEL_compare},
                 {"==", "eq", LEVEL_compare},
                 {"!=", "ne", LEVEL_compare},
                 {"|", "or", 2},
                 {"^", "xor", 3},
                 {"&", "and", 4},
                 {"+", "add", 5},
                 {"-", "sub", 5},
                 {"*", "mul", 6},
                 {"/", "div", 6},
                 {"@", "matmul", 6},
                 {"//", "floordiv", 6},
                 {"%", "mod", 6},
                 {"**", "pow", LEVEL_power}};
enum { NUM_OPERATORS = sizeof operators / sizeof *operators };

static int find_operator(const Parser *s) {
    for (int k = 0; k < NUM_OPERATORS; k++)
        if (is_op(s, operators[k].op)) return k;
    return -1;
}

static const Expr *parse_prefix(Parser *s) {
    Where at = s->tok.at;
    const char *name = is_op(s, "-") ? "neg" : is_op(s, "~") ? "not" : NULL;
    if (!name && !is_op(s, "+")) return parse_postfix(s);
    next(s);
    const Expr *x = parse_expr(s, LEVEL_unary);
    return x && name ? new_call(s, at, name, x, NULL) : x;
}

/* e, written from there to the last token. */
static const Expr *written(Parser *s, const Expr *e, const char *from) {
    Expr *own = (Expr *)(uintptr_t)e; /* the parser's until it is handed out */
    if (!e) return NULL;
    own->from = from;
    own->len = (uint32_t)(s->last - from);
    return e;
}

static const Expr *climb(Parser *s, int least) {
    const char *from = s->tok.start;
    const Expr *left = written(s, parse_prefix(s), from);
    for (int k; left && (k = find_operator(s)) >= 0 && operators[k].level >= least;) {
        Where at = s->tok.at;
        bool compares = operators[k].level == LEVEL_compare;
        next(s);
        const Expr *right =
            parse_expr(s, operators[k].level == LEVEL_power ? LEVEL_unary : operators[k].level + 1);
        if (!right) return NULL;
        left = written(s, new_call(s, at, operators[k].name, left, right), from);
        if (left && compares && find_operator(s) >= 0 &&
            operators[find_operator(s)].level == LEVEL_compare)
            return expected(s, "one comparison (join two with &, in parentheses)");
    }
    return left;
}

static const Expr *parse_expr(Parser *s, int least) {
    if (++s->depth > MAX_DEPTH)
        return expected(s, "less nesting (200 deep at most: name a part on a line above)");
    const Expr *e = climb(s, least);
    s->depth--;
    return e;
}

/* ---- lines ---- */

static bool is_part(const char *name) {
    static const char *const parts[] = {"identity",    "lift",        "combine",      "finalize",
                                        "associative", "commutative", "deterministic"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (!strcmp(name, parts[k])) return true;
    return false;
}

static bool parse_params(Parser *s, Line *line) {
    VEC(const char *) params = {0};
    while (!is_op(s, ")")) {
        if (s->tok.kind != TOK_name) return expected(s, "a parameter's name"), false;
        *vec_push(s->arena, &params) = token_text(s);
        next(s);
        if (!accept(s, ",")) break;
    }
    line->params = params.data;
    line->num_params = params.len;
    return close_bracket(s, ")");
}

static bool parse_left(Parser *s, Line *line) {
    line->at = s->tok.at;
    if (s->tok.kind != TOK_name)
        return expected(s, "a name to define (a line goes on only where a bracket is open)"), false;
    line->name = token_text(s);
    next(s);
    if (!accept(s, ".")) return true;
    if (s->tok.kind != TOK_name || !is_part(token_text(s)))
        return expected(s, "identity, lift, combine, finalize, associative, commutative or "
                           "deterministic (fields cannot be assigned)"),
               false;
    line->part = token_text(s);
    next(s);
    return open_bracket(s, "(") ? parse_params(s, line) : true;
}

/* All of a part in parentheses, for line breaks' sake. */
static void open_tuple(ExprList *values, KeywordList *names) {
    if (values->len != 1 || names->len || values->data[0]->kind != EXPR_tuple) return;
    const Expr *e = values->data[0];
    *names = (KeywordList){(Keyword *)(uintptr_t)e->keywords, e->num_keywords, e->num_keywords};
    *values = (ExprList){(const Expr **)(uintptr_t)e->args, e->num_args, e->num_args};
}

static bool parse_line(Parser *s, Line *line) {
    ExprList values = {0};
    KeywordList names = {0};
    *line = (Line){0};
    if (!parse_left(s, line)) return false;
    if (!accept(s, "=")) return expected(s, "'=' (a line is NAME = expression)"), false;
    s->in_part = line->part != NULL;
    do {
        if (!parse_component(s, &values, &names)) return false;
    } while (line->part && accept(s, ","));
    if (line->part) open_tuple(&values, &names);
    line->values = values.data;
    line->num_values = values.len;
    line->names = names.data;
    line->num_names = names.len;
    if (s->tok.kind != TOK_line && s->tok.kind != TOK_end)
        return expected(s, "an operator or the end of the line"), false;
    return true;
}

Status formula_parse(Arena *a, const char *text, Formula *out) {
    Parser s = {.arena = a, .p = arena_str(a, text), .here = {1, 1}};
    VEC(Line) lines = {0};
    if (!strncmp(text, "\xef\xbb\xbf", 3)) s.p += 3; /* a byte order mark */
    next(&s);
    while (s.tok.kind != TOK_end) {
        if (s.tok.kind == TOK_line) {
            next(&s);
            continue;
        }
        Line line;
        if (!parse_line(&s, &line)) return s.status;
        *vec_push(a, &lines) = line;
    }
    if (!lines.len)
        return err_set(ST_SYNTAX, "1:1: expected a formula, such as out = sum(src.x), got nothing");
    *out = (Formula){lines.data, lines.len};
    return ST_OK;
}
