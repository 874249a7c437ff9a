/* jfl: job functions for deep learning. The public C API.

   Ownership: a function named _new or that fills an `out` of a counted type gives its caller one
   reference, returned with the matching _free or _unref; everything else is borrowed and lives as
   long as the object it was asked of. Every function that returns jfl_status leaves its outputs
   untouched, or NULL where it was to make several arrays, unless it returns JFL_OK; otherwise
   jfl_errmsg() says what was wrong, on this thread. Graphs, jobs and sessions belong to the thread
   that made them; arrays and requests may cross.

   Any argument may be wrong: NULL, an object of another kind, a number out of range. A function
   without a status then gives 0, NULL or JFL_N_DTYPE, or does nothing, and leaves the error too.
   What cannot be told: a pointer to something else or to less than n elements; an object that was
   freed, once its memory has another use; two threads in one object of a thread, or in its free. */
#ifndef JFL_H
#define JFL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined _WIN32
#define JFL_API __attribute__((visibility("default")))
#elif defined JFL_BUILD_DLL
#define JFL_API __declspec(dllexport)
#elif defined JFL_USE_DLL
#define JFL_API __declspec(dllimport)
#else
#define JFL_API
#endif
/* Semantic versions (semver.org): a program that was compiled with 1.x runs with each later 1.y.
   The number is for #if: 10203 in 1.2.3. */
#define JFL_VERSION "1.0.0"
#define JFL_VERSION_NUMBER 10000

/* One line per status: the enum, the names and the texts come from here. */
#define JFL_STATUSES(X)                   \
  X(EINVAL, "invalid argument")           \
  X(ESHAPE, "shapes do not agree")        \
  X(EDTYPE, "unsupported dtype")          \
  X(ENAME, "unknown or duplicate name")   \
  X(EDATA, "value out of range")          \
  X(ESTATE, "not possible now")           \
  X(ENOSYS, "not supported")              \
  X(EIO, "input or output failed")        \
  X(EFULL, "too many calls in flight")    \
  X(EDEVICE, "the device failed")         \
  X(ENOMEM, "out of memory")              \
  X(ESCRIPT, "a script failed")           \
  X(ELIMIT, "a script reached a limit")

#define X(id, text) JFL_##id,
typedef enum jfl_status { JFL_OK, JFL_STATUSES(X) JFL_N_STATUS } jfl_status;
#undef X

/* One line per dtype: id, name, C type that holds one element. */
#define JFL_DTYPES(X)          \
  X(F32, "float32", float)     \
  X(F64, "float64", double)    \
  X(F16, "float16", uint16_t)  \
  X(BF16, "bfloat16", uint16_t) \
  X(I8, "int8", int8_t)        \
  X(U8, "uint8", uint8_t)      \
  X(I32, "int32", int32_t)     \
  X(I64, "int64", int64_t)

/* Weights in few bits, in blocks along the last axis as GGUF has them: id, name, how many numbers a
   block holds, its bytes. To arrays, shapes and sizes in C a block is one element: 4096 numbers of
   a row are 128 elements of JFL_Q8_0. Arrays, constants and variables that are not trained may
   have these dtypes. Products (matmul with transpose_b) and gather take them as they are. */
#define JFL_BLOCK_DTYPES(X)    \
  X(Q8_0, "q8_0", 32, 34)      \
  X(Q4_0, "q4_0", 32, 18)      \
  X(Q4_K, "q4_k", 256, 144)    \
  X(Q6_K, "q6_k", 256, 210)

#define X(id, ...) JFL_##id,
typedef enum jfl_dtype { JFL_DTYPES(X) JFL_BLOCK_DTYPES(X) JFL_N_DTYPE } jfl_dtype;
#undef X

enum { JFL_MAXDIM = 8 };

/* Extents of a dense row-major tensor, slowest first. n == 0: a scalar, of one element. An extent
   may be 0: the tensor is empty then. */
typedef struct jfl_shape { int n; int64_t d[JFL_MAXDIM]; } jfl_shape;

typedef enum jfl_mode { JFL_PREDICT, JFL_TRAIN } jfl_mode;

typedef struct jfl_array jfl_array;       /* a dense tensor in host memory; counted */
typedef struct jfl_op jfl_op;             /* an operator record; immutable, static */
typedef struct jfl_optimizer jfl_optimizer;   /* an optimizer record; immutable, static */
typedef struct jfl_graph jfl_graph;       /* what one trace of a job's body describes; counted */
typedef struct jfl_value jfl_value;       /* a symbolic tensor of a graph; lives with it */
typedef struct jfl_session jfl_session;   /* variables, jobs, the worker */
typedef struct jfl_job jfl_job;           /* a named job function; lives with its session */
typedef struct jfl_plan jfl_plan;         /* a compiled graph; lives with its job */
typedef struct jfl_request jfl_request;   /* one asynchronous run; counted */
typedef struct jfl_report jfl_report;     /* what loading a checkpoint did */
typedef struct jfl_checkpoint jfl_checkpoint;   /* one that is open for reading */
typedef struct jfl_script jfl_script;     /* a Lua state, with what its texts have defined */
typedef struct jfl_script_job jfl_script_job;   /* a job of a script's; lives with the script */

/* ---- errors, memory, names ---- */

/* JFL_VERSION of the library that runs, which may be newer than that of the header. */
JFL_API const char *jfl_version(void);
/* What is known of the library's build and of this machine, for a report of an error: lines such as
   "compiler: gcc 12.2.0", "processor: ..., 8 cores, AVX2", "oneDNN 2.6.3: float32 products and
   convolutions", "OpenBLAS not found: ...", "devices: 1 cpu, 0 gpu". It looks for libraries and
   devices, which can take seconds where there are GPUs. */
JFL_API jfl_status jfl_build_text(char **out);
/* This thread's last error as one sentence, such as "train: conv1: filters must be ..., got
   ..."; in runs "; see train.lua:12" follows if the line is known (jfl_graph_line); "" before the
   first. Calls that succeed may leave it as it is. The text lives until the thread's next call of
   this function. */
JFL_API const char *jfl_errmsg(void);
/* What that sentence is made of; NULL for a part that the error does not have. The parts live until
   the thread's next error. */
typedef enum jfl_part {
  JFL_ERROR_JOB,               /* the job's name */
  JFL_ERROR_NODE,              /* the node of the job's graph that failed */
  JFL_ERROR_OP,                /* the op, optimizer or schedule, or the misused function of jfl.h */
  JFL_ERROR_ARGUMENT,  /* the argument, option or result that is wrong: the text's subject */
  JFL_ERROR_TEXT,              /* what is wrong */
  JFL_ERROR_LINE               /* where the script asked for the node that failed: "train.lua:12" */
} jfl_part;
/* The status of that error; JFL_OK: there was none. */
JFL_API jfl_status jfl_error_code(void);
JFL_API const char *jfl_error_part(jfl_part part);
/* The texts of the lists above: "invalid argument", "float32"; and the bytes of one element. */
JFL_API const char *jfl_status_name(jfl_status s);
JFL_API const char *jfl_dtype_name(jfl_dtype t);
JFL_API size_t jfl_dtype_size(jfl_dtype t);
/* How many numbers an element holds: those of a block, or 1. */
JFL_API int jfl_dtype_numbers(jfl_dtype t);
/* Accepts these names and "float", "double". */
JFL_API jfl_status jfl_dtype_parse(const char *name, jfl_dtype *out);
/* Element i of data as a number, and a number as element i: rounded for floats; cut off and
   saturated for integers, where not-a-number becomes 0. */
JFL_API double jfl_number_get(jfl_dtype t, const void *data, int64_t i);
JFL_API jfl_status jfl_number_put(jfl_dtype t, void *data, int64_t i, double v);
/* Whether the dtype has the number: rounding is no loss to floats, but becoming infinite is. */
JFL_API int jfl_number_fits(jfl_dtype t, double v);

/* Makes this thread's last error one of the host's own, and returns `code`: for functions that the
   host gives to a script. text: what is wrong, "the door must be open, got a closed one". */
JFL_API jfl_status jfl_fail(jfl_status code, const char *text);

/* Fails unless files can hold the name: at most 1,000 bytes of UTF-8, and not empty. Jobs,
   variables, inputs and nodes have such names. what: the message's subject, "the job's name". */
JFL_API jfl_status jfl_name_check(const char *what, const char *name);
/* Writes n bytes of a text as a terminal may show them, and a zero byte, to `size` bytes of out;
   returns how many bytes all of it takes, without the last. "\x1b" stands for a byte that is not
   UTF-8, controls the terminal, or turns the direction of writing. Messages are written so. */
JFL_API size_t jfl_printable(const char *text, size_t n, char *out, size_t size);

/* A host's allocator; alloc returns 16-byte aligned memory or NULL, free takes the same size. */
typedef struct jfl_allocator {
  void *(*alloc)(void *ud, size_t size);
  void (*free)(void *ud, void *p, size_t size);
  void *ud;
} jfl_allocator;
/* Process-wide; call it before anything else of the library. NULL: malloc and free. Other libraries
   that are opened when they are first needed (oneDNN, OpenBLAS and what they need) take what
   they need from malloc nonetheless. In scripts LuaJIT's compiler is off with an allocator. */
JFL_API jfl_status jfl_set_allocator(const jfl_allocator *a);
/* Where warnings of all sessions and scripts go, such as of a checkpoint that lacks variables; they
   are no errors, and nothing has failed. say may be called on any thread that calls the library.
   Process-wide; NULL: those of scripts go to standard error, and others nowhere. */
typedef struct jfl_log {
  void (*say)(void *ud, const char *text);
  void *ud;
} jfl_log;
JFL_API jfl_status jfl_set_log(const jfl_log *log);
/* Gives the host a warning, if it has said where they go; tells whether. Within `say`: not. */
JFL_API int jfl_warn(const char *text);
/* What is called on each thread that the library starts: before it does anything, with what it is
   for ("worker", "writer", "helper", "stream", "loader", "watch", "stack"), so that a host may name
   it, or choose its cores or priority; and when it has done all. Process-wide; set it before the
   first session. NULL: nothing. Neither may call the library. */
