/* LLVM's set-up: targets once a process, a target machine a compile. */
#include "codegen/target.h"

#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* LLVM exits after this; without it the message would be lost in some hosts. */
static void report_fatal(const char *reason) { fprintf(stderr, "tiga: LLVM: %s\n", reason); }

static void init_llvm(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInstallFatalErrorHandler(report_fatal);
}

/* What a list says of a feature in the end: 1 on, -1 off, 0 nothing. */
static int feature_state(const char *list, const char *feature) {
    size_t n = strlen(feature);
    int state = 0;
    for (const char *p = list; (p = strstr(p, feature)); p += n) {
        bool starts = p > list && (p == list + 1 || p[-2] == ',');
        if (starts && (p[n] == ',' || !p[n])) state = p[-1] == '+' ? 1 : p[-1] == '-' ? -1 : state;
    }
    return state;
}

static bool has_feature(const char *list, const char *feature) {
    return feature_state(list, feature) > 0;
}

typedef struct {
    const char *cpu;
    int vector_bytes;
} KnownCpu;

/* x86 cpus asked for by name, by their vectors; the host's are read from its features. */
static const KnownCpu known_cpus[] = {
    {"haswell", 32},        {"broadwell", 32},   {"skylake", 32},        {"znver1", 32},
    {"znver2", 32},         {"znver3", 32},      {"x86-64-v3", 32},      {"alderlake", 32},
    {"skylake-avx512", 64}, {"cascadelake", 64}, {"icelake-server", 64}, {"sapphirerapids", 64},
    {"znver4", 64},         {"znver5", 64},      {"x86-64-v4", 64},      {"graniterapids", 64},
};

static int known_bytes(const char *cpu) {
    for (size_t i = 0; i < sizeof known_cpus / sizeof *known_cpus; i++)
        if (!strcmp(known_cpus[i].cpu, cpu)) return known_cpus[i].vector_bytes;
    return 0;
}

static bool x86_has_f16(const char *cpu, const char *features) {
    int state = feature_state(features, "f16c");
    return state ? state > 0 : known_bytes(cpu) > 0; /* as all of them have it */
}

static int x86_vector_bytes(const char *cpu, const char *features) {
    int bytes = known_bytes(cpu);
    if (has_feature(features, "avx2") && has_feature(features, "fma") && bytes < 32) bytes = 32;
    bool avx512 = has_feature(features, "avx512f") && has_feature(features, "avx512vl") &&
                  has_feature(features, "avx512bw") && has_feature(features, "avx512dq");
    if (avx512 && bytes) bytes = 64;
    bool off = feature_state(features, "avx512f") < 0 || feature_state(features, "avx512vl") < 0;
    return off && bytes > 32 ? 32 : bytes;
}

static bool is_intel(const char *cpu) {
    return strncmp(cpu, "znver", 5) != 0 && strncmp(cpu, "x86-64", 6) != 0;
}

/* "triple:cpu" split; the default triple where there is none. */
static const char *split_cpu(const char *cpu, Target *t) {
    const char *colon = strchr(cpu, ':');
    if (!colon) {
        t->triple = LLVMGetDefaultTargetTriple();
        return cpu;
    }
    char *copy = LLVMCreateMessage(cpu);
    copy[colon - cpu] = 0;
    t->triple = LLVMCreateMessage(copy);
    LLVMDisposeMessage(copy);
    return colon + 1;
}

static Status open_machine(const char *cpu, const char *features, Target *t) {
    LLVMTargetRef target;
    char *why = NULL;
    if (LLVMGetTargetFromTriple(t->triple, &target, &why)) {
        Status st = err_set(ST_UNSUPPORTED, "target '%s': %s", t->triple, why);
        LLVMDisposeMessage(why);
        return st;
    }
    t->is_aarch64 = !strncmp(t->triple, "aarch64", 7);
    bool x86 = !strncmp(t->triple, "x86_64", 6);
    t->vector_bytes = t->is_aarch64 ? 16 : x86 ? x86_vector_bytes(cpu, features) : 0;
    t->has_f16 = t->is_aarch64 || (x86 && x86_has_f16(cpu, features));
    t->asks_l1 = x86 && is_intel(cpu);
    t->num_vectors = t->vector_bytes == 32 ? 16 : 32;
    if (!t->vector_bytes)
        return err_set(ST_UNSUPPORTED,
                       "target '%s', cpu '%s': no fused multiply-add (AVX2 or NEON is needed)",
                       t->triple, cpu);
    t->machine = LLVMCreateTargetMachine(target, t->triple, cpu, features, LLVMCodeGenLevelDefault,
                                         LLVMRelocPIC, LLVMCodeModelSmall);
    return t->machine ? ST_OK
                      : err_set(ST_UNSUPPORTED, "target '%s': no machine for it", t->triple);
}

Status target_open(const char *cpu, const char *features, Target *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_llvm);
    Target t = {0};
    char *host_cpu = NULL, *host_features = NULL;
    if (!*cpu) {
        cpu = host_cpu = LLVMGetHostCPUName();
        if (!*features) features = host_features = LLVMGetHostCPUFeatures();
    }
    Status st = open_machine(split_cpu(cpu, &t), features, &t);
    if (host_cpu) LLVMDisposeMessage(host_cpu);
    if (host_features) LLVMDisposeMessage(host_features);
    if (st) target_close(&t);
    else *out = t;
    return st;
}

void target_close(Target *t) {
    if (t->machine) LLVMDisposeTargetMachine(t->machine);
    if (t->triple) LLVMDisposeMessage(t->triple);
    *t = (Target){0};
}
