/* Normalization by a map that SentencePiece made: a double-array trie (as of Darts) of what is to
   be replaced, and the texts that take its place, each up to a zero byte. */
#include "text/tokenizer.h"

#include <string.h>

enum { MOST_CLUSTER = 6 };     /* longer clusters are looked at by character */

static size_t charsmap_offset(uint32_t unit) { return (size_t)(unit >> 10) << ((unit >> 6) & 8); }

/* What the shortest key with which s begins becomes; 0: no key is there. */
static int charsmap_find(const jf_text_rule *r, const char *s, size_t n, jf_word *out)
{
  size_t at = charsmap_offset(r->units[0]);
  for (size_t i = 0; i < n && s[i]; i++) {
    const unsigned char c = (unsigned char)s[i];
    at ^= c;
    if (at >= r->n_unit) return 0;
    const uint32_t unit = r->units[at];
    if ((unit & 0x800000ff) != c) return 0;
    at ^= charsmap_offset(unit);
    if (at >= r->n_unit) return 0;
    if (!(unit >> 8 & 1)) continue;
    const size_t from = r->units[at] & 0x7fffffff;
    if (from >= r->content.n) return 0;
    const char *text = r->content.s + from;
    if ((*text & 0xc0) == 0x80) return 0;          /* the middle of a character */
    const char *end = memchr(text, '\0', r->content.n - from);
    out->s = text;
    out->n = (uint32_t)(end ? (size_t)(end - text) : r->content.n - from);
    return 1;
  }
  return 0;
}

static int charsmap_count(const char *s, size_t n)
{
  int count = 0;
  for (size_t i = 0; i < n; i++) count += (s[i] & 0xc0) != 0x80;
  return count;
}

/* Writes what takes the place of the next n bytes. */
static void charsmap_put(jf_edit *e, const jf_word *w, size_t n)
{
  const int was = charsmap_count(e->s + e->at, n), is = charsmap_count(w->s, w->n);
  const size_t end = e->at + n;
  size_t size;
  int left = is;
  for (size_t i = 0; i < w->n; i += size, left--) {
    const int32_t c = jf_char_at(w->s + i, &size);
    const int change = left <= is - was ? 1 : left == 1 && is < was ? is - was : 0;
    jf_edit_put(e, c, change);
  }
  if (e->at < end) jf_edit_skip(e, end - e->at);
}

jfl_status jf_edit_charsmap(const jf_text_rule *r, jf_edit *e)
{
  jf_word w;
  while (e->at < e->n) {
    size_t n = jf_char_cluster(e->s + e->at, e->n - e->at), size;
    if (n < MOST_CLUSTER && charsmap_find(r, e->s + e->at, n, &w)) {
      charsmap_put(e, &w, n);
      continue;
    }
    while (n && !e->flow->failed) {
      jf_char_at(e->s + e->at, &size);
      if (charsmap_find(r, e->s + e->at, size, &w)) charsmap_put(e, &w, size);
      else jf_edit_copy(e, size);
      n -= size;
    }
  }
  return jf_flow_status(e->flow);
}
