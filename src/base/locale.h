/* Numbers are read and written under the C locale, whatever the host program has set: a decimal comma
 * would cut "0.5" short. For the calling thread alone, until it is left. */
#ifndef TIGA_BASE_LOCALE_H
#define TIGA_BASE_LOCALE_H

#include <locale.h>

locale_t locale_enter_c(void);
void locale_leave_c(locale_t old); /* old: what locale_enter_c gave */

#endif
