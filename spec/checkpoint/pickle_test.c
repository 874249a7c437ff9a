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
  RUN(reads_tensors);
  RUN(takes_no_more_than_the_file_has);
  RUN(refuses_archives_that_are_cut);
  RUN(refuses_archives_that_lie);
  RUN(reads_the_end_for_large_archives);
  return test_done();
}