typedef struct jfl_thread_hooks {
  void (*start)(void *ud, const char *what);
  void (*stop)(void *ud, const char *what);
  void *ud;
} jfl_thread_hooks;
JFL_API jfl_status jfl_set_thread_hooks(const jfl_thread_hooks *hooks);
/* Frees a text that a function of this header returned. */
JFL_API void jfl_text_free(char *text);

/* ---- arrays ---- */

/* New zeroed array. JFL_ENOMEM says how many bytes were asked. */
JFL_API jfl_status jfl_array_new(jfl_dtype t, const jfl_shape *s, jfl_array **out);
/* One more reference to a, which is returned; and one less: the last one frees it. Both may be
   called on any thread. */
JFL_API jfl_array *jfl_array_ref(jfl_array *a);
JFL_API void jfl_array_unref(jfl_array *a);
/* The elements, row after row, which may be read and written; they live as long as the array. */
JFL_API void *jfl_array_data(const jfl_array *a);
JFL_API jfl_dtype jfl_array_dtype(const jfl_array *a);
JFL_API const jfl_shape *jfl_array_shape(const jfl_array *a);
/* The number of elements. */
JFL_API int64_t jfl_array_size(const jfl_array *a);
/* Rows first .. first+count-1 (from 0) of the outermost axis, sharing a's memory. */
JFL_API jfl_status jfl_array_rows(jfl_array *a, int64_t first, int64_t count, jfl_array **out);
/* The elements of a under another shape of the same size, sharing a's memory. */
JFL_API jfl_status jfl_array_reshape(jfl_array *a, const jfl_shape *s, jfl_array **out);
/* The bytes of a as elements of another dtype and shape that take as many, sharing a's memory:
   weights in blocks of a file's bytes. */
JFL_API jfl_status jfl_array_view(jfl_array *a, jfl_dtype t, const jfl_shape *s, jfl_array **out);
/* A converted copy. To blocks and from them the last extent changes. Lossless mode refuses
   (JFL_EDTYPE) blocks, and fractions or out-of-range values going to an integer dtype; double to
   float rounds. Otherwise converts as C does, saturating. */
JFL_API jfl_status jfl_array_cast(const jfl_array *a, jfl_dtype t, int lossless, jfl_array **out);
/* Decompresses zlib, gzip or raw deflate data into a new uint8 array. size_hint: expected size or
   0. */
typedef enum jfl_deflate { JFL_GZIP, JFL_ZLIB, JFL_RAW } jfl_deflate;
JFL_API jfl_status jfl_inflate(const void *src, size_t n, jfl_deflate kind, size_t size_hint,
                               jfl_array **out);
/* As jfl_inflate, but data that unpack to more than `most` bytes are JFL_EDATA, found as soon as
   there are more. */
JFL_API jfl_status jfl_inflate_within(const void *src, size_t n, jfl_deflate kind, size_t most,
                                      jfl_array **out);
/* The first `count` bytes, or all where there are fewer. */
JFL_API jfl_status jfl_inflate_head(const void *src, size_t n, jfl_deflate kind, size_t count,
                                    jfl_array **out);
/* Compresses n bytes, at most 4 GB, into a new uint8 array. */
JFL_API jfl_status jfl_compress(const void *src, size_t n, jfl_deflate kind, jfl_array **out);
/* The CRC-32 of n bytes, as gzip and zip files keep it. */
JFL_API uint32_t jfl_crc32(const void *data, size_t n);

/* ---- pictures ---- */

/* How a picture of any extents becomes an array of `height` and `width`. Where it shrinks, each
   pixel is the mean of what lies under it; where it grows, it lies between its neighbours. */
typedef enum jfl_fit {
  JFL_WHOLE,                   /* it keeps its extents */
  JFL_STRETCH,                 /* it is stretched */
  JFL_CENTER,                  /* the largest part of these proportions around its middle */
  JFL_RANDOM                   /* a part that the seed chooses */
} jfl_fit;
typedef struct jfl_picture_spec {
  int channels;                /* 1 (grey), 3 (RGB), or 0 with JFL_WHOLE: as the file has, 1 to 4 */
  jfl_fit fit;
  int64_t height, width;
  int64_t shorter;             /* CENTER: the shorter side gets so many pixels before height and
                                  width are cut out of it; 0: as few as can be */
  double area[2], aspect[2];   /* RANDOM: bounds of the part's share of the area, and of its width
                                  over its height */
  int flip;                    /* the seed mirrors one in two, left to right */
  jfl_dtype dtype;             /* JFL_U8: 0 to 255, or JFL_F32: 0 to 1 */
  int planes;                  /* (channels, height, width), else (height, width, channels) */
} jfl_picture_spec;
/* A JPEG or PNG of n bytes as a new array. What is no picture, is damaged, cut short or of more
   than 2^27 pixels is JFL_EDATA; JFL_ENOSYS where the library is missing that such files need. */
JFL_API jfl_status jfl_picture_decode(const void *data, size_t n, const jfl_picture_spec *spec,
                                      uint64_t seed, jfl_array **out);
/* The uint8 array (height, width, 1 or 3) as a JPEG's bytes; quality from 1 to 100. */
JFL_API jfl_status jfl_jpeg_encode(const jfl_array *pixels, int quality, jfl_array **out);

/* Decodes picture files ahead, on threads of its own (0: none), into batches of uint8 or float32
   (n, height, width, channels), or with planes (n, channels, height, width). It belongs to one
   thread. A result depends on the file, the spec and the seed alone. */
typedef struct jfl_loader jfl_loader;
JFL_API jfl_status jfl_loader_new(const jfl_picture_spec *spec, int workers, jfl_loader **out);
/* Puts a batch of n files, each with its seed, behind those that are wanted. */
JFL_API jfl_status jfl_loader_want(jfl_loader *l, const char *const *path, const uint64_t *seed,
                                   int n);
/* Waits for the oldest batch that is wanted and hands it out. A file that cannot be read is an
   error, which names the first such file; its batch is dropped. */
JFL_API jfl_status jfl_loader_take(jfl_loader *l, jfl_array **out);
JFL_API void jfl_loader_free(jfl_loader *l);

/* ---- samples of other kinds, and in archives ---- */

/* A sample's bytes: `size` of a file from `offset` on; size 0: all from there. */
typedef struct jfl_place { const char *path; int64_t offset, size; uint64_t seed; } jfl_place;

/* What the seed changes in a picture's colours, where they are not 0: each is multiplied by a
   factor from 1 - s (0 at least) to 1 + s, or turned by -s to s on the circle of hues. Then those
   of JFL_F32, from 0 to 1, become (v - mean) / std, channel by channel, where std is not 0. */
typedef struct jfl_colours {
  double brightness, contrast, saturation, hue;
  double mean[3], std[3];
  int bgr;                     /* channels in the order blue, green, red */
} jfl_colours;

/* Numbers of a list in a record, or its bytes, each from -128 to 127. */
typedef struct jfl_numbers_spec {
  jfl_dtype dtype;
  jfl_shape shape;             /* of a sample */
  int pads;                    /* shorter lists end with zeros; else they are errors */
} jfl_numbers_spec;

/* The logarithms of how loud a sound is around frequencies that lie on the mel scale: of windows of
   n_fft samples, each `hop` behind the one before, the squared spectrum is summed under `bands`
   triangles from `low` to `high` Hz. */
typedef enum jfl_mel_scale { JFL_SLANEY, JFL_HTK } jfl_mel_scale;
typedef enum jfl_mel_log {
  JFL_MEL_POWER,               /* sums as they are */
  JFL_MEL_LOG,                 /* their natural logarithms, of 1e-10 at least */
  JFL_MEL_WHISPER              /* as Whisper has them: log10, at most 8 below the largest, plus 4,
                                  over 4; the last window is left out */
} jfl_mel_log;
typedef struct jfl_mel_spec {
  int rate, n_fft, hop, bands;
  double low, high;            /* high 0: rate / 2 */
  jfl_mel_scale scale;
  int unit_area;               /* triangles have one area, else one height */
  jfl_mel_log log;
} jfl_mel_spec;
typedef struct jfl_sound_spec {
  int rate;                    /* samples a second; 0: as the file has */
  int channels;                /* 1: their mean; 0: as the file has */
  int64_t length;              /* samples: longer ones are cut, shorter ones end with silence;
                                  0: as the file has */
  int part;                    /* the seed chooses which part of a longer one is kept, else the
                                  first */
  const jfl_mel_spec *mel;     /* NULL: samples, (channels, length); else (bands, windows) of 1
                                  channel */
} jfl_sound_spec;

/* How pictures get their size: each pixel is the mean of what lies under it, or what lies around it
   by its distance, as PIL and torchvision have it (bilinear, antialiased). */
typedef enum jfl_resizing { JFL_BY_MEANS, JFL_BY_TRIANGLES } jfl_resizing;

typedef enum jfl_sample_kind { JFL_PICTURE, JFL_NUMBERS, JFL_SOUND } jfl_sample_kind;
typedef struct jfl_sample_spec {
  jfl_sample_kind kind;
  jfl_resizing resizing;       /* of pictures */
  const char *feature;         /* the bytes are one of OneFlow's records, and this feature of it is
                                  the sample; NULL: they are the sample */
  jfl_picture_spec picture;
  jfl_colours colours;
  jfl_numbers_spec numbers;    /* of records alone */
  jfl_sound_spec sound;        /* float32; in loaders with a length */
} jfl_sample_spec;
/* One sample of n bytes as a new array: of a picture as jfl_picture_decode, of numbers of their
   shape, of a sound as the spec says. */
JFL_API jfl_status jfl_sample_decode(const void *data, size_t n, const jfl_sample_spec *spec,
                                     uint64_t seed, jfl_array **out);
/* A loader as above of samples of any kind, and a batch of n of them. */
JFL_API jfl_status jfl_loader_of(const jfl_sample_spec *spec, int workers, jfl_loader **out);
JFL_API jfl_status jfl_loader_want_places(jfl_loader *l, const jfl_place *place, int n);
/* As jfl_loader_take, but what cannot be read is no error: its place in the batch has zeros. */
JFL_API jfl_status jfl_loader_take_some(jfl_loader *l, jfl_array **out);
/* Of the items in the last batch of jfl_loader_take_some that could not be read the one with the
   number `which`, from 0: where it is in the batch, and why, as this thread's last error. Returns 0
   where there are fewer. */
