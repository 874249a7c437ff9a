/* Variables of a session: what it keeps of them, and where. */
#ifndef JF_RUN_VARIABLE_H
#define JF_RUN_VARIABLE_H

#include "run/site.h"

/* What a session keeps of a variable on one device. Its memory never moves. */
typedef struct jf_var_shard {
  struct jf_site *site;        /* whose device has the memory */
  int member;                  /* of the variable's group: whose part it is */
  jfl_shape shape;             /* of the part */
  jf_packing packing;
  jf_storage *storage;         /* a tensor of the shape, packed so */
} jf_var_shard;

/* A variable of the session. Its contents belong to whoever holds the run token
   (jf_session_acquire). The first plan with the variable chose where it lies and how its shards are
   packed; what leaves or enters the session is whole and plain. */
typedef struct jf_var {
  jfl_variable_spec spec;      /* of the whole; spec.name is owned */
  int place;                   /* a device's or a group's */
  const jf_group *group;       /* or NULL */
  jfl_distribution distribution;       /* over the group: broadcast or split */
  int written;                 /* by the host or a checkpoint, not by runs alone */
  int is_updated;              /* a plan changes it */
  uint64_t mapped;             /* what `changed` is as long as it is what its mapped file has; 0:
                                  it was never in one */
  int deferred;                /* it has zeros until its values are drawn after this seed */
  uint64_t seed;
  uint64_t changed;            /* what session->changes became when it changed last */
  int n_shard; jf_var_shard shard[];   /* those of this process, by member */
} jf_var;

/* Checks that a variable's initializer serves its dtype and shape; puts what it says in memory of
   the host, in plain order. */
jfl_status jf_initial_check(const jfl_variable_spec *spec);
jfl_status jf_initial_fill(const jfl_session *s, uint64_t seed, const jfl_variable_spec *spec,
                           void *data);

/* Finds a variable by name; NULL if there is none. */
jf_var *jf_session_var(const jfl_session *s, const char *name);
/* Fails if a variable has another shape or dtype than a job wants of that name. */
jfl_status jf_var_check(const jf_var *v, const jfl_variable_spec *spec);
/* Gives memory and contents to a variable of jf_var_new and adds it to the session; takes it. */
jfl_status jf_session_add_var(jfl_session *s, jf_var *v);

/* ---- what a session keeps of a variable (shard.c) ---- */

/* Describes a variable that lies so at a place; its packings may be changed until it is added. */
jfl_status jf_var_new(const jfl_session *s, const jfl_variable_spec *spec, int place,
                      jfl_distribution d, jf_var **out);
void jf_var_free(jf_var *v);
/* Takes memory for its shards. */
jfl_status jf_var_take(jf_var *v);
/* The shard of that member, which is on that device; NULL where this process has none. */
jf_var_shard *jf_var_shard_of(jf_var *v, int place, int member);
/* Of the whole. */
size_t jf_var_bytes(const jf_var *v);
jfl_status jf_var_no_memory(const jf_var *v, size_t size);
/* The contents where they are whole and in plain order in host memory, or NULL. */
void *jf_var_data(const jf_var *v);
/* Copies the contents, in their plain order, to or from host memory of the size of the whole. Parts
   that this process does not have are left out. */
jfl_status jf_var_read(const jf_var *v, void *out);
jfl_status jf_var_write(jf_var *v, const void *from);
/* Writing in two parts, of which the second only fails where the device does: puts plain contents,
   which jf_free frees, into the form of the shards; copies them to these. */
jfl_status jf_var_pack(const jf_var *v, void **contents);
jfl_status jf_var_store(jf_var *v, const void *contents);
/* Whether shards have plain contents as they are, so that jf_var_store takes these. */
int jf_var_takes_plain(const jf_var *v);

/* ---- variables in mapped files (mapped.c) ---- */

/* Has a variable be a part of a mapped file, where its contents are there, instead of copying them:
   whether that may be. Large ones on the host may that no plan changes. */
int jf_var_map(jfl_session *s, jf_var *v, jf_mapping *file, const void *contents);
/* Gives a variable memory of its own, with what it has. */
jfl_status jf_var_own(jfl_session *s, jf_var *v);
/* Whether it is what its mapped file has. */
static inline int jf_var_is_mapped(const jf_var *v) { return v->mapped && v->mapped == v->changed; }
/* Fails where its mapped file is not what it was (shard.c). */
jfl_status jf_var_is_whole(const jf_var *v);

/* Of what one member has, in plain order, where this process has that member: how many bytes it is;
   copying it; putting it to its place in the whole. */
size_t jf_var_part_bytes(const jf_var *v, int member);
jfl_status jf_var_read_part(jf_var *v, int member, void *part);
void jf_var_join_part(const jf_var *v, int member, const void *part, void *whole);

/* ---- contents between processes (across.c); the caller holds the run token ---- */

/* Makes the bytes those of rank 0. */
jfl_status jf_hand_out(void *data, size_t size);
/* Makes a block that of rank 0; elsewhere it becomes new memory, which jf_free frees. */
jfl_status jf_hand_out_block(jfl_session *s, void **data, size_t *size);
/* Whether rank `to`, or some rank where that is -1, lacks a part of the variable. */
int jf_var_is_sharded(const jf_var *v, int to);
/* Reads such a variable on rank `to`, or on all ranks where that is -1. Others only give what they
   have, and `out` may be NULL. `mine` is what this process has come to. */
jfl_status jf_var_gather(jfl_session *s, jf_var *v, int to, void *out, jfl_status mine);

#endif
