/* src/checkpoint/pickle.c and zip.c: what wants to run something, what is cut, and what would take
   more memory than the file has bytes. */
#include "scratch.h"
#include "test.h"

static int says(const char *what) { return strstr(jfl_errmsg(), what) != NULL; }

static jfl_status read_text(const char *bytes, size_t n)
{
  jf_pickle p;
  const jfl_status r = jf_pickle_read(bytes, n, &p);
  jf_pickle_free(&p);
  return r;
}

#define CHECK_REFUSED(bytes, text) \
  CHECK_MSG(read_text(bytes, sizeof bytes - 1) == JFL_EDATA && says(text), "%s", jfl_errmsg())

static void runs_nothing(void)
{
  CHECK_REFUSED("cos\nsystem\n(X\4\0\0\0true\x85R.", "byte 11: it asks for os.system, and only");
  CHECK_REFUSED("\x80\4\x8c\10builtins\x8c\4eval\x93.", "it asks for builtins.eval");
  CHECK_REFUSED("ctorch\nload\n.", "it asks for torch.load");
  CHECK_REFUSED("ccollections\nOrderedDict2\n.", "it asks for collections.OrderedDict2");
  CHECK_REFUSED("(i__builtin__\neval\n.", "operation 0x69 is none of those");
  CHECK_REFUSED("\x82\1.", "operation 0x82");
  CHECK_REFUSED("X\1\0\0\0a)R.", "a call of what is no function");
  CHECK_REFUSED("ctorch\nfloat32\n)R.", "a call that makes nothing");
}

static void refuses_what_is_cut_or_mixed_up(void)
{
  CHECK_REFUSED("", "cut");
  CHECK_REFUSED("}", "cut");
  CHECK_REFUSED(".", "a value is missing");
  CHECK_REFUSED("(.", "a value is missing");
  CHECK_REFUSED("X\5\0\0\0abcd", "cut");
  CHECK_REFUSED("X\xff\xff\xff\xff" "abcd", "cut");
  CHECK_REFUSED("\x8d\xff\xff\xff\xff\xff\xff\xff\xff" "abcd", "cut");
  CHECK_REFUSED("\x8b\xff\xff\xff\x7f" "abcd", "cut");
  CHECK_REFUSED("t.", "a mark is missing");
  CHECK_REFUSED("\x85.", "a value is missing");
  CHECK_REFUSED("N(\x86.", "a value is missing");
  CHECK_REFUSED("h\0.", "no such note");
  CHECK_REFUSED("Nr\xff\xff\xff\x7f.", "a note of too high a number");
  CHECK_REFUSED("]NNs.", "items of what is no container");
  CHECK_REFUSED("a.", "items of what is no container");
  CHECK_REFUSED("Na.", "items of what is no container");
  CHECK_REFUSED("}(Nu.", "items of what is no container");
  CHECK_REFUSED("(Nd.", "a key alone");
  CHECK_REFUSED("X\1\0\0\0aQ.", "a storage must have");
  CHECK_REFUSED("cos\n", "cut");
  CHECK_REFUSED("NN\x93.", "a class must be named by texts");
}

/* ---- what is read ---- */

/* Adds a value's text: 5, 'ab', [1 2], {1:2}, or ? for what does not matter. */
static void show(const jf_pickle *p, int i, char *out)
{
  const jf_pickled *v = &p->v[i];
  const int is_dict = v->kind == JF_PICKLED_DICT;
  char *end = out + strlen(out);
  if (v->kind == JF_PICKLED_WHOLE) sprintf(end, "%lld", (long long)v->whole);
  else if (v->kind == JF_PICKLED_TEXT) sprintf(end, "'%.*s'", (int)v->n, v->text);
  else if (!is_dict && v->kind != JF_PICKLED_LIST) strcpy(end, "?");
  else {
    strcpy(end, is_dict ? "{" : "[");
    for (int c = v->first, k = 0; c >= 0; c = p->cell[c].next, k++) {
      if (k) strcat(out, is_dict && k % 2 ? ":" : " ");
      show(p, p->cell[c].value, out);
    }
    strcat(out, is_dict ? "}" : "]");
  }
}

#define READS(bytes, text) { bytes, sizeof bytes - 1, text }

