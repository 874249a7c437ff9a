/* What is fuzzed: every reader of files that may come from somebody else, and of what other
   processes say. Each run ends well or
   with an error that has a message; it leaks nothing and takes no more memory than such an input
   may. */
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <luajit.h>
#include <lauxlib.h>
#include <lualib.h>

#include "base/json.h"
#include "data/data.h"
#include "fuzz.h"
#include "jfl.h"
#include "scratch.h"

int luaopen_jfl_preload(lua_State *L);

/* An input of FUZZ_MAX bytes unpacks to 8 MB, of which growing makes copies, and jfl arrays. */
enum { MOST_MEMORY = 64 << 20, MUCH_GARBAGE = 4 << 20, MOST_TENSOR = 1 << 20,
       MOST_PIXELS = 1 << 14, RUN_SECONDS = 1 };

/* ---- memory that the library holds ---- */

static atomic_long held, held_bytes;

static void *fuzz_take(void *ud, size_t size)
{
  (void)ud;
  if (atomic_load(&held_bytes) + (long)(size < LONG_MAX / 2 ? size : LONG_MAX / 2) > MOST_MEMORY)
    fuzz_wrong("%zu bytes more than %ld were asked for", size, atomic_load(&held_bytes));
  void *p = aligned_alloc(64, (size + 63) / 64 * 64);
  if (p) atomic_fetch_add(&held, 1), atomic_fetch_add(&held_bytes, (long)size);
  return p;
}

static void fuzz_give(void *ud, void *p, size_t size)
{
  (void)ud;
  if (p) atomic_fetch_sub(&held, 1), atomic_fetch_sub(&held_bytes, (long)size);
  free(p);
}

/* Every failure says what was wrong. */
static void check_status(jfl_status s)
{
  if (s != JFL_OK && strlen(jfl_errmsg()) < 10) fuzz_wrong("status %d without a message", (int)s);
}

/* ---- JSON, compressed data ---- */

static void json(const unsigned char *data, size_t n)
{
  jf_json j;
  const char *text;
  char *copy = memcpy(malloc(n + 1), data, n);
  copy = realloc(copy, n ? n : 1);          /* so that a read past the end is found */
  jf_json_open(&j, copy, n, 0);
  jfl_status s = jf_json_skip(&j);
  check_status(s == JFL_OK ? jf_json_end(&j) : s);
  memcpy(copy, data, n);
  jf_json_open(&j, copy, n, 8);
  if (jf_json_string(&j, &text) == JFL_OK && !jf_utf8_valid(text))
    fuzz_wrong("a string that is no UTF-8");
  free(copy);
}

/* The first byte says the container, the next two the size that is told. */
static void inflate(const unsigned char *data, size_t n)
{
  jfl_array *whole = NULL, *a = NULL;
  if (n < 3) return;
  const jfl_deflate kind = (jfl_deflate)(data[0] % 3);
  const size_t told = data[1] | (size_t)data[2] << 8;
  const long before = atomic_load(&held);
  jfl_status s = jfl_inflate(data + 3, n - 3, kind, told, &whole);
  check_status(s);
  const size_t size = whole ? (size_t)jfl_array_size(whole) : 0;
  const jfl_status within = jfl_inflate_within(data + 3, n - 3, kind, told, &a);
  if ((within == JFL_OK) != (s == JFL_OK && size <= told))
    fuzz_wrong("%zu of %zu bytes, status %d within", told, size, (int)within);
  jfl_array_unref(a);
  a = NULL;
  if (jfl_inflate_head(data + 3, n - 3, kind, told + 1, &a) == JFL_OK && whole &&
      memcmp(jfl_array_data(a), jfl_array_data(whole), (size_t)jfl_array_size(a)))
    fuzz_wrong("the head differs");
  jfl_array_unref(a);
  jfl_array_unref(whole);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* ---- checkpoints ---- */

static jfl_session *session;

/* Reads all there is, and loads it into a session that has some of the names. */
static void read_checkpoint(const char *path)
{
  const long before = atomic_load(&held);
  jfl_checkpoint *c;
  jfl_status s = jfl_checkpoint_open(path, &c);
  check_status(s);
  for (int i = 0; s == JFL_OK && i < jfl_checkpoint_count(c); i++) {
    uint64_t size;
    jfl_dtype dtype;
    const jfl_shape *shape;
    jfl_array *a;
    if (!jfl_checkpoint_tensor(c, i, &size, &dtype, &shape)) fuzz_wrong("tensor %d is none", i);
    if (size > MOST_TENSOR) continue;
    jfl_status r = jfl_checkpoint_read(c, i, JFL_U8, &(jfl_shape){ 1, { (int64_t)size } }, &a);
    check_status(r);
    if (r == JFL_OK) jfl_array_unref(a);
  }
  jfl_note note;
  for (int i = 0; s == JFL_OK && jfl_checkpoint_note(c, i, &note); i++)
    if (!jf_utf8_valid(note.key) || !jf_utf8_valid(note.value)) fuzz_wrong("note %d", i);
  jfl_report *report;
  jfl_status r = s == JFL_OK ? jfl_checkpoint_apply(session, c, 0, NULL, 0, &report) : s;
  check_status(r);
  if (r == JFL_OK) jfl_report_free(report);
  if (s == JFL_OK) jfl_checkpoint_close(c);
  jf_runs_free(session->ahead, session->n_ahead);
  session->ahead = NULL;
  session->n_ahead = 0;
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

static void put_input(const char *path, const void *data, size_t n)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, data, n) != (ssize_t)n) abort();
  close(fd);
}

