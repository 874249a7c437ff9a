/* Packing the cells that bands of results of a convolution read. */
#include "lines.h"

/* ---- which cells ---- */

/* The first of n stretches that has the cell which tap u reads for result 0, or ends before it; n
   if there is none. */
static int64_t lines_stretch(const jf_own_axis *a, const jf_own_stretch *s, int64_t n, int64_t u)
{
  int64_t i = 0;
  for (; i < n; i++) {
    const int64_t ahead = a->shift[u] - s[i].first;
    if (ahead % a->stride == 0 && ahead / a->stride <= s[i].n) break;
  }
  return i;
}

/* Sets the stretches of a phase. Taps are taken in the order of their shifts, which may fall. */
static void lines_phase(const jf_own_axis *a, int64_t phase, jf_own_reach *r)
{
  const int64_t start = a->start[phase], end = a->start[phase + 1];
  jf_own_stretch *s = r->stretch + start;
  int64_t n = 0, places = 0;
  for (int64_t j = start; j < end; j++) {
    const int falls = a->shift[start] > a->shift[end - 1];
    const int64_t u = falls ? start + end - 1 - j : j, i = lines_stretch(a, s, n, u);
    if (i == n) s[n++] = (jf_own_stretch){ .first = a->shift[u] };
    s[i].n = (a->shift[u] - s[i].first) / a->stride + r->many;
    r->place[u] = i;
  }
  for (int64_t i = 0; i < n; places += s[i++].n) s[i].place = places;
  for (int64_t u = start; u < end; u++) {
    const jf_own_stretch *has = &s[r->place[u]];
    r->place[u] = has->place + (a->shift[u] - has->first) / a->stride;
  }
  r->stretches[phase] = n;
  r->places[phase] = places;
}

jfl_status jf_own_reaches(const jf_primitive_conv *c, const jf_own_axis axis[3],
                          const int64_t many[3],
                          jf_own_reach reach[3])
{
  size_t size = 0;
  for (int i = 0; i < 3; i++)
    size += (size_t)c->kernel[i] * (sizeof(jf_own_stretch) + sizeof(int64_t)) +
            (size_t)axis[i].phases * 2 * sizeof(int64_t);
  jf_own_stretch *stretch = jf_new(size);
  if (!stretch) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  int64_t *at = (int64_t *)(stretch + c->kernel[0] + c->kernel[1] + c->kernel[2]);
  for (int i = 0; i < 3; i++) {
    jf_own_reach *r = &reach[i];
    *r = (jf_own_reach){ many[i], stretch, at, at + axis[i].phases, at + 2 * axis[i].phases };
    stretch += c->kernel[i];
    at = r->place + c->kernel[i];
    for (int64_t phase = 0; phase < axis[i].phases; phase++) lines_phase(&axis[i], phase, r);
  }
  return JFL_OK;
}

/* ---- packing ---- */

/* Copies n cells of one channel, which lie so far apart. */
JF_BODY void lines_copy_one(const float *from, int64_t apart, int64_t n, float *to)
{
  int64_t i = 0;
  if (apart == 1) {
    memcpy(to, from, (size_t)n * sizeof *to);
    return;
  }
  for (; apart == 2 && i + JF_LANES < n; i += JF_LANES) {
    const jf_vec a = JF_LOAD(from + 2 * i), b = JF_LOAD(from + 2 * i + JF_LANES);
    JF_STORE(to + i, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24,
                                             26, 28, 30));
  }
  for (; i < n; i++) to[i] = from[i * apart];
}

/* One line of places; `from` is cell 0 of the source's line, or NULL beyond the image. */
JF_BODY void lines_pack_line(const jf_own_band *b, const float *from, float *to)
{
  const jf_own_axis *a = &b->axis[2];
  const jf_own_stretch *s = b->reach[2].stretch + a->start[b->phase[2]];
  for (int64_t i = 0; i < b->reach[2].stretches[b->phase[2]]; i++, s++) {
    const int64_t first = b->corner[2] + s->first, last = b->x->size[2] - 1 - first;
    const int64_t apart = a->stride * b->x->step[2];
    int64_t hi = !from || last < 0 ? 0 : jf_own_least(last / a->stride + 1, s->n);
    int64_t lo = first < 0 ? jf_own_least((-first + a->stride - 1) / a->stride, s->n) : 0;
    if (lo >= hi) lo = hi = 0;
    memset(to, 0, (size_t)(lo * b->each) * sizeof *to);
    if (hi > lo) {
      const float *cell = from + (first + lo * a->stride) * b->x->step[2];
      if (b->each == 1) lines_copy_one(cell, apart, hi - lo, to + lo);
      for (int64_t j = lo; b->each > 1 && j < hi; j++, cell += apart)
        JF_STORE(to + j * JF_LANES, JF_LOAD(cell));
    }
    memset(to + hi * b->each, 0, (size_t)((s->n - hi) * b->each) * sizeof *to);
    to += s->n * b->each;
  }
}

/* The cell of the source for place i of a stretch along an axis; -1 if it is beyond the image. */
static int64_t lines_cell(const jf_own_band *b, int axis, const jf_own_stretch *s, int64_t i)
{
  const int64_t at = b->corner[axis] + s->first + i * b->axis[axis].stride;
  return at < 0 || at >= b->x->size[axis] ? -1 : at;
}

/* All lines of one depth of the source, which is at `from`, or NULL. */
JF_BODY float *lines_pack_plane(const jf_own_band *b, const float *from, float *to)
{
  const jf_own_stretch *s = b->reach[1].stretch + b->axis[1].start[b->phase[1]];
  for (int64_t n = b->reach[1].stretches[b->phase[1]]; n > 0; n--, s++)
    for (int64_t i = 0; i < s->n; i++, to += b->reach[2].places[b->phase[2]] * b->each) {
      const int64_t at = lines_cell(b, 1, s, i);
      lines_pack_line(b, from && at >= 0 ? from + at * b->x->step[1] : NULL, to);
    }
  return to;
}

JF_BODY void lines_pack_body(const jf_own_band *b)
{
  float *to = b->to;
  for (int64_t c = b->channel; c < b->channel + b->channels; c += b->each) {
    const float *from = b->from + c / b->x->run * b->x->by_run + c % b->x->run;
    const jf_own_stretch *s = b->reach[0].stretch + b->axis[0].start[b->phase[0]];
    for (int64_t n = b->reach[0].stretches[b->phase[0]]; n > 0; n--, s++)
      for (int64_t i = 0; i < s->n; i++) {
        const int64_t at = lines_cell(b, 0, s, i);
        to = lines_pack_plane(b, at >= 0 ? from + at * b->x->step[0] : NULL, to);
      }
  }
}
JF_DISPATCH(lines_pack, (const jf_own_band *b), (b))

void jf_own_pack_band(const jf_own_band *b) { lines_pack(b); }
