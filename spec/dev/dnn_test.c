/* NVIDIA's own cuDNN, where it is installed, has engines for the graphs that convolutions are given
   to it as, on devices that need not be here. */
#include "dev/cuda/dnn.h"
#include "op/attention.h"
#include "op/conv.h"
#include "op/op.h"
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern const jf_kernel_row jf_cuda_cudnn_conv, jf_cuda_cudnn_conv_data_grad,
  jf_cuda_cudnn_conv_filter_grad;

/* A device as cuDNN is told of it: architecture, multiprocessors, shared memory of a block. */
typedef struct gpu { const char *name; int arch, multiprocessors, shared; } gpu;
static const gpu gpus[] = {
  { "NVIDIA T4", 750, 40, 65536 }, { "NVIDIA A100-SXM4-80GB", 800, 108, 166912 },
  { "NVIDIA H200", 900, 132, 232448 }, { "NVIDIA B200", 1000, 148, 232448 },
  { "NVIDIA GeForce RTX 5090", 1200, 170, 101376 },
};
enum { N_GPU = sizeof gpus / sizeof *gpus };

static jf_dnn_desc *describe(const jf_dnn_api *api, const gpu *g)
{
  char json[1024];
  jf_dnn_desc *d = NULL;
  const int n = snprintf(json, sizeof json, "{\"deviceVer\":%d,\"driverVer\":13000,"
    "\"cudaDeviceId\":0,\"totalGlobalMem\":16000000000,\"maxGridSize\":[2147483647,65535,65535],"
    "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"multiProcessorCount\":%d,"
    "\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":16,"
    "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":1024,\"pciDeviceId\":0,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"smClockRateKHz\":1500000,\"memClockRateKHz\":3000000,"
    "\"l2CacheSize\":4194304,\"deviceName\":\"%s\"}", g->arch, g->multiprocessors, g->shared,
    g->name);
  if (api->make(JF_DNN_DEVICE, &d) ||
      api->set(d, JF_DNN_DEVICE_JSON, JF_DNN_T_CHAR, n, json) || api->finish(d)) return NULL;
  return d;
}

/* A convolution of n images of c channels, side x side (x side), by o filters. */
typedef struct sample {
  int64_t n, c, side, o, cell, stride, dilation, before, after, groups;
  int axes;
} sample;
static const sample samples[] = {
  { 256, 3, 224, 64, 7, 2, 1, 3, 3, 1, 2 },      /* ResNet-50's first, then some of its others */
  { 256, 64, 56, 64, 3, 1, 1, 1, 1, 1, 2 },
  { 256, 512, 28, 1024, 1, 2, 1, 0, 0, 1, 2 },
  { 100, 1, 28, 20, 5, 1, 1, 0, 0, 1, 2 },       /* LeNet's */
  { 100, 20, 12, 50, 5, 1, 1, 0, 0, 1, 2 },
  { 2, 2, 7, 3, 2, 2, 1, 0, 1, 1, 2 },           /* SAME with more cells behind than before */
  { 4, 64, 32, 64, 3, 1, 1, 1, 1, 64, 2 },
  { 2, 4, 9, 6, 3, 1, 2, 2, 2, 2, 2 },
  { 1, 2, 6, 3, 3, 2, 1, 0, 1, 1, 3 },
};
enum { N_SAMPLE = sizeof samples / sizeof *samples };

static void fill(jf_tensor *t, jfl_dtype type, int last, int axes, int64_t n, int64_t c,
                 int64_t side)
{
  *t = (jf_tensor){ .dtype = type, .shape = { .n = axes + 2 } };
  t->shape.d[0] = n;
  t->shape.d[last ? axes + 1 : 1] = c;
  for (int i = 0; i < axes; i++) t->shape.d[i + (last ? 1 : 2)] = side;
}

/* Prepares one op of a sample by cuDNN's row; *name gets the row's. */
static jfl_status plan(jf_cuda *c, const sample *s, jfl_dtype t, int last, int kind,
                       const char **name)
{
  static const struct { const jf_kernel_row *row; const jfl_op *op[2]; } calls[] = {
    { &jf_cuda_cudnn_conv, { &jf_op_conv2d, &jf_op_conv3d } },
    { &jf_cuda_cudnn_conv_data_grad, { &jf_op_conv2d_data_grad, &jf_op_conv3d_data_grad } },
    { &jf_cuda_cudnn_conv_filter_grad, { &jf_op_conv2d_filter_grad, &jf_op_conv3d_filter_grad } },
    { &jf_cuda_cudnn_conv, { &jf_op_conv2d_fused } },
  };
  const jf_kernel_row *row = calls[kind].row;
  const int64_t reach = (s->cell - 1) * s->dilation + 1;
  const int64_t to = (s->side + s->before + s->after - reach) / s->stride + 1;
  const jfl_op *op = calls[kind].op[s->axes == 3];
  jf_conv a = { .groups = s->groups, .axes = s->axes, .last = last };
  jf_tensor x, w, y, in[4], out;
  for (int i = 0; i < 3; i++) {
    const int is = i >= 3 - s->axes;
    a.stride[i] = is ? s->stride : 1;
    a.dilation[i] = is ? s->dilation : 1;
    a.pad[2 * i] = is ? s->before : 0;
    a.pad[2 * i + 1] = is ? s->after : 0;
  }
  if (kind == 3) a.epilogue = (jf_epilogue){ .bias = 1, .residual = 1, .act = "relu" };
  fill(&x, t, last, s->axes, s->n, s->c, s->side);
  fill(&w, t, last, s->axes, s->o, s->c / s->groups, s->cell);
  fill(&y, t, last, s->axes, s->n, s->o, to);
  in[0] = kind == 1 ? w : x;
  in[1] = kind == 0 || kind == 3 ? w : y;
  in[2] = (jf_tensor){ .dtype = t, .shape = { 1, { s->o } } };
  in[3] = y;
  out = kind == 1 ? x : kind == 2 ? w : y;
  jf_device device = { .state = c };
  jf_kargs k = { .in = in, .out = &out, .n_in = kind == 3 ? 4 : 2, .n_out = 1, .attr = &a,
                 .op = op, .device = &device };
  *name = op->name;
  if (!row->accepts(&k)) return jf_fail(JFL_ENOSYS, "not accepted");
  const jfl_status e = row->prepare(&k);
  if (!e) row->release(k.state);
  return e;
}

