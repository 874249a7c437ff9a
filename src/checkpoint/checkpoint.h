/* Checkpoints: the sources that are read, and the stages in which one is written. */
#ifndef JF_CHECKPOINT_H
#define JF_CHECKPOINT_H

#include <limits.h>

#include "base/json.h"
#include "base/need.h"

/* ---- sources: checkpoints that are read (source, entries, safetensors, oneflow.c) ---- */

typedef struct jf_entry {
  const char *name;
  jfl_dtype dtype;             /* JFL_N_DTYPE: one that jfl lacks, or not recorded */
  const char *dtype_name;      /* as the file spells it, NULL where it is not recorded */
  jfl_shape shape;             /* n -1: not recorded */
  uint64_t begin, size;        /* bytes in the file */
  int state;                   /* optimizer or step state */
  const void *data;            /* when written: the contents, or NULL */
  const struct jf_var *variable;        /* and what they are read from */
} jf_entry;

typedef struct jf_meta { const char *key, *value; } jf_meta;

typedef struct jf_source {
  char path[PATH_MAX];
  int fd;                      /* the safetensors file; -1: OneFlow's layout under path */
  char *text;                  /* header that names point into, or NULL: each name is owned */
  jf_entry *tensor; int n_tensor, cap_tensor;    /* sorted by name */
  jf_meta *meta; int n_meta, cap_meta;            /* sorted by key */
  int about;                   /* JFL_SINGLE, JFL_UNFINISHED */
} jf_source;

struct jfl_checkpoint { jf_tag tag; jf_source source; };

/* What notes' keys begin with in the metadata. */
#define JF_NOTE_PREFIX "note."
/* Opens the checkpoint directory and validates all but the contents of its tensors. */
jfl_status jf_source_open(const char *path, jf_source *out);
void jf_source_close(jf_source *s);
/* Reads the whole tensor. */
jfl_status jf_source_read(const jf_source *s, const jf_entry *t, void *out);
/* NULL: there is none. */
const jf_entry *jf_source_find(const jf_source *s, const char *name);
const char *jf_source_meta(const jf_source *s, const char *key);
/* Sorts the tensors by name; a name that occurs twice is an error. */
jfl_status jf_source_sort(jf_source *s);

/* s->path names the file; s is empty otherwise. */
jfl_status jf_safetensors_open(jf_source *s);
/* Appends a member to the text of the metadata. */
void jf_safetensors_meta(jf_text *meta, const char *key, const char *value);
/* Writes a whole file to fd; sorts t. path is for messages. */
jfl_status jf_safetensors_write(int fd, const char *path, jf_entry *t, int n, const jf_text *meta);

/* s->path names the directory; it is no error that it holds no variable. If it is a variable's own
   directory, s->path becomes the one above, and s has that variable alone. */
jfl_status jf_oneflow_open(jf_source *s);
jfl_status jf_oneflow_read(const jf_source *s, const jf_entry *t, void *out);

/* ---- files (files.c) ---- */

/* JFL_EIO with errno: "checkpoint <path>: cannot <what>: ...". */
jfl_status jf_file_fail(const char *path, const char *what);
/* The three joined; out holds PATH_MAX bytes. */
jfl_status jf_file_path(const char *a, const char *b, const char *c, char *out);
/* The directory that holds path, which has no slash at its end. */
void jf_file_parent(const char *path, char *out);
/* The path of a checkpoint without slashes at its end. */
jfl_status jf_file_trim(const char *path, char *out);
jfl_status jf_file_read(int fd, const char *path, void *out, size_t n, uint64_t at);
jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n);

/* A checkpoint that is being written beside its target. A missing target is staged as the directory
   <target>.saving, an existing one by the file model.safetensors.saving inside it. The file is
   locked until the stage is closed, and only the holder of the lock renames it. So what a crashed
   process left behind is reused, and what a live one writes is not touched. */
typedef struct jf_stage {
  int fd;
  int fresh;                   /* the target is missing: the whole directory is staged */
  char target[PATH_MAX], dir[PATH_MAX], file[PATH_MAX];   /* dir holds file, which fd writes */
} jf_stage;
jfl_status jf_stage_open(const char *path, int overwrite, jf_stage *out);
/* Syncs and moves the checkpoint in place if s is JFL_OK, otherwise or on failure removes what was
   staged. Returns s or what went wrong. */
jfl_status jf_stage_close(jf_stage *st, jfl_status s);

#define JF_MODEL_FILE "model.safetensors"
#define JF_STAGE_SUFFIX ".saving"

#endif
