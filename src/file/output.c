/* Files of the host's own that are written beside the one whose place they take. */
#include "base/need.h"
#include "file/replacement.h"

#include <errno.h>
#include <string.h>

/* SHARED: the rights of a directory in which all may make files and nobody may remove those of
   others. */
enum { MAX_LINKS = 40, SHARED = 01002 };

struct jfl_output {
  jf_tag tag;
  jf_replacement file;
  int direct;                  /* a device or a pipe, which is written to as it is */
  jf_info rights;
  char path[];                 /* for messages */
};

static jfl_status output_fail(const char *path)
{
  return jf_fail(JFL_EIO, "cannot write %s: %s", path, jf_trouble(errno));
}

/* Whether a link may be followed: in a directory where everybody may make links, such as /tmp, only
   one's own and those of the directory's owner lead where one wants. */
static int output_trusts(int dir, const char *name)
{
  jf_info d, l;
  if (jf_info_of_folder(dir, &d) || jf_info_at(dir, name, JF_NO_LINK, &l)) return 0;
  errno = EACCES;
  return (d.rights & SHARED) != SHARED || l.mine || l.owner == d.owner;
}

/* Puts the last part of `path` into name and opens what is before it, seen from the directory *dir,
   which is closed. */
static int output_enter(char *path, int *dir, char *name)
{
  char *slash = strrchr(path, '/');
  const char *last = slash ? slash + 1 : path;
  if (!*last || strlen(last) > JF_MOST_NAME) return errno = *last ? ENAMETOOLONG : EISDIR, -1;
  strcpy(name, last);
  if (slash) slash[slash == path] = '\0';
  int next = jf_folder_open(*dir, slash ? path : ".", JF_WRITE), e = errno;
  if (*dir >= 0) jf_folder_close(*dir);
  *dir = next;
  errno = e;
  return next < 0 ? -1 : 0;
}

/* Opens the directory of the file that path leads to once links are followed; the file's name goes
   to name. Gives -1 with errno. */
static int output_find(const char *path, int *dir, char *name)
{
  char at[JF_MOST_PATH];
  if (strlen(path) >= sizeof at) return errno = ENAMETOOLONG, -1;
  strcpy(at, path);
  *dir = JF_HERE;
  for (int i = 0; i < MAX_LINKS; i++) {
    if (output_enter(at, dir, name)) return -1;
    const int64_t n = jf_link_read(*dir, name, at, sizeof at - 1);
    if (n < 0) return errno == EINVAL || errno == ENOENT ? 0 : -1;
    at[n] = '\0';
    if (!output_trusts(*dir, name)) return -1;
  }
  return errno = ELOOP, -1;
}

static int output_open(jfl_output *o)
{
  jf_info st;
  o->direct = !jf_info_at(JF_HERE, o->path, JF_WRITE, &st) && st.kind != JF_FILE;
  if (o->direct) {
    o->file.fd = jf_open(JF_HERE, o->path, JF_WRITE | JF_WAIT);
    return o->file.fd < 0 ? -1 : 0;
  }
  return output_find(o->path, &o->file.dir, o->file.to) ? -1 : jf_replacement_begin(&o->file);
}

static void output_free(jfl_output *o)
{
  jf_replacement_close(&o->file);
  jf_free(o);
}

jfl_status jfl_output_open(const char *path, jfl_output **out)
{
  JF_NEED_POINTERS(path, out);
  jfl_output *o = jf_new(sizeof *o + strlen(path) + 1);
  if (!o) return jf_fail(JFL_ENOMEM, "cannot write %s: out of memory", path);
  o->tag = JF_TAG_OUTPUT;
  strcpy(o->path, path);
  o->file.dir = o->file.fd = -1;
  if (!output_open(o)) return *out = o, JFL_OK;
  jfl_status r = output_fail(path);
  output_free(o);
  return r;
}

jfl_status jfl_output_write(jfl_output *o, const void *data, size_t n)
{
  JF_NEED(OUTPUT, o);
  if (n) JF_NEED_POINTER(data);
  return jf_write_all(o->file.fd, data, n) ? output_fail(o->path) : JFL_OK;
}

jfl_status jfl_output_rights(jfl_output *o, const char *path)
{
  JF_NEED(OUTPUT, o);
  JF_NEED_POINTER(path);
  if (jf_info_at(JF_HERE, path, 0, &o->rights))
    return jf_fail(JFL_EIO, "cannot look at %s: %s", path, jf_trouble(errno));
  o->file.rights = &o->rights;
  return JFL_OK;
}

jfl_status jfl_output_keep(jfl_output *o)
{
  JF_NEED_LAST(OUTPUT, o);
  jfl_status r = o->direct || !jf_replacement_commit(&o->file) ? JFL_OK : output_fail(o->path);
  if (r != JFL_OK) jf_replacement_discard(&o->file);
  output_free(o);
  return r;
}

void jfl_output_drop(jfl_output *o)
{
  if (!JF_IS_LAST(OUTPUT, o)) return;
  if (!o->direct) jf_replacement_discard(&o->file);
  output_free(o);
}
