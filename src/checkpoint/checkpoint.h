/* Checkpoints: the sources that are read, and the stages in which one is written. */
#ifndef JF_CHECKPOINT_H
#define JF_CHECKPOINT_H

#include "base/json.h"
#include "base/need.h"
#include "file/replacement.h"
#include "system/system.h"

/* ---- sources: checkpoints that are read (source, entries, safetensors, oneflow.c) ---- */

typedef struct jf_entry {
  const char *name;
  jfl_dtype dtype;             /* JFL_N_DTYPE: one that jfl lacks, or not recorded */
  const char *dtype_name;      /* as the file spells it, NULL where it is not recorded */
  jfl_shape shape;             /* n -1: not recorded */
  uint64_t begin, size;        /* bytes in the file */
  int state;                   /* optimizer or step state */
  const void *data;            /* when written: the contents, or NULL */
  struct jf_var *variable;     /* and what they are read from */
} jf_entry;

typedef struct jf_meta { const char *key, *value; } jf_meta;

typedef struct jf_source {
  char path[JF_MOST_PATH];     /* of the file, or of the folder */
  const struct jf_format *format;
  int fd;                      /* what the format has open of the path, or -1 */
  char *text;                  /* of the format: what names point into */
  jf_entry *tensor; int n_tensor, cap_tensor;    /* sorted by name */
  jf_meta *meta; int n_meta, cap_meta;            /* sorted by key */
  int about;                   /* JFL_SINGLE, JFL_UNFINISHED */
  jfl_session *shared;         /* of a checkpoint that rank 0 reads for all, else NULL */
} jf_source;

/* A format in which checkpoints are read. A new one is a file with its record, and a name in the
   list of source.c. */
typedef struct jf_format {
  const char *holds;           /* what a folder with such a checkpoint holds, for messages */
  /* Whether the file or folder s->path may be one; sets s->path to what is to be opened. */
  jfl_status (*probe)(jf_source *s, int is_folder, int *may_be);
  /* Opens s->path and validates all but the contents of tensors; s->fd is -1 and s has no tensor
     yet. It is none after all where *is_it becomes 0. */
  jfl_status (*open)(jf_source *s, int *is_it);
  /* Reads a whole tensor. */
  jfl_status (*read)(const jf_source *s, const jf_entry *t, void *out);
  /* Closes s->fd and frees s->text and the names of tensors; it may have been opened in part. */
  void (*close)(jf_source *s);
} jf_format;

struct jfl_checkpoint { jf_tag tag; jf_source source; };

/* The version of what our metadata says; a reader refuses what is newer. */
enum { JF_CHECKPOINT_VERSION = 1 };
/* Before a job's name, the metadata's key for how often it ran. */
#define JF_RUN_PREFIX "run."
/* What notes' keys begin with in the metadata. */
#define JF_NOTE_PREFIX "note."
/* Opens the checkpoint at a path, whichever format it has, and validates all but the contents of
   its tensors. */
jfl_status jf_source_open(const char *path, jf_source *out);
/* Leaves s empty. */
void jf_source_close(jf_source *s);
/* Reads the whole tensor. */
jfl_status jf_source_read(const jf_source *s, const jf_entry *t, void *out);
/* Does the same where that has come to st on this process; all that share the source come here. */
jfl_status jf_source_fetch(const jf_source *s, const jf_entry *t, void *out, jfl_status st);
/* NULL: there is none. */
const jf_entry *jf_source_find(const jf_source *s, const char *name);
const char *jf_source_meta(const jf_source *s, const char *key);
/* Sorts the tensors by name; a name that occurs twice is an error. */
jfl_status jf_source_sort(jf_source *s);

/* Appends a member to the text of the metadata. */
void jf_safetensors_meta(jf_text *meta, const char *key, const char *value);
/* Writes a whole file to fd; sorts t. path is for messages. Of several processes that save together
   all come here with their session, and rank 0 writes; else `together` is NULL. */
jfl_status jf_safetensors_write(jfl_session *together, int fd, const char *path, jf_entry *t, int n,
                                const jf_text *meta);

/* ---- files (files.c) ---- */

/* JFL_EIO with errno: "checkpoint <path>: cannot <what>: ...". */
jfl_status jf_file_fail(const char *path, const char *what);
/* The three joined; out holds JF_MOST_PATH bytes. */
jfl_status jf_file_path(const char *a, const char *b, const char *c, char *out);
/* The directory that holds path, which has no slash at its end. */
void jf_file_parent(const char *path, char *out);
/* The path of a checkpoint without slashes at its end. */
jfl_status jf_file_trim(const char *path, char *out);
jfl_status jf_file_read(int fd, const char *path, void *out, size_t n, uint64_t at);
jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n);
/* Whether the directory holds nothing besides the two files. path is for messages. */
jfl_status jf_dir_empty(int dir, const char *path, const char *a, const char *b, int *out);

/* ---- stages (stage.c) ---- */

/* A checkpoint that is being written beside its target. A missing target is staged as the directory
   <target>.saving, an existing one by the file model.safetensors.saving inside it. The file is
   locked until the stage is closed. What a crashed process left behind is not locked, and is
   removed; what a live one writes is not touched. */
typedef struct jf_stage {
  jf_replacement model;              /* the file */
  int parent;                  /* the directory that is to hold the target; -1: the target exists */
  int moved;                   /* a staged directory has got its name */
  char name[JF_MOST_NAME + 1], staged[JF_MOST_NAME + 1];   /* of target and stage, in parent */
  char target[JF_MOST_PATH], file[JF_MOST_PATH];             /* for messages */
} jf_stage;
jfl_status jf_stage_open(const char *path, int overwrite, jf_stage *out);
/* Moves the checkpoint in place if s is JFL_OK, otherwise or on failure removes what was staged.
   Returns s or what went wrong; JFL_OK means that the checkpoint is on the disk, under its path. */
jfl_status jf_stage_close(jf_stage *st, jfl_status s);

#define JF_MODEL_FILE "model.safetensors"
#define JF_STAGE_SUFFIX ".saving"

#endif
