/* The C locale is made once a process; where there is no memory for it the thread keeps its own. */
#include "base/locale.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

locale_t locale_enter_c(void) {
    pthread_once(&once, make_c_locale);
    return c_locale ? uselocale(c_locale) : (locale_t)0;
}

void locale_leave_c(locale_t old) {
    if (old) uselocale(old);
}
