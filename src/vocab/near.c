/* Names that differ by few edits (optimal string alignment: Damerau, CACM 7(3), 1964). */
#include "vocab/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63, FAR = 99 };

static int least(int a, int b) { return a < b ? a : b; }

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int num_edits(const char *a, const char *b) {
    int row[3][LONGEST + 1];
    size_t la = strlen(a), lb = strlen(b);
    if (la > LONGEST || lb > LONGEST) return FAR;
    for (size_t i = 0; i <= la; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t k = 1; k <= lb; k++) {
            if (i == 0) {
                now[k] = (int)k;
                continue;
            }
            now[k] = least(before[k - 1] + !same_letter(a[i - 1], b[k - 1]),
                           least(before[k], now[k - 1]) + 1);
            bool swapped = i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
                           same_letter(a[i - 2], b[k - 1]);
            if (swapped) now[k] = least(now[k], two[k - 2] + 1);
        }
    }
    return row[la % 3][lb];
}

static const char *behind_place(const char *name) {
    const char *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

/* How many edits still make a name a slip of the other: none but capitals in one of two letters. */
static int most_edits(size_t length) { return length < 3 ? 0 : length < 6 ? 1 : 2; }

Near near_to(const char *word) { return (Near){.word = word, .edits = FAR}; }

void near_try(Near *n, const char *known) {
    const char *own = behind_place(n->word), *other = behind_place(known);
    bool same_place =
        own - n->word == other - known && !strncmp(n->word, known, (size_t)(own - n->word));
    int edits = same_place ? num_edits(own, other) : strcmp(own, other) ? FAR : 1;
    bool near = !same_place || edits <= most_edits(strlen(own));
    if (!near || edits >= n->edits || !strcmp(n->word, known)) return;
    n->edits = edits;
    n->best = known;
}

const char *near_hint(Near *n) {
    if (n->best) snprintf(n->hint, sizeof n->hint, "; did you mean '%s'?", n->best);
    return n->hint;
}
