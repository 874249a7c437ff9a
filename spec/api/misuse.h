/* What misuse_test.c passes to the functions of jfl.h: one object of each kind and other
   arguments with which calls succeed, and for each type of argument what is wrong. */
#ifndef MISUSE_H
#define MISUSE_H

#include "counter.h"
#include "lua_test.h"
#include "scratch.h"

#include <limits.h>
#include <math.h>

/* How a call with something wrong may end. GONE: there is no k-th wrong value. */
typedef enum verdict { GONE, FAILS, PASSES } verdict;

typedef int (*asked_fn)(void *ctx);

enum {
  AN_ARRAY, AN_OP, AN_OPTIMIZER, A_GRAPH, A_VALUE, A_SESSION, A_JOB, A_PLAN, A_REQUEST, A_REPORT,
  A_CHECKPOINT, A_PROFILE,
  AN_OUTPUT, A_LOADER, A_PACK, A_TABLE, A_TOKENIZER, AN_ENCODING, A_SCRIPT, A_SCRIPT_JOB,
  N_KINDS
};

enum { FEW = 8 };
static struct {
  jfl_session *s, *other;
  jfl_array *a, *packed, *pixels, *jpeg, *in[2], *two[2];
  jfl_graph *g, *g2, *trained;
  jfl_value *x, *w, *y, *foreign, *values[2];
  jfl_job *job;
  jfl_plan *p;
  jfl_request *r;
  jfl_report *report;
  jfl_checkpoint *c;
  jfl_profile *profile;
  jfl_output *output;
  jfl_loader *loader;
  jfl_pack *pack;
  jfl_csv *table;
  jfl_tokenizer *tokenizer;
  jfl_encoding *encoding;
  jfl_script *script;
  jfl_script_job *script_job;
  jfl_shape shape;
  const void *object[N_KINDS];       /* one of each kind */
  const void *gone[N_KINDS];         /* one of each kind that was freed; NULL: it never is */
  /* What calls write to; released after each. */
  jfl_array *out[FEW];
  jfl_graph *made_graph[FEW]; int n_graph;
  jfl_value *made_value[FEW];
  jfl_session *made_session;
  jfl_plan *made_plan;
  jfl_request *made_request;
  jfl_request *compiling;      /* whose plan is made, or not yet */
  jfl_report *made_report;
  jfl_checkpoint *made_checkpoint;
  jfl_profile *made_profile;
  jfl_output *made_output;
  jfl_loader *made_loader;
  jfl_pack *made_pack;
  jfl_csv *made_table;
  jfl_tokenizer *made_tokenizer;
  jfl_encoding *made_encoding;
  jfl_batch made_batch;
  const jfl_arg *made_arguments;
  jfl_script *made_script;
  jfl_script_job *made_script_job;
  jfl_job *made_job;
  char *text;
} f;

#define MUST(e) do { if (e) { fprintf(stderr, "%s\n", jfl_errmsg()); abort(); } } while (0)

/* ---- objects ---- */

static const char *fresh_name(void)
{
  static char name[32];
  static int n;
  snprintf(name, sizeof name, "fresh%d", n++);
  return name;
}

/* A predict graph with an input and its relu. */
static jfl_graph *small_graph(jfl_value **x, jfl_value **y)
{
  jfl_graph *g;
  MUST(jfl_graph_new("small", JFL_PREDICT, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &f.shape, x));
  MUST(jfl_graph_op(g, jfl_op_find("relu"), x, 1, NULL, 0, NULL, y));
  MUST(jfl_graph_output(g, *y));
  return g;
}

/* One that the next release drops. */
static jfl_graph *fresh_graph(void)
{
  jfl_value *x, *y;
  return f.made_graph[f.n_graph++] = small_graph(&x, &y);
}

static jfl_plan *fresh_plan(void)
{
  jfl_job *j;
  jfl_plan *p;
  MUST(jfl_job_new(f.s, fresh_name(), JFL_PREDICT, &j));
  MUST(jfl_job_compile(j, fresh_graph(), &p));
  return p;
}

static jfl_job *predict_job(void)
{
  jfl_job *j;
  MUST(jfl_job_new(f.s, fresh_name(), JFL_PREDICT, &j));
  return j;
}

/* The name of a variable that no plan has. */
static const char *fresh_variable(void)
{
  const jfl_variable_spec v = { .name = "unused", .shape = f.shape };
  jfl_value *x, *y;
  jfl_graph *g = f.made_graph[f.n_graph++] = small_graph(&x, &y);
  jfl_plan *p;
  MUST(jfl_graph_variable(g, &v, &y));
  MUST(jfl_graph_output(g, y));
  MUST(jfl_job_compile(predict_job(), g, &p));
  jfl_plan_free(p);
  return v.name;
}

/* A train graph without an optimizer yet, which the next release drops. */
static jfl_graph *fresh_training(void)
{
  const jfl_variable_spec w = { .name = "m", .shape = f.shape, .trainable = 1 };
  jfl_graph *g;
  MUST(jfl_graph_new("training", JFL_TRAIN, &g));
  MUST(jfl_graph_variable(g, &w, &f.values[0]));
  return f.made_graph[f.n_graph++] = g;
}

/* A graph with an input and a scale to round it by, which the next release drops. */
static jfl_graph *graph_to_round(void)
{
  const jfl_variable_spec scale = { .name = "scale" };
  jfl_graph *g;
  MUST(jfl_graph_new("rounded", JFL_PREDICT, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &f.shape, &f.values[0]));
  MUST(jfl_graph_variable(g, &scale, &f.values[1]));
  return f.made_graph[f.n_graph++] = g;
}

/* A graph that its job may take, under a name of its own. */
static jfl_graph *graph_to_take(void)
{
  jfl_graph *g;
  jfl_value *x;
  MUST(jfl_graph_new(fresh_name(), JFL_PREDICT, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &f.shape, &x));
  MUST(jfl_graph_output(g, x));
  return g;
}

