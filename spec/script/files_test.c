/* The folders of a restricted script, as a program in C gives them: what its front end does, which
   is trusted but has paths from texts, and what the program and its threads do meanwhile. */
#include "lua_test.h"
#include "scratch.h"

#include <lauxlib.h>
#include <pthread.h>
#include <sys/inotify.h>

static jfl_status run(jfl_script *s, const char *text)
{
  return jfl_script_run(s, text, strlen(text), "=test");
}

static int says(const char *part) { return strstr(jfl_errmsg(), part) != NULL; }

/* ---- what is outside ---- */

static const char fills[] =
  "local flow, root = require 'jfl', root\n"
  "flow.ndarray.save(root .. '/outside/a.npy', flow.ndarray.ones({ 2 }))\n"
  "flow.ndarray.save(root .. '/in/mine.npy', flow.ndarray.ones({ 3 }))\n"
  "flow.data.save_image(root .. '/outside/p.png', flow.ndarray.zeros({ 4, 4, 3 }))\n"
  "flow.checkpoint.save(root .. '/outside/ck', { a = flow.ndarray.ones({ 2 }) })\n"
  "flow.checkpoint.save(root .. '/in/ck', { a = flow.ndarray.ones({ 2 }) })\n";

static void set_root(jfl_script *s)
{
  CHECK(!jfl_script_set(s, "root", &(jfl_script_value){ .kind = JFL_SCRIPT_TEXT,
                                                        .text = scratch }));
}

static void begin(void)
{
  const char *folders[] = { "in", "out", "outside" };
  jfl_script *s;
  scratch_clear(scratch);
  CHECK(!mkdir(scratch, 0700));
  for (size_t i = 0; i < 3; i++) CHECK(!mkdir(in_scratch(folders[i]), 0700));
  CHECK(!symlink("../outside", in_scratch("in/link")));
  CHECK(!symlink("../outside", in_scratch("out/link")));
  put_file(in_scratch("outside/t.csv"), "x\n1\n", 4);
  CHECK(!jfl_script_new(NULL, &s));
  set_root(s);
  CHECK_MSG(!run(s, fills), "%s", jfl_errmsg());
  jfl_script_free(s);
}

static jfl_script *open_box(const char *read, const char *write)
{
  jfl_script *s = NULL;
  const jfl_script_options o = { .size = sizeof o, .restricted = 1, .read_folder = read,
                                 .write_folder = write };
  CHECK_MSG(!jfl_script_new(&o, &s), "%s", jfl_errmsg());
  set_root(s);
  return s;
}

/* Counts what the system tells of files outside that are opened, made or changed. */
static int watch(void)
{
  static const char *const paths[] = { "outside", "outside/ck", "outside/ck/model.safetensors",
                                       "outside/a.npy", "outside/p.png", "outside/t.csv" };
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    CHECK(inotify_add_watch(fd, in_scratch(paths[i]), IN_ALL_EVENTS) >= 0);
  return fd;
}

static int nothing_seen(int fd)
{
  char events[4096];
  const int none = read(fd, events, sizeof events) < 0;
  close(fd);
  return none;
}

/* ---- all that the front end has ---- */

/* Of script/script.h, which cannot be included beside run/run.h: runs a function in the front end's
   state. */
jfl_status jf_script_enter(jfl_script *s, lua_CFunction entry, void *arg, int n_result);

static struct { char *front, *walk; size_t n_front; double calls; } walked;

static int walk_enter(lua_State *L)
{
  if (luaL_loadbuffer(L, walked.front, walked.n_front, "=files_walk")) return lua_error(L);
  lua_pushstring(L, walked.walk);
  lua_pushstring(L, scratch);
  lua_call(L, 2, 1);
  walked.calls = lua_tonumber(L, -1);
  return 0;
}

