/* Measuring which way is the fastest, and keeping what was found. */
#include "dev/cuda/choice.h"

#include "dev/cuda/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3 };

/* Milliseconds that way i takes on the device's own stream; INFINITY: it cannot be done so. The
   first time, in which a library may load its kernels, does not count. */
static float choice_time(jf_cuda *c, jf_cuda_way way, void *ctx, int i, jf_cu_event *const *event)
{
  float best = INFINITY;
  for (int round = 0; round <= ROUNDS; round++) {
    float ms;
    if (c->api->event_record(event[0], c->own) || !way(ctx, i, c->own) ||
        c->api->event_record(event[1], c->own) || c->api->event_wait(event[1]) ||
        c->api->event_elapsed(&ms, event[0], event[1])) return INFINITY;
    if (round && ms < best) best = ms;
  }
  return best;
}

/* Gives the fastest way, or -1 if none could be measured. */
static int choice_measure(jf_cuda *c, int n, jf_cuda_way way, void *ctx)
{
  jf_cu_event *event[2] = { NULL, NULL };
  float best = INFINITY;
  int choice = -1;
  const int ready = !c->api->event_new(&event[0], 0) && !c->api->event_new(&event[1], 0);
  for (int i = 0; ready && i < n; i++) {
    const float ms = choice_time(c, way, ctx, i, event);
    if (ms < best) {
      best = ms;
      choice = i;
    }
  }
  for (int i = 0; i < 2; i++)
    if (event[i]) c->api->event_free(event[i]);
  return choice;
}

static jfl_status choice_name(jf_cuda *c, const char *work, char **out)
{
  char device[128] = "";
  int driver = 0;
  jf_text text = { 0 };
  if (c->api->device_name(device, sizeof device, c->ordinal)) device[0] = 0;
  if (c->api->version(&driver)) driver = 0;
  jf_text_add(&text, "%s on %s, driver %d", work, device, driver);
  return jf_text_take(&text, out);
}

/* What was chosen before is kept as a text that people can read: its number, then for what. */
static int choice_read(uint64_t key, const char *name)
{
  void *kept = NULL;
  size_t size = 0;
  char number[16] = "";
  if (jf_cuda_cache_read(key, name, &kept, &size))
    memcpy(number, kept, size < sizeof number ? size : sizeof number - 1);
  jf_free(kept);
  return *number ? atoi(number) : -1;
}

static void choice_write(uint64_t key, const char *name, int choice)
{
  jf_text text = { 0 };
  char *kept;
  jf_text_add(&text, "%d: %s\n", choice, name);
  if (jf_text_take(&text, &kept)) return;
  jf_cuda_cache_write(key, name, kept, strlen(kept));
  jf_free(kept);
}

int jf_cuda_choose(jf_cuda *c, const char *work, int n, jf_cuda_way way, void *ctx)
{
  char *name;
  if (n < 2 || choice_name(c, work, &name)) return 0;
  const uint64_t key = jf_hash_str(0, name);
  int choice = choice_read(key, name);
  if (choice < 0 || choice >= n) {
    choice = choice_measure(c, n, way, ctx);
    if (choice >= 0) choice_write(key, name, choice);
  }
  jf_free(name);
  return choice < 0 ? 0 : choice;
}
