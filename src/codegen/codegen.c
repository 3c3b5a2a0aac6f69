/* The generator's two doors: a kernel in, an image or a text out.
 *
 * LLVM's objects are held by a Job that outlives the guard, so that whatever unwinds inside is disposed
 * of here; nothing unwinds through a frame of LLVM's. */
#include "codegen/emit.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* Loads and stores of cells into registers, then what that leaves. Plain "instcombine" ends the process
 * where one round was not enough. */
#define PIPELINE "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"
#define PIPELINE_IN_MEMORY "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"
enum { STACK_LIMIT = 1 << 20 };

typedef struct {
    const CompileRequest *request;
    const char *kind; /* of text; NULL: an image */
    Image image;
    char *text;
    size_t text_len;

    Target target;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder, entry;
    LLVMMemoryBufferRef buffer;
    char *message;    /* LLVM's */
    char fault[1024]; /* from the diagnostic handler */
} Job;

static void note_diagnostic(LLVMDiagnosticInfoRef info, void *ctx) {
    Job *job = ctx;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
    char *text = LLVMGetDiagInfoDescription(info);
    snprintf(job->fault, sizeof job->fault, "%s", text);
    LLVMDisposeMessage(text);
}

static void open_module(Job *job) {
    job->module = LLVMModuleCreateWithNameInContext(job->request->kernel->name, job->context);
    LLVMSetTarget(job->module, job->target.triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(job->target.machine);
    LLVMSetModuleDataLayout(job->module, layout);
    LLVMDisposeTargetData(layout);
}

static Status open_job(Job *job) {
    Status st = target_open(job->request->cpu, job->request->features, &job->target);
    if (st) return st;
    job->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(job->context, note_diagnostic, job);
    job->builder = LLVMCreateBuilderInContext(job->context);
    job->entry = LLVMCreateBuilderInContext(job->context);
    open_module(job);
    return ST_OK;
}

static void close_job(Job *job) {
    if (job->message) LLVMDisposeMessage(job->message);
    if (job->buffer) LLVMDisposeMemoryBuffer(job->buffer);
    if (job->entry) LLVMDisposeBuilder(job->entry);
    if (job->builder) LLVMDisposeBuilder(job->builder);
    if (job->module) LLVMDisposeModule(job->module);
    if (job->context) LLVMContextDispose(job->context);
    target_close(&job->target);
}

/* ---- stages ---- */

static Emit *new_emit(Arena *a, Job *job) {
    const Kernel *k = job->request->kernel;
    uint32_t num_buffers = k->body->inputs.len + k->body->results.len;
    Emit *e = ARENA_NEW(a, Emit);
    *e = (Emit){
        .request = job->request, .kernel = k, .f = k->body, .target = &job->target, .arena = a};
    e->context = job->context;
    e->module = job->module;
    e->builder = job->builder;
    e->entry = job->entry;
    e->i1 = LLVMInt1TypeInContext(job->context);
    e->i8 = LLVMInt8TypeInContext(job->context);
    e->i16 = LLVMInt16TypeInContext(job->context);
    e->i32 = LLVMInt32TypeInContext(job->context);
    e->i64 = LLVMInt64TypeInContext(job->context);
    e->f32 = LLVMFloatTypeInContext(job->context);
    e->f64 = LLVMDoubleTypeInContext(job->context);
    e->ptr = LLVMPointerTypeInContext(job->context, 0);
    e->next_loop = -1;
    e->data = ARENA_ARRAY(a, LLVMValueRef, num_buffers);
    e->stride = ARENA_ARRAY(a, LLVMValueRef, num_buffers * (MAX_RANK + 1));
    e->memo = ARENA_ARRAY(a, Memo *, ir_count(k->body));
    return e;
}

static bool is_valid(Job *job) {
    if (job->message) LLVMDisposeMessage(job->message);
    job->message = NULL;
    return !LLVMVerifyModule(job->module, LLVMReturnStatusAction, &job->message);
}

static Status build(Job *job) {
    Arena *a = arena_new();
    Emit *e = new_emit(a, job);
    Status st = analyze_run(e);
    if (!st && e->stack_size > STACK_LIMIT)
        st = err_set(ST_UNSUPPORTED,
                     "kernel '%s' needs %llu bytes of scratch, more than a thread's stack holds",
                     e->kernel->name, (unsigned long long)e->stack_size);
    if (!st) kernel_emit(e);
    job->image.row_state_size = e->row_state_size;
    job->image.slot_size = e->slot_size;
    job->image.block_edges = e->block_edges;
    job->image.block_bytes = e->block_bytes;
    job->image.num_shares = (uint64_t)e->num_shares;
    job->image.num_stages = st || !e->num_shares ? 0 : (uint64_t)stage_count(e);
    arena_free(a);
    if (st) return st;
    if (is_valid(job)) return ST_OK;
    return err_set(ST_BUG, "kernel '%s': LLVM refuses the code: %s", job->request->kernel->name,
                   job->message);
}

static Status run_passes(Job *job, const char *pipeline) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(job->module, pipeline, job->target.machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error) return ST_OK;
    char *text = LLVMGetErrorMessage(error);
    Status st = err_set(ST_BUG, "kernel '%s': LLVM's passes: %s", job->request->kernel->name, text);
    LLVMDisposeErrorMessage(text);
    return st;
}

