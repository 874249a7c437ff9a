/* Checkpoints: the sources that are read, and the stages in which one is written. */
#ifndef JF_CHECKPOINT_H
#define JF_CHECKPOINT_H

#include "base/json.h"
#include "base/need.h"
#include "file/replacement.h"
#include "system/system.h"

/* ---- sources: checkpoints that are read (source, entries, read, take.c, and a file for each
   format) ---- */

typedef struct jf_entry {
  const char *name;            /* what it is taken as */
  const char *own;             /* what the file calls it */
  const struct jf_source *in;  /* the shard that has it; NULL: the source itself */
  jfl_dtype dtype;             /* JFL_N_DTYPE: one that jfl lacks, or not recorded */
  const char *dtype_name;      /* as the file spells it, NULL where it is not recorded */
  jfl_shape shape;             /* n -1: not recorded */
  uint64_t begin, size;        /* where it lies in the file; the bytes of its elements */
  jfl_dtype blocks;            /* of these, in the file; it is read as float32. 0: of none */
  int strided;                 /* they do not lie in plain order: */
  int64_t step[JFL_MAXDIM];    /* elements from one to the next, along each axis */
  int state;                   /* optimizer or step state */
  const void *data;            /* when written: the contents, or NULL */
  struct jf_var *variable;     /* and what they are read from */
} jf_entry;

typedef struct jf_meta { const char *key, *value; } jf_meta;

typedef struct jf_source {
  char path[JF_MOST_PATH];     /* of the file, or of the folder */
  const struct jf_format *format;
  int fd;                      /* what the format has open of the path, or -1 */
  jf_mapping *map;             /* the whole file in memory, or NULL: it is read piece by piece */
  uint64_t size;               /* of the file */
  struct jf_source **shard; int n_shard;          /* files that have the tensors, in their place */
  char *text;                  /* of the format: what names point into */
  char *taken;                 /* what names point into that tensors are taken as */
  jf_entry *tensor; int n_tensor, cap_tensor;    /* sorted by name */
  jf_meta *meta; int n_meta, cap_meta;            /* sorted by key */
  int about;                   /* JFL_SINGLE, JFL_UNFINISHED */
  jfl_session *shared;         /* of a checkpoint that rank 0 reads for all, else NULL */
} jf_source;

/* A format in which checkpoints are read. A new one is a file with its record, and a name in the
   list of source.c. */
