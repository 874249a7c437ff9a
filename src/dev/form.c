/* Rules of forms: the shape of a tensor in a form, and how to convert it. */
#include "dev/form.h"

/* What a form defines. */
typedef struct form_rule {
  /* Gives the conversion from plain to this form; returns 0 if the shape cannot have the form. */
  int (*to)(int64_t block, const jfl_shape *plain, jf_relayout *out);
  /* Gives the plain shape of a tensor in this form; returns 0 if s is no such shape. NULL: no
     caller needs it. */
  int (*plain)(int64_t block, const jfl_shape *s, jfl_shape *out);
  int keeps;                   /* variables may be kept in it */
} form_rule;

static int form_divides(int64_t block, int64_t n) { return block > 0 && n > 0 && n % block == 0; }

/* Sets the order of the n axes. */
static void form_order(jf_relayout *r, int n, const int *perm)
{
  for (int i = 0; i < n; i++) r->perm[i] = perm[i];
}

static int form_to_blocked(int64_t b, const jfl_shape *plain, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 3, 4, 2 };
  const int64_t *d = plain->d;
  if (plain->n != 4 || !form_divides(b, d[1])) return 0;
  r->split = (jfl_shape){ 5, { d[0], d[1] / b, b, d[2], d[3] } };
  form_order(r, 5, perm);
  r->to = (jfl_shape){ 5, { d[0], d[1] / b, d[2], d[3], b } };
  return 1;
}

static int form_plain_blocked(int64_t b, const jfl_shape *s, jfl_shape *out)
{
  const int64_t *d = s->d;
  if (s->n != 5 || d[4] != b) return 0;
  *out = (jfl_shape){ 4, { d[0], d[1] * b, d[2], d[3] } };
  return 1;
}

static int form_to_packed(int64_t b, const jfl_shape *plain, jf_relayout *r)
{
  static const int both[] = { 0, 2, 4, 5, 3, 1 }, one[] = { 0, 3, 4, 2, 1 };
  const int64_t *d = plain->d;
  if (plain->n != 4 || !form_divides(b, d[0])) return 0;
  if (form_divides(b, d[1])) {
    r->split = (jfl_shape){ 6, { d[0] / b, b, d[1] / b, b, d[2], d[3] } };
    form_order(r, 6, both);
    r->to = (jfl_shape){ 6, { d[0] / b, d[1] / b, d[2], d[3], b, b } };
  } else {
    r->split = (jfl_shape){ 5, { d[0] / b, b, d[1], d[2], d[3] } };
    form_order(r, 5, one);
    r->to = (jfl_shape){ 5, { d[0] / b, d[2], d[3], d[1], b } };
  }
  return 1;
}

static int form_to_packed_last(int64_t b, const jfl_shape *plain, jf_relayout *r)
{
  static const int both[] = { 0, 4, 2, 3, 5, 1 }, one[] = { 0, 2, 3, 4, 1 };
  const int64_t *d = plain->d;
  if (plain->n != 4 || !form_divides(b, d[0])) return 0;
  if (form_divides(b, d[3])) {
    r->split = (jfl_shape){ 6, { d[0] / b, b, d[1], d[2], d[3] / b, b } };
    form_order(r, 6, both);
    r->to = (jfl_shape){ 6, { d[0] / b, d[3] / b, d[1], d[2], b, b } };
  } else {
    r->split = (jfl_shape){ 5, { d[0] / b, b, d[1], d[2], d[3] } };
    form_order(r, 5, one);
    r->to = (jfl_shape){ 5, { d[0] / b, d[1], d[2], d[3], b } };
  }
  return 1;
}

static int form_plain_packed(int64_t b, const jfl_shape *s, jfl_shape *out)
{
  const int64_t *d = s->d;
  if (s->n == 6 && d[4] == b && d[5] == b)
    *out = (jfl_shape){ 4, { d[0] * b, d[1] * b, d[2], d[3] } };
  else if (s->n == 5 && d[4] == b && d[3] % b)
    *out = (jfl_shape){ 4, { d[0] * b, d[3], d[1], d[2] } };
  else return 0;
  return 1;
}

static int form_to_channels(int64_t b, const jfl_shape *plain, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 2, 3 };
  if (plain->n != 1 || !form_divides(b, plain->d[0])) return 0;
  r->split = r->to = (jfl_shape){ 4, { plain->d[0] / b, 1, 1, b } };
  form_order(r, 4, perm);
  return 1;
}

/* Adds axes of extent 1 in front. If the shape has only one channel or only one cell, a view is
   enough. */
static int form_to_broadcast(int64_t b, const jfl_shape *s, jf_relayout *r)
{
  static const int perm[] = { 0, 1, 2, 3, 4 };
  int64_t d[4] = { 1, 1, 1, 1 };
  for (int i = 1; i <= s->n && i <= 4; i++) d[4 - i] = s->d[s->n - i];
  if (s->n > 4 || d[1] < 1 || (d[1] > 1 && (!form_divides(b, d[1]) || d[2] * d[3] > 1))) return 0;
  r->to = (jfl_shape){ 5, { d[0], 1, d[2], d[3], 1 } };
  if (d[1] > 1) r->to = (jfl_shape){ 5, { d[0], d[1] / b, 1, 1, b } };
  r->split = r->to;
  form_order(r, 5, perm);
  return 1;
}

/* Nothing asks for the plain shape of tensors in these forms. */
#define form_plain_packed_last NULL
#define form_plain_channels NULL
#define form_plain_broadcast NULL

static const form_rule *form_rule_of(jf_form form)
{
#define X(id, stem, keeps) [JF_##id] = { form_to_##stem, form_plain_##stem, keeps },
  static const form_rule rules[JF_N_FORM] = { JF_FORMS(X) };
#undef X
  return &rules[form];
}

int jf_packing_eq(const jf_packing *a, const jf_packing *b)
{
  return a->form == b->form && (a->form == JF_PLAIN || a->block == b->block);
}

int jf_form_keeps(jf_form form) { return form_rule_of(form)->keeps; }

int jf_relayout_to(const jf_packing *p, const jfl_shape *plain, jf_relayout *out)
{
  const form_rule *rule = form_rule_of(p->form);
  return rule->to && rule->to(p->block, plain, out);
}

jf_relayout jf_relayout_back(const jf_relayout *r, const jfl_shape *plain)
{
  jf_relayout back = { .to = *plain, .split.n = r->split.n };
  for (int i = 0; i < r->split.n; i++) {
    back.split.d[i] = r->split.d[r->perm[i]];
    back.perm[r->perm[i]] = i;
  }
  return back;
}

int jf_packed_shape(const jf_packing *p, const jfl_shape *plain, jfl_shape *out)
{
  jf_relayout r = { .to = *plain };
  if (p->form != JF_PLAIN && !jf_relayout_to(p, plain, &r)) return 0;
  *out = r.to;
  return 1;
}

int jf_plain_shape(const jf_packing *p, const jfl_shape *s, jfl_shape *out)
{
  const form_rule *rule = form_rule_of(p->form);
  return rule->plain && rule->plain(p->block, s, out);
}
