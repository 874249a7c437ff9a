/* Files of others, read whole. */
#include "data/data.h"
#include "system/system.h"

#include <string.h>

enum { PIECE = 1 << 22 };      /* bytes that are read without a look at the time */

/* Reads up to n bytes, as many as there are. */
static jfl_status input_all(int fd, char *to, size_t n, size_t *out)
{
  size_t done = 0;
  for (int64_t got = 1; got && done < n; done += (size_t)got) {
    JF_TRY(jf_time_for(0));
    got = jf_read_all(fd, to + done, n - done < PIECE ? n - done : PIECE);
    if (got < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  }
  *out = done;
  return JFL_OK;
}

static jfl_status input_fill(int fd, jf_input_room room, void *ctx, size_t *n)
{
  jf_info st;
  void *to;
  if (jf_info_of(fd, &st)) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  if (st.kind != JF_FILE) return jf_fail(JFL_EIO, "it is not a file");
  JF_TRY(room(ctx, st.size, &to));
  return input_all(fd, to, (size_t)st.size, n);
}

jfl_status jf_input_read(const char *path, jf_input_room room, void *ctx, size_t *n)
{
  const int fd = jf_open(JF_HERE, path, JF_READ);
  if (fd < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  const jfl_status r = input_fill(fd, room, ctx, n);
  jf_close(fd);
  return r;
}

/* ---- parts ---- */

void jf_input_close(jf_input *in)
{
  if (in->path) jf_close(in->fd);
  jf_free(in->path);
  *in = (jf_input){ 0 };
}

static jfl_status input_open(jf_input *in, const char *path)
{
  jf_info st;
  if (in->path && !strcmp(in->path, path)) return JFL_OK;
  jf_input_close(in);
  const int fd = jf_open(JF_HERE, path, JF_READ);
  if (fd < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  jfl_status r = JFL_OK;
  if (jf_info_of(fd, &st)) r = jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  else if (st.kind != JF_FILE) r = jf_fail(JFL_EIO, "it is not a file");
  char *copy = r == JFL_OK ? jf_new_raw(strlen(path) + 1) : NULL;
  if (!copy) {
    jf_close(fd);
    return r == JFL_OK ? jf_fail(JFL_ENOMEM, "out of memory") : r;
  }
  *in = (jf_input){ strcpy(copy, path), fd, st.size };
  return JFL_OK;
}

static jfl_status input_read_at(int fd, char *to, int64_t n, int64_t at)
{
  int64_t done = 0;
  while (done < n) {
    const int64_t most = n - done < PIECE ? n - done : PIECE;
    JF_TRY(jf_time_for(0));
    const int64_t got = jf_read_at(fd, to + done, (size_t)most, (uint64_t)(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
    if (!got) return jf_fail(JFL_EDATA, "it became shorter while it was read");
    done += got;
  }
  return JFL_OK;
}

jfl_status jf_input_part(jf_input *in, const jfl_place *place, jf_input_room room, void *ctx,
                         size_t *n)
{
  void *to;
  JF_TRY(input_open(in, place->path));
  const int64_t left = in->size - place->offset;
  const int64_t size = place->size ? place->size : left;
  if (place->offset < 0 || size < 0 || left < 0 || size > left)
    return jf_fail(JFL_EDATA, "it must have %lld bytes from byte %lld on, got a file of %lld",
                   (long long)size, (long long)place->offset, (long long)in->size);
  JF_TRY(room(ctx, size, &to));
  JF_TRY(input_read_at(in->fd, to, size, place->offset));
  *n = (size_t)size;
  return JFL_OK;
}
