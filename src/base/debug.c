/* The table of TIGA_ environment variables. In: the environment, once a process. Out: values, and
 * the table as text. Values are copied, since a later setenv() may move the caller's. */
#include "base/debug.h"

#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *name, *help;
    char *value;
} table[] = {
    {"DEBUG", "print programs at these stages: domain,prepared,iter,kernel,task,llvm,asm or all"},
    {"DUMP", "write each stage to this folder, as files that are valid inputs"},
    {"VERIFY", "1: verify every program and kernel that is planned"},
    {"EXEC", "interp: run everything on the interpreter"},
    {"OFF", "parts to leave out: cache (of code on disk), move (of work off the edges), openmp "
            "(torch's threads)"},
    {"THREADS", "threads of a call (default: OMP_NUM_THREADS, else the processors)"},
    {"STATS", "1: say at exit how many kernels were found, compiled and kept"},
    {"PERF", "1: name jitted code for perf"},
    {"CACHE_DIR", "folder of compiled code (default: tiga in the XDG cache folder)"},
    {"FAST_MATH", "1: allow reassociation and approximations; results change"},
    {"TENSOR_BACKEND", "native, auto or python-oracle (the interpreter)"},
    {"BUFFERS", "bytes of freed results kept for reuse (default: 1 GiB or a quarter of memory)"},
    {"TARGET", "cpu,+feature,-feature: generate code for these (default: this machine)"},
    {"SCHEDULE", "edge-lanes,feature-lanes,..: use this schedule where a kernel can"},
    {"CODEGEN", "path of the code generator (default: beside the library)"},
};
enum { NUM_SWITCHES = sizeof table / sizeof *table };

static char help[2048];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_all(void) {
    size_t used = 0;
    for (int i = 0; i < NUM_SWITCHES; i++) {
        char name[32];
        snprintf(name, sizeof name, "TIGA_%s", table[i].name);
        const char *value = getenv(name);
        if (value && *value) table[i].value = strdup(value);
        if (used < sizeof help)
            used += (size_t)snprintf(help + used, sizeof help - used, "%-20s %s\n", name,
                                     table[i].help);
    }
}

const char *debug_get(const char *name) {
    pthread_once(&once, read_all);
    for (int i = 0; i < NUM_SWITCHES; i++)
        if (!strcmp(table[i].name, name)) return table[i].value;
    TIGA_UNREACHABLE("a debug switch that is not in the table");
}

bool debug_has(const char *name, const char *word) {
    const char *list = debug_get(name);
    size_t n = strlen(word);
    while (list) {
        size_t len = strcspn(list, ",");
        if (len == n && !memcmp(list, word, n)) return true;
        list = list[len] ? list + len + 1 : NULL;
    }
    return false;
}

const char *debug_help(void) {
    pthread_once(&once, read_all);
    return help;
}
