/* The sources that a device knows, and those that it has loaded. */
#include "dev/cuda/image.h"

#include <string.h>

/* ---- finding ---- */

static jf_cuda_image *image_known(const jf_cuda *c, uint64_t hash, uint64_t second)
{
  jf_cuda_image *i = c->images;
  while (i && (i->hash != hash || i->second != second)) i = i->next;
  return i;
}

/* Copies a text to *room, and moves that behind it. */
static const char *image_text(char **room, const char *text)
{
  const size_t n = strlen(text) + 1;
  char *to = memcpy(*room, text, n);
  *room += n;
  return to;
}

static jf_cuda_source *image_source(const jf_cuda_source *s)
{
  jf_cuda_source *own =
      jf_new(sizeof *own + strlen(s->what) + strlen(s->text) + strlen(s->define) + 3);
  if (!own) return NULL;
  char *room = (char *)(own + 1);
  own->what = image_text(&room, s->what);
  own->text = image_text(&room, s->text);
  own->define = image_text(&room, s->define);
  return own;
}

static jf_cuda_image *image_new(const jf_cuda_source *s)
{
  jf_cuda_image *i = jf_new(sizeof *i);
  if (i) i->source = image_source(s);
  if (i && i->source) return i;
  jf_free(i);
  return NULL;
}

/* The caller holds mu, as in what follows. */
static jfl_status image_get(jf_cuda *c, const jf_cuda_source *s, jf_cuda_image **out)
{
  const uint64_t hash = jf_hash_str(jf_hash_str(0, s->define), s->text);
  const uint64_t second = jf_hash_str(jf_hash_str(1, s->define), s->text);
  jf_cuda_image *i = *out = image_known(c, hash, second);
  if (i) return JFL_OK;
  if (!(i = image_new(s))) return jf_fail(JFL_ENOMEM, "out of memory");
  i->hash = hash;
  i->second = second;
  i->next = c->images;
  *out = c->images = i;
  return JFL_OK;
}

static jfl_status image_kernel(jf_cuda_image *i, const char *name, jf_cuda_kernel **out)
{
  jf_cuda_kernel *f = i->kernels;
  while (f && strcmp(f->name, name)) f = f->next;
  if (!f) {
    f = jf_new(sizeof *f + strlen(name) + 1);
    if (!f) return jf_fail(JFL_ENOMEM, "out of memory");
    strcpy(f->name, name);
    f->next = i->kernels;
    i->kernels = f;
  }
  *out = f;
  return JFL_OK;
}

static jfl_status image_function(jf_cuda *c, jf_cu_module *m, jf_cuda_kernel *f)
{
  if (f->function) return JFL_OK;
  return jf_cuda_check(c, c->api->function(&f->function, m, f->name), "finding a kernel");
}

/* Notes that a call waits for an image. */
static jfl_status image_await(jf_kargs *k, jf_cuda_image *i)
{
  jf_cuda_waits *was = k->waits;
  const int n = was ? was->n : 0;
  for (int j = 0; j < n; j++)
    if (was->image[j] == i) return JFL_OK;
  jf_cuda_waits *all = jf_new(sizeof *all + ((size_t)n + 1) * sizeof *all->image);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  if (was) memcpy(all->image, was->image, (size_t)n * sizeof *all->image);
  all->image[n] = i;
  all->n = n + 1;
  jf_free(was);
  k->waits = all;
  return JFL_OK;
}

static jfl_status image_find(jf_kargs *k, const jf_cuda_source *s, const char *name,
                             jf_cuda_kernel **out)
{
  jf_cuda *c = k->device->state;
  jf_cuda_image *i;
  JF_TRY(image_get(c, s, &i));
  JF_TRY(image_kernel(i, name, out));
  return i->module ? image_function(c, i->module, *out) : image_await(k, i);
}

static jfl_status image_enter(jf_kargs *k, const jf_cuda_source *s, const char *name,
                              jf_cuda_kernel **out)
{
  jf_cuda *c = k->device->state;
  JF_TRY(jf_cuda_enter(c));
  pthread_mutex_lock(&c->mu);
  jfl_status e = image_find(k, s, name, out);
  pthread_mutex_unlock(&c->mu);
  jf_cuda_leave(c);
  return e;
}

