/* The simulated device by itself: its memory, which a host cannot touch, and its streams, which
   work late. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dev/sim/sim.h"
#include "test.h"

static jf_sim_memory memory;
static jf_sim_stream *first, *second;
static jf_event *event;

static void open_device(void)
{
  jf_sim_memory_init(&memory, "sim:0");
  CHECK(!jf_sim_stream_new("sim:0", (jf_sim_pace){ 40, 1 }, 0, &first));
  CHECK(!jf_sim_stream_new("sim:0", (jf_sim_pace){ 40, 1 }, 1, &second));
  CHECK((event = jf_event_new()) != NULL);
}

static void close_device(void)
{
  jf_sim_stream_free(first);
  jf_sim_stream_free(second);
  jf_event_free(event);
  jf_sim_memory_end(&memory);
}

/* The signal that ends a child process which reads at p; 0 if it survives. */
static int signal_of_reading(const volatile char *p)
{
  pid_t child = fork();
  if (!child) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(SIGSEGV, SIG_DFL);
    _exit(*p == 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_host_access_faults(void)
{
  open_device();
  char *p = jf_sim_take(&memory, 100);
  CHECK(p != NULL);
  CHECK(signal_of_reading(p) == SIGSEGV);
  CHECK(signal_of_reading(p + 99) == SIGSEGV);
  jf_sim_drop(&memory, p);
  CHECK_MSG(signal_of_reading(p) == SIGSEGV, "freed memory is no host memory either");
  close_device();
}

static void only_bytes_within_one_block_are_found(void)
{
  void *at;
  open_device();
  char *p = jf_sim_take(&memory, 100), here = 0;
  CHECK(!jf_sim_find(&memory, p, 100, &at));
  CHECK(!jf_sim_find(&memory, p + 60, 40, &at));
  CHECK(jf_sim_find(&memory, p + 60, 41, &at));
  CHECK(jf_sim_find(&memory, p + 101, 1, &at));
  CHECK_MSG(!jf_sim_find(&memory, p + 101, 0, &at), "an empty tensor may be anywhere");
  CHECK_MSG(jf_sim_find(&memory, &here, 1, &at), "host memory is not the device's");
  CHECK_MSG(strstr(jfl_errmsg(), "sim:0: 1 bytes at address ") != NULL, "%s", jfl_errmsg());
  close_device();
}

static void what_is_freed_is_poisoned_and_its_use_fails(void)
{
  void *at;
  open_device();
  float *p = jf_sim_take(&memory, sizeof *p);
  CHECK(!jf_sim_find(&memory, p, sizeof *p, &at));
  CHECK(*(float *)at == 0);
  jf_sim_drop(&memory, p);
  CHECK_MSG(*(float *)at != *(float *)at, "what was freed is no number");
  CHECK(jf_sim_find(&memory, p, sizeof *p, &at));
  CHECK_MSG(strstr(jfl_errmsg(), "are freed") != NULL, "%s", jfl_errmsg());
  close_device();
}

static void freed_blocks_go_in_the_end(void)
{
  void *at;
  open_device();
  char *kept = jf_sim_take(&memory, 10);
  for (int i = 0; i < 2000; i++) jf_sim_drop(&memory, jf_sim_take(&memory, 10));
  CHECK_MSG(memory.n < 500, "%d blocks are left", memory.n);
  CHECK(!jf_sim_find(&memory, kept, 10, &at));
  close_device();
}

/* Of many blocks, freed in their order of address or the other way round. */
static void free_in_order(int downwards)
{
  enum { BLOCKS = 600 };
  void *block[BLOCKS], *at;
  open_device();
  for (int i = 0; i < BLOCKS; i++) CHECK((block[i] = jf_sim_take(&memory, 10)) != NULL);
  const int upwards = (const char *)block[0] < (const char *)block[1];
  for (int i = 0; i < BLOCKS; i++) {
    jf_sim_drop(&memory, block[upwards == downwards ? BLOCKS - 1 - i : i]);
    CHECK(memory.n >= 100 && memory.n <= BLOCKS);
  }
  const int gone = BLOCKS - memory.n;
  for (int i = 0; i < BLOCKS; i++) {
    CHECK(jf_sim_find(&memory, block[upwards == downwards ? BLOCKS - 1 - i : i], 10, &at));
    CHECK_MSG(strstr(jfl_errmsg(), i < gone ? "are not its memory" : "are freed"), "%d of %d: %s",
              i, gone, jfl_errmsg());
  }
  CHECK_MSG(gone > 100, "%d", gone);
  close_device();
}

static void what_was_freed_first_goes_first(void)
{
  free_in_order(0);
  free_in_order(1);
}

/* An item that waits for some time and for a gate, then stores *at in *was and changes it. */
typedef struct note {
  jf_sim_item item;
  int wait, *at, value, *was;
  atomic_int *gate;
  jfl_status status;
} note;

/* Seconds after which a gate opens by itself, so that a test that fails ends. */
enum { TOO_LONG = 300 };

static jfl_status run_note(jf_sim_item *i)
{
  note *n = (note *)i;
  const double until = jf_now() + TOO_LONG;
  if (n->wait) usleep((unsigned)n->wait * 1000);
  while (n->gate && !atomic_load(n->gate) && jf_now() < until) usleep(1000);
  if (n->was) *n->was = *n->at;
  if (n->value) *n->at = n->value;
  return n->status ? jf_fail(n->status, "note %d failed", n->value) : JFL_OK;
}

static void put(jf_sim_stream *s, note what)
{
  void *room;
  CHECK(!jf_sim_room(s, sizeof what, &room));
  *(note *)room = what;
  jf_sim_put(s, room, run_note);
}

static void a_stream_is_late_and_in_order(void)
{
  int at = 0, was = -1;
  atomic_int gate = 0;
  open_device();
  put(first, (note){ .gate = &gate, .at = &at, .value = 1 });
  put(first, (note){ .at = &at, .value = 2, .was = &was });
  CHECK_MSG(was == -1, "the call returned before it was done");
  atomic_store(&gate, 1);
  CHECK(!jf_stream_wait(first->stream));
  CHECK(was == 1 && at == 2);
  close_device();
}

/* The first stream writes 5 after a moment, or where the second does not wait for that, after it;
   returns what the second stream reads. */
static int read_across(int with_event)
{
  int at = 0, was = -1;
  atomic_int gate = with_event;
  put(first, (note){ .wait = 50, .gate = &gate, .at = &at, .value = 5 });
  CHECK(!jf_stream_record(first->stream, event));
  if (with_event) CHECK(!jf_stream_await(second->stream, event));
  put(second, (note){ .at = &at, .was = &was });
  CHECK(!jf_stream_wait(second->stream));
  atomic_store(&gate, 1);
  CHECK(!jf_stream_wait(first->stream));
  return was;
}

static void a_forgotten_event_shows(void)
{
  open_device();
  CHECK(read_across(1) == 5);
  CHECK_MSG(read_across(1) == 5, "an event may be recorded again");
#ifndef __SANITIZE_THREAD__
  CHECK_MSG(read_across(0) == 0, "without it the other stream comes too early");
#endif
  close_device();
}

static void an_event_without_a_record_is_not_waited_for(void)
{
  int at = 0;
  open_device();
  CHECK(!jf_stream_await(second->stream, event));
  put(second, (note){ .at = &at, .value = 3 });
  CHECK(!jf_stream_wait(second->stream));
  CHECK(at == 3);
  close_device();
}

static void a_failure_leaves_the_rest_undone_and_is_told_once(void)
{
  int at = 0;
  open_device();
  put(first, (note){ .at = &at, .value = 1 });
  put(first, (note){ .at = &at, .value = 2, .status = JFL_EDATA });
  put(first, (note){ .at = &at, .value = 3 });
  CHECK(jf_stream_wait(first->stream) == JFL_EDATA);
  CHECK_MSG(!strcmp(jfl_errmsg(), "note 2 failed"), "%s", jfl_errmsg());
  CHECK_MSG(at == 2, "what is behind a failure is not done: %d", at);
  put(first, (note){ .at = &at, .value = 4 });
  CHECK_MSG(!jf_stream_wait(first->stream), "a failure is told once");
  CHECK(at == 4);
  close_device();
}

static void an_event_happens_where_the_stream_failed_too(void)
{
  int at = 0;
  open_device();
  put(first, (note){ .at = &at, .status = JFL_EDATA });
  CHECK(!jf_stream_record(first->stream, event));
  CHECK(!jf_stream_await(second->stream, event));
  put(second, (note){ .at = &at, .value = 2 });
  CHECK(!jf_stream_wait(second->stream));
  CHECK(at == 2);
  CHECK(jf_stream_reach(first->stream, event) == JFL_EDATA);
  CHECK(jf_stream_wait(first->stream) == JFL_EDATA);
  CHECK(!jf_stream_record(first->stream, event));
  CHECK(!jf_stream_reach(first->stream, event));
  close_device();
}

static void ending_a_stream_does_what_it_was_given(void)
{
  int at = 0;
  open_device();
  for (int i = 1; i <= 100; i++) put(first, (note){ .at = &at, .value = i });
  close_device();
  CHECK(at == 100);
}

/* ---- the device's table ---- */

static jf_device *device, *other;
static void *stream;

static void open_devices(void)
{
  const jf_kind *k = jf_kind_find("sim");
  CHECK(!jf_device_new(k, 0, &device));
  CHECK(!jf_device_new(k, 1, &other));
  CHECK(!k->stream_new(device, &stream));
}

static void close_devices(void)
{
  device->kind->stream_free(device, stream);
  jf_device_free(device);
  jf_device_free(other);
}

static void *with_numbers(jf_device *d, float a, float b)
{
  float v[2] = { a, b };
  void *on, *p = d->kind->alloc(d, sizeof v);
  CHECK(!d->kind->stream_new(d, &on));
  CHECK(!d->kind->put(d, on, p, v, sizeof v));
  CHECK(!d->kind->wait(d, on));
  d->kind->stream_free(d, on);
  return p;
}

/* y = a x, element by element. For a negative x it fails, or fills in the record of the run. */
static jfl_status scale(const jf_kargs *k)
{
  const float *x = k->in[0].data, a = *(const float *)k->attr;
  float *y = k->out[0].data;
  for (int64_t i = 0; i < k->in[0].shape.d[0]; i++) {
    if (x[i] < 0 && k->fault) *k->fault = (jf_fault){ JF_WRONG_INDEX, k->step, -1, i, 5 };
    if (x[i] < 0) return jf_fail(JFL_EDATA, "element %d is negative", (int)i);
    y[i] = a * x[i];
  }
  return JFL_OK;
}

typedef struct product { void *x, *y; const float *a; jf_fault *fault; } product;

static jfl_status launch(product p)
{
  jf_tensor x = { .data = p.x, .dtype = JFL_F32, .shape = { 1, { 2 } } };
  jf_tensor y = { .data = p.y, .dtype = JFL_F32, .shape = { 1, { 2 } } };
  jf_kargs k = { .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = p.a, .fault = p.fault,
                 .step = 7, .stream = stream };
  jfl_status s = device->kind->launch(device, stream, scale, &k);
  memset(&x, 0, sizeof x);
  memset(&y, 0, sizeof y);
  return s;
}

static jfl_status get(float v[2], void *p)
{
  JF_TRY(device->kind->get(device, stream, v, p, 2 * sizeof *v));
  return device->kind->wait(device, stream);
}

static void a_kernel_runs_on_the_devices_memory(void)
{
  float v[2], three = 3;
  open_devices();
  void *x = with_numbers(device, 1, 2), *y = device->kind->alloc(device, sizeof v);
  CHECK(!launch((product){ x, y, &three, NULL }));
  CHECK(!launch((product){ y, y, &three, NULL }));
  CHECK(!get(v, y));
  CHECK_MSG(v[0] == 9 && v[1] == 18, "%g, %g", v[0], v[1]);
  close_devices();
}

static void a_kernel_with_anothers_memory_fails(void)
{
  float v[2] = { 1, 2 }, three = 3;
  open_devices();
  void *x = with_numbers(other, 1, 2), *y = device->kind->alloc(device, sizeof v);
  CHECK(!launch((product){ x, y, &three, NULL }));
  CHECK(device->kind->wait(device, stream) == JFL_EDEVICE);
  CHECK(!launch((product){ v, y, &three, NULL }));
  CHECK_MSG(device->kind->wait(device, stream) == JFL_EDEVICE, "the host's is another's too");
  CHECK(!device->kind->move(device, stream, y, other, x, sizeof v));
  CHECK(!get(v, y));
  CHECK_MSG(v[0] == 1 && v[1] == 2, "a move is the way: %g, %g", v[0], v[1]);
  close_devices();
}

static void wrong_data_are_told_by_the_record_and_leave_results_alone(void)
{
  float v[2], three = 3;
  jf_fault said;
  open_devices();
  void *x = with_numbers(device, 1, -2), *good = with_numbers(device, 4, 5);
  void *y = with_numbers(device, 6, 7);
  jf_fault *fault = device->kind->alloc(device, sizeof *fault);
  CHECK(!launch((product){ x, x, &three, fault }));
  CHECK(!launch((product){ good, y, &three, fault }));
  CHECK(!device->kind->get(device, stream, &said, fault, sizeof said));
  CHECK_MSG(!get(v, y), "%s", jfl_errmsg());
  CHECK(said.what == JF_WRONG_INDEX && said.step == 7 && said.at == 1);
  CHECK_MSG(v[0] == 6 && v[1] == 7, "%g, %g", v[0], v[1]);
  said = (jf_fault){ 0 };
  CHECK(!device->kind->put(device, stream, fault, &said, sizeof said));
  CHECK(!launch((product){ good, y, &three, fault }));
  CHECK(!get(v, y));
  CHECK_MSG(v[0] == 12 && v[1] == 15, "a new record lets it go on: %g, %g", v[0], v[1]);
  close_devices();
}

static void a_broken_device_fails_the_run_it_broke_in_and_no_other(void)
{
  float v[2], three = 3;
  setenv("JFL_SIM_FAULT", "2", 1);
  open_devices();
  unsetenv("JFL_SIM_FAULT");
  void *x = with_numbers(device, 1, 2), *y = device->kind->alloc(device, sizeof v);
  for (int i = 0; i < 3; i++) CHECK(!launch((product){ x, y, &three, NULL }));
  CHECK(get(v, y) == JFL_EDEVICE);
  CHECK_MSG(!strcmp(jfl_errmsg(), "sim:0 is broken"), "%s", jfl_errmsg());
  CHECK(!launch((product){ x, y, &three, NULL }));
  CHECK(!get(v, y));
  CHECK(v[0] == 3);
  close_devices();
}

static void a_forked_child_is_told_that_the_device_is_not_there(void)
{
  void *at;
  open_devices();
  const jf_kind *k = device->kind;
  CHECK(!k->event_new(device, &at));
  CHECK(!k->record(device, stream, at));
  CHECK(!k->wait(device, stream));
  pid_t child = fork();
  if (!child) {
    int ok = k->wait(device, stream) == JFL_ESTATE && k->record(device, stream, at) == JFL_ESTATE;
    k->stream_free(device, stream);
    _exit(ok ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  k->event_free(device, at);
  close_devices();
}

int main(void)
{
  RUN(a_kernel_runs_on_the_devices_memory);
  RUN(a_kernel_with_anothers_memory_fails);
  RUN(wrong_data_are_told_by_the_record_and_leave_results_alone);
  RUN(a_broken_device_fails_the_run_it_broke_in_and_no_other);
  RUN(a_host_access_faults);
  RUN(only_bytes_within_one_block_are_found);
  RUN(what_is_freed_is_poisoned_and_its_use_fails);
  RUN(freed_blocks_go_in_the_end);
  RUN(what_was_freed_first_goes_first);
  RUN(a_stream_is_late_and_in_order);
  RUN(a_forgotten_event_shows);
  RUN(an_event_without_a_record_is_not_waited_for);
  RUN(a_failure_leaves_the_rest_undone_and_is_told_once);
  RUN(an_event_happens_where_the_stream_failed_too);
  RUN(ending_a_stream_does_what_it_was_given);
  RUN(a_forked_child_is_told_that_the_device_is_not_there);
  return test_done();
}
