/* The compiled sources that a device has loaded. */
#include "dev/cuda/cuda.h"

#include <string.h>

struct jf_cuda_image {
  jf_cuda_image *next;
  uint64_t hash, second;               /* of the source */
  jf_cu_module *module;
};

static jf_cuda_image *image_find(const jf_cuda *c, uint64_t hash, uint64_t second)
{
  jf_cuda_image *i = c->images;
  while (i && (i->hash != hash || i->second != second)) i = i->next;
  return i;
}

/* Whether another compiler, or the same one asked again, may make what this driver can load. */
static int image_is_refused(jf_cu e)
{
  return e == JF_CU_INVALID_IMAGE || e == JF_CU_OTHER_IMAGE || e == JF_CU_INVALID_PTX ||
         e == JF_CU_NEWER_PTX;
}

/* Compiles and loads a source. The caller has entered the device and holds mu. */
static jfl_status image_load(jf_cuda *c, const jf_cuda_source *s, jf_cuda_image *i)
{
  jf_cu e = JF_CU_INVALID_IMAGE;
  for (int way = 0; way < jf_cuda_compile_ways() && image_is_refused(e); way++) {
    void *code;
    size_t size;
    JF_TRY(jf_cuda_compile(c->arch, s, way, &code, &size));
    e = c->api->module_load(&i->module, code);
    jf_free(code);
  }
  JF_TRY(jf_cuda_check(c, e, "loading a kernel"));
  i->next = c->images;
  c->images = i;
  return JFL_OK;
}

static jfl_status image_get(jf_cuda *c, const jf_cuda_source *s, jf_cuda_image **out)
{
  const char *define = s->define ? s->define : "";
  const uint64_t hash = jf_hash_str(jf_hash_str(0, define), s->text);
  const uint64_t second = jf_hash_str(jf_hash_str(1, define), s->text);
  *out = image_find(c, hash, second);
  if (*out) return JFL_OK;
  jf_cuda_image *i = jf_new(sizeof *i);
  if (!i) return jf_fail(JFL_ENOMEM, "out of memory");
  i->hash = hash;
  i->second = second;
  jfl_status e = image_load(c, s, i);
  if (e) jf_free(i);
  else *out = i;
  return e;
}

static jfl_status image_function(jf_cuda *c, const jf_cuda_source *s, const char *name,
                                 jf_cu_function **out)
{
  jf_cuda_image *i;
  JF_TRY(image_get(c, s, &i));
  return jf_cuda_check(c, c->api->function(out, i->module, name), "finding a kernel");
}

jfl_status jf_cuda_function(jf_cuda *c, const jf_cuda_source *s, const char *name,
                            jf_cu_function **out)
{
  JF_TRY(jf_cuda_enter(c));
  pthread_mutex_lock(&c->mu);
  jfl_status e = image_function(c, s, name, out);
  pthread_mutex_unlock(&c->mu);
  jf_cuda_leave(c);
  return e;
}

void jf_cuda_images_free(jf_cuda *c)
{
  for (jf_cuda_image *i = c->images, *next; i; i = next) {
    next = i->next;
    c->api->module_free(i->module);
    jf_free(i);
  }
  c->images = NULL;
}