static void every_convolution_has_an_engine(void)
{
  static const jfl_dtype types[] = { JFL_BF16, JFL_F32, JFL_F16, JFL_F64 };
  const jf_dnn_api *api = jf_dnn_open();
  int planned = 0;
  for (int g = 0; g < N_GPU; g++) {
    jf_dnn d = { .api = api, .device = describe(api, &gpus[g]) };
    jf_cuda c = { .dnn = &d, .multiprocessors = gpus[g].multiprocessors };
    pthread_mutex_init(&c.mu, NULL);
    d.cuda = &c;
    if (!d.device) continue;
    for (int i = 0; i < N_SAMPLE; i++)
      for (int t = gpus[g].arch < 800; t < 4; t++)    /* old ones have no bfloat16 */
        for (int last = 0; last < 2; last++)
          for (int kind = 0; kind < (samples[i].axes == 3 ? 3 : 4); kind++) {
            const char *name;
            const jfl_status e = plan(&c, &samples[i], types[t], last, kind, &name);
            planned += !e;
            CHECK_MSG(!e, "%s of sample %d in %s%s on %s: %s", name, i, jfl_dtype_name(types[t]),
                      last ? ", channels last," : "", gpus[g].name, jfl_errmsg());
          }
    api->unmake(d.device);
  }
  printf("%d plans\n", planned);
}

/* ---- attention ---- */

extern const jf_kernel_row jf_cuda_cudnn_attention;

/* batch, heads, queries, keys, size */
typedef struct heads { int64_t b, h, q, k, size; } heads;
static const heads attentions[] = {
  { 1, 2, 33, 70, 128 }, { 64, 12, 1024, 1024, 64 },
};

static jfl_status attend(jf_cuda *c, const heads *s, jfl_dtype t, int causal, int grad)
{
  const jf_kernel_row *row = &jf_cuda_cudnn_attention;
  const jf_tensor q = { .dtype = t, .shape = { 4, { s->b, s->h, s->q, s->size } } };
  const jf_tensor kv = { .dtype = t, .shape = { 4, { s->b, s->h, s->k, s->size } } };
  const jf_tensor lse = { .dtype = JFL_F32, .shape = { 3, { s->b, s->h, s->q } } };
  jf_tensor in[] = { q, kv, kv, q, lse, q }, out[] = { q, grad ? kv : lse, kv };
  const jf_attention a = { .scale = 0.125, .causal = causal };
  const jfl_op *op = grad ? &jf_op_scaled_dot_product_attention_grad
                          : &jf_op_scaled_dot_product_attention;
  jf_device device = { .state = c };
  jf_kargs k = { .in = in, .out = out, .n_in = grad ? 6 : 3, .n_out = grad ? 3 : 2, .attr = &a,
                 .op = op, .device = &device };
  if (!row->accepts(&k)) return jf_fail(JFL_ENOSYS, "not accepted");
  const jfl_status e = row->prepare(&k);
  if (!e) row->release(k.state);
  return e;
}

/* Without a device cuDNN compiles the kernels, and then finds no driver to load them. */
static void all_attention_has_an_engine(void)
{
  const jf_dnn_api *api = jf_dnn_open();
  for (int g = 1; g <= 2; g++) {                 /* each takes seconds */
    jf_dnn d = { .api = api, .device = describe(api, &gpus[g]) };
    jf_cuda c = { .dnn = &d, .arch = gpus[g].arch / 10 };
    pthread_mutex_init(&c.mu, NULL);
    d.cuda = &c;
    for (int grad = 0; grad < 2 && d.device; grad++) {
      const jfl_dtype t = g == 2 ? JFL_BF16 : JFL_F16;
      const jfl_status e = attend(&c, &attentions[g - 1], t, g == 2, grad);
      CHECK_MSG(!e || strstr(jfl_errmsg(), "CUDA_DRIVER"), "attention%s on %s: %s",
                grad ? ", gradients," : "", gpus[g].name, jfl_errmsg());
    }
    if (d.device) api->unmake(d.device);
  }
}

/* Whether cuDNN's compiler finds a driver, or what programs are linked with in its place. */
static int has_driver(void)
{
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) ||
         dlopen("/usr/local/cuda/lib64/stubs/libcuda.so", RTLD_NOW | RTLD_GLOBAL);
}

/* cuDNN keeps memory of its own for good, which the leak check would report. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

int main(void)
{
  if (!SANITIZED && jf_dnn_open()) {
    RUN(every_convolution_has_an_engine);
    if (has_driver()) RUN(all_attention_has_an_engine);
  } else printf("left out: cuDNN is not installed, or a sanitizer is there\n");
  return test_done();
}
