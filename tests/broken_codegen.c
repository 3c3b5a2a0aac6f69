/* A code generator whose every kernel is a bug of Tiga's: what a user sees then. */
#include "codegen/codegen.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT CodegenCompile codegen_compile;
EXPORT CodegenText codegen_text;
EXPORT CodegenAbout codegen_about;

Status codegen_compile(const CompileRequest *request, Image *out, char *message, size_t size) {
    (void)request, (void)out;
    snprintf(message, size, "a seeded bug");
    return ST_BUG;
}

Status codegen_text(const CompileRequest *request, const char *kind, char **text, size_t *len,
                    char *message, size_t size) {
    (void)request, (void)kind, (void)text, (void)len;
    snprintf(message, size, "a seeded bug");
    return ST_BUG;
}

void codegen_about(char *text, size_t size) { snprintf(text, size, "broken"); }
