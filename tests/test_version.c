/* The header, the library and the build agree on the version. */
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void header_and_library_agree(void **state) {
    (void)state;
    assert_string_equal(tg_version(), TG_VERSION);
    assert_string_equal(tg_version(), TIGA_PROJECT_VERSION);
}

static void parts_spell_the_version(void **state) {
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", TG_VERSION_MAJOR, TG_VERSION_MINOR, TG_VERSION_PATCH);
    assert_string_equal(text, TG_VERSION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_and_library_agree),
        cmocka_unit_test(parts_spell_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
