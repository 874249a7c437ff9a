/* Ops and training with options that are a text. */
#include "api/api.h"
#include "api/words.h"

#include <string.h>

/* Whether a word of the text, between blanks, is the name. */
static int apply_has_word(const char *text, const char *name)
{
  const size_t n = strlen(name);
  while (text && *text) {
    const size_t word = strcspn(text, " ");
    if (word == n && !strncmp(text, name, n)) return 1;
    text += word + strspn(text + word, " ");
  }
  return 0;
}

/* An op by its name, or by one that scripts call it by. */
static const jfl_op *apply_find(const char *name)
{
  const jfl_op *op = jfl_op_find(name);
  jfl_op_info info;
  for (int i = 0; !op && i < jfl_op_count(); i++) {
    const jfl_op *each = jfl_op_at(i);
    if (!jfl_op_describe(each, &info) && apply_has_word(info.path, name)) op = each;
  }
  return op;
}

/* Appends the op; *out: its first result, NULL if it has none. */
static jfl_status apply_op(jfl_graph *g, const char *op, jfl_value *const *in, int n,
                           const jf_words *w, const char *name, jfl_value **out)
{
  jfl_op_info info;
  const jfl_op *found = apply_find(op);
  if (!found)
    return jf_fail_argument(JFL_ENAME, "op", "must be the name of an op, got '%.60s'", op);
  JF_TRY(jfl_op_describe(found, &info));
  jfl_value **all = jf_new((size_t)(info.n_out + 1) * sizeof *all);     /* ended by NULL */
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory for results");
  const jfl_status code = jfl_graph_op(g, found, in, n, w->arg, w->n, name, all);
  if (!code) *out = all[0];
  jf_free(all);
  return code;
}

/* Dropout is an op of training. Gives whether it is left out. */
static jfl_status apply_dropout(const jfl_graph *g, const char *op, jf_words *w, int *out)
{
  int trains = g->mode == JFL_TRAIN;
  *out = 0;
  if (strcmp(op, "dropout") && strcmp(op, "nn.dropout")) return JFL_OK;
  JF_TRY(jf_words_flag(w, "training", &trains));
  *out = !trains;
  return JFL_OK;
}

static jfl_status apply_words(jfl_graph *g, const char *op, jfl_value *const *in, int n,
                              jf_words *w, jfl_value **out)
{
  const char *name = NULL;
  int skipped;
  jf_words_string(w, "name", &name);
  JF_TRY(apply_dropout(g, op, w, &skipped));
  if (skipped && n == 1) return *out = in[0], JFL_OK;
  return apply_op(g, op, in, n, w, name, out);
}

jfl_status jfl_apply(jfl_graph *g, const char *op, jfl_value *const *in, int n,
                     const char *options, jfl_value **out)
{
  jf_words w;
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(op);
  JF_NEED_EACH(VALUE, in, n);
  JF_NEED_POINTER(out);
  jfl_status code = jf_words_read(options, &w);
  if (!code) code = apply_words(g, op, in, n, &w, out);
  jf_words_free(&w);
  return code;
}

/* ---- training ---- */

static jfl_status apply_train(jfl_graph *g, jfl_value *loss, const char *optimizer, double rate,
                              jf_words *w)
{
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_minimize m = { .loss = &loss, .n_loss = 1, .optimizer = optimizer,
                     .schedule = "piecewise_constant_schedule", .schedule_arg = schedule,
                     .n_schedule_arg = 2 };
  JF_TRY(jf_words_number(w, "clip_norm", &m.clip_norm));
  JF_TRY(jf_words_number(w, "clip_each_norm", &m.clip_each_norm));
  JF_TRY(jf_words_number(w, "clip_value", &m.clip_value));
  JF_TRY(jf_words_number(w, "average", &m.average));
  JF_TRY(jf_words_whole(w, "accumulate", 0, &m.accumulate));
  m.arg = w->arg;
  m.n_arg = w->n;
  return jfl_graph_minimize(g, &m);
}

jfl_status jfl_train(jfl_graph *g, jfl_value *loss, const char *optimizer, double rate,
                     const char *options)
{
  jf_words w;
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, loss);
  JF_NEED_POINTER(optimizer);
  jfl_status code = jf_words_read(options, &w);
  if (!code) code = apply_train(g, loss, optimizer, rate, &w);
  jf_words_free(&w);
  return code;
}

jfl_status jfl_session_define(jfl_session *s, jfl_graph *g, jfl_plan **out)
{
  jfl_job *j = NULL;
  JF_NEED(GRAPH, g);
  jfl_status code = jf_need(__func__, "s", s, JF_TAG_SESSION);
  if (!code) code = jf_need_pointer(__func__, "out", out);
  if (!code) code = jfl_job_new(s, g->name, g->mode, &j);
  if (!code) code = jfl_job_compile(j, g, out);
  if (code && j) jf_job_remove(j);
  jfl_graph_unref(g);
  return code;
}
