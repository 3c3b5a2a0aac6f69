/* Finds, opens and calls the generator. The search is done once a process. */
#include "run/codegen_open.h"

#include "base/debug.h"
#include "base/hash.h"
#include "installed.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "libtiga_codegen.so";

static char found[PATH_MAX];             /* "" where only the dynamic linker may know */
static char tried[ERR_MESSAGE_SIZE / 2]; /* one path a line */
static uint64_t stamp;
static pthread_once_t searched = PTHREAD_ONCE_INIT, opened = PTHREAD_ONCE_INIT;

static CodegenCompile *compile_fn;
static CodegenText *text_fn;
static CodegenAbout *about_fn;
static char why_not[ERR_MESSAGE_SIZE]; /* set where opening failed */
static _Atomic bool is_open;
static _Atomic(CodegenCompile *) replaced;

static void note(const char *path) {
    size_t len = strlen(tried);
    snprintf(tried + len, sizeof tried - len, "\n  %s", path);
}

static bool try_file(const char *path) {
    struct stat s;
    note(path);
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return false;
    snprintf(found, sizeof found, "%s", path);
    uint64_t facts[4] = {(uint64_t)s.st_size, (uint64_t)s.st_mtim.tv_sec,
                         (uint64_t)s.st_mtim.tv_nsec, CODEGEN_VERSION};
    stamp = hash_bytes(facts, sizeof facts, 0) | 1;
    return true;
}

static bool try_folder(const char *folder, const char *below) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, file_name);
    return n > 0 && n < (int)sizeof path && try_file(path);
}

static bool try_switch(void) {
    /* A program that runs with more rights than its caller takes no code from the environment. */
    const char *given = getauxval(AT_SECURE) ? NULL : debug_get("CODEGEN");
    if (!given) return false;
    struct stat s;
    bool folder = stat(given, &s) == 0 && S_ISDIR(s.st_mode);
    return folder ? try_folder(given, "") : try_file(given);
}

/* A path relative to the folder of start is worth nothing later: the program's own is asked then. */
static bool own_folder(char folder[PATH_MAX]) {
    Dl_info info;
    if (!dladdr((void *)found, &info) || !info.dli_fname) return false;
    if (!realpath(info.dli_fname, folder) && !realpath("/proc/self/exe", folder)) return false;
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = 0;
    return true;
}

static void search(void) {
    char folder[PATH_MAX];
    if (try_switch()) return;
    if (own_folder(folder) && (try_folder(folder, "") || try_folder(folder, "/..") ||
                               try_folder(folder, TG_LIBDIR_FROM_BIN)))
        return;
    if (try_folder(TG_LIBDIR, "")) return;
    note(file_name);
}

static void open_once(void) {
    pthread_once(&searched, search);
    const char *path = found[0] ? found : file_name;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(why_not, sizeof why_not, "the code generator cannot be opened: %.600s; tried:%s",
                 dlerror(), tried);
        return;
    }
    *(void **)&compile_fn = dlsym(handle, CODEGEN_COMPILE_SYMBOL);
    *(void **)&text_fn = dlsym(handle, CODEGEN_TEXT_SYMBOL);
    *(void **)&about_fn = dlsym(handle, CODEGEN_ABOUT_SYMBOL);
    if (compile_fn && text_fn && about_fn) atomic_store(&is_open, true);
    else snprintf(why_not, sizeof why_not, "%.600s is no code generator of this version", path);
}

static Status open_generator(void) {
    pthread_once(&opened, open_once);
    return atomic_load(&is_open) ? ST_OK : err_set(ST_UNSUPPORTED, "%s", why_not);
}

uint64_t codegen_stamp(void) {
    pthread_once(&searched, search);
    return stamp;
}

bool codegen_is_open(void) { return atomic_load(&is_open); }

void codegen_about(char *text, size_t size) {
    if (open_generator()) snprintf(text, size, "%s", err_message());
    else about_fn(text, size);
}

void codegen_replace(CodegenCompile *compile) { atomic_store(&replaced, compile); }

Status codegen_compile(const CompileRequest *request, Image *out) {
    char message[ERR_MESSAGE_SIZE] = "";
    CodegenCompile *compile = atomic_load(&replaced);
    if (!compile) {
        Status status = open_generator();
        if (status) return status;
        compile = compile_fn;
    }
    Status status = compile(request, out, message, sizeof message);
    return status ? err_set(status, "%s", message) : ST_OK;
}

Status codegen_text(const CompileRequest *request, const char *kind, char **text, size_t *len) {
    char message[ERR_MESSAGE_SIZE] = "";
    Status status = open_generator();
    if (status) return status;
    status = text_fn(request, kind, text, len, message, sizeof message);
    return status ? err_set(status, "%s", message) : ST_OK;
}