JFL_API int jfl_loader_bad(const jfl_loader *l, int which, int *item, const char **why);

/* The head of a WAV file: samples a second, channels, samples of each. */
typedef struct jfl_sound_info { int rate, channels; int64_t length; } jfl_sound_info;
JFL_API jfl_status jfl_sound_head(const void *data, size_t n, jfl_sound_info *out);
/* The sound (samples) or (channels, samples), float32, at another rate: each result is a sum of
   those around it, weighted by a sinc under a window. */
JFL_API jfl_status jfl_sound_resample(const jfl_array *sound, int from, int to, jfl_array **out);
/* (bands, windows), or of (channels, samples) (channels, bands, windows). */
JFL_API jfl_status jfl_mel(const jfl_array *sound, const jfl_mel_spec *spec, jfl_array **out);

/* What a file packs, in its order: members of a tar archive that are files, or records as OneFlow
   writes them. Headers are read, and nothing is unpacked. */
typedef struct jfl_pack jfl_pack;
typedef enum jfl_pack_kind { JFL_TAR, JFL_OFRECORD } jfl_pack_kind;
typedef struct jfl_member { const char *name; int64_t offset, size; } jfl_member;
/* Damaged ones, and sizes that the file cannot hold, are JFL_EDATA. */
JFL_API jfl_status jfl_pack_open(const char *path, jfl_pack_kind kind, jfl_pack **out);
JFL_API int64_t jfl_pack_count(const jfl_pack *p);
/* Member i, from 0, whose name lives as long as p; that of a record is "". */
JFL_API jfl_status jfl_pack_member(const jfl_pack *p, int64_t i, jfl_member *out);
JFL_API void jfl_pack_free(jfl_pack *p);

/* ---- tables in text files (CSV) ---- */

typedef struct jfl_csv jfl_csv;
typedef enum jfl_csv_type { JFL_CSV_NUMBER, JFL_CSV_TEXT } jfl_csv_type;
typedef struct jfl_csv_spec {
  char separator;
  int header;                  /* whether the first line has the columns' names */
  const char *const *missing; int n_missing;     /* what stands for a missing number */
  /* Columns of a given type, and for numbers of a dtype. The others have numbers if they have
     nothing else: int32, int64 where that is too small, or float32. */
  const char *const *typed; const jfl_csv_type *type; const jfl_dtype *dtype; int n_typed;
} jfl_csv_spec;
/* Reads a file. Errors name the file, and what is wrong in it by line and column. */
JFL_API jfl_status jfl_csv_read(const char *path, const jfl_csv_spec *spec, jfl_csv **out);
JFL_API void jfl_csv_free(jfl_csv *t);
JFL_API int jfl_csv_columns(const jfl_csv *t);
JFL_API int64_t jfl_csv_rows(const jfl_csv *t);
/* NULL and 0 past the last column. */
JFL_API const char *jfl_csv_name(const jfl_csv *t, int column);
JFL_API int jfl_csv_is_text(const jfl_csv *t, int column);
/* A column of numbers as a new array; missing ones are not-a-number. */
JFL_API jfl_status jfl_csv_column(const jfl_csv *t, int column, jfl_array **out);
/* A cell of a column of texts: n bytes, which live as long as the table. */
JFL_API jfl_status jfl_csv_text(const jfl_csv *t, int column, int64_t row, const char **text,
                                size_t *n);

/* ---- texts as numbers of tokens ---- */

/* What makes numbers of texts, as a tokenizer.json of Hugging Face's tokenizers tells. One thread
   at a time may use it. Texts are UTF-8, and may hold zero bytes. */
typedef struct jfl_tokenizer jfl_tokenizer;
typedef struct jfl_text { const char *s; size_t n; } jfl_text;
/* Reads a file, or its text. What the file asks for and is not there is an error that names it. */
JFL_API jfl_status jfl_tokenizer_read(const char *path, jfl_tokenizer **out);
JFL_API jfl_status jfl_tokenizer_parse(const void *json, size_t n, jfl_tokenizer **out);
/* Learns a vocabulary of byte pairs (BPE on bytes) from texts: `size` tokens, those of single bytes
   and the special ones among them, or fewer where no pair occurs `least` times. pattern cuts texts
   into words, NULL: that of GPT-2. The result is a tokenizer without anything around its texts. */
typedef struct jfl_bpe_spec {
  int32_t size;
  int64_t least;               /* 0: 2 */
  const char *pattern;
  const jfl_text *special; int n_special;
} jfl_bpe_spec;
JFL_API jfl_status jfl_tokenizer_train(const jfl_text *texts, int n, const jfl_bpe_spec *spec,
                                       jfl_tokenizer **out);
JFL_API void jfl_tokenizer_free(jfl_tokenizer *t);
/* Its tokenizer.json, n bytes, which live as long as it. */
JFL_API jfl_status jfl_tokenizer_json(const jfl_tokenizer *t, const char **json, size_t *n);
/* One more than the last number of a token. */
JFL_API int32_t jfl_tokenizer_size(const jfl_tokenizer *t);
/* A token's text, NULL for a number that none has; and a text's number, or -1. Both are as the file
   has them: "\xc4\xa0the" where bytes are written as other characters. */
JFL_API jfl_status jfl_tokenizer_token(const jfl_tokenizer *t, int32_t id, const char **text,
                                       size_t *n);
JFL_API int32_t jfl_tokenizer_id(const jfl_tokenizer *t, const void *token, size_t n);

typedef enum jfl_side { JFL_SIDE_OF_FILE, JFL_SIDE_LEFT, JFL_SIDE_RIGHT } jfl_side;
/* How texts become tokens; zeroed, as the file of the tokenizer says. */
typedef struct jfl_encode_spec {
  int bare;                    /* no special tokens are added around texts */
  int literal;                 /* special tokens that a text spells are texts: for those of users */
  int64_t most;                /* tokens of a text; -1: any number */
  int64_t length;              /* texts get that many by padding; -1: as many as the longest */
  jfl_side cut, pad;           /* where tokens are cut off, where padding goes */
} jfl_encode_spec;

/* The tokens of a text, and of the one beside it. Lists have n elements. */
typedef struct jfl_encoding jfl_encoding;
typedef struct jfl_token {
  int32_t id, type;            /* type: 0 or 1, mostly by the text it is of */
  int mask, special;           /* 0 for padding; 1 for what was added around texts */
  int sequence;                /* 0 or 1: the text it is of; -1: none */
  int64_t from, to;            /* its bytes there: from..to-1 */
} jfl_token;
/* pair may be NULL, and so may spec. */
JFL_API jfl_status jfl_tokenizer_encode(jfl_tokenizer *t, const jfl_text *text,
                                        const jfl_text *pair, const jfl_encode_spec *spec,
                                        jfl_encoding **out);
JFL_API void jfl_encoding_free(jfl_encoding *e);
/* How many tokens it has, and the list of them. */
JFL_API int64_t jfl_encoding_tokens(const jfl_encoding *e, const jfl_token **tokens);
/* n texts, and as many beside them or NULL, as int32 arrays (n, length) of numbers, of a mask that
   is 0 for padding, and of types. */
typedef struct jfl_batch { jfl_array *ids, *mask, *types; } jfl_batch;
JFL_API jfl_status jfl_tokenizer_batch(jfl_tokenizer *t, const jfl_text *texts,
                                       const jfl_text *pairs, int n, const jfl_encode_spec *spec,
                                       jfl_batch *out);
/* The text of n tokens, to be freed with jfl_text_free; skips: without special tokens. */
JFL_API jfl_status jfl_tokenizer_decode(jfl_tokenizer *t, const int32_t *ids, int64_t n, int skips,
                                        char **text, size_t *size);

/* ---- files ---- */

/* A file that is written beside the one whose place it takes: until jfl_output_keep the old one is
   there, then the new one, whole, with the old one's rights and on the disk. Links are followed,
   but not those of others in a directory where everybody may make them. Devices and pipes are
   written to directly. */
typedef struct jfl_output jfl_output;
JFL_API jfl_status jfl_output_open(const char *path, jfl_output **out);
JFL_API jfl_status jfl_output_write(jfl_output *o, const void *data, size_t n);
/* Once it is kept it has the owner, group and rights that the file at this path has now, as far as
   the caller may give them, instead of the old one's. */
JFL_API jfl_status jfl_output_rights(jfl_output *o, const char *path);
/* Both free o; after a failed jfl_output_keep the old file is there, unless only syncing its
   directory failed. */
JFL_API jfl_status jfl_output_keep(jfl_output *o);
JFL_API void jfl_output_drop(jfl_output *o);

/* ---- operators ---- */

/* An attribute given by the caller; lists are flat (nested ones are flattened in order). */
typedef enum jfl_arg_kind {
  JFL_ARG_NUMBER, JFL_ARG_BOOL, JFL_ARG_STRING, JFL_ARG_LIST, JFL_ARG_ARRAY
} jfl_arg_kind;
typedef struct jfl_arg {
  const char *name;
  jfl_arg_kind kind;
  double number;              /* NUMBER, and 0 or 1 for BOOL */
  const char *string;         /* STRING */
  const double *list;         /* LIST */
  int n_list;
  const jfl_array *array;     /* ARRAY; a graph keeps a copy of what it holds at the call */
} jfl_arg;

/* One attribute, for help and checks. def is NULL where the attribute must be given. */
typedef struct jfl_param { const char *name, *type, *def, *doc; } jfl_param;

