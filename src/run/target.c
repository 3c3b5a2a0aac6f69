/* cpuid on x86, the kernel's hardware capability words on AArch64, uname elsewhere. */
#include "run/target.h"

#include "base/debug.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char host[256], cpu[64], features[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

typedef struct {
    uint32_t a, b, c, d;
} Regs;

static Regs leaf(uint32_t n, uint32_t sub) {
    Regs r = {0};
    if (!__get_cpuid_count(n, sub, &r.a, &r.b, &r.c, &r.d)) return (Regs){0};
    return r;
}

/* Which register files the system saves: AVX and AVX-512 are unusable without. */
static uint32_t saved_state(const Regs *basic) {
    uint32_t low = 0, high = 0;
    enum { OSXSAVE = 1 << 27 };
    if (basic->c & OSXSAVE) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void read_host(void) {
    /* Bits that differ from core to core or boot to boot: leaf 1's b holds the APIC id, and its c
     * and d are kept; leaf 7's are features alone. */
    Regs maker = leaf(0, 0), basic = leaf(1, 0), more = leaf(7, 0), most = leaf(7, 1);
    Regs extended = leaf(0x80000001u, 0), avx10 = leaf(0x24, 0), wide = leaf(0x19, 0);
    snprintf(host, sizeof host, "x86 %.4s%.4s%.4s %x %x.%x.%x.%x %x.%x.%x %x.%x.%x %x.%x %x %x",
             (char *)&maker.b, (char *)&maker.d, (char *)&maker.c, basic.a, basic.c, basic.d,
             saved_state(&basic), (unsigned)sizeof(void *), more.b, more.c, more.d, most.a, most.c,
             most.d, extended.c, extended.d, avx10.b, wide.b);
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

#ifndef HWCAP_CPUID
#define HWCAP_CPUID (1 << 11)
#endif

/* Maker, part and variant of the core; the system emulates the read. */
static uint64_t core_id(unsigned long caps) {
    uint64_t id = 0;
    if (caps & HWCAP_CPUID) __asm__("mrs %0, MIDR_EL1" : "=r"(id));
    return id;
}

static void read_host(void) {
    unsigned long caps = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
    snprintf(host, sizeof host, "aarch64 %llx %lx %lx", (unsigned long long)core_id(caps), caps,
             more);
}
#else
#include <sys/utsname.h>

static void read_host(void) {
    struct utsname name;
    if (uname(&name) == 0) snprintf(host, sizeof host, "%.64s", name.machine);
}
#endif

static void read_all(void) {
    read_host();
    const char *given = debug_get("TARGET");
    if (!given) return;
    size_t len = strcspn(given, ",");
    snprintf(cpu, sizeof cpu, "%.*s", (int)len, given);
    if (given[len]) snprintf(features, sizeof features, "%s", given + len + 1);
}

const char *target_host_key(void) {
    pthread_once(&once, read_all);
    return host;
}

const char *target_cpu(void) {
    pthread_once(&once, read_all);
    return cpu;
}

const char *target_features(void) {
    pthread_once(&once, read_all);
    return features;
}

size_t target_l2_bytes(void) {
    enum { UNKNOWN = 1 << 20 };
    long bytes = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : UNKNOWN;
}
