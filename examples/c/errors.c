#include "check.h"

/* The version that runs may be newer than the header's; a report of an error says more. */
static void version_and_build(void)
{
  char *facts;
  EXPECT(!strcmp(jfl_version(), JFL_VERSION));
  check(jfl_build_text(&facts));
  printf("%s", facts);
  jfl_text_free(facts);
}

/* What was wrong is a sentence, and its parts: which argument of what, and why. */
static void error_and_its_parts(void)
{
  const jfl_shape shape = { 1, { -2 } };
  jfl_array *a;
  jfl_status s = jfl_array_new(JFL_F32, &shape, &a);
  EXPECT(s == JFL_ESHAPE && jfl_error_code() == s);
  printf("%s: %s\n", jfl_status_name(s), jfl_errmsg());
  const char *op = jfl_error_part(JFL_ERROR_OP), *text = jfl_error_part(JFL_ERROR_TEXT);
  EXPECT(op == NULL || *op);                 /* NULL: the error has no such part */
  EXPECT(text && strstr(jfl_errmsg(), text));
}

/* Dtypes have names, sizes and elements that any C type can be read from. */
static void dtypes(void)
{
  jfl_dtype t;
  check(jfl_dtype_parse("float16", &t));
  EXPECT(t == JFL_F16 && jfl_dtype_size(t) == 2);
  EXPECT(!strcmp(jfl_dtype_name(t), "float16"));
  uint16_t half[2];
  check(jfl_number_put(t, half, 1, 0.5));
  EXPECT(jfl_number_get(t, half, 1) == 0.5);
  EXPECT(!jfl_number_fits(JFL_U8, 256) && jfl_number_fits(JFL_U8, 255));
}

/* Names that come from outside are checked, and made fit to be shown, before they are used. */
static void names(void)
{
  char shown[32];
  EXPECT(jfl_name_check("the layer's name", "") == JFL_ENAME || jfl_error_code() == JFL_EINVAL);
  check(jfl_name_check("the layer's name", "conv1"));
  size_t size = jfl_printable("a\033[2J", 5, shown, sizeof shown);
  EXPECT(size < sizeof shown && !strcmp(shown, "a\\x1b[2J"));
}

static size_t in_use;

static void *counted_alloc(void *ud, size_t size)
{
  (void)ud;
  void *p = malloc(size);                    /* aligned to 16 bytes, as it must be */
  if (p) in_use += size;
  return p;
}

static void counted_free(void *ud, void *p, size_t size)
{
  (void)ud;
  if (p) in_use -= size;
  free(p);
}

/* A host that counts memory gives the library its allocator before it calls anything else. */
static void allocator(void)
{
  const jfl_allocator a = { counted_alloc, counted_free, NULL };
  check(jfl_set_allocator(&a));
  jfl_array *array = numbers(100, 100);
  EXPECT(in_use >= 40000);
  jfl_array_unref(array);
  EXPECT(in_use < 40000);
  jfl_graph *g;
  char *text;
  check(jfl_graph_new("job", JFL_PREDICT, &g));
  check(jfl_graph_text(g, &text));
  jfl_text_free(text);                       /* texts that are returned are the caller's */
  jfl_graph_unref(g);
}

static void warned(void *ud, const char *text)
{
  strncpy(ud, text, 63);
}

static void thread_starts(void *ud, const char *what)
{
  (void)what;                                /* here it would get a name, cores or a priority */
  __atomic_fetch_add((int *)ud, 1, __ATOMIC_RELAXED);
}

/* Warnings, which are no errors, go to the program; and it is called on each thread that the
   library starts. */
static void log_and_threads(void)
{
  char heard[64] = "";
  int threads = 0;
  const jfl_log log = { warned, heard };
  const jfl_thread_hooks hooks = { thread_starts, NULL, &threads };
  check(jfl_set_log(&log));
  EXPECT(jfl_warn("the data set is small") && !strcmp(heard, "the data set is small"));
  check(jfl_set_log(NULL));
  check(jfl_set_thread_hooks(&hooks));
  check(jfl_set_thread_hooks(NULL));
}

/* A function that a program gives to the library fails in its own words. */
static void error_of_the_program(void)
{
  EXPECT(jfl_fail(JFL_EDATA, "the door must be open, got a closed one") == JFL_EDATA);
  EXPECT(!strcmp(jfl_errmsg(), "the door must be open, got a closed one"));
}

int main(void)
{
  log_and_threads();
  error_of_the_program();
  allocator();
  version_and_build();
  error_and_its_parts();
  dtypes();
  names();
  return 0;
}