typedef struct jfl_op_info {
  const char *name, *doc;
  const char *path;            /* front-end names separated by spaces, or NULL for an internal op */
  const char *const *in, *const *out;
  int n_in, n_out, n_param;
  int n_public;                /* the first outputs, which users see; the others serve gradients */
  int variadic;                /* the last input stands for one or more */
  int optional;                /* ... or for none */
  int many;                    /* the last output stands for one or more, which all are public */
  int differentiable, random, effect;
  int elementwise;             /* chains of such ops become one step */
  const char *schedule;        /* a learning rate schedule's front-end name; NULL: it is none */
  int key;                     /* the input whose dtype chooses the kernel; -1: the output */
  unsigned dtypes;             /* bit t: the key may have dtype t */
} jfl_op_info;

JFL_API int jfl_op_count(void);
JFL_API const jfl_op *jfl_op_at(int i);
JFL_API const jfl_op *jfl_op_find(const char *name);     /* NULL: there is none */
JFL_API jfl_status jfl_op_describe(const jfl_op *op, jfl_op_info *info);
JFL_API jfl_status jfl_op_param(const jfl_op *op, int i, jfl_param *out);

/* Optimizers; schedules of their rates are ops. */
typedef struct jfl_optimizer_info { const char *name, *doc; int n_param; } jfl_optimizer_info;
JFL_API int jfl_optimizer_count(void);
JFL_API const jfl_optimizer *jfl_optimizer_at(int i);
JFL_API const jfl_optimizer *jfl_optimizer_find(const char *name);     /* NULL: there is none */
JFL_API jfl_status jfl_optimizer_describe(const jfl_optimizer *o, jfl_optimizer_info *info);
JFL_API jfl_status jfl_optimizer_param(const jfl_optimizer *o, int i, jfl_param *out);
/* Whether jfl_minimize takes these options. */
JFL_API jfl_status jfl_optimizer_check(const jfl_optimizer *o, const jfl_arg *arg, int n_arg);
/* The rate that a schedule gives for a step, counted from 0. */
JFL_API jfl_status jfl_schedule_rate(const jfl_op *schedule, const jfl_arg *arg, int n_arg,
                                     int64_t step, double *out);

/* How many outputs a call of op on such arrays gives: info.n_out, unless that may be many. */
JFL_API jfl_status jfl_op_outputs(const jfl_op *op, jfl_array *const *in, int n_in,
                                  const jfl_arg *arg, int n_arg, int *out);
/* Runs op at once on arrays. out takes as many new arrays as jfl_op_outputs says: info.n_out, but
   for ops of which that may be many. */
JFL_API jfl_status jfl_eager(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                             const jfl_arg *arg, int n_arg, jfl_array **out);

/* How a call of op can be shared among so many devices, each of which computes its part from its
   parts of the inputs: a line for each way, "0,B->0" for two inputs and an output. A number is the
   axis along which an array is split, so that of n elements the first n % parts devices have one
   more than the others; B: each device has the whole array; P: the array is the sum of what the
   devices have. Every call can also be made by each device on whole arrays, which is no line. */
JFL_API jfl_status jfl_op_signatures(const jfl_op *op, jfl_array *const *in, int n_in,
                                     const jfl_arg *arg, int n_arg, int parts, char **out);
/* A device's part of a call that is shared in the way on line `signature`, counted from 0 like
   members; -1: the device has whole arrays. */
typedef struct jfl_share { int signature, parts, member; } jfl_share;
/* Runs it. `in` are the whole inputs, of which only dtypes and shapes count, `own` the device's
   parts of them. An op that draws random bits draws those of the last call of jfl_eager. */
JFL_API jfl_status jfl_eager_part(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                                  const jfl_arg *arg, int n_arg, const jfl_share *part,
                                  jfl_array *const *own, jfl_array **out);

/* ---- graphs: tracing a job's body ---- */

/* A graph without anything, for a job of that name. What is added to it later lies in its memory:
   after a JFL_ENOMEM it takes no more. */
JFL_API jfl_status jfl_graph_new(const char *job_name, jfl_mode mode, jfl_graph **out);
JFL_API jfl_graph *jfl_graph_ref(jfl_graph *g);
JFL_API void jfl_graph_unref(jfl_graph *g);
JFL_API jfl_mode jfl_graph_mode(const jfl_graph *g);
/* From here on ops and variables are added on a device, "gpu:1", of the session that will compile
   g, or on several: "gpu:0-3", or with the processes that have them, "gpu 0:0-3,1:0-3"; NULL: on
   those that the session's setting "device" names then. */
JFL_API jfl_status jfl_graph_place(jfl_graph *g, jfl_session *s, const char *device);
/* With on, the values of ops that are added from here on, until on is 0, are not kept until the
   gradients need them: they are computed again then, but for those that other ops read. Each call
   with on begins such a region; the memory of one region at a time is needed. */
JFL_API jfl_status jfl_graph_recompute(jfl_graph *g, int on);
/* Says that what is added from here on is asked for at that line, such as "train.lua:12", which
   errors and profiles of runs tell; NULL: no line is known. */
JFL_API jfl_status jfl_graph_line(jfl_graph *g, const char *line);
/* Trained variables of g with at least so many elements, which lie as they like, are split along
   their first axis over the devices of their group, with what their optimizer keeps, and put
   together where ops read them (ZeRO: Rajbhandari et al. 2020). 0: they are not. */
JFL_API jfl_status jfl_graph_shard(jfl_graph *g, int64_t least);
/* The inputs of g are cut into n parts along their first axis, which go through the ops one after
   another; what is on several devices works on several parts at once. Gradients are added up. */
JFL_API jfl_status jfl_graph_micro_batches(jfl_graph *g, int n);
/* What matrix products and convolutions of float32, and their gradients, round to what they read:
   JFL_BF16, where the device is faster with that; JFL_F16, everywhere; or JFL_F32, nothing. Their
   sums and all other ops stay in float32, and so do variables. */
JFL_API jfl_status jfl_graph_mixed_precision(jfl_graph *g, jfl_dtype to);
/* What the i-th convolution or matrix product, from 0, that reads `factor` as its filters or its
   second operand has as its first; NULL behind the last. */
JFL_API jfl_status jfl_graph_product_input(jfl_graph *g, jfl_value *factor, int i, jfl_value **out);
/* Has all that reads v, of float32, read it rounded: v / scale, rounded to int8 or uint8, times
   scale, a variable of one float32. A v that is rounded so already stays as it is. In a predict job
   products of such values with filters that are int8 times a scale for each of them are computed in
   integers, where the device has a kernel for that. */
JFL_API jfl_status jfl_graph_round(jfl_graph *g, jfl_value *v, jfl_value *scale, jfl_dtype to);

/* The next argument of the job: runs take arrays of these dtypes and shapes in the order in which
   inputs were added. A name in use is JFL_ENAME. */
JFL_API jfl_status jfl_graph_input(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *s,
                                   jfl_value **out);

/* How a value lies on the devices of its place, where these are several (reference section 4.3). */
typedef enum jfl_distribution_kind {
  JFL_AUTO,                    /* as the rule of signatures chooses */
  JFL_BROADCAST,               /* each device has all of it */
  JFL_SPLIT,                   /* each has its share of the elements along an axis */
  JFL_PARTIAL,                 /* the value is the sum of what the devices have */
  JFL_MIRRORED                 /* each has a value of its own, as the mirrored view makes them */
} jfl_distribution_kind;
typedef struct jfl_distribution { jfl_distribution_kind kind; int axis; } jfl_distribution;

/* The devices of the place where things are added to a graph now: the place's name, which lives as
   long as the session, how many they are, and how many of them this process has. */
typedef struct jfl_members { const char *name; int n, n_here; } jfl_members;
JFL_API jfl_status jfl_graph_members(jfl_graph *g, jfl_session *s, jfl_members *out);
/* Whether ops that are added from now on are in the mirrored view, where those that draw random
   bits draw others on each device. Other ops give a mirrored value where they have one as input. */
JFL_API jfl_status jfl_graph_mirror(jfl_graph *g, int on);
/* A value in the other view: mirrored, of which each device of the present place has its part along
   the first axis as a value of its own; or, of such, the whole. *out is v itself where that is so
   already, or where the place is one device. */
JFL_API jfl_status jfl_graph_change_view(jfl_graph *g, jfl_session *s, jfl_value *v, int mirrored,
                                         jfl_value **out);

typedef enum jfl_init_kind {
  JFL_INIT_CONSTANT,           /* a */
  JFL_INIT_UNIFORM,            /* [a, b) */
  JFL_INIT_NORMAL,             /* mean a, standard deviation b */
  JFL_INIT_TRUNCATED_NORMAL,   /* the same, redrawn until within 2 b of a */
  JFL_INIT_ORTHOGONAL          /* as a matrix of shape[0] rows: a times orthonormal rows or columns,
                                  whichever are fewer, in a direction drawn evenly */
} jfl_init_kind;
typedef enum jfl_variable_role {
  JFL_WEIGHT,
  JFL_STATE,                   /* of an optimizer or a job's steps: saved, but not a weight */
  JFL_STATE_UNLESS_ZERO        /* the same; a checkpoint that lacks it stands for zeros */
} jfl_variable_role;
typedef struct jfl_variable_spec {
  const char *name;
  jfl_dtype dtype;
  jfl_shape shape;
  jfl_init_kind init;
  double a, b;
  int trainable;
  int state;                   /* a jfl_variable_role */
  double l1, l2;               /* regularizer: training adds l1 sign(v) + l2 v to v's gradient */
} jfl_variable_spec;
/* A name already in the graph gives the same value; shape and dtype must agree then. */
JFL_API jfl_status jfl_graph_variable(jfl_graph *g, const jfl_variable_spec *spec, jfl_value **out);
/* The variable value of that name, or NULL. */
JFL_API jfl_value *jfl_graph_find_variable(jfl_graph *g, const char *name);

/* Appends an op; name NULL: numbered by op. out takes info.n_out values; where there are more,
   jfl_value_output gives them. */
JFL_API jfl_status jfl_graph_op(jfl_graph *g, const jfl_op *op, jfl_value *const *in, int n_in,
                                const jfl_arg *arg, int n_arg, const char *name, jfl_value **out);
/* Registers losses to minimize with an optimizer ("SGD"). Its learning rate is `schedule`, a
   schedule op ("piecewise_constant_schedule") of the train step, or `rate`. A job may have several,
   each with variables of its own, which it steps along the gradients of its own losses. All these
   gradients are of the same run: every variable changes after all were computed. Fields that are 0
   ask for nothing. */