jfl_status jf_cuda_find(jf_kargs *k, const jf_cuda_source *s, const char *name,
                        jf_cuda_kernel **out)
{
  jf_text text = { 0 };
  char *define;
  for (const jf_cuda_name *n = s->names; n < s->names + JF_CUDA_NAMES && n->name; n++)
    if (n->type) jf_text_add(&text, "typedef %s %s;\n", n->type, n->name);
    else jf_text_add(&text, "#define %s %lld\n", n->name, (long long)n->number);
  if (s->define) jf_text_add(&text, "%s", s->define);
  JF_TRY(jf_text_take(&text, &define));
  const jf_cuda_source whole = { .what = s->what, .text = s->text, .define = define };
  const jfl_status e = image_enter(k, &whole, name, out);
  jf_free(define);
  return e;
}

/* ---- loading ---- */

/* Whether another compiler, or the same one asked again, may make what this driver can load. */
static int image_is_refused(jf_cu e)
{
  return e == JF_CU_INVALID_IMAGE || e == JF_CU_OTHER_IMAGE || e == JF_CU_INVALID_PTX ||
         e == JF_CU_NEWER_PTX;
}

static jfl_status image_compile(const jf_cuda *c, const jf_cuda_image *i, jf_cuda_code *code)
{
  if (code->image) return JFL_OK;
  return jf_cuda_compile(c->arch, i->source, code->way, &code->image, &code->size);
}

/* Compiles a source, and loads it as *out. The caller has entered the device, and does not hold mu:
   both take long. */
static jfl_status image_make(jf_cuda *c, const jf_cuda_image *i, jf_cuda_code *code,
                             jf_cu_module **out)
{
  const int ways = jf_cuda_compile_ways();
  for (;; code->way++) {
    JF_TRY(image_compile(c, i, code));
    const jf_cu e = c->api->module_load(out, code->image);
    if (!image_is_refused(e) || code->way + 1 >= ways)
      return jf_cuda_check(c, e, "loading a kernel");
    jf_free(code->image);
    code->image = NULL;
  }
}

/* Gives an image its module, and those of its kernels that were found so far their functions. The
   caller holds mu. */
static jfl_status image_take(jf_cuda *c, jf_cuda_image *i, jf_cu_module *m)
{
  for (jf_cuda_kernel *f = i->kernels; f; f = f->next) JF_TRY(image_function(c, m, f));
  i->module = m;
  jf_free(i->source);
  i->source = NULL;
  return JFL_OK;
}

static jfl_status image_load(jf_cuda *c, jf_cuda_image *i, jf_cuda_code *code)
{
  jf_cu_module *m = NULL;
  pthread_mutex_unlock(&c->mu);
  jfl_status e = image_make(c, i, code, &m);
  pthread_mutex_lock(&c->mu);
  if (e) return e;
  e = image_take(c, i, m);
  if (!e) return JFL_OK;
  for (jf_cuda_kernel *f = i->kernels; f; f = f->next) f->function = NULL;
  c->api->module_free(m);
  return e;
}

int jf_cuda_image_is_loaded(jf_cuda *c, const jf_cuda_image *i, size_t *size)
{
  pthread_mutex_lock(&c->mu);
  const int is = i->module != NULL;
  if (!is) *size = strlen(i->source->text) + strlen(i->source->define);
  pthread_mutex_unlock(&c->mu);
  return is;
}

jfl_status jf_cuda_image_load(jf_cuda *c, jf_cuda_image *i, jf_cuda_code *code)
{
  jfl_status e = JFL_OK;
  JF_TRY(jf_cuda_enter(c));
  pthread_mutex_lock(&c->mu);
  while (i->is_made) pthread_cond_wait(&c->made, &c->mu);
  if (!i->module) {
    i->is_made = 1;
    e = image_load(c, i, code);
    i->is_made = 0;
    pthread_cond_broadcast(&c->made);
  }
  pthread_mutex_unlock(&c->mu);
  jf_cuda_leave(c);
  return e;
}

/* ---- the end ---- */

static void image_free(jf_cuda *c, jf_cuda_image *i)
{
  for (jf_cuda_kernel *f = i->kernels, *next; f; f = next) {
    next = f->next;
    jf_free(f);
  }
  if (i->module) c->api->module_free(i->module);
  jf_free(i->source);
  jf_free(i);
}

void jf_cuda_images_free(jf_cuda *c)
{
  for (jf_cuda_image *i = c->images, *next; i; i = next) {
    next = i->next;
    image_free(c, i);
  }
  c->images = NULL;
}
