/* Bytes -> tokens. Every look ahead is checked against the end: the text need not be terminated. */
#include "text/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- faults ---- */

static void find_place(const Lex *x, const char *at, unsigned *line, unsigned *column) {
    *line = *column = 1;
    for (const char *s = x->text; s < at; s++) {
        ++*column;
        if (*s == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

void lex_fail(Lex *x, Status status, const char *at, const char *format, ...) {
    if (x->status) return;
    char why[ERR_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    unsigned line, column;
    find_place(x, at, &line, &column);
    x->status = status;
    x->message = arena_printf(x->arena, "%u:%u: %s", line, column, why);
    x->at = x->end;
    x->tok = (Token){T_end, x->end, 0};
}

void lex_expected(Lex *x, const char *what) {
    char found[64] = "the end";
    if (x->tok.kind != T_end) {
        size_t n = x->tok.len < 40 ? x->tok.len : 40;
        snprintf(found, sizeof found, "'%.*s'%s", (int)n, x->tok.start,
                 n < x->tok.len ? "..." : "");
        for (char *c = found; *c; c++)
            if (*c < 32 || *c > 126) *c = '?';
    }
    lex_fail(x, ST_SYNTAX, x->tok.start, "expected %s, found %s", what, found);
}

/* ---- tokens ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_suffix(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
static bool is_value(char c) { return is_suffix(c) || c == '-'; }

static char peek(const Lex *x, size_t k) { return (size_t)(x->end - x->at) > k ? x->at[k] : 0; }

static void skip_space(Lex *x) {
    for (; x->at < x->end; x->at++) {
        if (peek(x, 0) == '/' && peek(x, 1) == '/') {
            while (x->at < x->end && *x->at != '\n') x->at++;
            if (x->at == x->end) return;
        }
        if (!strchr(" \t\r\n", *x->at) || !*x->at) return;
    }
}

static void skip_while(Lex *x, bool (*is)(char)) {
    while (x->at < x->end && is(*x->at)) x->at++;
}

static void scan_string(Lex *x) {
    const char *start = x->at++;
    while (x->at < x->end && *x->at != '"' && *x->at != '\n')
        x->at += *x->at == '\\' && x->end - x->at > 1 ? 2 : 1;
    if (peek(x, 0) == '"') x->at++;
    else lex_fail(x, ST_SYNTAX, start, "the string does not end on its line");
}

static int scan_number(Lex *x) {
    if (peek(x, 0) == '0' && peek(x, 1) == 'x' && is_hex(peek(x, 2))) {
        x->at += 2;
        skip_while(x, is_hex);
        return T_integer;
    }
    skip_while(x, is_digit);
    if (peek(x, 0) != '.') return T_integer;
    x->at++;
    skip_while(x, is_digit);
    size_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';
    if ((peek(x, 0) == 'e' || peek(x, 0) == 'E') && is_digit(peek(x, 1 + sign))) {
        x->at += 1 + sign;
        skip_while(x, is_digit);
    }
    return T_float;
}

static int scan_symbol(Lex *x) {
    x->at++;
    if (peek(x, 0) == '"') scan_string(x);
    else if (is_letter(peek(x, 0))) skip_while(x, is_suffix);
    else lex_fail(x, ST_SYNTAX, x->at - 1, "expected a name after '@'");
    return T_symbol;
}

static int scan_punct(Lex *x) {
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {{"->", T_arrow}, {"::", T_scope}, {"<{", T_open}, {"}>", T_close}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (peek(x, 0) == pairs[k].text[0] && peek(x, 1) == pairs[k].text[1]) {
            x->at += 2;
            return pairs[k].kind;
        }
    char c = *x->at++;
    if (strchr("(){}[]<>:,=-?#", c) && c) return c;
    lex_fail(x, ST_SYNTAX, x->at - 1, "unexpected byte 0x%02X", (unsigned char)c);
    return T_end;
}

static int scan(Lex *x) {
    char c = *x->at, next = peek(x, 1);
    if (is_letter(c)) return skip_while(x, is_suffix), T_word;
    if (is_digit(c)) return scan_number(x);
    if (c == '"') return scan_string(x), T_string;
    if (c == '@') return scan_symbol(x);
    if (c == '%' && is_value(next)) return x->at++, skip_while(x, is_value), T_value;
    if (c == '^' && is_value(next)) return x->at++, skip_while(x, is_value), T_block;
    if (c == '#' && is_letter(next)) return x->at++, skip_while(x, is_suffix), T_attribute;
    return scan_punct(x);
}

void lex_next(Lex *x) {
    skip_space(x);
    const char *start = x->at;
    int kind = x->at < x->end ? scan(x) : T_end;
    if (!x->status) x->tok = (Token){kind, start, (size_t)(x->at - start)};
}

void lex_start(Lex *x, Arena *a, const char *text, size_t len) {
    *x = (Lex){.arena = a, .text = text, .at = text, .end = text + len};
    lex_next(x);
}

/* ---- asking ---- */

bool lex_is_word(const Lex *x, const char *word) {
    return lex_is(x, T_word) && x->tok.len == strlen(word) &&
           !memcmp(x->tok.start, word, x->tok.len);
}

bool lex_take(Lex *x, int kind) {
    if (!lex_is(x, kind)) return false;
    lex_next(x);
    return true;
}

bool lex_take_word(Lex *x, const char *word) {
    if (!lex_is_word(x, word)) return false;
    lex_next(x);
    return true;
}

bool lex_need(Lex *x, int kind, const char *what) {
    if (lex_take(x, kind)) return true;
    lex_expected(x, what);
    return false;
}

bool lex_need_word(Lex *x, const char *word) {
    if (lex_take_word(x, word)) return true;
    lex_expected(x, word);
    return false;
}

/* ---- texts ---- */

static int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10; }

/* The length of the UTF-8 sequence at s, 0 where it is not one: no overlong forms, no surrogates. */
static size_t utf8_length(const unsigned char *s, size_t n) {
    unsigned c = s[0];
    size_t len = c < 0x80                ? 1
                 : c >= 0xC2 && c < 0xE0 ? 2
                 : (c & 0xF0) == 0xE0    ? 3
                 : c >= 0xF0 && c < 0xF5 ? 4
                                         : 0;
    if (len > n) return 0;
    for (size_t k = 1; k < len; k++)
        if ((s[k] & 0xC0) != 0x80) return 0;
    bool wrong = len > 1 && ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) ||
                             (c == 0xF0 && s[1] < 0x90) || (c == 0xF4 && s[1] > 0x8F));
    return wrong ? 0 : len;
}

static bool is_utf8(const char *s, size_t n) {
    for (size_t step; n > 0; s += step, n -= step) {
        step = utf8_length((const unsigned char *)s, n);
        if (step == 0) return false;
    }
    return true;
}

/* One escape at s (behind the backslash); 0 where there is none such. */
static size_t unescape(const char *s, size_t n, char *out) {
    static const char letters[] = "\"\\nt", bytes[] = "\"\\\n\t";
    const char *found = n && *s ? strchr(letters, *s) : NULL;
    if (found) return *out = bytes[found - letters], 1;
    if (n < 2 || !is_hex(s[0]) || !is_hex(s[1])) return 0;
    *out = (char)(hex_value(s[0]) * 16 + hex_value(s[1]));
    return 2;
}

/* Between the quotes. */
static const char *unquote(Lex *x, const char *s, size_t n) {
    char *out = arena_alloc(x->arena, n + 1);
    size_t len = 0;
    for (const char *at = s, *end = s + n; at < end; len++) {
        out[len] = *at++;
        if (out[len] == '\\') {
            size_t step = unescape(at, (size_t)(end - at), &out[len]);
            if (step == 0) return lex_fail(x, ST_SYNTAX, at - 1, "no such escape in a string"), "";
            at += step;
        }
        if (!out[len]) return lex_fail(x, ST_SYNTAX, s, "a NUL byte in a string"), "";
    }
    if (!is_utf8(out, len)) return lex_fail(x, ST_SYNTAX, s, "the string is not valid UTF-8"), "";
    return out;
}

static const char *plain(Lex *x, const char *s, size_t n) {
    char *out = arena_alloc(x->arena, n + 1);
    if (n) memcpy(out, s, n);
    return out;
}

const char *lex_text(Lex *x, int kind, const char *what) {
    if (!lex_is(x, kind)) return lex_expected(x, what), "";
    Token t = x->tok;
    if (kind == T_symbol || kind == T_attribute) t.start++, t.len--;
    bool quoted = *t.start == '"';
    const char *s = quoted ? unquote(x, t.start + 1, t.len - 2) : plain(x, t.start, t.len);
    if (!x->status) lex_next(x);
    return s;
}

static bool decimal(const char *s, size_t n, uint64_t most, uint64_t *out) {
    uint64_t value = 0;
    for (size_t k = 0; k < n; k++) {
        if (!is_digit(s[k]) || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s[k] - '0'), &value))
            return false;
    }
    *out = value;
    return n > 0 && value <= most;
}