typedef struct jfl_minimize {
  jfl_value *const *loss; int n_loss;
  const char *optimizer;  const jfl_arg *arg; int n_arg;
  const char *schedule;   const jfl_arg *schedule_arg; int n_schedule_arg;
  jfl_value *rate;             /* one number, which the job computes or gets; schedule NULL */
  jfl_value *step;             /* int64 (1): counts the steps in place of the job's own variable */
  jfl_value *const *variable; int n_variable;   /* the variables to train; n 0: all trainable */
  jfl_value *const *undecayed; int n_undecayed; /* those that the optimizer's weight decay spares */
  double clip_norm;            /* the most that these gradients' norm may be, all together */
  double clip_each_norm;       /* the same for each variable's */
  double clip_value;           /* the most that the magnitude of an element may be */
  /* What losses are multiplied by while gradients are computed, and these are divided by. With a
     period it is the first scale: a step with a gradient that is not finite is skipped, not
     counted, and divides the scale by the multiplier; as many good steps as the period multiply it.
     */
  double loss_scale;
  int64_t scale_period;
  double scale_multiplier;
  int64_t accumulate;          /* how many calls' gradients a step takes the mean of */
  /* The decay of moving averages of the variables, "<variable>-ema", which every step moves. If
     average_warms_up, step n has the lesser of it and (1 + n) / (10 + n). */
  double average;
  int average_warms_up;
} jfl_minimize;
JFL_API jfl_status jfl_graph_minimize(jfl_graph *g, const jfl_minimize *m);
/* Gradients of sum(y * dy) with respect to x[i]; dy NULL: ones. grad[i] is NULL where none
   flows. */
JFL_API jfl_status jfl_graph_gradients(jfl_graph *g, jfl_value *y, jfl_value *dy,
                                       jfl_value *const *x, int n_x, jfl_value **grad);
/* Makes v the next result of the job. */
JFL_API jfl_status jfl_graph_output(jfl_graph *g, jfl_value *v);
/* Makes the gradient of what is minimized, the mean of a loss's elements or the sum of those of
   several, with respect to v a result, behind those that jfl_graph_output names and those of calls
   before; losses that several optimizers share count once. It is what updates get of a run before
   they clip and regularize, and no loss scale is in it. Compiling fails where none flows, and says
   `where`, such as "train.lua:12", or nothing for NULL. */
JFL_API jfl_status jfl_graph_watch_gradient(jfl_graph *g, jfl_value *v, const char *where);
/* New text, one node a line: of the graph as it is now, which compiling changes, and as it was
   described. */
JFL_API jfl_status jfl_graph_text(const jfl_graph *g, char **out);
JFL_API jfl_status jfl_graph_traced_text(const jfl_graph *g, char **out);

/* What a graph consists of, in the order of its description: values, of which each is an input, a
   variable or the result of a node. Compiling changes it. */
typedef enum jfl_origin { JFL_IS_INPUT, JFL_IS_VARIABLE, JFL_IS_RESULT } jfl_origin;
JFL_API jfl_value *jfl_graph_value(jfl_graph *g, int i);     /* NULL past the last */
JFL_API jfl_origin jfl_value_origin(const jfl_value *v);
/* A call of an op; the lists live until the graph changes. */
typedef struct jfl_node {
  const char *op, *name;
  jfl_value *const *in, *const *out;
  int n_in, n_out;
} jfl_node;
JFL_API int jfl_graph_nodes(const jfl_graph *g);
JFL_API jfl_status jfl_graph_node(const jfl_graph *g, int i, jfl_node *out);
/* New text of the i-th node's attributes, "axis=1, keepdims=false". */
JFL_API jfl_status jfl_graph_attributes(const jfl_graph *g, int i, char **out);
/* The attributes as a new list of arguments that jfl_graph_op reads and jfl_arguments_free frees:
   each attribute, also where it is its default, and as its op completed it (an axis counted from
   0). A string that was left out is NULL. What the list points to lives as long as the graph, and
   its arrays are not to be written. */
JFL_API jfl_status jfl_graph_arguments(const jfl_graph *g, int i, const jfl_arg **out, int *n);
JFL_API void jfl_arguments_free(const jfl_arg *arg);
/* Where the script asked for the i-th node (jfl_graph_line), or for v; NULL where none is known. */
JFL_API const char *jfl_graph_node_line(const jfl_graph *g, int i);
JFL_API const char *jfl_value_line(const jfl_value *v);
/* What the graph gives, in order; NULL past the last. */
JFL_API jfl_value *jfl_graph_result(jfl_graph *g, int i);
/* What a variable was described by, which lives as long as the graph; NULL for other values. */
JFL_API const jfl_variable_spec *jfl_value_variable(const jfl_value *v);

JFL_API jfl_graph *jfl_value_graph(const jfl_value *v);
/* Output i of the op that made v; NULL past the last, or where no op did. */
JFL_API jfl_value *jfl_value_output(const jfl_value *v, int i);
JFL_API jfl_dtype jfl_value_dtype(const jfl_value *v);
JFL_API const jfl_shape *jfl_value_shape(const jfl_value *v);
JFL_API const char *jfl_value_name(const jfl_value *v);
/* Says how an input or a variable lies on the devices of its place, where these are several; so of
   an input also what each of several processes gives: JFL_AUTO: the first one's array counts;
   JFL_BROADCAST: each has all of it; JFL_SPLIT: each gives its part. Must be said before v is
   read. Partial sums cannot be asked for. JFL_MIRRORED of a value on one device, which may be a
   result too: what that device has of its own, while others have theirs. */
JFL_API jfl_status jfl_value_distribute(jfl_value *v, jfl_distribution d);
/* What is known of how v lies; JFL_AUTO for NULL. */
JFL_API jfl_distribution jfl_value_distribution(const jfl_value *v);
/* The name of v's place; that of the session, where v is on no device of its own. */
JFL_API const char *jfl_value_place(const jfl_value *v, const jfl_session *s);

/* ---- ops, parameters and training in few words ---- */

/* `options` below is a text of words between blanks, "ksize=2 padding=SAME name=pool", or NULL:
   numbers, lists as "2,2", true, false, and names. Layers are Lua's (flow.layers): a program that
   wants them describes its jobs in a text (jfl_script_new). *out may be a value that is also an
   input. */

/* Appends an op, by its name or that which scripts call it by ("max_pool2d", "nn.max_pool2d"), on
   n values; options: the op's, and its name. *out: the first result, or NULL for an op without
   results; jfl_value_output gives the others. Dropout changes nothing in predict jobs, unless
   training=true. */
JFL_API jfl_status jfl_apply(jfl_graph *g, const char *op, jfl_value *const *in, int n,
                             const char *options, jfl_value **out);
/* A trained variable, filled by an initializer: zeros, ones, constant(v), random_uniform(a,b),
   random_normal(mean,deviation), truncated_normal(deviation), glorot_uniform, glorot_normal,
   kaiming or orthogonal(gain). A name that is in the graph gives the same value, as in
   jfl_graph_variable. Named as a layer in Lua names its own ("hidden-weight", (units, inputs), and
   "hidden-bias"), it is in the checkpoints of both. */
JFL_API jfl_status jfl_parameter(jfl_graph *g, const char *name, jfl_dtype t,
                                 const jfl_shape *shape, const char *initializer, jfl_value **out);
/* Minimizes a loss at that rate, with an optimizer ("Adam"); options: the optimizer's, and
   clip_norm, clip_value, accumulate and average as in jfl_minimize. */
JFL_API jfl_status jfl_train(jfl_graph *g, jfl_value *loss, const char *optimizer, double rate,
                             const char *options);
/* Makes the job that g describes, under its name and in its mode, and compiles it. *Takes* g, also
   where it fails; there is no such job then. */
JFL_API jfl_status jfl_session_define(jfl_session *s, jfl_graph *g, jfl_plan **out);

/* ---- processes that run one program together ---- */

/* Each of them is a rank. They are found by what a launcher put in the environment (of jfl, an MPI
   or Slurm), or by this: the hosts of all ranks, in order, and the port where rank 0 listens (0:
   9988). rank is this process's, or -1: the one whose host this is, or JFL_RANK. JFL_ESTATE once
   they have met. */
JFL_API jfl_status jfl_world_set(const char *const *host, int n, int port, int rank);
/* Meets the other ranks, once, as the first session does; alone it is rank 0 of 1. */
JFL_API jfl_status jfl_world_join(int *rank, int *size);
/* The name of a rank's host; "" for no rank, or before they met. */
JFL_API const char *jfl_world_host(int rank);
/* What ended the work together, "rank 2 (node3) has ended"; NULL while all is well. */
JFL_API const char *jfl_world_trouble(void);
/* Gives `size` bytes, at most 512, to all ranks and gets those of each, in order. All must call
   it. */
JFL_API jfl_status jfl_world_gather(const void *mine, size_t size, void *all);
/* Ends the work together, and says why to the other ranks; NULL: leaves it to the end of the
   process. */
JFL_API void jfl_world_leave(const char *why);

/* ---- sessions, jobs, runs ---- */

/* A session without variables and jobs, which belongs to this thread. */
JFL_API jfl_status jfl_session_new(jfl_session **out);
/* Waits for the run in progress and for files that are being written, drops what is queued, and
   frees jobs and variables. */
JFL_API void jfl_session_free(jfl_session *s);
/* Settings: threads, background (0 | 1: for hosts that draw frames; helpers and the worker have the
   lowest priority, one core is left alone, and what is submitted never runs on the caller),
   callback_seconds (how long a call, saving and so on may run callbacks of other calls on its way;
   0: only a poll and a sync run any. At first there is no such limit, and none are run in the
   background), max_inflight, memory_limit (bytes), seed, kernels ("fast" | "direct", without
   convolutions by transforms, which are farther from exact sums | "reference", plain kernels only),
   tf32 (1 | 0: whether products and convolutions of float32 may read 10 bits of each mantissa,
   where a device is faster at that), passes (those to leave out, "-fuse -cse"; "": none),
   inline_limit (operand bytes plus arithmetic of a plan below which jfl_submit on an idle session
   runs it at once, on the caller: that is quicker than handing it over; 0: never), device (where
   jobs compiled later keep and compute what they put on no device themselves, "cpu:0", or several,
   "gpu:0-3"; jfl_session_get gives its number), cpu_devices (in how many devices the processor's
   cores are divided, each with a thread and a share of `threads`; 1: the CPU is one device. Unless
   `device` was set, jobs compiled later run on all of them). */
