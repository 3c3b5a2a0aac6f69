/* "did you mean": the known name that is nearest to an unknown one, for messages. */
#ifndef TIGA_VOCAB_NEAR_H
#define TIGA_VOCAB_NEAR_H

typedef struct {
    const char *word, *best;
    int edits; /* of best */
    char hint[96];
} Near;

/* near_to starts with an unknown name, near_try offers a known one, near_hint gives "; did you mean 'sin'?", or ""
 * where none is near: a letter or two added, left out, exchanged or swapped, by length; in capitals; a field of the
 * same name in another place. */
Near near_to(const char *word);
void near_try(Near *n, const char *known);
const char *near_hint(Near *n);

#endif
