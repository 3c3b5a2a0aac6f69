/* How many processors this process may use: what the environment asks for, the affinity mask, the
 * cgroup's quota. */
#ifndef TIGA_BASE_CPUS_H
#define TIGA_BASE_CPUS_H

/* TIGA_THREADS, else OMP_NUM_THREADS, else the affinity mask, never above the quota; at least 1.
 * Worked out anew at each call: reads files. */
int cpus_usable(void);
/* The quota in whole processors, rounded up; 0 where there is none. `groups` is the text of
 * /proc/self/cgroup, `root` the folder of the mounted hierarchies (/sys/fs/cgroup). */
int cpus_quota(const char *groups, const char *root);

#endif