JFL_API jfl_status jfl_session_set(jfl_session *s, const jfl_arg *setting);
/* The i-th pass that can be left out, in the order they run, and whether jobs compiled now get it;
   NULL past the last. */
JFL_API const char *jfl_session_pass(const jfl_session *s, int i, int *on);
JFL_API jfl_status jfl_session_get(jfl_session *s, const char *setting, double *out);
/* How many devices of a kind, "cpu" or "gpu", can compute here; 0 for an unknown kind. */
JFL_API int jfl_device_count(const char *kind);
/* Why no device of a kind can compute here, "the NVIDIA driver finds no GPU"; NULL where some can,
   or for an unknown kind. */
JFL_API const char *jfl_device_absence(const char *kind);
/* The name of a device that the session has used, "gpu:1", or of several, "gpu 0:0-3", by the
   number that jfl_session_get gives for "device"; NULL past the last. */
JFL_API const char *jfl_session_device(const jfl_session *s, int i);

/* A name in use is JFL_ENAME. */
JFL_API jfl_status jfl_job_new(jfl_session *s, const char *name, jfl_mode mode, jfl_job **out);
/* Makes the plans to come train or predict, for another definition of the job under its name. Its
   variables, its count of runs and the plans that it has stay as they are. */
JFL_API jfl_status jfl_job_set_mode(jfl_job *j, jfl_mode mode);
/* Runs the passes on g, makes its plan, and creates the variables that the session lacks.
   The job keeps a reference to g. It takes no more ops, also where this fails.
   A job may have a plan for each of many shapes, such as lengths of sequences: a graph and a plan
   take little memory, as plans share variables, what they make of them alone, and the memory of
   temporaries, which is that of the largest. jfl_plan_free frees those that are not needed. */
JFL_API jfl_status jfl_job_compile(jfl_job *j, jfl_graph *g, jfl_plan **out);
/* Compiles without waiting: it takes its turn among the runs. g must not be looked at until the
   request is done; then jfl_request_plan gives the plan, jfl_request_status what went wrong.
   jfl_submit_behind queues runs of it meanwhile. A plan on several devices, or one that several
   processes run together, is made at once. */
JFL_API jfl_status jfl_compile_submit(jfl_job *j, jfl_graph *g, jfl_request **out);
/* Drops a plan before its job goes; it must not be in flight. NULL: nothing. */
JFL_API void jfl_plan_free(jfl_plan *p);
/* What a step of a plan does, for those who reckon how long it takes. */
typedef struct jfl_plan_step {
  const char *op, *name, *kernel, *device;   /* name: of the node */
  double flop, bytes;          /* arithmetic, and operands read and written */
  double still;                /* of those bytes: variables, and what updates them */
  double gradient;             /* bytes of its results by which later steps change variables */
  int updates;                 /* whether it changes variables itself */
} jfl_plan_step;
JFL_API int jfl_plan_steps(const jfl_plan *p);
JFL_API jfl_status jfl_plan_step_at(const jfl_plan *p, int i, jfl_plan_step *out);
/* The bytes of a plan's variables and of its temporaries, on all devices together. */
JFL_API jfl_status jfl_plan_memory(const jfl_plan *p, double *variables, double *temporaries);
/* The name of the plan's i-th variable; NULL past the last. */
JFL_API const char *jfl_plan_variable(const jfl_plan *p, int i);
/* How many arrays runs take and how many they give. */
JFL_API int jfl_plan_inputs(const jfl_plan *p);
JFL_API int jfl_plan_outputs(const jfl_plan *p);
/* The i-th input's name, dtype and shape; name and shape live as long as the plan. */
JFL_API jfl_status jfl_plan_input(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                                  const jfl_shape **s);
/* The i-th result's node, dtype and shape. */
JFL_API jfl_status jfl_plan_output(const jfl_plan *p, int i, const char **name, jfl_dtype *t,
                                   const jfl_shape **s);
/* New text of the plan's steps, one a line, of its bytes and of where they are at their peak. */
JFL_API jfl_status jfl_plan_text(const jfl_plan *p, char **out);
/* The learning rate of the next run, by the i-th call of jfl_graph_minimize, counted from 0. It
   waits for queued runs. */
JFL_API jfl_status jfl_plan_rate(jfl_plan *p, int i, double *out);
/* Whether the host has set that rate, and to what. */
JFL_API jfl_status jfl_plan_rate_set(jfl_plan *p, int i, int *is_set, double *out);
/* Sets that rate for all runs to come of the plan's job, whatever the schedule says; NULL: the
   schedule rules again. Checkpoints keep it. */
JFL_API jfl_status jfl_plan_set_rate(jfl_plan *p, int i, const double *rate);

/* Runs the plan on the calling thread, after all queued runs. in are as many arrays as
   jfl_plan_inputs says, of its dtypes and shapes (else JFL_EDTYPE, JFL_ESHAPE), which are read in
   place; out takes jfl_plan_outputs new arrays. On failure no variable has changed. */
JFL_API jfl_status jfl_run(jfl_plan *p, jfl_array *const *in, jfl_array **out);
/* Copies the inputs and queues a run, or runs a small plan at once. JFL_EFULL when max_inflight
   runs of the job wait already. */
JFL_API jfl_status jfl_submit(jfl_plan *p, jfl_array *const *in, jfl_request **out);
/* Queues a run of a plan that is being made, by the request for that. Where it cannot be made the
   run fails for the same reason. */
JFL_API jfl_status jfl_submit_behind(jfl_request *compiling, jfl_array *const *in,
                                     jfl_request **out);
/* Whether jfl_submit would run the plan at once now; and does so, without a request: *ran says
   whether, and if so the rest is as jfl_run says. */
JFL_API int jfl_plan_is_small(const jfl_plan *p);
JFL_API jfl_status jfl_run_small(jfl_plan *p, jfl_array *const *in, jfl_array **out, int *ran);
JFL_API jfl_request *jfl_request_ref(jfl_request *r);
JFL_API void jfl_request_unref(jfl_request *r);
/* Whether it has come to an end: by its results, by an error, or taken back. */
JFL_API int jfl_request_done(const jfl_request *r);
/* Of a finished request: its status (the message becomes this thread's), JFL_ESTATE before; and its
   results, borrowed, NULL before, after an error and past the last. */
JFL_API jfl_status jfl_request_status(const jfl_request *r);
JFL_API jfl_array *jfl_request_output(const jfl_request *r, int i);
/* The plan that was made, or run; NULL before the request is done, after an error, and where there
   is none. */
JFL_API jfl_plan *jfl_request_plan(const jfl_request *r);
/* The name of that result, of jfl_variables_submit; NULL where it has none. */
JFL_API const char *jfl_request_name(const jfl_request *r, int i);
/* Takes back a run that has not begun: it is done at once, and its status is JFL_ESTATE. *cancelled
   says whether; a run that began goes on to its end. On the session's thread. */
JFL_API jfl_status jfl_request_cancel(jfl_request *r, int *cancelled);
/* Waits until r is done, or any one run finishes if r is NULL; at most `seconds` if that is >= 0.
   Returns at once when nothing is in flight. */
JFL_API jfl_status jfl_session_wait(jfl_session *s, const jfl_request *r, double seconds);
JFL_API int jfl_session_pending(jfl_session *s);     /* runs queued or running */
/* Counts what makes variables other than the calls so far say: runs that failed or were taken back,
   variables that were set, loaded or dropped. While it stays, a job's steps can be counted by its
   calls. */
JFL_API unsigned jfl_session_disturbances(const jfl_session *s);
/* asked(ctx), or nothing if that is NULL, is called, on any thread, between the steps of runs that
   jfl_run makes, and of all once the session is closed, until one changes a variable: where it
   gives other than 0 the run fails there with JFL_ESTATE. It must not call the library. */
JFL_API jfl_status jfl_session_stop_when(jfl_session *s, int (*asked)(void *ctx), void *ctx);
/* An eventfd that is readable when runs finished since it was last read. */
JFL_API jfl_status jfl_session_fd(jfl_session *s, int *out);
/* Makes that descriptor, if it was asked for, readable, or not so until the next run finishes. */
JFL_API jfl_status jfl_session_due(jfl_session *s, int due);

/* ---- profiles ---- */

/* What a step of a plan took, over all its runs since the profile began. */
typedef struct jfl_profile_row {
  const char *job, *op, *name, *kernel;      /* name: of the node */
  const char *serves;                        /* the node whose gradient it is part of, or NULL */
  double seconds;                            /* all runs together */
  int64_t runs;
  double flop, bytes;  /* of one run: arithmetic, and operands read and written */
  const char *device;                        /* on which the step ran: "gpu:1" */
} jfl_profile_row;
typedef struct jfl_profile jfl_profile;
/* From here on runs are timed, step by step, the first max_events steps also with their start. */
JFL_API jfl_status jfl_profile_start(jfl_session *s, size_t max_events);
/* Ends it and hands out what was seen; JFL_ESTATE where none was started. */
JFL_API jfl_status jfl_profile_stop(jfl_session *s, jfl_profile **out);
/* Of jobs that several ranks run together: the seconds that this rank's own steps took, and those
   that passed while it waited for others or exchanged data with them. */
JFL_API jfl_status jfl_profile_waiting(const jfl_profile *p, double *computing, double *waiting);
JFL_API int jfl_profile_count(const jfl_profile *p);
JFL_API jfl_status jfl_profile_at(const jfl_profile *p, int i, jfl_profile_row *out);
/* The line that asked for the step of row i (jfl_graph_line); NULL where none is known. */
JFL_API const char *jfl_profile_line(const jfl_profile *p, int i);
/* Writes the steps as a Chrome trace (JSON), which Perfetto and chrome://tracing open, by a
   jfl_output. */
