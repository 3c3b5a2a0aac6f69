/* Counts usable processors. The quota is the smallest on the way from our group to the root, of
 * cpu.max (v2) or cpu.cfs_quota_us over cpu.cfs_period_us (v1). In a container the path may name
 * groups that are not mounted: those files are missing, and the root is our own group. */
#include "base/cpus.h"

#include "base/debug.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_text(const char *path, char *text, size_t size) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = 0;
    return true;
}

static int whole(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n > INT_MAX ? 0 : (int)n;
}

static int quota_v2(const char *folder) {
    char path[4096], text[64];
    long long quota, period; /* "max 100000" has no quota */
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_text(path, text, sizeof text)) return 0;
    return sscanf(text, "%lld %lld", &quota, &period) == 2 ? whole(quota, period) : 0;
}

static int quota_v1(const char *folder) {
    char path[4096], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, quota, sizeof quota)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, period, sizeof period)) return 0;
    return whole(atoll(quota), atoll(period));
}

static int smaller(int a, int b) { return !a || (b && b < a) ? b : a; }

/* The smallest quota from root/group up to root. */
static int quota_upwards(const char *root, const char *group, int (*quota)(const char *folder)) {
    char folder[3072];
    int n = snprintf(folder, sizeof folder, "%s%s", root, group), least = 0;
    if (n < 0 || (size_t)n >= sizeof folder) return quota(root);
    size_t stop = strlen(root);
    for (;;) {
        least = smaller(least, quota(folder));
        char *slash = strrchr(folder + stop, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static bool names_cpu(const char *controllers) {
    for (const char *s = controllers; *s; s += strcspn(s, ",") + (s[strcspn(s, ",")] == ','))
        if (strcspn(s, ",") == 3 && !strncmp(s, "cpu", 3)) return true;
    return false;
}

/* One line of /proc/self/cgroup: "number:controllers:path"; v2 names no controller. */
static int quota_of_line(char *line, const char *root) {
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *group++ = 0;
    if (!*++controllers) return quota_upwards(root, group, quota_v2);
    if (!names_cpu(controllers)) return 0;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/cpu", root);
    return quota_upwards(folder, group, quota_v1);
}

int cpus_quota(const char *groups, const char *root) {
    int least = 0;
    while (*groups) {
        char line[2048];
        size_t n = strcspn(groups, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), groups);
        least = smaller(least, quota_of_line(line, root));
        groups += n + (groups[n] == '\n');
    }
    return least;
}

static int affinity(void) {
    unsigned long mask[1 << 10] = {0}; /* 65536 processors */
    int n = 0;
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) < 0) return 1;
    for (size_t i = 0; i < sizeof mask / sizeof *mask; i++) n += __builtin_popcountl(mask[i]);
    return n ? n : 1;
}

/* The number of a variable that may be a list, as OMP_NUM_THREADS is; 0 where it is none. */
static int number(const char *text) {
    long n = text ? strtol(text, NULL, 10) : 0;
    return n < 1 ? 0 : n > INT_MAX ? INT_MAX : (int)n;
}

int cpus_usable(void) {
    int n = number(debug_get("THREADS"));
    if (!n) n = number(getenv("OMP_NUM_THREADS"));
    if (!n) n = affinity();
    static const char root[] = "/sys/fs/cgroup";
    char groups[8192];
    if (!read_text("/proc/self/cgroup", groups, sizeof groups)) return n;
    return smaller(n, cpus_quota(groups, root));
}
