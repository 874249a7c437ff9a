#include "check.h"

/* A session with the variables "w" (4, 2) and "b" (1, 2), which a job of it has. */
static jfl_session *session_with_variables(void)
{
  static const char *const name[] = { "w", "b" };
  jfl_session *s;
  jfl_graph *g;
  jfl_job *job;
  jfl_plan *plan;
  check(jfl_session_new(&s));
  check(jfl_graph_new("job", JFL_PREDICT, &g));
  for (int i = 0; i < 2; i++) {
    const jfl_variable_spec spec = { .name = name[i], .dtype = JFL_F32,
      .shape = { 2, { i ? 1 : 4, 2 } }, .init = JFL_INIT_CONSTANT, .a = 1, .trainable = 1 };
    jfl_value *v = NULL;
    check(jfl_graph_variable(g, &spec, &v));
    check(jfl_graph_output(g, v));
  }
  check(jfl_job_new(s, "job", JFL_PREDICT, &job));
  check(jfl_job_compile(job, g, &plan));
  jfl_graph_unref(g);
  return s;
}

/* The variables of a session, what they hold, and where they lie. */
static void read_and_set_variables(void)
{
  jfl_session *s = session_with_variables();
  jfl_array *b, *two = numbers(1, 2);
  jfl_dtype t;
  const jfl_shape *shape;
  const char *devices;
  jfl_distribution lies;
  for (int i = 0; i < jfl_variable_count(s); i++) printf("%s\n", jfl_variable_name(s, i));
  check(jfl_variable_info(s, "b", &t, &shape));
  EXPECT(t == JFL_F32 && shape->d[1] == 2);
  check(jfl_variable_distribution(s, "b", &devices, &lies));
  EXPECT(!strcmp(devices, "cpu:0"));
  check(jfl_variable_set(s, "b", two));
  check(jfl_variable_get(s, "b", &b));
  EXPECT(((float *)jfl_array_data(b))[1] == 1);
  EXPECT(jfl_variable_drop(s, "b") == JFL_ESTATE);     /* a plan has it */
  jfl_array_unref(b);
  jfl_array_unref(two);
  jfl_session_free(s);
}

/* A session is saved as a whole, and loaded into another, by names. */
static void save_and_load(void)
{
  jfl_session *s = session_with_variables();
  jfl_report *report;
  jfl_loaded what;
  int state;
  check(jfl_checkpoint_save(s, "model", 1));
  check(jfl_variables_defer(s, 1));                    /* what is made now needs no first values */
  check(jfl_checkpoint_load(s, "model", 1, &report));
  check(jfl_variables_defer(s, 0));
  for (int i = 0; i < jfl_report_count(report); i++) {
    const char *name = jfl_report_name(report, i, &what, &state);
    printf("%s: %s\n", name, what == JFL_LOADED ? "loaded" : "not loaded");
  }
  jfl_report_free(report);
  check(jfl_checkpoint_remove("model"));
  jfl_session_free(s);
}

/* A host that draws does not wait for the disk, nor for the runs before. */
static void save_behind(void)
{
  jfl_session *s = session_with_variables();
  jfl_request *saving, *reading;
  check(jfl_checkpoint_submit(s, "model", 1, NULL, 0, &saving));
  check(jfl_variables_submit(s, &reading));
  while (!jfl_request_done(saving) || !jfl_request_done(reading))
    jfl_session_wait(s, jfl_request_done(saving) ? reading : saving, 0.01);   /* or it draws */
  check(jfl_request_status(saving));         /* an error of the disk is told here */
  for (int i = 0; jfl_request_name(reading, i); i++)
    printf("%s has %lld numbers\n", jfl_request_name(reading, i),
           (long long)jfl_array_size(jfl_request_output(reading, i)));
  jfl_request_unref(saving);
  jfl_request_unref(reading);
  check(jfl_checkpoint_remove("model"));
  jfl_session_free(s);
}

/* Values are set in their turn among the runs: those before read the old ones. */
static void set_behind(void)
{
  jfl_session *s = session_with_variables();
  const char *const names[] = { "b" };
  jfl_array *two = numbers(1, 2);
  jfl_request *setting;
  check(jfl_variables_set_submit(s, names, &two, 1, &setting));   /* copies the array */
  while (!jfl_request_done(setting)) jfl_session_wait(s, setting, 0.01);    /* or it draws */
  check(jfl_request_status(setting));
  jfl_request_unref(setting);
  jfl_array_unref(two);
  jfl_session_free(s);
}