JFL_API jfl_status jfl_profile_trace(const jfl_profile *p, const char *path);
JFL_API void jfl_profile_free(jfl_profile *p);
/* What this machine does at best with that many threads, measured: float32 additions and
   multiplications per second in registers, and bytes per second read and written by a copy loop. */
JFL_API jfl_status jfl_machine_peak(int threads, double *flop, double *bytes);

/* ---- variables and checkpoints; all wait for queued runs first, but for what says otherwise, and
   jfl_variable_info and jfl_variable_distribution: these wait for plans alone that are being made,
   and only where no variable has the name yet ---- */

/* The variables in the order in which they were made; the name is NULL past the last, and lives as
   long as the variable. */
JFL_API int jfl_variable_count(jfl_session *s);
JFL_API const char *jfl_variable_name(jfl_session *s, int i);
/* A copy of what a variable holds, as a new array; JFL_ENAME where there is none of the name. */
JFL_API jfl_status jfl_variable_get(jfl_session *s, const char *name, jfl_array **out);
/* Queues a reading of all variables, which takes its turn among the runs: its results are copies of
   what they hold after all calls so far, in the order of jfl_variable_name. JFL_EFULL when
   max_inflight of them wait already. */
JFL_API jfl_status jfl_variables_submit(jfl_session *s, jfl_request **out);
/* Copies an array, which must have its dtype and shape, into a variable. */
JFL_API jfl_status jfl_variable_set(jfl_session *s, const char *name, const jfl_array *value);
/* Queues the same for n variables, which takes its turn among the runs: those submitted before it
   read what was there, those after it the new values. The arrays are copied and checked at once.
   JFL_EFULL when max_inflight of them wait already. Where several processes run one script it is
   done at once. */
JFL_API jfl_status jfl_variables_set_submit(jfl_session *s, const char *const *names,
                                            jfl_array *const *values, int n, jfl_request **out);

/* With on = 1: variables that are made from here on are zeros, as a checkpoint with their values is
   about to be loaded. With 0, as often: those of them that nothing was written to get what their
   initializers say. */
JFL_API jfl_status jfl_variables_defer(jfl_session *s, int on);

/* Frees a variable, which a job compiled later makes anew; JFL_ESTATE while a plan has it. */
JFL_API jfl_status jfl_variable_drop(jfl_session *s, const char *name);

/* dtype and shape are written where they are not NULL; the shape is borrowed. */
JFL_API jfl_status jfl_variable_info(jfl_session *s, const char *name, jfl_dtype *dtype,
                                     const jfl_shape **shape);

/* Where a variable lies: a device, "cpu:0", or several, "gpu 0:0-3", and how it lies there,
   broadcast or split. Each is written where it is not NULL; the text is borrowed. */
JFL_API jfl_status jfl_variable_distribution(jfl_session *s, const char *name, const char **devices,
                                             jfl_distribution *distribution);

/* In a script that several processes run: gives each the text that rank 0 gave, in new memory that
   jfl_text_free frees. All call it; `doing` says what for, for errors where one does something
   else. */
JFL_API jfl_status jfl_session_hand_out(jfl_session *s, const char *doing, const char *text,
                                        char **out);

/* Words of the host's own that a checkpoint keeps, such as where its data loop is. UTF-8; a key
   may occur once. */
typedef struct jfl_note { const char *key, *value; } jfl_note;

/* Writes path/model.safetensors so that a crash leaves the old checkpoint or the new one, whole.
   A path that exists and is not an empty directory is JFL_ESTATE unless overwrite. Where several
   processes run one script, all call this and jfl_checkpoint_load: rank 0 writes and reads, and an
   error on one is one on all. */
JFL_API jfl_status jfl_checkpoint_save(jfl_session *s, const char *path, int overwrite);
JFL_API jfl_status jfl_checkpoint_save_notes(jfl_session *s, const char *path, int overwrite,
                                             const jfl_note *notes, int n_note);
/* Saves without waiting: takes its turn among the runs, copies the session as it is after all
   calls so far, and writes the files on a thread of their own while runs go on. The request is done
   when they are on the disk; its status says what went wrong. Saves are written one after another,
   and later calls of jfl_checkpoint_* with this session wait for them. JFL_EFULL when max_inflight
   of them are under way. Where several processes run one script it is made at once. */
JFL_API jfl_status jfl_checkpoint_submit(jfl_session *s, const char *path, int overwrite,
                                         const jfl_note *notes, int n_note, jfl_request **out);
/* Writes n arrays under their names, in the same way, and no state of a run. */
JFL_API jfl_status jfl_checkpoint_write(const char *path, int overwrite, const char *const *names,
                                        jfl_array *const *values, int n);
/* Writes arrays with notes and, unless shard_bytes is 0, in shards as those of
   jfl_checkpoint_save_shards. */
JFL_API jfl_status jfl_checkpoint_write_notes(const char *path, int overwrite,
                                              uint64_t shard_bytes, const char *const *names,
                                              jfl_array *const *values, int n,
                                              const jfl_note *notes, int n_note);
/* The session in shards: path/model-00001-of-00003.safetensors and so on, each of at most so many
   bytes of numbers unless one tensor has more, and path/model.safetensors.index.json, which says
   what each has. The path must be free; it is there when all is. shard_bytes 0: one file. */
JFL_API jfl_status jfl_checkpoint_save_shards(jfl_session *s, const char *path,
                                              uint64_t shard_bytes, const jfl_note *notes,
                                              int n_note);
/* Removes a checkpoint that jfl wrote, or what a save to it that was cut short has left. A
   directory that holds anything else, or that is being saved to, is JFL_ESTATE and stays as it
   is. */
JFL_API jfl_status jfl_checkpoint_remove(const char *path);

/* Opens a directory with a checkpoint of jfl or OneFlow, one variable's directory of the latter's,
   a .safetensors file, what PyTorch's save writes, whose pickle is read and never run, or the index
   of shards of these, any of them or their directory. What is open stays as it was when it is
   replaced. */
JFL_API jfl_status jfl_checkpoint_open(const char *path, jfl_checkpoint **out);
/* Does the same in a script that several processes run: all call it, rank 0 opens the path, and
   what it has reaches the others; so do tensors, which all must read and load in the same order. */
JFL_API jfl_status jfl_checkpoint_open_shared(jfl_session *s, const char *path,
                                              jfl_checkpoint **out);
JFL_API void jfl_checkpoint_close(jfl_checkpoint *c);
typedef enum jfl_checkpoint_flags {
  JFL_SINGLE = 1,              /* it is one variable's directory */
  JFL_UNFINISHED = 2           /* OneFlow's, without the mark that is written last */
} jfl_checkpoint_flags;
JFL_API int jfl_checkpoint_about(const jfl_checkpoint *c);
JFL_API int jfl_checkpoint_count(const jfl_checkpoint *c);
/* The i-th tensor's name, bytes, dtype and shape; the shape is NULL where it is not recorded. NULL
   past the last. */
JFL_API const char *jfl_checkpoint_tensor(const jfl_checkpoint *c, int i, uint64_t *size,
                                          jfl_dtype *dtype, const jfl_shape **shape);
/* What the dtype is called: by jfl or, where jfl lacks it, by the file. NULL: it is not
   recorded. */
JFL_API const char *jfl_checkpoint_dtype(const jfl_checkpoint *c, int i);
/* What a tensor is taken as. */
typedef struct jfl_taken {
  const char *name;            /* NULL: it is left out */
  int n_axis;                  /* 0: its axes stay as they are */
  int axis[JFL_MAXDIM];        /* which of its axes becomes the first, the second and so on */
} jfl_taken;
/* From here on the n tensors, all that there are, are those of these names, in the order of their
   names, and those left out are not there. Two of one name, and axes that do not fit, are errors
   that change nothing. Nothing is read for it. */
JFL_API jfl_status jfl_checkpoint_take(jfl_checkpoint *c, const jfl_taken *as, int n);
/* Reads the i-th tensor as a new array; where dtype and shape are not recorded, they are these. */
JFL_API jfl_status jfl_checkpoint_read(const jfl_checkpoint *c, int i, jfl_dtype dtype,
                                       const jfl_shape *shape, jfl_array **out);
/* Writes the i-th note; 0 past the last. */
JFL_API int jfl_checkpoint_note(const jfl_checkpoint *c, int i, jfl_note *out);

/* Loads what matches by name, floats also into variables of wider ones; wrong shapes or dtypes, a
   damaged file, or with strict any missing name or unexpected weight, are errors that change
   nothing. Large variables on the host that no plan changes become parts of the file, mapped into
   memory, except where the host gives memory or limits it. The first file that is mapped installs a
   handler for SIGBUS, which leaves other faults to the handler before; so a file that is cut while
   it is mapped makes runs fail (JFL_EIO) until it is loaded again, and ends nothing. */
JFL_API jfl_status jfl_checkpoint_load(jfl_session *s, const char *path, int strict,
                                       jfl_report **out);
/* Loads from an open checkpoint. With n_only > 0 only names that begin with one of `only` take
   part, and the state of the run (seed, runs so far) stays as it is. */
JFL_API jfl_status jfl_checkpoint_apply(jfl_session *s, const jfl_checkpoint *c, int strict,
                                        const char *const *only, int n_only, jfl_report **out);
typedef enum jfl_loaded { JFL_LOADED, JFL_MISSING, JFL_UNEXPECTED } jfl_loaded;
JFL_API int jfl_report_count(const jfl_report *r);
/* The i-th name, NULL past the last, and what became of it. state: whether it is optimizer or step
   state rather than a weight. */
JFL_API const char *jfl_report_name(const jfl_report *r, int i, jfl_loaded *what, int *state);
JFL_API void jfl_report_free(jfl_report *r);

/* ---- scripts: Lua texts that the library runs ---- */