static jfl_session *with_profile(int going)
{
  jfl_profile *p;
  if (!jfl_profile_stop(f.s, &p)) jfl_profile_free(p);
  if (going) MUST(jfl_profile_start(f.s, 16));
  return f.s;
}

static jfl_profile *fresh_profile(void)
{
  jfl_profile *p;
  jfl_array *out[2];
  with_profile(1);
  MUST(jfl_run(f.p, f.in, out));
  counter_drop(out);
  MUST(jfl_profile_stop(f.s, &p));
  return p;
}

static jfl_session *fresh_session(void)
{
  jfl_session *s;
  MUST(jfl_session_new(&s));
  return s;
}

static jfl_checkpoint *fresh_checkpoint(void)
{
  jfl_checkpoint *c;
  MUST(jfl_checkpoint_open("saved", &c));
  return c;
}

static jfl_report *fresh_report(void)
{
  jfl_report *r;
  MUST(jfl_checkpoint_load(f.s, "saved", 0, &r));
  return r;
}

static jfl_output *fresh_output(void)
{
  jfl_output *o;
  MUST(jfl_output_open("written", &o));
  return o;
}

static const jfl_picture_spec small_picture = { .channels = 3, .fit = JFL_STRETCH, .height = 2,
                                                .width = 2 };

static jfl_loader *fresh_loader(void)
{
  jfl_loader *l;
  MUST(jfl_loader_new(&small_picture, 1, &l));
  return l;
}

/* One that has a batch to give, and is freed after the call. */
static jfl_loader *wanting_loader(void)
{
  jfl_loader_free(f.made_loader);
  f.made_loader = fresh_loader();
  MUST(jfl_loader_want(f.made_loader, (const char *[]){ "small.jpg" }, (uint64_t[]){ 7 }, 1));
  return f.made_loader;
}

static jfl_pack *fresh_pack(void)
{
  jfl_pack *p;
  FILE *file = fopen("small-0", "w");
  fwrite("\2\0\0\0\0\0\0\0ab", 1, 10, file);
  fclose(file);
  MUST(jfl_pack_open("small-0", JFL_OFRECORD, &p));
  return p;
}

static const char small_tokenizer[] =
  "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";
static const jfl_text small_texts[] = { { "ab", 2 }, { "b", 1 } };
static const jfl_bpe_spec small_bpe = { .size = 257 };
static const int32_t small_ids[] = { 0, 1 };

static jfl_tokenizer *fresh_tokenizer(void)
{
  jfl_tokenizer *t;
  FILE *file = fopen("small.json", "w");
  fputs(small_tokenizer, file);
  fclose(file);
  MUST(jfl_tokenizer_read("small.json", &t));
  return t;
}

static jfl_encoding *fresh_encoding(void)
{
  jfl_encoding *e;
  jfl_tokenizer *t = fresh_tokenizer();
  MUST(jfl_tokenizer_encode(t, small_texts, NULL, NULL, &e));
  jfl_tokenizer_free(t);
  return e;
}

static const jfl_csv_spec commas = { .separator = ',', .header = 1 };

static jfl_csv *fresh_table(void)
{
  jfl_csv *t;
  FILE *file = fopen("small.csv", "w");
  fputs("a,b\nx,1\ny,2\n", file);
  fclose(file);
  MUST(jfl_csv_read("small.csv", &commas, &t));
  return t;
}

/* A job that takes what counter_plan takes first, and a function. */
static const char script_text[] =
  "local flow = require 'jfl'\n"
  "flow.global_function { name = 'job', returns = flow.typing.Numpy,\n"
  "  inputs = { { 'x', flow.typing.Numpy.Placeholder({ 2, 3 }) } },\n"
  "  body = function(x) return x * 2 end }\n"
  "function f() end\n";

static jfl_script *fresh_script(void)
{
  jfl_script *s;
  FILE *file = fopen("small.lua", "w");
  fputs("y = 2\n", file);
  fclose(file);
  MUST(jfl_script_new(NULL, &s));
  return s;
}

static char *fresh_text(void)
{
  char *t;
  MUST(jfl_plan_text(f.p, &t));
  return t;
}
static const jfl_arg *fresh_arguments(void)
{
  const jfl_arg *arg = NULL;
  int n;
  CHECK(!jfl_graph_arguments(f.g, 0, &arg, &n));
  return arg;
}

static const char *fresh_checkpoint_path(void)
{
  MUST(jfl_checkpoint_save(f.s, "removed", 1));
  return "removed";
}

/* One at which there is nothing. */
static const char *free_checkpoint_path(void)
{
  MUST(jfl_checkpoint_remove("shards"));
  return "shards";
}

/* ---- the fixture ---- */

static void make_graphs(void)
{
  const jfl_variable_spec w = { .name = "v", .shape = f.shape, .trainable = 1 };
  f.g = small_graph(&f.x, &f.y);
  MUST(jfl_graph_variable(f.g, &w, &f.w));
  jfl_value *x;
  f.g2 = small_graph(&x, &f.foreign);
}

static void make_picture(void)
{
  MUST(jfl_array_new(JFL_U8, &(jfl_shape){ 3, { 4, 5, 3 } }, &f.pixels));
  MUST(jfl_jpeg_encode(f.pixels, 90, &f.jpeg));
  FILE *file = fopen("small.jpg", "wb");
  fwrite(jfl_array_data(f.jpeg), 1, (size_t)jfl_array_size(f.jpeg), file);
  fclose(file);
}