static void nothing_of_the_front_end_leaves_the_folders(void)
{
  size_t n;
  begin();
  walked.front = get_file("spec/script/files_walk.lua", &walked.n_front);
  walked.walk = get_file("spec/lua/sandbox/walk.lua", &n);
  walked.walk[n] = '\0';
  jfl_script *s = open_box(in_scratch("in"), in_scratch("out"));
  const int fd = watch();
  const jfl_status status = jf_script_enter(s, walk_enter, NULL, 0);
  CHECK_MSG(!status, "%d %s %s", status, jfl_errmsg(), jfl_script_traceback(s));
  CHECK_MSG(walked.calls > 50000, "%g calls", walked.calls);
  CHECK(nothing_seen(fd));
  jfl_script_free(s);
  free(walked.front);
  free(walked.walk);
}

/* ---- folders ---- */

static void folders_are_opened_when_the_script_is_made(void)
{
  begin();
  jfl_script *s = NULL;
  const jfl_script_options o = { .size = sizeof o, .restricted = 1,
                                 .read_folder = in_scratch("none") };
  CHECK(jfl_script_new(&o, &s) == JFL_EIO && says("none cannot be opened: No such file") && !s);
  s = open_box(in_scratch("in"), in_scratch("out"));
  CHECK(!rename(in_scratch("in"), in_scratch("was-in")) && !symlink("outside", in_scratch("in")));
  CHECK(!rename(in_scratch("out"), in_scratch("was-out")));
  CHECK(!symlink("outside", in_scratch("out")));
  const int fd = watch();
  CHECK_MSG(!run(s, "local flow = require 'jfl' assert(flow.ndarray.load('mine.npy').size == 3) "
                 "flow.ndarray.save('b.npy', flow.ndarray.ones({ 2 }))"), "%s", jfl_errmsg());
  CHECK(run(s, "require('jfl').ndarray.load('a.npy')") == JFL_EINVAL || says("No such file"));
  CHECK(nothing_seen(fd) && exists(in_scratch("was-out/b.npy")));
  jfl_script_free(s);
}

static int descriptors(void)
{
  int n = 0;
  for (int i = 0; i < 256; i++) n += fcntl(i, F_GETFD) >= 0;
  return n;
}

/* An array that outlives the script keeps its memory's count, and no folder open. */
static void folders_are_closed_with_the_script(void)
{
  begin();
  const int before = descriptors();
  jfl_script *s = open_box(in_scratch("in"), in_scratch("out"));
  jfl_script_value v;
  CHECK_MSG(!run(s, "a = require('jfl').ndarray.load('mine.npy')"), "%s", jfl_errmsg());
  CHECK(!jfl_script_get(s, "a", &v) && v.kind == JFL_SCRIPT_ARRAY);
  CHECK(descriptors() == before + 2);
  jfl_script_free(s);
  CHECK(descriptors() == before);
  jfl_script_value_clear(&v);
}

/* ---- the program's own files ---- */

