/* The calls whose functions have not run, in the order in which they were made. */
#include "bind/queue.h"

/* A finished run makes the descriptor readable; once its results are taken, it must no longer be.
   It is cleared first, as another run may finish meanwhile. */
void jf_tell_due(lua_State *L, const jf_queue *q)
{
  jfl_session *s = q->watched ? jf_state_of(L)->session : NULL;
  if (!s) return;
  const jf_lrequest *next = q->head;
  while (next && next->behind && !jf_is_over(next)) next = next->next;
  jfl_session_due(s, 0);
  if (jf_has_errors(q) || (next && jf_is_over(next))) jfl_session_due(s, 1);
}

void jf_reserve_call(lua_State *L)
{
  jf_queue *q = jf_queue_of(L);
  if (q->length < q->room) return;
  jf_push_anchor(L, q, CALLS);
  lua_pushboolean(L, 0);
  lua_rawseti(L, -2, q->room + 1);
  q->room++;
  lua_pop(L, 1);
}

void jf_push_call(lua_State *L, const jf_queue *q, const jf_lrequest *r)
{
  jf_push_anchor(L, q, CALLS);
  lua_rawgeti(L, -1, r->place);
  lua_replace(L, -2);
}

void jf_enqueue(lua_State *L, int i)
{
  jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = lua_touserdata(L, i), **at = q->tail ? &q->tail->next : &q->head;
  if (!r->number) r->number = ++q->calls;
  if (q->tail && r->number < q->tail->number)
    for (at = &q->head; (*at)->number < r->number; ) at = &(*at)->next;
  r->next = *at;
  *at = r;
  if (!r->next) q->tail = r;
  r->place = ++q->length;
  jf_push_anchor(L, q, CALLS);
  lua_pushvalue(L, i);
  lua_rawseti(L, -2, r->place);
  lua_pop(L, 1);
  jf_tell_due(L, q);
}

/* In the registry's list the last one takes its place. */
void jf_dequeue(lua_State *L, jf_queue *q, jf_lrequest *r)
{
  jf_lrequest *before = NULL, *at = q->head;
  for (; at != r; at = at->next) before = at;
  if (before) before->next = r->next;
  else q->head = r->next;
  if (q->tail == r) q->tail = before;
  jf_push_anchor(L, q, CALLS);
  lua_rawgeti(L, -1, q->length);
  ((jf_lrequest *)lua_touserdata(L, -1))->place = r->place;
  lua_rawseti(L, -2, r->place);
  lua_pushboolean(L, 0);
  lua_rawseti(L, -2, q->length);
  lua_pop(L, 1);
  r->next = NULL;
  r->place = 0;
  if (!--q->length) q->told_length = 0;
  jf_tell_due(L, q);
}

void jf_postpone(lua_State *L, jf_queue *q, uint64_t last)
{
  if (last > q->calls) last = q->calls;
  for (jf_lrequest *r = jf_first_call(q);
       r && r->next && r->behind && r->number <= last && !jf_is_over(r); r = jf_first_call(q)) {
    jf_push_call(L, q, r);
    jf_dequeue(L, q, r);
    r->number = 0;
    jf_enqueue(L, lua_gettop(L));
    lua_pop(L, 1);
  }
}

void jf_refuse(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_keep_failure(L, i);
  r->number = ++jf_queue_of(L)->calls;
  r->told = 1;
}

void jf_wait_for_files(lua_State *L)
{
  for (const jf_lrequest *r = jf_queue_of(L)->head; r; r = r->next)
    if (r->behind && !jf_is_over(r)) jf_wait(L, jf_run_of(r), -1);
}

int jf_is_full(lua_State *L, const jf_lplan *p)
{
  int n = 0;
  if (p->width <= 0) return 0;
  for (const jf_lrequest *r = jf_queue_of(L)->head; r; r = r->next)
    n += r->plan->job == p->job && !jf_is_over(r);
  return n >= p->width;
}