static void make_fixture(void)
{
  f.shape = (jfl_shape){ 2, { 2, 3 } };
  f.s = fresh_session();
  f.other = fresh_session();
  MUST(jfl_array_new(JFL_F32, &f.shape, &f.a));
  f.two[0] = f.two[1] = f.a;
  MUST(jfl_compress(&f.shape, sizeof f.shape, JFL_ZLIB, &f.packed));
  MUST(counter_inputs(0, f.in));
  make_graphs();
  MUST(counter_plan(f.s, "counter", &f.p));
  MUST(jfl_job_new(f.s, "predict", JFL_PREDICT, &f.job));
  MUST(jfl_submit(f.p, f.in, &f.r));
  MUST(jfl_session_wait(f.s, f.r, -1));
  MUST(jfl_compile_submit(predict_job(), fresh_graph(), &f.compiling));
  MUST(jfl_checkpoint_save_notes(f.s, "saved", 0, &(jfl_note){ "key", "value" }, 1));
  f.c = fresh_checkpoint();
  f.report = fresh_report();
  f.profile = fresh_profile();
  f.output = fresh_output();
  make_picture();
  f.loader = fresh_loader();
  f.pack = fresh_pack();
  f.table = fresh_table();
  f.tokenizer = fresh_tokenizer();
  f.encoding = fresh_encoding();
  f.script = fresh_script();
  MUST(jfl_script_run(f.script, script_text, strlen(script_text), "=misuse"));
  MUST(jfl_script_job_find(f.script, "job", &f.script_job));
  const void *all[] = { f.a, jfl_op_find("relu"), jfl_optimizer_at(0), f.g, f.x, f.s, f.job, f.p,
                        f.r, f.report, f.c, f.profile, f.output, f.loader, f.pack,
                        f.table, f.tokenizer, f.encoding, f.script, f.script_job };
  memcpy(f.object, all, sizeof all);
}

/* ---- what was freed ---- */

/* An allocator that gives no memory back, so that what is there still says what was freed. */
static struct { void **v; int n, cap; } kept;

static void *keep_take(void *ud, size_t size)
{
  (void)ud;
  if (kept.n == kept.cap)
    kept.v = realloc(kept.v, (size_t)(kept.cap = 2 * kept.cap + 64) * sizeof *kept.v);
  return kept.v[kept.n++] = malloc(size);
}

static void keep_give(void *ud, void *p, size_t size) { (void)ud, (void)p, (void)size; }

static void drop_kept(void)
{
  while (kept.n) free(kept.v[--kept.n]);
  free(kept.v);
}

/* A session, and what lives with it. */
static void make_gone_session(void)
{
  jfl_session *s = fresh_session();
  jfl_plan *p;
  jfl_job *j;
  MUST(counter_plan(s, "gone", &p));
  MUST(jfl_job_new(s, "gone too", JFL_PREDICT, &j));
  jfl_session_free(s);
  f.gone[A_SESSION] = s;
  f.gone[A_PLAN] = p;
  f.gone[A_JOB] = j;
}

static void make_gone_script(void)
{
  jfl_script *s = fresh_script();
  jfl_script_job *j;
  MUST(jfl_script_run(s, script_text, strlen(script_text), "=gone"));
  MUST(jfl_script_job_find(s, "job", &j));
  jfl_script_free(s);
  f.gone[A_SCRIPT] = s;
  f.gone[A_SCRIPT_JOB] = j;
}

static void make_gone_counted(void)
{
  jfl_value *x, *y;
  jfl_array *a;
  jfl_request *r;
  jfl_graph *g = small_graph(&x, &y);
  MUST(jfl_array_new(JFL_F32, &f.shape, &a));
  MUST(jfl_submit(f.p, f.in, &r));
  MUST(jfl_session_wait(f.s, r, -1));
  jfl_array_unref(a);
  jfl_graph_unref(g);
  jfl_request_unref(r);
  f.gone[AN_ARRAY] = a;
  f.gone[A_GRAPH] = g;
  f.gone[A_VALUE] = y;
  f.gone[A_REQUEST] = r;
}

/* Each is freed twice, of which the second time does nothing. */
#define MAKE_GONE(kind, type, make, drop)                 \
  do {                                                    \
    type *const one = make;                               \
    drop(one);                                            \
    drop(one);                                            \
    f.gone[kind] = one;                                   \
  } while (0)

static void make_gone(void)
{
  MUST(jfl_set_allocator(&(jfl_allocator){ keep_take, keep_give, NULL }));
  make_gone_session();
  make_gone_script();
  make_gone_counted();
  MAKE_GONE(A_REPORT, jfl_report, fresh_report(), jfl_report_free);
  MAKE_GONE(A_CHECKPOINT, jfl_checkpoint, fresh_checkpoint(), jfl_checkpoint_close);
  MAKE_GONE(A_PROFILE, jfl_profile, fresh_profile(), jfl_profile_free);
  MAKE_GONE(AN_OUTPUT, jfl_output, fresh_output(), jfl_output_drop);
  MAKE_GONE(A_LOADER, jfl_loader, fresh_loader(), jfl_loader_free);
  MAKE_GONE(A_PACK, jfl_pack, fresh_pack(), jfl_pack_free);
  MAKE_GONE(A_TABLE, jfl_csv, fresh_table(), jfl_csv_free);
  MAKE_GONE(A_TOKENIZER, jfl_tokenizer, fresh_tokenizer(), jfl_tokenizer_free);
  MAKE_GONE(AN_ENCODING, jfl_encoding, fresh_encoding(), jfl_encoding_free);
  MUST(jfl_set_allocator(NULL));
}

static void drop_fixture(void)
{
  jfl_array_unref(f.a);
  jfl_array_unref(f.packed);
  counter_drop(f.in);
  jfl_graph_unref(f.g);
  jfl_graph_unref(f.g2);
  jfl_request_unref(f.r);
  jfl_request_unref(f.compiling);
  jfl_report_free(f.report);
  jfl_checkpoint_close(f.c);
  jfl_profile_free(f.profile);
  jfl_output_drop(f.output);
  jfl_loader_free(f.loader);
  jfl_pack_free(f.pack);
  jfl_csv_free(f.table);
  jfl_tokenizer_free(f.tokenizer);
  jfl_encoding_free(f.encoding);
  jfl_script_free(f.script);
  jfl_array_unref(f.pixels);
  jfl_array_unref(f.jpeg);
  jfl_session_free(f.s);
  jfl_session_free(f.other);
}