/* As Python's pickletools describes them. */
static void each_operation_gives_what_python_says(void)
{
  static const struct { const char *bytes; size_t n; const char *text; } cases[] = {
    READS("K\5.", "5"), READS("K\xff.", "255"), READS("M\1\2.", "513"),
    READS("J\1\2\3\4.", "67305985"), READS("J\xfe\xff\xff\xff.", "-2"),
    READS("\x8a\0.", "0"), READS("\x8a\1\xff.", "-1"), READS("\x8a\2\xff\0.", "255"),
    READS("\x8a\2\0\x80.", "-32768"),
    READS("\x8a\10\0\0\0\0\0\0\0\x40.", "4611686018427387904"),
    READS("\x8a\11\0\0\0\0\0\0\0\0\1.", "?"), READS("\x8b\2\0\0\0\0\1.", "256"),
    READS("G12345678.", "?"), READS("N.", "?"), READS("\x88.", "1"), READS("\x89.", "0"),
    READS("X\2\0\0\0ab.", "'ab'"), READS("\x8c\2ab.", "'ab'"), READS("U\2ab.", "'ab'"),
    READS("\x8d\2\0\0\0\0\0\0\0ab.", "'ab'"), READS("T\2\0\0\0ab.", "'ab'"),
    READS("C\2ab.", "'ab'"), READS("B\2\0\0\0ab.", "'ab'"),
    READS("\x8e\2\0\0\0\0\0\0\0ab.", "'ab'"), READS("U\0.", "''"),
    READS(").", "[]"), READS("].", "[]"), READS("}.", "{}"), READS("\x8f.", "[]"),
    READS("(t.", "[]"), READS("(K\1K\2t.", "[1 2]"), READS("(K\1K\2l.", "[1 2]"),
    READS("(K\1K\2\x91.", "[1 2]"), READS("(K\1K\2K\3K\4d.", "{1:2 3:4}"),
    READS("K\1\x85.", "[1]"), READS("K\1K\2\x86.", "[1 2]"),
    READS("K\1K\2K\3\x87.", "[1 2 3]"), READS("]K\1aK\2a.", "[1 2]"),
    READS("](K\1K\2e(K\3e.", "[1 2 3]"),
    READS("\x8f(K\1K\2\x90.", "[1 2]"), READS("}K\1K\2sK\3K\4s.", "{1:2 3:4}"),
    READS("}(K\1K\2K\3K\4u(K\5K\6u.", "{1:2 3:4 5:6}"),
    READS("(](}(K\1ttt.", "[[] [{} [1]]]"),
    READS("K\1K\2" "0.", "1"), READS("K\1(K\2K\3" "1.", "1"), READS("K\1" "2\x86.", "[1 1]"),
    READS("(K\7q\5K\10q\2h\5h\2t.", "[7 8 7 8]"),
    READS("(K\7r\5\0\0\0K\10r\2\0\0\0h\5j\2\0\0\0t.", "[7 8 7 8]"),
    READS("(K\7\x94K\10\x94h\0h\1t.", "[7 8 7 8]"),
    READS("(K\7q\1K\10q\1h\1t.", "[7 8 8]"),
    READS("\x80\2K\1.", "1"), READS("\x95" "12345678K\1.", "1"), READS("]K\1b.", "[]"),
    READS("ccollections\nOrderedDict\n)R.", "{}"),
    READS("ccollections\nOrderedDict\n](K\1K\2\x86K\3K\4\x86" "e\x85R.", "{1:2 3:4}"),
    READS("ctorch\nSize\n(K\3K\4t\x85R.", "[3 4]"),
    READS("\x8c\5torch\x8c\4Size\x93K\3\x85\x85\x81.", "[3]"),
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    jf_pickle p;
    char text[100] = "";
    const jfl_status s = jf_pickle_read(cases[i].bytes, cases[i].n, &p);
    if (!s) show(&p, p.root, text);
    CHECK_MSG(!s && !strcmp(text, cases[i].text), "case %zu: %s, expected %s: %s", i, text,
              cases[i].text, s ? jfl_errmsg() : "");
    jf_pickle_free(&p);
  }
}

#define STORAGE "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" "0X\3\0\0\0cpuK\6tQ"
#define TENSOR(rest) "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE rest "tR."

