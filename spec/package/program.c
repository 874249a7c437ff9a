/* A program that has nothing of jfl but what is installed; WITH_SCRIPT: it also runs a Lua text,
   which trains. */
#include <jfl.h>
#include <stdio.h>
#include <string.h>

#if JFL_VERSION_NUMBER < 10000
#error "the header is of an older version"
#endif

#ifdef WITH_SCRIPT
static const char text[] =
  "local flow = require 'jfl'\n"
  "local job = flow.global_function { name = 'job', type = 'train', returns = flow.typing.Numpy,\n"
  "  inputs = { { 'x', flow.typing.Numpy.Placeholder({ 4, 3 }) } },\n"
  "  body = function(x)\n"
  "    local loss = flow.layers.dense(x, 1) * flow.layers.dense(x, 1)\n"
  "    flow.optimizer.SGD(0.1):minimize(loss)\n"
  "    return loss\n"
  "  end }\n"
  "local first = job(flow.ndarray.ones({ 4, 3 })):mean()\n"
  "for i = 1, 50 do job(flow.ndarray.ones({ 4, 3 })) end\n"
  "assert(job(flow.ndarray.ones({ 4, 3 })):mean() < first)\n";

static int run_script(void)
{
  jfl_script *script = NULL;
  if (jfl_script_new(NULL, &script)) return 1;
  const jfl_status s = jfl_script_run(script, text, strlen(text), "=program");
  jfl_script_free(script);
  return s != JFL_OK;
}
#else
static int run_script(void) { return 0; }
#endif

int main(void)
{
  const jfl_shape shape = { .n = 1, .d = { 3 } };
  jfl_session *session = NULL;
  jfl_array *in = NULL, *out = NULL;
  if (strcmp(jfl_version(), JFL_VERSION)) return puts("another library"), 1;
  if (jfl_session_new(&session)) return puts(jfl_errmsg()), 1;
  if (jfl_array_new(JFL_F32, &shape, &in)) return puts(jfl_errmsg()), 1;
  ((float *)jfl_array_data(in))[1] = -1;
  if (jfl_eager(session, jfl_op_find("relu"), &in, 1, NULL, 0, &out))
    return puts(jfl_errmsg()), 1;
  if (((float *)jfl_array_data(out))[1] != 0) return puts("relu"), 1;
  jfl_array_unref(in);
  jfl_array_unref(out);
  jfl_session_free(session);
  if (run_script()) return puts(jfl_errmsg()), 1;
  puts("runs with jfl " JFL_VERSION);
  return 0;
}