/* Gives back what the last call made. */
static void release_made(void)
{
  for (int i = 0; i < FEW; i++) {
    jfl_array_unref(f.out[i]);
    f.out[i] = NULL;
    jfl_graph_unref(f.made_graph[i]);
    f.made_graph[i] = NULL;
  }
  f.n_graph = 0;
  jfl_session_free(f.made_session);
  jfl_request_unref(f.made_request);
  jfl_report_free(f.made_report);
  jfl_checkpoint_close(f.made_checkpoint);
  jfl_profile_free(f.made_profile);
  jfl_output_drop(f.made_output);
  jfl_loader_free(f.made_loader);
  jfl_pack_free(f.made_pack);
  jfl_csv_free(f.made_table);
  jfl_tokenizer_free(f.made_tokenizer);
  jfl_encoding_free(f.made_encoding);
  jfl_array_unref(f.made_batch.ids);
  jfl_array_unref(f.made_batch.mask);
  jfl_array_unref(f.made_batch.types);
  jfl_script_free(f.made_script);
  jfl_text_free(f.text);
  jfl_arguments_free(f.made_arguments);
  f.made_session = NULL;
  f.made_request = NULL;
  f.made_report = NULL;
  f.made_checkpoint = NULL;
  f.made_profile = NULL;
  f.made_output = NULL;
  f.made_loader = NULL;
  f.made_pack = NULL;
  f.made_table = NULL;
  f.made_tokenizer = NULL;
  f.made_encoding = NULL;
  f.made_batch = (jfl_batch){ 0 };
  f.made_script = NULL;
  f.text = NULL;
  f.made_arguments = NULL;
}

/* ---- what is wrong ---- */

/* Arguments for which what is wrong elsewhere is right. */
static const char *const may_be_anything[] = {
  "jfl_array_cast.lossless", "jfl_checkpoint_apply.strict", "jfl_checkpoint_load.strict",
  "jfl_checkpoint_save.overwrite", "jfl_checkpoint_save_notes.overwrite",
  "jfl_checkpoint_submit.overwrite",
  "jfl_checkpoint_write.overwrite",
  "jfl_checkpoint_write_notes.overwrite", "jfl_checkpoint_write_notes.shard_bytes",
  "jfl_checkpoint_save_shards.shard_bytes",
  "jfl_tokenizer_encode.pair", "jfl_tokenizer_batch.pairs", "jfl_tokenizer_decode.skips",
  "jfl_tokenizer_token.id",
  "jfl_session_due.due", "jfl_session_stop_when.ctx",
  "jfl_inflate.size_hint", "jfl_inflate_within.most", "jfl_inflate_head.count",
  "jfl_profile_start.max_events", "jfl_schedule_rate.step", "jfl_session_wait.r",
  "jfl_session_wait.seconds", "jfl_graph_op.name", "jfl_graph_place.device",
  "jfl_graph_watch_gradient.where", "jfl_variable_info.dtype", "jfl_variable_info.shape",
  "jfl_variable_distribution.devices", "jfl_variable_distribution.distribution",
  "jfl_checkpoint_apply.only", "jfl_plan_set_rate.rate", "jfl_graph_gradients.dy",
  "jfl_set_allocator.a", "jfl_machine_peak.threads", "jfl_world_set.rank",
  "jfl_graph_recompute.on", "jfl_graph_line.line",
  "jfl_graph_mirror.on", "jfl_graph_change_view.mirrored", "jfl_graph_product_input.i",
  "jfl_script_run.name",
  "jfl_script_job_about.n_out", "jfl_script_submit.out", "jfl_script_submit.ud",
  "jfl_script_define.ud", "jfl_script_cancel.n", "jfl_script_poll.delivered",
  "jfl_apply.options", "jfl_train.options",
  "jfl_script_save.overwrite", "jfl_script_job_plan.rows", "jfl_script_load.strict",
  /* which the file records */
  "jfl_checkpoint_read.dtype", "jfl_checkpoint_read.shape",
  /* 0 inputs, options, notes, ... are as good */
  "jfl_checkpoint_save_notes.notes", "jfl_checkpoint_submit.notes", "jfl_graph_gradients.x",
};

/* Whether a function without a status must leave an error too. */
static int tells;

/* Whether what is wrong is inside of what the argument points to; the message names that then. */
static int inside;

/* Whether what is wrong is that there is another object or none; the message says what there is. */
static int is_other;

static verdict judge(const char *who)
{
  for (size_t i = 0; i < sizeof may_be_anything / sizeof *may_be_anything; i++)
    if (!strcmp(who, may_be_anything[i])) return PASSES;
  return FAILS;
}

/* The k-th object that is none of the kind, from 1: one of each other kind, one that was freed. */
static const void *other_object(int kind, int k)
{
  return k < N_KINDS ? f.object[(kind + k) % N_KINDS] : k == N_KINDS ? f.gone[kind] : NULL;
}