static void safetensors(const unsigned char *data, size_t n)
{
  put_input(in_scratch("model.safetensors"), data, n);
  read_checkpoint(scratch);
}

static void torch(const unsigned char *data, size_t n)
{
  put_input(in_scratch("weights.pt"), data, n);
  read_checkpoint(in_scratch("weights.pt"));
}

/* A pickle by itself: in the archive, changes of its bytes are seldom ones of a pickle alone. */
static void pickle(const unsigned char *data, size_t n)
{
  const long before = atomic_load(&held);
  jf_pickle p;
  char *copy = memcpy(malloc(n ? n : 1), data, n);
  check_status(jf_pickle_read(copy, n, &p));
  jf_pickle_free(&p);
  free(copy);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* An index, beside two files that it may name. */
static void shards(const unsigned char *data, size_t n)
{
  static const char *const headers[] = {
    "{\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}x",
    "{\"dense1-weight\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}x"
  };
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s/shards", scratch);
  mkdir(folder, 0700);
  for (int i = 0; i < 2; i++) {
    char file[200] = { (char)(strlen(headers[i]) - 1) };
    memcpy(file + 8, headers[i], strlen(headers[i]));
    put_input(in_scratch(i ? "shards/b.safetensors" : "shards/a.safetensors"), file,
              8 + strlen(headers[i]));
  }
  put_input(in_scratch("shards/model.safetensors.index.json"), data, n);
  read_checkpoint(folder);
}

/* Makes a directory under the scratch directory, and those above it. */
static void make_tree(char *dir)
{
  for (char *p = dir + strlen(scratch) + 1; (p = strchr(p, '/')); *p++ = '/') {
    *p = '\0';
    mkdir(dir, 0700);
  }
  mkdir(dir, 0700);
}

/* What is made at the path; whatever is there already stays. */
static void put_node(const char *path, unsigned kind, const unsigned char *data, size_t n)
{
  int r = 0;
  struct stat st;
  if (kind < 128 && lstat(path, &st)) put_input(path, data, n);
  else if (kind < 160) r = mkfifo(path, 0600);
  else if (kind < 192) r = mkdir(path, 0700);
  else r = symlink("/etc/passwd", path);
  (void)r;
}

/* Records of a tree: where, what, how many bytes follow. */
static void oneflow(const unsigned char *data, size_t n)
{
  static const char *const where[] = { "", "w", "dense1-weight", "a", "a/b", "a/b/c", "a/b/c/d",
                                       "System-Train-TrainStep-train" };
  static const char *const what[] = { "out", "meta", "snapshot_done", "other" };
  char dir[PATH_MAX / 2], path[PATH_MAX];
  snprintf(dir, sizeof dir, "%s/tree", scratch);
  scratch_clear(dir);
  for (size_t at = 0; at + 3 <= n;) {
    const unsigned char *r = data + at;
    size_t size = r[2] < n - at - 3 ? r[2] : n - at - 3;
    snprintf(dir, sizeof dir, "%s/tree/%s", scratch, where[r[0] % 8]);
    make_tree(dir);
    snprintf(path, sizeof path, "%s/%s", dir, what[r[1] % 4]);
    put_node(path, r[1], r + 3, size);
    at += 3 + size;
  }
  read_checkpoint(in_scratch("tree"));
  read_checkpoint(in_scratch("tree/w"));
}

/* ---- pictures and tables ---- */

/* Decodes a picture whole and to a size, if it promises no more pixels than a run may take. */
static void picture(const unsigned char *data, size_t n, int png)
{
  const jfl_picture_spec specs[] = {
    { .fit = JFL_WHOLE }, { .fit = JFL_RANDOM, .channels = 3, .height = 7, .width = 5, .flip = 1,
      .area = { 0.1, 1 }, .aspect = { 0.5, 2 }, .dtype = JFL_F32, .planes = 1 },
    { .fit = JFL_CENTER, .channels = 1, .height = 3, .width = 90, .shorter = 20 },
  };
  const long before = atomic_load(&held);
  jf_decoder d = { 0 };
  jf_pixels p = { 0 };
  jfl_status s = png ? jf_png_head(&d, data, n, &p) : jf_jpeg_head(&d, data, n, &p);
  check_status(s);
  jf_decoder_free(&d);
  for (int i = 0; i < 3 && p.width * p.height <= MOST_PIXELS; i++) {
    jfl_array *a = NULL;
    check_status(jfl_picture_decode(data, n, &specs[i], n, &a));
    jfl_array_unref(a);
  }
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* The library drops a picture at the first wrong checksum, so all of them are put right. */
static void png(const unsigned char *data, size_t n)
{
  unsigned char *copy = memcpy(malloc(n + !n), data, n), *c;
  for (size_t at = 8, size; at + 12 <= n && (c = copy + at); at += 12 + size) {
    size = (size_t)c[0] << 24 | (size_t)c[1] << 16 | (size_t)c[2] << 8 | c[3];
    if (size > n - at - 12) break;
    const uint32_t crc = jfl_crc32(c + 4, size + 4);
    for (int i = 0; i < 4; i++) c[8 + size + (size_t)i] = (unsigned char)(crc >> (24 - 8 * i));
  }
  picture(copy, n, 1);
  free(copy);
}

static void jpeg(const unsigned char *data, size_t n) { picture(data, n, 0); }

/* The first byte says how the table is to be read. */
static void csv(const unsigned char *data, size_t n)
{
  static const char *const missing[] = { "", "NA" }, *const typed[] = { "b" };
  const jfl_csv_type number = JFL_CSV_NUMBER;
  const jfl_dtype dtype = JFL_I32;
  const long before = atomic_load(&held);
  const char *path = in_scratch("a.csv");
  jfl_csv *t = NULL;
  if (!n) return;
  put_input(path, data + 1, n - 1);
  const jfl_csv_spec spec = { data[0] & 1 ? ',' : '\t', data[0] & 2, missing, data[0] & 4 ? 2 : 0,
                              typed, &number, &dtype, data[0] & 8 ? 1 : 0 };
  jfl_status s = jfl_csv_read(path, &spec, &t);
  check_status(s);
  if (s != JFL_OK && !strstr(jfl_errmsg(), scratch)) fuzz_wrong("%s", jfl_errmsg());
  for (int i = 0; s == JFL_OK && i < jfl_csv_columns(t); i++)
    for (int64_t row = 0; row < jfl_csv_rows(t); row++) {
      const char *text;
      size_t size;
      jfl_array *a = NULL;
      if (jfl_csv_is_text(t, i)) check_status(jfl_csv_text(t, i, row, &text, &size));
      else if (!row) check_status(jfl_csv_column(t, i, &a));
      jfl_array_unref(a);
    }
  jfl_csv_free(t);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* ---- archives, records and sounds ---- */

/* Every member lies within the file. */
static void pack(const unsigned char *data, size_t n, jfl_pack_kind kind)
{
  const long before = atomic_load(&held);
  const char *path = in_scratch("pack");
  jfl_pack *p = NULL;
  jfl_member m;
  put_input(path, data, n);
  jfl_status s = jfl_pack_open(path, kind, &p);
  check_status(s);
  if (s != JFL_OK && !strstr(jfl_errmsg(), scratch)) fuzz_wrong("%s", jfl_errmsg());
  for (int64_t i = 0; s == JFL_OK && i < jfl_pack_count(p); i++)
    if (jfl_pack_member(p, i, &m) || m.offset < 0 || m.size < 0 ||
        m.offset + m.size > (int64_t)n || strlen(m.name) > n)
      fuzz_wrong("member %lld lies outside", (long long)i);
  if (s == JFL_OK) jfl_pack_free(p);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

static void tar(const unsigned char *data, size_t n) { pack(data, n, JFL_TAR); }

/* A record's bytes, of which two features are read as numbers. */
static void record(const unsigned char *data, size_t n)
{
  static const char *const names[] = { "label", "encoded" };
  const long before = atomic_load(&held);
  pack(data, n, JFL_OFRECORD);
  unsigned char *copy = memcpy(malloc(n + !n), data, n);
  for (int i = 0; i < 4; i++) {
    const jfl_sample_spec spec = {
      .kind = JFL_NUMBERS, .feature = names[i & 1],
      .numbers = { i & 1 ? JFL_I8 : JFL_I64, { 1, { i + 1 } }, i & 2 } };
    jfl_array *a = NULL;
    check_status(jfl_sample_decode(copy, n, &spec, 0, &a));
    jfl_array_unref(a);
  }
  free(copy);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

static void wav(const unsigned char *data, size_t n)
{
  const jfl_mel_spec mel = { .rate = 16000, .n_fft = 60, .hop = 30, .bands = 5,
                             .log = JFL_MEL_WHISPER };
  const jfl_sound_spec specs[] = { { .channels = 0 }, { .rate = 16000, .channels = 1, .length = 500,
                                   .part = 1 }, { .rate = 16000, .channels = 1, .length = 500,
                                   .mel = &mel } };
  const long before = atomic_load(&held);
  unsigned char *copy = memcpy(malloc(n + !n), data, n);
  jfl_sound_info info;
  check_status(jfl_sound_head(copy, n, &info));
  for (int i = 0; i < 3; i++) {
    const jfl_sample_spec spec = { .kind = JFL_SOUND, .sound = specs[i] };
    jfl_array *a = NULL;
    check_status(jfl_sample_decode(copy, n, &spec, n, &a));
    jfl_array_unref(a);
  }
  free(copy);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* ---- tokenizers ---- */

/* Encodes a text, decodes what that gives, and saves what was read. */
static void use_tokenizer(jfl_tokenizer *t, const jfl_text *text)
{
  static const jfl_encode_spec short_ones = { .most = 5, .length = 7 };
  jfl_batch b = { 0 };
  jfl_encoding *e = NULL;
  const jfl_token *token;
  int32_t ids[FUZZ_MAX / 4] = { 0 };
  char *back = NULL;
  const char *json;
  size_t size;
  jfl_status s = jfl_tokenizer_encode(t, text, NULL, NULL, &e);
  check_status(s);
  const int64_t n = s == JFL_OK ? jfl_encoding_tokens(e, &token) : 0;
  const int64_t some = n < FUZZ_MAX / 4 ? n : FUZZ_MAX / 4;
  for (int64_t i = 0; i < some; i++) {
    ids[i] = token[i].id;
    if (token[i].from < 0 || token[i].to < token[i].from || token[i].to > (int64_t)text->n)
      fuzz_wrong("a token of bytes %lld..%lld of %zu", (long long)token[i].from,
                 (long long)token[i].to, text->n);
  }
  jfl_encoding_free(e);
  s = jfl_tokenizer_decode(t, ids, some, 1, &back, &size);
  check_status(s);
  if (s == JFL_OK) jfl_text_free(back);
  s = jfl_tokenizer_batch(t, text, text, 1, &short_ones, &b);
  check_status(s);
  jfl_array_unref(b.ids);
  jfl_array_unref(b.mask);
  jfl_array_unref(b.types);
  check_status(jfl_tokenizer_json(t, &json, &size));
}

/* A tokenizer.json and, behind a zero byte, a text for it. */
static void tokenizer(const unsigned char *data, size_t n)
{
  const long before = atomic_load(&held);
  char *copy = memcpy(malloc(n ? n : 1), data, n);
  const size_t json = strnlen(copy, n);
  jfl_text text = { "The 12 lower\xc3\xa9\xef\xbc\xa1 ones", 20 };
  if (json < n) text = (jfl_text){ copy + json + 1, n - json - 1 };
  jfl_tokenizer *t;
  const jfl_status s = jfl_tokenizer_parse(copy, json, &t);
  check_status(s);
  if (s == JFL_OK) {
    use_tokenizer(t, &text);
    jfl_tokenizer_free(t);
  }
  free(copy);
  if (atomic_load(&held) != before) fuzz_wrong("a leak");
}

/* ---- what Lua reads ---- */

static lua_State *L;

static double seconds_left(void *ctx)
{
  return *(const double *)ctx - (double)clock() / CLOCKS_PER_SEC;
}

/* pcall with bounds of memory and of the processor's time, as what runs is a stranger's. */
static int within(lua_State *state)
{
  double end = (double)clock() / CLOCKS_PER_SEC + RUN_SECONDS;
  jf_budget *b = jf_budget_new(MOST_MEMORY / 2);
  jf_budget_limit(b, seconds_left, &end);
  jf_budget *before = jf_memory_charge(b);
  const int failed = lua_pcall(state, lua_gettop(state) - 1, 0, 0);
  jf_memory_charge(before);
  jf_budget_limit(b, NULL, NULL);
  jf_budget_drop(b);
  lua_pushboolean(state, !failed);
  lua_insert(state, 1);
  return lua_gettop(state);
}

/* Calls the reader of that name with the file that has the input, and with the input. Errors must
   be such as users may see: they name the file. */
static void in_lua(const char *name, const char *file, const void *data, size_t n)
{
  const char *path = in_scratch(file);
  put_input(path, data, n);
  lua_getglobal(L, name);
  lua_pushstring(L, path);
  lua_pushlstring(L, data, n);
  if (lua_pcall(L, 2, 0, 0)) {
    const char *said = lua_tostring(L, -1);
    if (!said || strstr(said, "attempt to") || strstr(said, "bad argument") ||
        strstr(said, "jfl/") || !strstr(said, scratch))
      fuzz_wrong("%s", said ? said : "an error without a message");
    lua_pop(L, 1);
  }
  if (atomic_load(&held_bytes) > MUCH_GARBAGE) lua_gc(L, LUA_GCCOLLECT, 0);
}

static void npy(const unsigned char *data, size_t n) { in_lua("load_array", "a.npy", data, n); }
static void npz(const unsigned char *data, size_t n) { in_lua("load_array", "a.npz", data, n); }
static void loop(const unsigned char *data, size_t n) { in_lua("restore_loop", "loop", data, n); }

static void onnx(const unsigned char *data, size_t n) { in_lua("load_model", "a.onnx", data, n); }

/* The tensors, and then what metadata say of a network and of a tokenizer. */
static void gguf(const unsigned char *data, size_t n)
{
  put_input(in_scratch("weights.gguf"), data, n);
  read_checkpoint(in_scratch("weights.gguf"));
  in_lua("load_gguf", "a.gguf", data, n);
}

/* One file stands for all four of the set. */
static void idx(const unsigned char *data, size_t n)
{
  in_lua("load_set", "train-images-idx3-ubyte", data, n);
}

static const char readers[] =
  "local flow = require 'jfl'\n"
  "local loop = require 'jfl.data.loop'\n"
  "print = function() end\n"
  "require('jfl.base.warn').say = print\n"
  "load_array = function(path) flow.ndarray.load(path) end\n"
  "local function new_loop(shuffle)\n"
  "  return flow.data.loop({ { 1, 2, 3, 4 } }, { name = 'l', epochs = 3, shuffle = shuffle })\n"
  "end\n"
  "load_gguf = function(path)\n"
  "  flow.clear_default_session()\n"
  "  flow.gguf.read(path)\n"
  "  for _, load in ipairs { flow.models.load, flow.text.tokenizer } do\n"
  "    local ok, said = pcall(load, path)\n"
  "    assert(ok or not said:find 'attempt to' and not said:find 'bad argument', said)\n"
  "  end\n"
  "end\n"
  "load_model = function(path)\n"
  "  flow.clear_default_session()\n"
  "  local report = flow.onnx.check(path)\n"
  "  assert(#tostring(report) > 10)\n"
  "  local net, types = flow.onnx.load(path), {}\n"
  "  for i, input in ipairs(report.inputs) do\n"
  "    local n, shape = 1, {}\n"
  "    for k, extent in ipairs(input.shape or {}) do\n"
  "      shape[k] = type(extent) == 'number' and extent or 1\n"
  "      n = n * shape[k]\n"
  "    end\n"
  "    if n > 10000 or not input.dtype then return end\n"
  "    types[i] = flow.typing.Numpy.Placeholder(shape, { dtype = input.dtype })\n"
  "  end\n"
  "  local made, said = pcall(net.predict, net, { inputs = types })\n"
  "  local given = {}\n"
  "  for i, type in ipairs(made and types or {}) do\n"
  "    given[i] = flow.ndarray.ones(type.shape, { dtype = type.dtype })\n"
  "  end\n"
  "  if made then made, said = within(said, unpack(given)) end\n"
  "  assert(made or not said:find 'attempt to' and not said:find 'bad argument', said)\n"
  "end\n"
  "restore_loop = function(_, text)\n"
  "  flow.clear_default_session()\n"
  "  local next = #text % 2 == 0 and new_loop(#text % 4 == 0)\n"
  "  local move, name, wrong = loop.restorer { l = text }\n"
  "  if move then move() else assert(name == 'l' and #wrong > 10) end\n"
  "  assert(loop.restorer(loop.save()))\n"
  "  if not next then\n"
  "    local made, said = pcall(new_loop, #text % 4 == 1)\n"
  "    assert(made or said:find(\"loop 'l'\", 1, true), said)\n"
  "    next = made and said\n"
  "  end\n"
  "  for _ = 1, 20 do if not next or not next() then break end end\n"
  "  assert(loop.restorer(loop.save()))\n"
  "end\n"
  "load_set = function(path) flow.data.load_mnist(1, 1, { out_dir = path:match('^(.*)/') }) end\n";

/* The front end's lines are places as those of the core are. */
static void on_line(lua_State *state, lua_Debug *ar)
{
  lua_getinfo(state, "S", ar);
  fuzz_reach((uintptr_t)ar->source + (uintptr_t)ar->currentline);
}

static void open_lua(void)
{
  L = luaL_newstate();
  luaL_openlibs(L);
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);     /* compiled code calls no hook */
  lua_sethook(L, on_line, LUA_MASKLINE, 0);
  lua_pushcfunction(L, luaopen_jfl_preload);
  lua_call(L, 0, 0);
  lua_register(L, "within", within);
  if (luaL_dostring(L, readers)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(2);
  }
  static const char *const names[] = { "train-labels-idx1", "t10k-images-idx3",
                                       "t10k-labels-idx1" };
  char link[PATH_MAX];
  for (int i = 0; i < 3; i++) {
    snprintf(link, sizeof link, "%s/%s-ubyte", scratch, names[i]);
    if (symlink("train-images-idx3-ubyte", link)) abort();
  }
}

static void close_lua(void) { lua_close(L); }

void fuzz_set_up(void)
{
  jfl_set_allocator(&(jfl_allocator){ fuzz_take, fuzz_give, NULL });
  scratch_make();
  session = full_session(1);
  open_lua();
  atexit(close_lua);
}

/* ---- the table ---- */

static const char *const json_words[] = { "{\"a\":", "[", "]", "}", "\"\\u00e9\"", "\\ud83d\\ude00",
  "null", "true", "-1.5e3", ",", NULL };
static const char *const safetensors_words[] = { "{\"x\":{\"dtype\":\"F32\",\"shape\":[2,3],"
  "\"data_offsets\":[0,24]}}", "\"__metadata__\":{\"format\":\"jfl\"}", "\"dense1-weight\"",
  "\"wide\"",
  "\"BF16\"", "\"I64\"", "\"seed\":\"1\"", "\"run.train\":\"3\"", "\"state.w\":\"1\"",
  "\"note.loop.l\":\"1\"", ",", "[", "]", "{", "}", NULL };
static const char *const torch_words[] = { "PK\1\2", "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7",
  "data.pkl", "data/0", "\xff\xff\xff\xff", "ctorch\nFloatStorage\n", "X\1", "K\1", "\x85", "\x86",
  "\x87", "R", "Q", "u", "s", "(", "t", "ccollections\nOrderedDict\n", ")R", "}", "]",
  "ctorch._utils\n_rebuild_tensor_v2\n", "h\1", "q\1", "\x8a\x8", ".", NULL };
static const char *const shards_words[] = { "{\"weight_map\":{\"x\":\"a.safetensors\"}}",
  "\"dense1-weight\":\"b.safetensors\"", "\"metadata\":{}", "../", "/", "\\", ",", "}", "{",
  "model.safetensors.index.json", NULL };
static const char *const oneflow_words[] = { "shape { dim: 3 dim: 5 } data_type: kFloat", "dim: 4",
  "data_type: kInt64", "kChar", NULL };
static const char *const npy_words[] = { "\x93NUMPY\x01", "'descr': '<f4'", "'fortran_order': True",
  "'shape': (2, 3)", "(", ")", ",", "'>u2'", "'|b1'", NULL };
static const char *const npz_words[] = { "PK\1\2", "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7", ".npy",
  "\xff\xff\xff\xff", NULL };
static const char *const loop_words[] = { "1 ", "0 ", "-", " ", "9007199254740993", "nan", "inf",
  "1e99", NULL };

static const char *const png_words[] = { "IHDR", "IDAT", "PLTE", "tRNS", "gAMA", "IEND", "sRGB",
  NULL };
static const char *const jpeg_words[] = { "\xff\xd8", "\xff\xc0", "\xff\xc2", "\xff\xc4",
  "\xff\xda", "\xff\xdb", "\xff\xdd", "\xff\xd9", "Adobe", NULL };
static const char *const csv_words[] = { "\"", "\"\"", ",", "\t", "\n", "\r\n", "\xef\xbb\xbf",
  "NA", "1e400", "-0.5", "9223372036854775807", "nan", "0x1", NULL };

static const char *const tar_words[] = { "ustar\0" "00", "a.jpg", "a.cls", "00000000017\0",
  "11 path=b\n", "10 size=5\n", "\x80", "././@LongLink", NULL };
static const char *const record_words[] = { "\n\7label", "encoded", "\x12\4", "\"\2\n", "*\3\n\1",
  "\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", NULL };
static const char *const wav_words[] = { "RIFF", "WAVEfmt ", "data", "fmt ", "\xfe\xff", "\1\0\1\0",
  "\xff\xff\xff\xff", "\x80>\0\0", NULL };

static const char *const tokenizer_words[] = {
  "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"b\"]]}}",
  "\"normalizer\":{\"type\":\"NFKC\"}", "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}",
  "\"Sequence\"",
  "\"added_tokens\":[{\"id\":0,\"content\":\"a\"}]", "\"WordPiece\"", "\"Unigram\"", "##",
  "\"Split\",\"pattern\":{\"Regex\":\"", "(?i:", "\\\\p{L}+", "(?!", "{1,3}", NULL };
static const char *const onnx_words[] = { "\x12\4Relu", "\x12\6MatMul", "\x12\4Loop", "\x12\2If",
  "\x08\x07", "\x22\x04", "\x0a\x01x", "\x3a\x10", "raw", "\x80\x80\x80\x80\x08", "..", NULL };
static const char *const gguf_words[] = { "GGUF\3", "general.alignment", "general.architecture",
  "llama.block_count", "tokenizer.ggml.tokens", "tokenizer.ggml.model", "token_embd.weight",
  "\xff\xff\xff\xff\xff\xff\xff\x7f", NULL };
static const char *const world_words[] = { "jflworld", "\1\2", "\0\0", "12345678", NULL };

const fuzz_target fuzz_targets[] = {
  { "json", json, json_words }, { "inflate", inflate, NULL },
  { "safetensors", safetensors, safetensors_words }, { "oneflow", oneflow, oneflow_words },
  { "torch", torch, torch_words }, { "pickle", pickle, torch_words },
  { "shards", shards, shards_words },
  { "npy", npy, npy_words }, { "npz", npz, npz_words }, { "idx", idx, NULL },
  { "loop", loop, loop_words }, { "png", png, png_words }, { "jpeg", jpeg, jpeg_words },
  { "csv", csv, csv_words }, { "tar", tar, tar_words }, { "ofrecord", record, record_words },
  { "wav", wav, wav_words }, { "tokenizer", tokenizer, tokenizer_words },
  { "onnx", onnx, onnx_words }, { "gguf", gguf, gguf_words }, { "world", fuzz_world, world_words },
};
const int fuzz_n_targets = sizeof fuzz_targets / sizeof *fuzz_targets;
