/* The new order of nodes and groups. */
#include "pass/fuse/fuse.h"

#include <string.h>

/* Groups that need not wait for others any more, as a heap: the next one is on top. */
typedef struct order_heap { int *key, n; } order_heap;

static void swap_keys(int *a, int *b)
{
  const int c = *a;
  *a = *b;
  *b = c;
}

static void push_key(order_heap *h, int key)
{
  int i = h->n++;
  h->key[i] = key;
  for (; i > 0 && h->key[(i - 1) / 2] > h->key[i]; i = (i - 1) / 2)
    swap_keys(&h->key[(i - 1) / 2], &h->key[i]);
}

static int pop_key(order_heap *h)
{
  const int top = h->key[0];
  h->key[0] = h->key[--h->n];
  for (int i = 0, least = 2 * i + 1; least < h->n; i = least, least = 2 * i + 1) {
    if (least + 1 < h->n && h->key[least + 1] < h->key[least]) least++;
    if (h->key[i] <= h->key[least]) break;
    swap_keys(&h->key[i], &h->key[least]);
  }
  return top;
}

/* The order of groups: those with effects come after all others. */
static int key_of_group(const jf_fuser *f, int i)
{
  return f->r.old[i]->op->flags & JF_EFFECT ? f->n + i : i;
}

/* Counts for each group how many edges lead to it from other groups. */
static int *count_waits(const jf_fuser *f)
{
  int *waits = jf_fuse_ints(f, f->n);
  for (int i = 0; i < f->n; i++)
    for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++) {
      const int group = f->groups.of[f->followers.item[j]];
      waits[group] += group != f->groups.of[i];
    }
  return waits;
}

static int *sort_groups(const jf_fuser *f, int *n)
{
  int *waits = count_waits(f), *order = jf_fuse_ints(f, f->n);
  order_heap ready = { jf_fuse_ints(f, f->n), 0 };
  *n = 0;
  for (int i = 0; i < f->n; i++)
    if (f->groups.of[i] == i && !waits[i]) push_key(&ready, key_of_group(f, i));
  while (ready.n) {
    const int group = pop_key(&ready) % f->n;
    order[(*n)++] = group;
    for (int i = group; i >= 0; i = f->groups.next[i])
      for (int j = f->followers.first[i]; j < f->followers.first[i + 1]; j++) {
        const int to = f->groups.of[f->followers.item[j]];
        if (to != group && --waits[to] == 0) push_key(&ready, key_of_group(f, to));
      }
  }
  return order;
}

/* Whether group i is needed; if so, marks what it reads as needed too. */
static int is_needed(jf_fuser *f, int group, char *needed)
{
  int any = 0;
  for (int i = group; i >= 0; i = f->groups.next[i]) {
    any |= (f->r.old[i]->op->flags & (JF_EFFECT | JF_TOGETHER)) != 0;
    for (int k = 0; k < f->r.old[i]->n_out; k++) any |= needed[f->r.old[i]->out[k]->id];
  }
  for (int i = group; any && i >= 0; i = f->groups.next[i])
    for (int k = 0; k < f->r.old[i]->n_in; k++) {
      jf_operand o = { .v = f->r.old[i]->in[k] };
      if (jf_is_grouped(&f->groups, i)) jf_operand_of(f->r.old[i], k, &o);
      if (o.v) needed[o.v->id] = 1;
    }
  return any;
}

int *jf_fuse_order(jf_fuser *f, int *n)
{
  const size_t n_value = (size_t)f->r.n_value;
  char *needed = memcpy(jf_alloc(f->g->arena, n_value), f->result, n_value);
  int *order = sort_groups(f, n), kept = *n;
  for (int i = *n - 1; i >= 0; i--)
    if (is_needed(f, order[i], needed)) order[--kept] = order[i];
  *n -= kept;
  return order + kept;
}