/* A checkpoint keeps words of the host's own, and tells what it holds without a session. */
static void look_into_a_checkpoint(void)
{
  jfl_session *s = session_with_variables();
  const jfl_note note = { "epoch", "3" };
  jfl_note found;
  jfl_checkpoint *c;
  jfl_array *first;
  uint64_t size;
  jfl_dtype t;
  const jfl_shape *shape;
  check(jfl_checkpoint_save_notes(s, "model", 1, &note, 1));
  check(jfl_checkpoint_open("model", &c));
  EXPECT(jfl_checkpoint_about(c) == 0);      /* neither of one variable nor unfinished */
  for (int i = 0; i < jfl_checkpoint_count(c); i++)
    printf("%s\n", jfl_checkpoint_tensor(c, i, &size, &t, &shape));
  check(jfl_checkpoint_read(c, 0, JFL_F32, NULL, &first));
  for (int i = 0; jfl_checkpoint_note(c, i, &found); i++)
    if (!strcmp(found.key, "epoch")) EXPECT(!strcmp(found.value, "3"));
  jfl_array_unref(first);
  jfl_checkpoint_close(c);
  check(jfl_checkpoint_remove("model"));
  jfl_session_free(s);
}

/* Some of a checkpoint's variables are loaded: those whose names begin with "b". */
static void load_a_part(void)
{
  static const char *const only[] = { "b" };
  static const char *const name[] = { "w", "b" };
  jfl_session *s = session_with_variables();
  jfl_array *value[] = { numbers(4, 2), numbers(1, 2) }, *w;
  jfl_checkpoint *c;
  jfl_report *report;
  check(jfl_checkpoint_write("weights", 1, name, value, 2));      /* without a session */
  check(jfl_checkpoint_open_shared(s, "weights", &c));  /* as all of several processes would */
  check(jfl_checkpoint_apply(s, c, 0, only, 1, &report));
  check(jfl_variable_get(s, "w", &w));
  EXPECT(((float *)jfl_array_data(w))[0] == 1);        /* as it was */
  jfl_array_unref(w);
  jfl_array_unref(value[0]);
  jfl_array_unref(value[1]);
  jfl_report_free(report);
  jfl_checkpoint_close(c);
  check(jfl_checkpoint_remove("weights"));
  jfl_session_free(s);
}

/* Weights of another program are loaded under the names that variables have here. */
static void load_weights_of_others(void)
{
  static const char *const name[] = { "layer.weight", "steps" };
  jfl_session *s = session_with_variables();
  jfl_array *value[] = { numbers(2, 4), numbers(1, 1) };
  jfl_checkpoint *c;
  jfl_report *report;
  const jfl_taken as[] = { { "w", 2, { 1, 0 } }, { NULL, 0, { 0 } } };   /* transposed; left out */
  check(jfl_checkpoint_write("weights", 1, name, value, 2));
  check(jfl_checkpoint_open("weights", &c));
  for (int i = 0; i < jfl_checkpoint_count(c); i++)
    printf("%s: %s\n", jfl_checkpoint_tensor(c, i, NULL, NULL, NULL), jfl_checkpoint_dtype(c, i));
  check(jfl_checkpoint_take(c, as, 2));
  check(jfl_checkpoint_apply(s, c, 0, NULL, 0, &report));
  jfl_array_unref(value[0]);
  jfl_array_unref(value[1]);
  jfl_report_free(report);
  jfl_checkpoint_close(c);
  check(jfl_checkpoint_remove("weights"));
  jfl_session_free(s);
}

/* What is large is kept in several files. */
static void save_in_shards(void)
{
  static const char *const name[] = { "w", "b" };
  jfl_session *s = session_with_variables();
  jfl_array *value[] = { numbers(4, 2), numbers(1, 2) };
  check(jfl_checkpoint_save_shards(s, "model", 32, NULL, 0));
  check(jfl_checkpoint_write_notes("weights", 0, 32, name, value, 2, NULL, 0));
  check(jfl_checkpoint_remove("model"));
  check(jfl_checkpoint_remove("weights"));
  jfl_array_unref(value[0]);
  jfl_array_unref(value[1]);
  jfl_session_free(s);
}

int main(void)
{
  read_and_set_variables();
  save_and_load();
  save_behind();
  set_behind();
  look_into_a_checkpoint();
  load_a_part();
  load_weights_of_others();
  save_in_shards();
  return 0;
}