static const char trains[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "opened = 0\n"
  "f = flow.global_function { name = 'f', inputs = { { 'x', tp.Numpy.Placeholder({ 2 }) } },\n"
  "  returns = tp.Numpy, body = function(x)\n"
  "    if pcall(flow.checkpoint.get, root .. '/outside/ck') then opened = opened + 1 end\n"
  "    if pcall(flow.checkpoint.save, root .. '/outside/made') then opened = opened + 1 end\n"
  "    return x + flow.get_variable('v', { shape = { 2 },\n"
  "      initializer = flow.constant_initializer(5) })\n"
  "  end }\n";

/* Texts run while the jobs are compiled, which is before the path is opened. */
static void the_program_saves_and_loads_where_it_likes(void)
{
  begin();
  jfl_script *s = open_box(in_scratch("in"), NULL), *other = open_box(NULL, NULL);
  jfl_script_value v;
  CHECK_MSG(!run(s, trains) && !run(other, trains), "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_save(s, in_scratch("outside/saved"), 0), "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_load(other, in_scratch("outside/saved"), 1), "%s", jfl_errmsg());
  CHECK(jfl_script_load(other, in_scratch("outside/none"), 1) == JFL_EIO);
  CHECK(!jfl_script_get(s, "opened", &v) && v.number == 0);
  CHECK(!jfl_script_get(other, "opened", &v) && v.number == 0);
  CHECK(!exists(in_scratch("outside/made")));
  CHECK(run(s, "assert(#require('jfl').checkpoint.get(root .. '/outside/saved') >= 0)") == JFL_EIO);
  put_file(in_scratch("outside/text.lua"), "assert(not io)", 14);
  CHECK_MSG(!jfl_script_run_file(s, in_scratch("outside/text.lua")), "%s", jfl_errmsg());
  jfl_script_free(s);
  jfl_script_free(other);
}

static jfl_status read_outside(void)
{
  jfl_csv *t;
  const jfl_csv_spec spec = { .separator = ',', .header = 1 };
  JF_TRY(jfl_csv_read(in_scratch("outside/t.csv"), &spec, &t));
  jfl_csv_free(t);
  return JFL_OK;
}

static void *read_on_a_thread(void *arg)
{
  *(jfl_status *)arg = read_outside();
  return NULL;
}

/* A function that a text calls, and a thread that it starts. */
static jfl_status host_reads(void *ud, const jfl_script_value *arg, int n, jfl_script_value *out)
{
  pthread_t thread;
  jfl_status status = JFL_EIO;
  (void)ud, (void)arg, (void)n, (void)out;
  JF_TRY(read_outside());
  pthread_create(&thread, NULL, read_on_a_thread, &status);
  pthread_join(thread, NULL);
  return status;
}

static void host_prints(void *ud, const char *text, size_t n)
{
  (void)text, (void)n;
  *(jfl_status *)ud = read_outside();
}

static void functions_of_the_program_open_what_it_may(void)
{
  begin();
  jfl_status printed = JFL_EIO;
  jfl_script *s = NULL;
  const jfl_script_options o = { .size = sizeof o, .restricted = 1, .print = host_prints,
                                 .ud = &printed };
  CHECK(!jfl_script_new(&o, &s));
  set_root(s);
  CHECK(!jfl_script_define(s, "reads", host_reads, NULL));
  const char *const text = "for _ = 1, 2 do local ok, why = pcall(require('jfl').data.csv, root .. "
    "'/outside/t.csv') assert(not ok and why:find('may open no file'), why) reads() print(1) end";
  CHECK_MSG(!run(s, text) && !printed, "%s", jfl_errmsg());
  CHECK(!read_outside());
  jfl_script_free(s);
}

static int listens;
static jfl_status heard = JFL_EIO;

static void host_hears(void *ud, const char *text)
{
  (void)ud, (void)text;
  if (listens) heard = read_outside();
}

/* A checkpoint with a variable that no job has is worth a warning. */
static void warnings_are_heard_where_all_can_be_opened(void)
{
  begin();
  jfl_script *s = open_box(in_scratch("in"), NULL);
  listens = 1;
  CHECK_MSG(!run(s, "require('jfl').checkpoint.load('ck')"), "%s", jfl_errmsg());
  listens = 0;
  CHECK(!heard);
  CHECK(run(s, "require('jfl').checkpoint.load(root .. '/outside/ck')") == JFL_EIO);
  jfl_script_free(s);
}

int main(void)
{
  scratch_make();
  CHECK(!jfl_set_log(&(jfl_log){ .say = host_hears }));
  RUN(nothing_of_the_front_end_leaves_the_folders);
  RUN(folders_are_opened_when_the_script_is_made);
  RUN(folders_are_closed_with_the_script);
  RUN(the_program_saves_and_loads_where_it_likes);
  RUN(warnings_are_heard_where_all_can_be_opened);
  RUN(functions_of_the_program_open_what_it_may);
  return test_done();
}
