/* Files of others, read whole. */
#include "data/data.h"
#include "system/system.h"

static jfl_status input_fill(int fd, jf_input_room room, void *ctx, size_t *n)
{
  jf_info st;
  void *to;
  if (jf_info_of(fd, &st)) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  if (st.kind != JF_FILE) return jf_fail(JFL_EIO, "it is not a file");
  JF_TRY(room(ctx, st.size, &to));
  const int64_t got = jf_read_all(fd, to, (size_t)st.size);
  if (got < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  *n = (size_t)got;
  return JFL_OK;
}

jfl_status jf_input_read(const char *path, jf_input_room room, void *ctx, size_t *n)
{
  const int fd = jf_open(JF_HERE, path, JF_READ);
  if (fd < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  const jfl_status r = input_fill(fd, room, ctx, n);
  jf_close(fd);
  return r;
}
