/* The code generator's shared object, opened on the first compilation and never before: a process
 * whose kernels are all cached loads no LLVM. */
#ifndef TIGA_RUN_CODEGEN_OPEN_H
#define TIGA_RUN_CODEGEN_OPEN_H

#include "codegen/codegen.h"

/* Searched in this order: TIGA_CODEGEN (a file, or a folder that holds it), the folder of the object
 * that this code is linked into, the folder above, lib beside that folder's own, the folder of
 * installation, the dynamic linker's path. ST_UNSUPPORTED where it cannot be opened; the message names what was tried. */
Status codegen_compile(const CompileRequest *request, Image *out);
/* kind as in codegen.h; *text is malloc'ed. */
Status codegen_text(const CompileRequest *request, const char *kind, char **text, size_t *len);

/* Which generator would be opened, by the file's size and time; 0 where none is found. Opens
 * nothing. */
uint64_t codegen_stamp(void);
bool codegen_is_open(void);
/* As CodegenAbout, opening the generator; says why where it cannot be opened. */
void codegen_about(char *text, size_t size);

/* Tests: compile is called in place of the generator's; NULL ends that. */
void codegen_replace(CodegenCompile *compile);

#endif