static void reads_tensors(void)
{
  static const char good[] = TENSOR("K\1K\2K\3\x86K\3K\1\x86\x89}");
  jf_pickle p;
  CHECK(jf_pickle_read(good, sizeof good - 1, &p) == JFL_OK && p.n_tensor == 1);
  const jf_pickled_tensor *t = p.tensor;
  CHECK(t->type->dtype == JFL_F32 && t->n_storage == 6 && t->offset == 1 && t->shape.n == 2);
  CHECK(t->shape.d[0] == 2 && t->shape.d[1] == 3 && t->step[0] == 3 && t->step[1] == 1);
  CHECK(t->n_key == 1 && *t->key == '0' && p.v[p.root].kind == JF_PICKLED_TENSOR);
  jf_pickle_free(&p);
  CHECK_REFUSED(TENSOR("K\1K\2K\3\x86K\3\x85\x89}"), "with as many steps");
  CHECK_REFUSED(TENSOR("J\xff\xff\xff\xffK\2\x85K\1\x85\x89}"), "a place in it");
  CHECK_REFUSED(TENSOR("K\0J\xff\xff\xff\xff\x85K\1\x85\x89}"), "at most 8 extents");
  CHECK_REFUSED(TENSOR("K\0(KKKKKKKKKKKKKKKKKKt(t\x89}"), "at most 8 extents");
  CHECK_REFUSED(TENSOR("K\0K\2K\3\x89}"), "at most 8 extents");
}

/* A tensor of 48 bytes by the name of its storage's class, or of its dtype with an untyped one. */
static void check_type(const char *storage, const char *name, jfl_dtype dtype, int size)
{
  char bytes[300];
  jf_pickle p;
  const char *function = storage ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3";
  const int n = sprintf(bytes, "ctorch._utils\n%s\n((U\7storagectorch\n%s\nU\0010U\3cpuK%ctQ"
                        "K\1(K\2t(K\1tNN%s%s%stR.", function, storage ? storage : "UntypedStorage",
                        storage ? 48 / size : 48, storage ? "" : "ctorch\n", storage ? "" : name,
                        storage ? "" : "\n");
  const jfl_status s = jf_pickle_read(bytes, (size_t)n, &p);
  CHECK_MSG(!s && p.n_tensor == 1, "%s %s: %s", storage ? storage : "", name, jfl_errmsg());
  const jf_pickled_tensor *t = p.tensor;
  if (!s) CHECK_MSG(!strcmp(t->type->name, name) && t->type->dtype == dtype &&
                    (int)t->type->size == size && t->n_storage == 48 / size, "%s", name);
  jf_pickle_free(&p);
}

static void knows_the_types_by_classes_and_names(void)
{
  static const struct { const char *name, *storage; jfl_dtype dtype; int size; } types[] = {
    { "float32", "FloatStorage", JFL_F32, 4 }, { "float64", "DoubleStorage", JFL_F64, 8 },
    { "float16", "HalfStorage", JFL_F16, 2 }, { "bfloat16", "BFloat16Storage", JFL_BF16, 2 },
    { "int8", "CharStorage", JFL_I8, 1 }, { "uint8", "ByteStorage", JFL_U8, 1 },
    { "int32", "IntStorage", JFL_I32, 4 }, { "int64", "LongStorage", JFL_I64, 8 },
    { "int16", "ShortStorage", JFL_N_DTYPE, 2 }, { "bool", "BoolStorage", JFL_N_DTYPE, 1 },
    { "complex64", "ComplexFloatStorage", JFL_N_DTYPE, 8 },
    { "complex128", "ComplexDoubleStorage", JFL_N_DTYPE, 16 }, { "uint16", NULL, JFL_N_DTYPE, 2 },
    { "uint32", NULL, JFL_N_DTYPE, 4 }, { "uint64", NULL, JFL_N_DTYPE, 8 },
    { "float8_e4m3fn", NULL, JFL_N_DTYPE, 1 }, { "float8_e5m2", NULL, JFL_N_DTYPE, 1 },
    { "float8_e4m3fnuz", NULL, JFL_N_DTYPE, 1 }, { "float8_e5m2fnuz", NULL, JFL_N_DTYPE, 1 },
    { "float8_e8m0fnu", NULL, JFL_N_DTYPE, 1 },
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    for (int named = 0; named < 2; named++)
      if (named || types[i].storage)
        check_type(named ? NULL : types[i].storage, types[i].name, types[i].dtype, types[i].size);
  }
}