typedef struct jf_format {
  const char *holds;           /* what a folder with such a checkpoint holds, for messages; NULL:
                                  there are none */
  /* Whether the file or folder s->path may be one; sets s->path to what is to be opened. */
  jfl_status (*probe)(jf_source *s, int is_folder, int *may_be);
  /* Opens s->path and validates all but the contents of tensors; s->fd is -1 and s has no tensor
     yet. It is none after all where *is_it becomes 0. */
  jfl_status (*open)(jf_source *s, int *is_it);
  /* Reads n bytes of a tensor, from where it begins: t->size of them, unless it is strided. Those
     of blocks are of the numbers that they stand for, all of them. NULL: they lie in s->fd. */
  jfl_status (*read)(const jf_source *s, const jf_entry *t, void *out, size_t n);
  /* Closes and frees what is not s->fd, a file, and s->text; it may have been opened in part. Or
     NULL. */
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
/* Opens the file s->path and maps it, for formats. */
jfl_status jf_source_open_file(jf_source *s, uint64_t *size);
/* Fails if a file that is mapped has changed since, or cannot be read. */
jfl_status jf_source_still(const jf_source *s);
/* Reads the whole tensor, in plain order and the dtype that it has. */
jfl_status jf_source_read(const jf_source *s, const jf_entry *t, void *out);
/* Does the same where that has come to st on this process; all that share the source come here. */
jfl_status jf_source_fetch(const jf_source *s, const jf_entry *t, void *out, jfl_status st);
/* NULL: there is none. */
const jf_entry *jf_source_find(const jf_source *s, const char *name);
const char *jf_source_meta(const jf_source *s, const char *key);
/* Sorts the tensors by name. */
jfl_status jf_source_order(jf_source *s);
/* Sorts tensors and metadata; a name that occurs twice is an error. */
jfl_status jf_source_sort(jf_source *s);

/* Where the file lies in memory from the tensor's first element on; NULL: nowhere. */
const void *jf_entry_mapped(const jf_source *s, const jf_entry *t);
/* Whether each number of one dtype is one of another's, which a load may convert it to. */
int jf_dtype_widens(jfl_dtype from, jfl_dtype to);
/* Copies elements that lie from there on to plain order, as a dtype that is the tensor's or that it
   widens to. */
void jf_entry_copy(const jf_entry *t, const void *from, jfl_dtype as, void *out);
/* Sets the steps of a tensor that lies in plain order. */
void jf_entry_plain(const jf_entry *t, int64_t *step);

/* The formats of single files, which shards may have. */
extern const jf_format jf_format_safetensors, jf_format_torch;
/* A note of GGUF files: version, metadata and tensors' types, in JSON as plain.lua reads it. */
#define JF_GGUF_NOTE JF_NOTE_PREFIX "gguf"

/* Appends what all files of jfl say of their format to the text of the metadata. */
void jf_safetensors_format(jf_text *meta);
/* Appends a member to the text of the metadata. */
void jf_safetensors_meta(jf_text *meta, const char *key, const char *value);
/* Writes a whole file to fd; sorts t. path is for messages. Of several processes that save together
   all come here with their session, and rank 0 writes; else `together` is NULL. */
jfl_status jf_safetensors_write(jfl_session *together, int fd, const char *path, jf_entry *t, int n,
                                const jf_text *meta);

/* ---- zip archives (zip.c) ---- */

typedef struct jf_zip_member {
  const char *name;
  uint64_t header, size;       /* where its own header lies, and its bytes */
  unsigned method, flags;
} jf_zip_member;
typedef struct jf_zip { jf_zip_member *v; int n, cap; char *text; } jf_zip;   /* sorted by name */
/* Reads the list of members of an open file; path is for messages. jf_zip_close frees what it has,
   also after a failure. */
jfl_status jf_zip_open(int fd, const char *path, uint64_t size, jf_zip *out);
void jf_zip_close(jf_zip *z);
const jf_zip_member *jf_zip_find(const jf_zip *z, const char *name);
/* Where the bytes of a member begin, which lies as it is: neither packed nor encrypted. */
jfl_status jf_zip_place(int fd, const char *path, uint64_t size, const jf_zip_member *m,
                        uint64_t *begin);

/* ---- pickles (pickle.c) ---- */

typedef enum jf_pickled_kind {
  JF_PICKLED_OTHER, JF_PICKLED_WHOLE, JF_PICKLED_TEXT, JF_PICKLED_LIST, JF_PICKLED_DICT,
  JF_PICKLED_GLOBAL, JF_PICKLED_STORAGE, JF_PICKLED_TENSOR, JF_PICKLED_MARK
} jf_pickled_kind;

/* What PyTorch calls a dtype, and the bytes of an element. */
typedef struct jf_torch_type {
  const char *name, *storage;  /* storage: the class of such storages, or NULL */
  jfl_dtype dtype;             /* JFL_N_DTYPE: one that jfl lacks */
  int size;
} jf_torch_type;

/* A value. The items of a list, and the keys and values of a dict in turn, are cells. */
typedef struct jf_pickled {
  jf_pickled_kind kind;
  int first, last;             /* cells, -1: none; of a tensor, `first` is its number */
  int64_t whole;               /* a number; of a storage, its elements */
  const char *text; size_t n;  /* in the pickle's bytes; of a storage, its key */
  const jf_torch_type *type;   /* of a storage; NULL: bytes of any */
} jf_pickled;

typedef struct jf_pickled_cell { int value, next; } jf_pickled_cell;

typedef struct jf_pickled_tensor {
  const jf_torch_type *type;
  const char *key; size_t n_key;                   /* of its storage */
  int64_t n_storage, offset;   /* elements */
  jfl_shape shape;
  int64_t step[JFL_MAXDIM];
} jf_pickled_tensor;

/* What a pickle says, which is read and never run. */
typedef struct jf_pickle {
  jf_pickled *v; int n, cap;
  jf_pickled_cell *cell; int n_cell, cap_cell;
  jf_pickled_tensor *tensor; int n_tensor, cap_tensor;
  int root;
} jf_pickle;
/* Reads the n bytes, which must live as long as what is read. Errors are JFL_EDATA without a path.
   jf_pickle_free frees what it has, also after a failure. */
jfl_status jf_pickle_read(const char *bytes, size_t n, jf_pickle *out);
void jf_pickle_free(jf_pickle *p);

/* ---- files (files.c) ---- */

/* JFL_EIO with errno: "checkpoint <path>: cannot <what>: ...". */
jfl_status jf_file_fail(const char *path, const char *what);
/* JFL_ENOMEM: "checkpoint <path>: out of memory". */
jfl_status jf_checkpoint_memory(const char *path);
/* The three joined; out holds JF_MOST_PATH bytes. */
jfl_status jf_file_path(const char *a, const char *b, const char *c, char *out);
/* The directory that holds path, which has no slash at its end. */
void jf_file_parent(const char *path, char *out);
/* The path of a checkpoint without slashes at its end. */
jfl_status jf_file_trim(const char *path, char *out);
jfl_status jf_file_read(int fd, const char *path, void *out, size_t n, uint64_t at);
jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n);
/* Whether the directory holds nothing but files of which ours(name) is true. path is for
   messages. */
jfl_status jf_dir_empty(int dir, const char *path, int (*ours)(const char *name), int *out);

/* ---- stages (stage.c) ---- */

/* A checkpoint that is being written beside its target. A missing target is staged as the directory
   <target>.saving, an existing one by the file model.safetensors.saving inside it. The file is
   locked until the stage is closed. What a crashed process left behind is not locked, and is
   removed; what a live one writes is not touched. */
typedef struct jf_stage {
  jf_replacement model;              /* the file */
  int parent;                  /* the directory that is to hold the target; -1: the target exists */
  int moved;                   /* a staged directory has got its name */
  uint64_t shard_bytes;        /* how large shards get, and the file is their index; 0: the file has
                                  all */
  char name[JF_MOST_NAME + 1], staged[JF_MOST_NAME + 1];   /* of target and stage, in parent */
  char target[JF_MOST_PATH], file[JF_MOST_PATH];             /* for messages */
} jf_stage;
jfl_status jf_stage_open(const char *path, int overwrite, uint64_t shard_bytes, jf_stage *out);
/* Moves the checkpoint in place if s is JFL_OK, otherwise or on failure removes what was staged.
   Returns s or what went wrong; JFL_OK means that the checkpoint is on the disk, under its path. */
jfl_status jf_stage_close(jf_stage *st, jfl_status s);

#define JF_MODEL_FILE "model.safetensors"
#define JF_INDEX_ENDING ".index.json"
/* Writes what a stage's file and its shards are to have, as jf_safetensors_write does. */
jfl_status jf_stage_write(jfl_session *together, const jf_stage *st, jf_entry *t, int n,
                          const jf_text *meta);
/* The bytes of a shard's name from its number on, where it has such an ending, or 0. */
size_t jf_shard_number(const char *name, const char *ending);
#define JF_STAGE_SUFFIX ".saving"

#endif