/* A program can leave it to a Lua text to define jobs, and call them from C. The texts run in a
   LuaJIT of their own, apart from any other Lua in the process, with the whole front end in it:
   `local flow = require "jfl"`. A script belongs to the thread that made it. No Lua and no callback
   runs but in the calls below, and nothing that a text does ends the process: what it raises, and
   memory that runs out, are statuses, and os.exit is an error. */

/* How a script runs. Set `size` to sizeof(jfl_script_options) and what is not needed to 0; fields
   that a later version adds are 0 to an older program. */
typedef struct jfl_script_options {
  size_t size;
  int restricted;              /* for texts that are not trusted: they get neither files nor
                                  processes, nor what leads to them (the manual has the list) */
  uint64_t memory;             /* the most bytes of Lua, with `restricted` of arrays and plans too;
                                  0: no limit. More: JFL_ENOMEM. LuaJIT's compiler is off with it */
  double instructions;         /* the most that one call below may run, of Lua's virtual machine;
                                  0: no limit. More is JFL_ELIMIT. */
  double seconds;              /* the longest that one call below may run Lua; 0: no limit */
  int threads;                 /* the most that jobs may use; 0: as many as there are cores */
  const char *read_folder;     /* with `restricted`: the folder whose files texts may read, and */
  const char *write_folder;    /* that where they may write; NULL: none. Both are opened when the
                                  script is made; one that cannot be is JFL_EIO */
  /* What print() writes, n bytes with the newline; NULL: it goes to standard output. */
  void (*print)(void *ud, const char *text, size_t n);
  void *ud;
} jfl_script_options;

/* options NULL: none. LuaJIT's compiler is off in a restricted script, and in one with a limit. */
JFL_API jfl_status jfl_script_new(const jfl_script_options *options, jfl_script **out);
/* Waits for the run in progress and drops what is queued, callbacks too. In a callback of the
   script, or a function that it calls, it does so once the call below has returned that led
   there. */
JFL_API void jfl_script_free(jfl_script *s);
/* Runs a Lua text of n bytes; bytecode is refused. name: what messages call it, as Lua does,
   "@game/brain.lua" for a file or "=brain"; NULL: the text's first line. Errors are
   JFL_ESCRIPT, unless they come from a function of the library, whose status they keep. */
JFL_API jfl_status jfl_script_run(jfl_script *s, const char *text, size_t n, const char *name);
JFL_API jfl_status jfl_script_run_file(jfl_script *s, const char *path);
/* The last error of a text in full, with the lines that led to it, or why a file could not be read;
   "" where there was none, or no memory for it. It stays until the next error. */
JFL_API const char *jfl_script_traceback(const jfl_script *s);
/* The script's session, so that functions above work on its settings, variables and jobs. It is
   made at the first need, and another one after flow.clear_default_session(). */
JFL_API jfl_status jfl_script_session(jfl_script *s, jfl_session **out);
/* May be called on any thread as long as s is not freed: the call below that is under way ends with
   JFL_ESCRIPT, "interrupted", as soon as it waits, between two steps of a run, or, where the script
   has a limit of instructions or seconds, anywhere in a text. It does nothing while none is under
   way. */
JFL_API void jfl_script_interrupt(jfl_script *s);

/* What goes between C and Lua. As an argument its text and array are borrowed; as a result they
   belong to the caller, which gives them back with jfl_script_value_clear. */
typedef enum jfl_script_kind {
  JFL_SCRIPT_NIL, JFL_SCRIPT_BOOL, JFL_SCRIPT_NUMBER, JFL_SCRIPT_TEXT, JFL_SCRIPT_ARRAY,
  JFL_SCRIPT_OTHER             /* a result that C has no form for: a table, a function */
} jfl_script_kind;
typedef struct jfl_script_value {
  jfl_script_kind kind;
  double number;               /* NUMBER, and 0 or 1 for BOOL */
  const char *text;            /* TEXT, with a zero byte behind it */
  size_t n_text;               /* its bytes; as an argument 0: up to the first zero byte */
  jfl_array *array;            /* ARRAY: the same as in Lua, without a copy */
} jfl_script_value;
/* Frees what a result holds and makes it nil. Not for arguments, whose text and array are the
   caller's own. */
JFL_API void jfl_script_value_clear(jfl_script_value *v);
/* Read and set a global variable of the texts, or a field of a table: "score", "rates.hidden". What
   is not there is nil; what has fields must be a table (JFL_ESCRIPT). */
JFL_API jfl_status jfl_script_get(jfl_script *s, const char *path, jfl_script_value *out);
JFL_API jfl_status jfl_script_set(jfl_script *s, const char *path, const jfl_script_value *value);
/* Calls a function of the texts. out takes n_out values, which jfl_script_value_clear frees; what
   the function gives beyond them is dropped, and what it does not give is nil. */
JFL_API jfl_status jfl_script_invoke(jfl_script *s, const char *path, const jfl_script_value *arg,
                                     int n_arg, jfl_script_value *out, int n_out);
/* A function of the host's for the texts. What it writes to `result`, which is nil before, is given
   to Lua: texts are copied and an array stays the host's. Other than JFL_OK is an error there, with
   jfl_errmsg(), which jfl_fail sets. It must not enter the script, which is JFL_ESTATE, nor leave
   by longjmp or a C++ exception. It and ud must stay there as long as the script. */
typedef jfl_status (*jfl_script_function)(void *ud, const jfl_script_value *arg, int n_arg,
                                          jfl_script_value *result);
JFL_API jfl_status jfl_script_define(jfl_script *s, const char *path, jfl_script_function function,
                                     void *ud);

/* How many jobs the texts have defined, and each in the order in which it was defined first. */
JFL_API int jfl_script_jobs(jfl_script *s);
JFL_API jfl_status jfl_script_job_at(jfl_script *s, int i, jfl_script_job **out);
/* A job by its name; JFL_ENAME if there is none. It stays the job of that name when a text defines
   it anew. */
JFL_API jfl_status jfl_script_job_find(jfl_script *s, const char *name, jfl_script_job **out);
JFL_API const char *jfl_script_job_name(const jfl_script_job *j);
/* The job's mode, and how many arguments it takes and results it gives. To tell the results it
   compiles the job, for one row where any number is allowed; n_out NULL: it does not. */
JFL_API jfl_status jfl_script_job_about(jfl_script_job *j, jfl_mode *mode, int *n_in, int *n_out);
/* The i-th argument: its name, dtype and shape, in which extents that may vary are -1. The name
   lives until the script runs Lua again. */
JFL_API jfl_status jfl_script_job_input(jfl_script_job *j, int i, const char **name, jfl_dtype *t,
                                        jfl_shape *shape);
/* The largest shape that the i-th argument may have: bounds, such as 512 where the text says
   { max = 512 }, in place of extents that vary, and -1 for a first one without a bound. */
JFL_API jfl_status jfl_script_job_bound(jfl_script_job *j, int i, jfl_shape *shape);
/* The i-th result, in the order in which calls give them. Its name is where `returns` has it:
   "loss" or "ends.1" for tables with these keys, "2" for the second of several; "" for the only
   one. The shape is that for one row where any number is allowed, and for arguments as long as they
   may be. */
JFL_API jfl_status jfl_script_job_output(jfl_script_job *j, int i, const char **name, jfl_dtype *t,
                                         jfl_shape *shape);
/* The job's plan for arguments of so many rows that are as long as they may be, as jfl_job_compile
   gives it; 0: one row, or as many as the job says. It lives until the script defines the job anew,
   or makes a plan for other extents, if it has more than flow.config.max_plans() then. */
JFL_API jfl_status jfl_script_job_plan(jfl_script_job *j, int64_t rows, jfl_plan **out);
/* Runs a job as jfl_run does, whether Lua calls it asynchronously or not: out takes as many new
   arrays as the job has results. */
JFL_API jfl_status jfl_script_call(jfl_script_job *j, jfl_array *const *in, int n_in,
                                   jfl_array **out, int n_out);
/* Runs it as jfl_submit does. Once it is done, jfl_script_poll calls done(ud, request): then
   jfl_request_status tells how it went, and jfl_request_output gives the results. out, which may be
   NULL, takes a reference to the request, for jfl_request_cancel. done NULL: nothing is called.
   Arguments are copied. In done the request and its results are borrowed: who keeps them takes a
   reference. */
typedef void (*jfl_script_done)(void *ud, jfl_request *request);
JFL_API jfl_status jfl_script_submit(jfl_script_job *j, jfl_array *const *in, int n_in,
                                     jfl_script_done done, void *ud, jfl_request **out);
/* Takes back the calls of a job that have not begun, those of the texts too, but for those without
   a callback; n, which may be NULL, takes how many. Callbacks of C get JFL_ESTATE. */
JFL_API jfl_status jfl_script_cancel(jfl_script_job *j, int *n);
/* Runs the callbacks that are due, of C and of the texts, in the order of the calls. It begins none
   after so many seconds (below 0: it has no such limit), nor those of calls that callbacks make.
   Callbacks of C run nowhere else but in jfl_script_sync; those of the texts also in entries that
   run texts, as long as the setting callback_seconds says. delivered, which may be NULL, takes how
   many ran. An error of a callback of the texts is given once, and keeps no other from running.
   Within a callback it does nothing. */
JFL_API jfl_status jfl_script_poll(jfl_script *s, double seconds, int *delivered);
/* Waits for all calls made so far, and runs their callbacks. Within a callback it does nothing. */
JFL_API jfl_status jfl_script_sync(jfl_script *s);
/* How many calls there are whose callbacks have not run. */
JFL_API int jfl_script_pending(jfl_script *s);
/* A descriptor for poll() or select() that is readable as long as a callback is due. It is that of
   the script's session. */
JFL_API jfl_status jfl_script_fd(jfl_script *s, int *out);
/* Write and read all variables of all jobs that the texts have defined, as flow.train.CheckPoint
   does: jfl_checkpoint_save and jfl_checkpoint_load know of those alone that were compiled. The
   path is the program's own: no folder of a restricted script bounds it. */
JFL_API jfl_status jfl_script_save(jfl_script *s, const char *path, int overwrite);
JFL_API jfl_status jfl_script_load(jfl_script *s, const char *path, int strict);

#ifdef __cplusplus
}
#endif
#endif