/* NULL, and those. */
static verdict wrong_object(const char *who, const void **p, int kind, int k)
{
  *p = k ? other_object(kind, k) : NULL;
  tells = *p != NULL;
  is_other = !k || *p;
  return !k ? judge(who) : *p ? FAILS : GONE;
}
#define WRONG_OBJECT(who, p, kind, k) wrong_object(who, (const void **)(void *)(p), kind, k)
#define WRONG_jfl_array_p(who, p, k) WRONG_OBJECT(who, p, AN_ARRAY, k)
#define WRONG_jfl_op_p(who, p, k) WRONG_OBJECT(who, p, AN_OP, k)
#define WRONG_jfl_optimizer_p(who, p, k) WRONG_OBJECT(who, p, AN_OPTIMIZER, k)
#define WRONG_jfl_graph_p(who, p, k) WRONG_OBJECT(who, p, A_GRAPH, k)
#define WRONG_jfl_value_p(who, p, k) WRONG_OBJECT(who, p, A_VALUE, k)
#define WRONG_jfl_session_p(who, p, k) WRONG_OBJECT(who, p, A_SESSION, k)
#define WRONG_jfl_job_p(who, p, k) WRONG_OBJECT(who, p, A_JOB, k)
#define WRONG_jfl_plan_p(who, p, k) WRONG_OBJECT(who, p, A_PLAN, k)
#define WRONG_jfl_request_p(who, p, k) WRONG_OBJECT(who, p, A_REQUEST, k)
#define WRONG_jfl_report_p(who, p, k) WRONG_OBJECT(who, p, A_REPORT, k)
#define WRONG_jfl_checkpoint_p(who, p, k) WRONG_OBJECT(who, p, A_CHECKPOINT, k)
#define WRONG_jfl_output_p(who, p, k) WRONG_OBJECT(who, p, AN_OUTPUT, k)
#define WRONG_jfl_loader_p(who, p, k) WRONG_OBJECT(who, p, A_LOADER, k)
#define WRONG_jfl_pack_p(who, p, k) WRONG_OBJECT(who, p, A_PACK, k)
#define WRONG_jfl_csv_p(who, p, k) WRONG_OBJECT(who, p, A_TABLE, k)
#define WRONG_jfl_tokenizer_p(who, p, k) WRONG_OBJECT(who, p, A_TOKENIZER, k)
#define WRONG_jfl_encoding_p(who, p, k) WRONG_OBJECT(who, p, AN_ENCODING, k)
#define WRONG_jfl_script_p(who, p, k) WRONG_OBJECT(who, p, A_SCRIPT, k)
#define WRONG_jfl_script_job_p(who, p, k) WRONG_OBJECT(who, p, A_SCRIPT_JOB, k)
#define WRONG_jfl_profile_p(who, p, k) WRONG_OBJECT(who, p, A_PROFILE, k)

static const jfl_log no_log;

/* NULL for where a result goes, and for bytes. */
static verdict wrong_pointer(const char *who, const void **p, int k)
{
  *p = NULL;
  return k ? GONE : judge(who);
}
#define WRONG_POINTER(who, p, k) wrong_pointer(who, (const void **)(void *)(p), k)
#define WRONG_jfl_array_pp WRONG_POINTER
#define WRONG_jfl_value_pp WRONG_POINTER
#define WRONG_jfl_graph_pp WRONG_POINTER
#define WRONG_jfl_session_pp WRONG_POINTER
#define WRONG_jfl_job_pp WRONG_POINTER
#define WRONG_jfl_plan_pp WRONG_POINTER
#define WRONG_jfl_request_pp WRONG_POINTER
#define WRONG_jfl_report_pp WRONG_POINTER
#define WRONG_jfl_checkpoint_pp WRONG_POINTER
#define WRONG_jfl_output_pp WRONG_POINTER
#define WRONG_jfl_profile_pp WRONG_POINTER
#define WRONG_jfl_loader_pp WRONG_POINTER
#define WRONG_jfl_csv_pp WRONG_POINTER
#define WRONG_jfl_pack_pp WRONG_POINTER
#define WRONG_jfl_place_p WRONG_POINTER
#define WRONG_jfl_tokenizer_pp WRONG_POINTER
#define WRONG_jfl_encoding_pp WRONG_POINTER
#define WRONG_jfl_token_pp WRONG_POINTER
#define WRONG_jfl_text_p WRONG_POINTER
#define WRONG_jfl_batch_p WRONG_POINTER
#define WRONG_c_int32_t_p WRONG_POINTER
#define WRONG_jfl_member_p WRONG_POINTER
#define WRONG_jfl_sound_info_p WRONG_POINTER
#define WRONG_jfl_pack_kind(who, p, k) (*(p) = (jfl_pack_kind)9, (k) ? GONE : FAILS)
#define WRONG_jfl_script_pp WRONG_POINTER
#define WRONG_jfl_script_job_pp WRONG_POINTER
#define WRONG_jfl_mode_p WRONG_POINTER
#define WRONG_jfl_arg_pp WRONG_POINTER
#define WRONG_jfl_node_p WRONG_POINTER
#define WRONG_jfl_script_done(who, p, k) (*(p) = NULL, (k) ? GONE : PASSES)
#define WRONG_jfl_script_function(who, p, k) (*(p) = NULL, (k) ? GONE : FAILS)
#define WRONG_jfl_log_p(who, p, k) (*(p) = &no_log, (k) ? GONE : FAILS)
#define WRONG_jfl_thread_hooks_p(who, p, k) (*(p) = NULL, (k) ? GONE : PASSES)
#define WRONG_size_t_p WRONG_POINTER
#define WRONG_jfl_shape_pp WRONG_POINTER
#define WRONG_jfl_dtype_p WRONG_POINTER
#define WRONG_jfl_loaded_p WRONG_POINTER
#define WRONG_jfl_op_info_p WRONG_POINTER
#define WRONG_jfl_optimizer_info_p WRONG_POINTER
#define WRONG_jfl_param_p WRONG_POINTER
#define WRONG_jfl_profile_row_p WRONG_POINTER
#define WRONG_jfl_plan_step_p WRONG_POINTER
#define WRONG_c_char_pp WRONG_POINTER
#define WRONG_char_pp WRONG_POINTER
#define WRONG_char_p WRONG_POINTER
#define WRONG_double_p WRONG_POINTER
#define WRONG_int_p WRONG_POINTER
#define WRONG_uint64_t_p WRONG_POINTER
#define WRONG_c_uint64_t_p WRONG_POINTER
#define WRONG_uint64_t(who, p, k) (*(p) = UINT64_MAX, (k) ? GONE : PASSES)
#define WRONG_void_p WRONG_POINTER
#define WRONG_jfl_distribution_p WRONG_POINTER
#define WRONG_jfl_members_p WRONG_POINTER
#define WRONG_c_void_p WRONG_POINTER
#define WRONG_asked_fn(who, p, k) (*(p) = NULL, (k) ? GONE : PASSES)

