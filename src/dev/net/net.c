/* The connection with the other ranks as a device: on it run the ops in which several ranks take
   part, one after another on a thread of their own, while other devices go on. */
#include "dev/host.h"
#include "dev/stream.h"
#include "world/world.h"

static int net_count(void) { return jf_world_size() > 1; }

static const char *net_absence(void) { return "there is one rank"; }

/* Other ranks wait for what is on this stream, so its thread begins at once. */
static jfl_status net_stream_new(jf_device *d, void **out)
{
  jf_stream *s;
  JF_TRY(jf_stream_new(d->name, JF_PROMPT, &s));
  return *out = s, JFL_OK;
}

JFL_DEVICE(net, JF_HOST, .count = net_count, .absence = net_absence, .stream_new = net_stream_new)
