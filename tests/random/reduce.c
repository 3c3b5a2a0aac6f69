/* Makes a failing case small: fewer derivatives, smaller graphs, fewer bytes, each candidate tried in a
 * process of its own since it may crash. A candidate is kept where it fails in the same stage. */
#include "random.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* An end that check_case did not say. */
static void note_end(int status, Report *r) {
    if (WIFSIGNALED(status))
        snprintf(r->message, sizeof r->message, "crash: signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) && !r->message[0])
        snprintf(r->message, sizeof r->message, "exit: status %d", WEXITSTATUS(status));
}

bool run_in_child(void (*body)(void *ctx), void *ctx, Report *shared) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        body(ctx);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    note_end(status, shared);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

typedef struct {
    const Case *c;
    Report *r;
} Try;

static void check_or_exit(void *ctx) {
    Try *t = ctx;
    alarm(60);
    if (!check_case(t->c, t->r)) _exit(1);
}

bool check_in_child(const Case *c, Report *r) {
    Report *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TIGA_ASSERT(shared != MAP_FAILED);
    *shared = (Report){0};
    bool ok = run_in_child(check_or_exit, &(Try){c, shared}, shared);
    *r = *shared;
    munmap(shared, sizeof *shared);
    return ok;
}

typedef struct {
    Case *best;
    Report *report;
    char stage[64];
    double deadline;
} Search;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stage_of(const char *message, char stage[64]) {
    snprintf(stage, 64, "%.*s", (int)strcspn(message, ":"), message);
}

static bool try(Search *s, const Case *c) {
    Report r = {0};
    char stage[64];
    if (now() > s->deadline || check_in_child(c, &r)) return false;
    stage_of(r.message, stage);
    if (strcmp(stage, s->stage)) return false;
    *s->best = *c;
    memcpy(s->report->message, r.message, sizeof r.message);
    return true;
}

static bool try_without(Search *s, uint32_t at, uint32_t n) {
    Case c = *s->best;
    if (at + n > c.num_bytes) return false;
    memmove(c.bytes + at, c.bytes + at + n, c.num_bytes - at - n);
    c.num_bytes -= n;
    return try(s, &c);
}

static bool shorten(Search *s) {
    bool any = false;
    for (uint32_t n = s->best->num_bytes / 2; n > 0; n /= 2)
        for (uint32_t at = 0; at + n <= s->best->num_bytes;) {
            if (try_without(s, at, n)) any = true;
            else at += n;
        }
    return any;
}

static bool zero_bytes(Search *s) {
    bool any = false;
    for (uint32_t k = 0; k < s->best->num_bytes; k++) {
        Case c = *s->best;
        if (c.bytes[k] == 0) continue;
        c.bytes[k] = 0;
        any |= try(s, &c);
    }
    return any;
}

static bool try_sizes(Search *s, int r, int64_t num_src, int64_t num_dst, int64_t num_edges) {
    Case c = *s->best;
    GraphSpec *g = &c.graph[r];
    if (num_src < 1 || num_dst < 1 || num_edges < 0) return false;
    if (num_src == g->num_src && num_dst == g->num_dst && num_edges == g->num_edges) return false;
    g->num_edges = num_edges;
    for (int k = 0; k < c.num_relations; k++)
        c.graph[k].num_src = num_src, c.graph[k].num_dst = num_dst;
    return try(s, &c);
}

static bool shrink_graphs(Search *s) {
    bool any = false, again = true;
    while (again) {
        again = false;
        for (int r = 0; r < s->best->num_relations; r++) {
            GraphSpec g = s->best->graph[r];
            if (s->best->homogeneous) {
                again |= try_sizes(s, r, g.num_src / 2, g.num_dst / 2, g.num_edges) ||
                         try_sizes(s, r, g.num_src - 1, g.num_dst - 1, g.num_edges);
            } else {
                again |= try_sizes(s, r, g.num_src / 2, g.num_dst, g.num_edges) ||
                         try_sizes(s, r, g.num_src, g.num_dst / 2, g.num_edges);
            }
            g = s->best->graph[r];
            again |= try_sizes(s, r, g.num_src, g.num_dst, g.num_edges / 2) ||
                     try_sizes(s, r, g.num_src, g.num_dst, g.num_edges - 1);
        }
        any |= again;
    }
    return any;
}

static void simplify(Search *s) {
    Case c = *s->best;
    for (; c.order > 0; c = *s->best) {
        c.order--;
        if (!try(s, &c)) break;
    }
    c = *s->best;
    c.strided = false;
    if (s->best->strided) try(s, &c);
    c = *s->best;
    c.num_relations = 1;
    if (s->best->num_relations > 1) try(s, &c);
    c = *s->best;
    c.data = DATA_whole;
    if (s->best->data != DATA_whole) try(s, &c);
}

void reduce_case(Case *c, Report *r, double seconds) {
    Search s = {.best = c, .report = r, .deadline = now() + seconds};
    stage_of(r->message, s.stage);
    simplify(&s);
    for (bool again = true; again && now() < s.deadline;) {
        again = shorten(&s);
        again |= shrink_graphs(&s);
        again |= zero_bytes(&s);
        simplify(&s);
    }
}