/* Passes have been seen to leave what is no program (see shape.c): then cells stay in memory. */
static Status optimise(Job *job) {
    Status st = run_passes(job, PIPELINE);
    if (st || is_valid(job)) return st;
    LLVMDisposeModule(job->module);
    open_module(job);
    st = build(job);
    return st ? st : run_passes(job, PIPELINE_IN_MEMORY);
}

static Status make_code(Job *job, LLVMCodeGenFileType type) {
    char *text = NULL;
    bool failed = LLVMTargetMachineEmitToMemoryBuffer(job->target.machine, job->module, type, &text,
                                                      &job->buffer);
    Status st = ST_OK;
    if (failed || job->fault[0])
        st = err_set(ST_BUG, "kernel '%s': LLVM makes no code: %s", job->request->kernel->name,
                     text ? text : job->fault);
    if (text) LLVMDisposeMessage(text);
    return st;
}

/* ---- products ---- */

static Status give_text(Job *job, const char *text, size_t len) {
    job->text = malloc(len + 1);
    if (!job->text) return err_set(ST_NOMEM, "out of memory: %zu bytes of text", len);
    memcpy(job->text, text, len);
    job->text[len] = 0;
    job->text_len = len;
    return ST_OK;
}

static Status give_module(Job *job) {
    char *text = LLVMPrintModuleToString(job->module);
    Status st = give_text(job, text, strlen(text));
    LLVMDisposeMessage(text);
    return st;
}

static Status give_buffer(Job *job) {
    return give_text(job, LLVMGetBufferStart(job->buffer), LLVMGetBufferSize(job->buffer));
}

static Status give_image(Job *job) {
    return image_make(LLVMGetBufferStart(job->buffer), LLVMGetBufferSize(job->buffer),
                      job->target.is_aarch64, &job->image);
}

static bool is_kind(const Job *job, const char *kind) {
    return job->kind && !strcmp(job->kind, kind);
}

static Status check_kind(const Job *job) {
    static const char *const kinds[] = {"llvm", "llvm-opt", "asm", "object"};
    if (!job->kind) return ST_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (is_kind(job, kinds[k])) return ST_OK;
    return err_set(ST_NAME, "no text of kind '%s' (there are llvm, llvm-opt, asm, object)",
                   job->kind);
}

static Status run_job(void *ctx) {
    Job *job = ctx;
    Status st = check_kind(job);
    if (!st) st = open_job(job);
    if (!st) st = build(job);
    if (st) return st;
    if (is_kind(job, "llvm")) return give_module(job);
    st = optimise(job);
    if (st) return st;
    if (is_kind(job, "llvm-opt")) return give_module(job);
    st = make_code(job, is_kind(job, "asm") ? LLVMAssemblyFile : LLVMObjectFile);
    if (st) return st;
    return job->kind ? give_buffer(job) : give_image(job);
}

static Status run_guarded(Job *job, char *message, size_t size) {
    Status st = guard_run(run_job, job);
    close_job(job);
    if (!st) return ST_OK;
    if (size) snprintf(message, size, "%s", err_message());
    return st;
}

static Job *new_job(char *message, size_t size) {
    Job *job = calloc(1, sizeof *job);
    if (!job && size) snprintf(message, size, "out of memory: a compilation");
    return job;
}

EXPORT CodegenCompile codegen_compile;
EXPORT CodegenText codegen_text;
EXPORT CodegenAbout codegen_about;
EXPORT void codegen_fail_at(int64_t n);
EXPORT int64_t codegen_live(void);

Status codegen_compile(const CompileRequest *request, Image *out, char *message, size_t size) {
    Job *job = new_job(message, size);
    if (!job) return ST_NOMEM;
    job->request = request;
    Status st = run_guarded(job, message, size);
    if (!st) *out = job->image;
    free(job);
    return st;
}

Status codegen_text(const CompileRequest *request, const char *kind, char **text, size_t *len,
                    char *message, size_t size) {
    Job *job = new_job(message, size);
    if (!job) return ST_NOMEM;
    job->request = request;
    job->kind = kind;
    Status st = run_guarded(job, message, size);
    if (!st) {
        *text = job->text;
        *len = job->text_len;
    }
    free(job);
    return st;
}

void codegen_about(char *text, size_t size) {
    unsigned major, minor, patch;
    char *cpu = LLVMGetHostCPUName();
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(text, size, "LLVM %u.%u.%u, %s", major, minor, patch, cpu);
    LLVMDisposeMessage(cpu);
}

void codegen_fail_at(int64_t n) { mem_fail_at(n); }

int64_t codegen_live(void) { return mem_live(); }