static verdict WRONG_c_char_p(const char *who, const char **p, int k)
{
  static char long_name[5000];
  memset(long_name, 'x', sizeof long_name - 1);
  const char *const texts[] = { NULL, "", "\xff\xfe", "a\x1b[31m\nb", long_name, "\xc0\x80",
                                "../\xed\xa0\x80" };
  if (k == sizeof texts / sizeof *texts || (k && !strcmp(who, "jfl_printable.text"))) return GONE;
  *p = texts[k];
  return k ? PASSES : judge(who);
}

static verdict WRONG_jfl_distribution(const char *who, jfl_distribution *p, int k)
{
  static const jfl_distribution all[] = {
    { JFL_SPLIT, -1 }, { JFL_SPLIT, 9 }, { JFL_PARTIAL, 0 }, { JFL_MIRRORED + 1, 0 }, { -1, 0 },
  };
  if (k == sizeof all / sizeof *all) return GONE;
  *p = all[k];
  (void)who;
  inside = 1;
  return FAILS;
}

static verdict WRONG_int(const char *who, int *p, int k)
{
  static const int numbers[] = { -1, INT_MIN, INT_MAX, 1 << 30 };
  if (k == sizeof numbers / sizeof *numbers) return GONE;
  *p = numbers[k];
  return judge(who);
}

static verdict WRONG_int64_t(const char *who, int64_t *p, int k)
{
  static const int64_t numbers[] = { -1, INT64_MIN, INT64_MAX, (int64_t)1 << 62, (int64_t)1 << 31 };
  if (k == sizeof numbers / sizeof *numbers || !strncmp(who, "jfl_number_", 11)) return GONE;
  *p = numbers[k];
  return judge(who);
}

static verdict WRONG_int32_t(const char *who, int32_t *p, int k)
{
  static const int32_t numbers[] = { -1, INT32_MIN, INT32_MAX };
  if (k == sizeof numbers / sizeof *numbers) return GONE;
  *p = numbers[k];
  return judge(who);
}

static verdict WRONG_size_t(const char *who, size_t *p, int k)
{
  static const size_t numbers[] = { 0, (size_t)1 << 62, SIZE_MAX };
  if (k == sizeof numbers / sizeof *numbers) return GONE;
  *p = numbers[k];
  return judge(who);
}

static verdict WRONG_count(const char *who, int *p, int k)
{
  (void)who;
  *p = k ? INT_MIN : -1;
  return k > 1 ? GONE : FAILS;
}

static verdict WRONG_n_bytes(const char *who, size_t *p, int k)
{
  (void)who;
  *p = 0;
  return k ? GONE : PASSES;
}

static verdict WRONG_double(const char *who, double *p, int k)
{
  static const double numbers[] = { NAN, INFINITY, -INFINITY, -1, 1e300 };
  (void)who;
  *p = k < 5 ? numbers[k] : 0;
  if (!strcmp(who, "jfl_session_wait.seconds") && k > 0) return GONE;
  return k < 5 ? PASSES : GONE;
}