uint64_t lex_count(Lex *x, uint64_t most, const char *what) {
    uint64_t value = 0;
    if (!lex_is(x, T_integer)) return lex_expected(x, what), 0;
    if (!decimal(x->tok.start, x->tok.len, most, &value)) {
        lex_fail(x, ST_SYNTAX, x->tok.start, "%s: expected at most %llu", what,
                 (unsigned long long)most);
        return 0;
    }
    lex_next(x);
    return value;
}

int lex_dims(Lex *x, int64_t *dim, int most) {
    if (!lex_is(x, '<')) return lex_expected(x, "'<'"), 0;
    int n = 0;
    for (skip_space(x); is_digit(peek(x, 0)) || peek(x, 0) == '?'; n++) {
        const char *start = x->at;
        uint64_t value = 0;
        if (*start == '?') x->at++;
        else skip_while(x, is_digit);
        if (n == most) return lex_fail(x, ST_SYNTAX, start, "more than %d dimensions", most), 0;
        if (*start != '?' && !decimal(start, (size_t)(x->at - start), INT64_MAX, &value))
            return lex_fail(x, ST_SYNTAX, start, "no such dimension"), 0;
        if (peek(x, 0) != 'x')
            return lex_fail(x, ST_SYNTAX, x->at, "expected 'x' after a dimension"), 0;
        x->at++;
        dim[n] = *start == '?' ? -1 : (int64_t)value;
    }
    lex_next(x);
    return n;
}