static void takes_no_more_than_the_file_has(void)
{
  /* A list of pairs of which many dicts are made. */
  enum { N = 400 };
  char bytes[10 * N + 200];
  size_t n = 0;
  const char *head = "ccollections\nOrderedDict\nq\1](";
  memcpy(bytes, head, strlen(head));
  n = strlen(head);
  for (int i = 0; i < N; i++) n += (size_t)sprintf(bytes + n, "NN\x86");
  n += (size_t)sprintf(bytes + n, "e\x85q\2");
  for (int i = 0; i < N; i++) n += (size_t)sprintf(bytes + n, "h\1h\2R0");
  CHECK_MSG(read_text(bytes, n) == JFL_EDATA && says("more items than bytes"), "%s", jfl_errmsg());
}

/* ---- archives ---- */

static char *file_of(const char *name, size_t *n)
{
  char path[200];
  snprintf(path, sizeof path, "spec/fuzz/corpus/torch/%s", name);
  return get_file(path, n);
}

static jfl_status open_bytes(const char *bytes, size_t n)
{
  jfl_checkpoint *c;
  put_file(in_scratch("weights.pt"), bytes, n);
  const jfl_status r = jfl_checkpoint_open(in_scratch("weights.pt"), &c);
  if (r == JFL_OK) jfl_checkpoint_close(c);
  return r;
}

/* At every length a file is refused, and so it is with any one byte of its ends changed, or read:
   never is it a crash. */
static void refuses_archives_that_are_cut(void)
{
  size_t n;
  char *all = file_of("protocol4", &n);
  CHECK(open_bytes(all, n) == JFL_OK);
  for (size_t k = 0; k < n; k++) CHECK_MSG(open_bytes(all, k) != JFL_OK, "%zu bytes", k);
  free(all);
}

/* Changes the number at `at` bytes behind the last such mark. */
static void check_changed(const char *mark, size_t at, int bytes, uint64_t to, const char *text)
{
  size_t n, last = 0;
  char *all = file_of("protocol4", &n);
  for (size_t i = 0; i + 4 <= n; i++)
    if (!memcmp(all + i, mark, 4)) last = i;
  for (int i = 0; i < bytes; i++) all[last + at + (size_t)i] = (char)(to >> 8 * i);
  CHECK_MSG(open_bytes(all, n) == JFL_EDATA && says(text), "%s: %s", text, jfl_errmsg());
  free(all);
}

static void refuses_archives_that_lie(void)
{
  check_changed("PK\5\6", 12, 4, 0x7fffffff, "its list of members ends behind the file");
  check_changed("PK\5\6", 16, 4, 0x7fffffff, "its list of members ends behind the file");
  check_changed("PK\5\6", 12, 4, 7, "a member of its list is cut");
  check_changed("PK\5\6", 16, 4, 3, "a member of its list is cut");
  check_changed("PK\5\6", 0, 4, 0, "its end is missing");
}

static void reads_the_end_for_large_archives(void)
{
  size_t n, end = 0;
  char *all = file_of("protocol4", &n);
  for (size_t i = 0; i + 4 <= n; i++)
    if (!memcmp(all + i, "PK\5\6", 4)) end = i;
  memset(all + end + 12, 0xff, 8);
  CHECK_MSG(open_bytes(all, n) == JFL_OK, "%s", jfl_errmsg());
  memset(all + end - 20 + 8, 0xff, 8);
  CHECK(open_bytes(all, n) == JFL_EDATA && says("it has no place of its end"));
  free(all);
}

int main(void)
{
  scratch_make();
  RUN(runs_nothing);
  RUN(refuses_what_is_cut_or_mixed_up);
  RUN(each_operation_gives_what_python_says);
  RUN(reads_tensors);
  RUN(knows_the_types_by_classes_and_names);
  RUN(takes_no_more_than_the_file_has);
  RUN(refuses_archives_that_are_cut);
  RUN(refuses_archives_that_lie);
  RUN(reads_the_end_for_large_archives);
  return test_done();
}