static verdict WRONG_jfl_csv_spec_p(const char *who, const jfl_csv_spec **p, int k)
{
  static const jfl_csv_spec wrong[] = {
    { .header = 1 }, { .separator = '"' }, { .separator = ',', .n_missing = 1 },
    { .separator = ',', .n_missing = -1 }, { .separator = ',', .n_typed = 1 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_jfl_bpe_spec_p(const char *who, const jfl_bpe_spec **p, int k)
{
  static const jfl_bpe_spec wrong[] = {
    { .size = 0 }, { .size = -1 }, { .size = 257, .least = -1 }, { .size = 257, .pattern = "(" },
    { .size = 257, .n_special = 1 }, { .size = 257, .n_special = -1 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_jfl_encode_spec_p(const char *who, const jfl_encode_spec **p, int k)
{
  static const jfl_encode_spec wrong[] = {
    { .most = -2 }, { .length = -2 }, { .cut = (jfl_side)9 }, { .pad = (jfl_side)9 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return k ? FAILS : PASSES;
}

static verdict WRONG_jfl_picture_spec_p(const char *who, const jfl_picture_spec **p, int k)
{
  static jfl_picture_spec wrong[] = {
    { .channels = 2, .fit = JFL_STRETCH, .height = 2, .width = 2 },
    { .channels = 3, .fit = JFL_STRETCH, .height = 0, .width = 2 },
    { .channels = 3, .fit = JFL_CENTER, .height = 2, .width = INT64_MAX },
    { .channels = 3, .fit = (jfl_fit)9, .height = 2, .width = 2 },
    { .channels = 3, .fit = JFL_STRETCH, .height = 2, .width = 2, .dtype = JFL_I64 },
    { .channels = 3, .fit = JFL_RANDOM, .height = 2, .width = 2, .area = { NAN, 1 } },
    { .channels = 3, .fit = JFL_RANDOM, .height = 2, .width = 2, .area = { 0.5, 1 },
      .aspect = { 2, 1 } },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_jfl_mel_spec_p(const char *who, const jfl_mel_spec **p, int k)
{
  static const jfl_mel_spec wrong[] = {
    { .n_fft = 4, .hop = 1, .bands = 1 }, { .rate = 8000, .n_fft = 1, .hop = 1, .bands = 1 },
    { .rate = 8000, .n_fft = 4, .bands = 1 }, { .rate = 8000, .n_fft = 4, .hop = 1 },
    { .rate = 8000, .n_fft = 4, .hop = 1, .bands = 1, .low = NAN },
    { .rate = 8000, .n_fft = 4, .hop = 1, .bands = 1, .high = 5000 },
    { .rate = 8000, .n_fft = 4, .hop = 1, .bands = 1, .scale = (jfl_mel_scale)9 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_jfl_sample_spec_p(const char *who, const jfl_sample_spec **p, int k)
{
  static const jfl_sample_spec wrong[] = {
    { .kind = (jfl_sample_kind)9 }, { .kind = JFL_NUMBERS },
    { .kind = JFL_NUMBERS, .feature = "x", .numbers = { .dtype = JFL_F16 } },
    { .kind = JFL_SOUND, .sound = { .rate = -1 } },
    { .kind = JFL_SOUND, .sound = { .length = -1 } },
    { .kind = JFL_SOUND, .sound = { .channels = 2 } },
    { .picture = { .channels = 2 }, .colours = { 0 } }, { .resizing = (jfl_resizing)9 },
    { .picture = { .channels = 3, .fit = JFL_STRETCH, .height = 2, .width = 2 },
      .colours = { .hue = 2 } },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_jfl_script_options_p(const char *who, const jfl_script_options **p, int k)
{
  static const jfl_script_options wrong[] = {
    { .size = 0 }, { .size = SIZE_MAX },
    { .size = sizeof *wrong, .instructions = NAN }, { .size = sizeof *wrong, .seconds = -1 },
    { .size = sizeof *wrong, .threads = -1 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return k ? FAILS : PASSES;
}

static verdict wrong_value(const char *who, const void **p, int k)
{
  static jfl_script_value wrong[] = {
    { .kind = JFL_SCRIPT_OTHER }, { .kind = (jfl_script_kind)-1 }, { .kind = JFL_SCRIPT_TEXT },
    { .kind = JFL_SCRIPT_ARRAY },
  };
  const int reads = strstr(who, ".arg") || strstr(who, ".value");
  if (k > (reads ? (int)(sizeof wrong / sizeof *wrong) : 0)) return GONE;
  *p = k ? &wrong[k - 1] : NULL;
  inside = k > 0;
  return FAILS;
}
#define WRONG_jfl_script_value_p(who, p, k) wrong_value(who, (const void **)(void *)(p), k)

static verdict WRONG_jfl_share_p(const char *who, const jfl_share **p, int k)
{
  static const jfl_share wrong[] = {
    { -2, 1, 0 }, { 1 << 20, 1, 0 }, { -1, 0, 0 }, { -1, -1, 0 }, { -1, 1, 1 }, { -1, 1, -1 },
  };
  (void)who;
  inside = k > 0;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return inside = 0, GONE;
  *p = k ? &wrong[k - 1] : NULL;
  return FAILS;
}

static verdict WRONG_c_double_p(const char *who, const double **p, int k)
{
  static const double numbers[] = { NAN, INFINITY, -1e300 };
  (void)who;
  *p = k && k < 4 ? &numbers[k - 1] : NULL;
  return k > 3 ? GONE : k == 1 || k == 2 ? FAILS : PASSES;
}

#define WRONG_ENUM(type, n)                                                          \
  static verdict WRONG_##type(const char *who, type *p, int k)                       \
  {                                                                                  \
    const int numbers[] = { -1, n, INT_MAX, INT_MIN };                               \
    *p = (type)numbers[k & 3];                                                       \
    return k > 3 ? GONE : judge(who);                                                \
  }
WRONG_ENUM(jfl_dtype, JFL_N_DTYPE)
WRONG_ENUM(jfl_mode, 2)
WRONG_ENUM(jfl_deflate, 3)
WRONG_ENUM(jfl_status, JFL_N_STATUS)
WRONG_ENUM(jfl_part, JFL_ERROR_TEXT + 1)

static verdict wrong_shape(const char *who, const jfl_shape **p, int k)
{
  static const jfl_shape shapes[] = {
    { -1, { 1 } }, { 9, { 1 } }, { INT_MAX, { 1 } }, { INT_MIN, { 1 } }, { 1, { -1 } },
    { 2, { INT64_MIN, 2 } }, { 2, { (int64_t)1 << 31, (int64_t)1 << 32 } },
    { 2, { (int64_t)1 << 62, (int64_t)1 << 62 } }, { 3, { 0, INT64_MAX, INT64_MAX } },
  };
  if (k > (int)(sizeof shapes / sizeof *shapes)) return GONE;
  if (k && !strncmp(who, "jfl_script_job_", 15)) return GONE;      /* it is a result there */
  *p = k ? &shapes[k - 1] : NULL;
  inside = k > 0;
  return judge(who);
}
#define WRONG_jfl_shape_p(who, p, k) wrong_shape(who, (const jfl_shape **)(void *)(p), k)

/* No list, a list with a hole, and lists of objects of other kinds. */
static verdict wrong_list(const char *who, const void **p, int kind, int k)
{
  static const void *list[2];
  list[0] = list[1] = k > 1 ? other_object(kind, k - 1) : NULL;
  *p = k ? list : NULL;
  return !k ? judge(who) : k == 1 || list[0] ? FAILS : GONE;
}
#define WRONG_jfl_array_pc_p(who, p, k) wrong_list(who, (const void **)(void *)(p), AN_ARRAY, k)
#define WRONG_jfl_value_pc_p(who, p, k) wrong_list(who, (const void **)(void *)(p), A_VALUE, k)

static verdict WRONG_c_char_pc_p(const char *who, const char *const **p, int k)
{
  static const char *const none[] = { NULL, NULL }, *const odd[] = { "\xff", "\xff" };
  (void)who;
  *p = k == 1 ? none : k == 2 ? odd : NULL;
  return k > 2 ? GONE : k == 2 ? PASSES : FAILS;
}

static verdict WRONG_jfl_arg_p(const char *who, const jfl_arg **p, int k)
{
  static jfl_arg args[13];
  const jfl_arg wrong[] = {
    { .name = NULL }, { .name = "x", .kind = (jfl_arg_kind)-1 }, { .name = "x", .kind = 5 },
    { .name = "x", .kind = JFL_ARG_STRING }, { .name = "x", .kind = JFL_ARG_LIST, .n_list = 3 },
    { .name = "x", .kind = JFL_ARG_LIST, .n_list = -3 }, { .name = "x", .kind = JFL_ARG_ARRAY },
    { .name = "x", .kind = JFL_ARG_ARRAY, .array = (const void *)f.s }, { .name = "\xff" },
    { .name = "", .number = NAN }, { .name = "values", .number = NAN },
    { .name = "values", .kind = JFL_ARG_STRING, .string = "\xff" },
  };
  *p = NULL;
  if (!strcmp(who, "jfl_arguments_free.arg")) return k ? GONE : PASSES;
  if (k > 12) return GONE;
  memcpy(args, wrong, sizeof wrong);
  args[12] = wrong[11];                    /* some calls read two */
  *p = k ? &args[k - 1] : NULL;
  inside = k > 0;
  return FAILS;
}

enum { MOST_TAKEN = 8 };

/* The tensors of the checkpoint under the names that they have. */
static const jfl_taken *as_they_are(void)
{
  static char names[MOST_TAKEN][64];
  static jfl_taken as[MOST_TAKEN];
  for (int i = 0; i < MOST_TAKEN && i < jfl_checkpoint_count(f.c); i++) {
    const char *name = jfl_checkpoint_tensor(f.c, i, NULL, NULL, NULL);
    snprintf(names[i], sizeof names[i], "%s", name);
    as[i] = (jfl_taken){ .name = names[i] };
  }
  return as;
}

static verdict WRONG_jfl_taken_p(const char *who, const jfl_taken **p, int k)
{
  static jfl_taken as[MOST_TAKEN];
  const jfl_taken wrong[] = {
    { "x", -1, { 0 } }, { "x", JFL_MAXDIM + 1, { 0 } }, { "x", 7, { 0, 1, 2, 3, 4, 5, 6 } },
    { "x", 1, { -1 } }, { "x", 1, { 99 } }, { "x", 2, { 0, 0 } },
  };
  (void)who;
  if (k > (int)(sizeof wrong / sizeof *wrong)) return GONE;
  for (int i = 0; i < MOST_TAKEN && k; i++) as[i] = wrong[k - 1];
  *p = k ? as : NULL;
  inside = k > 0;
  return FAILS;
}

static verdict wrong_note(const char *who, const jfl_note **p, int k)
{
  static const jfl_note notes[] = { { NULL, "v" }, { "k", NULL }, { "\xff", "v" } };
  if (!strcmp(who, "jfl_checkpoint_note.out")) return wrong_pointer(who, (const void **)p, k);
  *p = k && k < 4 ? &notes[k - 1] : NULL;
  inside = k == 3;
  return k > 3 ? GONE : FAILS;
}

#define WRONG_jfl_note_p(who, p, k) wrong_note(who, (const jfl_note **)(void *)(p), k)

static void *no_memory(void *ud, size_t n) { return (void)ud, (void)n, NULL; }

static verdict WRONG_jfl_allocator_p(const char *who, const jfl_allocator **p, int k)
{
  static const jfl_allocator half = { .alloc = no_memory };
  (void)who;
  *p = k ? &half : NULL;
  return k > 1 ? GONE : k ? FAILS : PASSES;
}

static verdict WRONG_jfl_variable_spec_p(const char *who, const jfl_variable_spec **p, int k)
{
  static const jfl_variable_spec specs[] = {
    { .name = NULL }, { .name = "" }, { .name = "\xff" }, { .name = "n", .dtype = 77 },
    { .name = "n", .shape = { 77, { 1 } } }, { .name = "n", .shape = { 1, { -7 } } },
    { .name = "n", .shape = { 2, { (int64_t)1 << 62, 4 } } }, { .name = "n", .init = 9 },
    { .name = "n", .state = -1 }, { .name = "n", .l1 = NAN }, { .name = "n", .l2 = INFINITY },
    { .name = "v", .shape = { 1, { 5 } } },
  };
  (void)who;
  if (k > (int)(sizeof specs / sizeof *specs)) return GONE;
  *p = k ? &specs[k - 1] : NULL;
  inside = k > 0;
  return FAILS;
}

/* The good one, which a wrong one differs from in one field. */
static jfl_minimize good_minimize(void)
{
  static const double rate = 0.1;
  static const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  return (jfl_minimize){ .loss = f.values, .n_loss = 1, .optimizer = "SGD",
                         .schedule = "piecewise_constant_schedule", .schedule_arg = schedule,
                         .n_schedule_arg = 2 };
}

static verdict WRONG_jfl_minimize_p(const char *who, const jfl_minimize **p, int k)
{
  static jfl_value *none[1], *foreign[1];
  static jfl_minimize m;
  static const jfl_arg odd = { .name = "momentum", .kind = JFL_ARG_NUMBER, .number = NAN };
  (void)who;
  m = good_minimize();
  foreign[0] = f.foreign;
  *p = k ? &m : NULL;
  inside = k > 0;
  switch (k) {
  case 0: return FAILS;
  case 1: m.loss = NULL; return FAILS;
  case 2: m.loss = none; return FAILS;
  case 3: m.loss = foreign; return FAILS;
  case 4: m.n_loss = -1; return FAILS;
  case 5: m.n_loss = 0; return FAILS;
  case 6: m.optimizer = NULL; return FAILS;
  case 7: m.optimizer = "\xff"; return FAILS;
  case 8: m.n_arg = 1; return FAILS;
  case 9: m.n_arg = -1; return FAILS;
  case 10: m.schedule = NULL; return FAILS;
  case 11: m.schedule = "relu"; return FAILS;
  case 12: m.schedule_arg = NULL; return FAILS;
  case 13: m.n_variable = 1; return FAILS;
  case 14: m.n_variable = -1; return FAILS;
  case 15: m.variable = foreign, m.n_variable = 1; return FAILS;
  case 16: m.clip_norm = NAN; return FAILS;
  case 17: m.clip_norm = -1; return FAILS;
  case 18: m.arg = &odd, m.n_arg = 1; return FAILS;
  default: return GONE;
  }
}

#endif
