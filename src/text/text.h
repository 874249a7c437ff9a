/* Texts and the numbers of their tokens, as Hugging Face's tokenizers makes them.

   A text goes through steps that a file asks for: tokens that were added are cut out, the rest is
   normalized, cut into pieces (words), and each piece becomes tokens of a model. A line holds the
   text as it is so far; where its bytes come from is kept where somebody wants to know. */
#ifndef JF_TEXT_H
#define JF_TEXT_H

#include "base/base.h"
#include "base/need.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- characters (unicode.c) ---- */

typedef enum jf_category {
  JF_CN, JF_CC, JF_CF, JF_CO, JF_CS, JF_LL, JF_LM, JF_LO, JF_LT, JF_LU, JF_MC, JF_ME, JF_MN, JF_ND,
  JF_NL, JF_NO, JF_PC, JF_PD, JF_PE, JF_PF, JF_PI, JF_PO, JF_PS, JF_SC, JF_SK, JF_SM, JF_SO, JF_ZL,
  JF_ZP, JF_ZS
} jf_category;

/* Sets of categories. */
enum {
  JF_LETTERS = 1 << JF_LL | 1 << JF_LM | 1 << JF_LO | 1 << JF_LT | 1 << JF_LU,
  JF_MARKS = 1 << JF_MC | 1 << JF_ME | 1 << JF_MN,
  JF_NUMBERS = 1 << JF_ND | 1 << JF_NL | 1 << JF_NO,
  JF_PUNCTUATION = 1 << JF_PC | 1 << JF_PD | 1 << JF_PE | 1 << JF_PF | 1 << JF_PI | 1 << JF_PO |
                   1 << JF_PS,
  JF_SYMBOLS = 1 << JF_SC | 1 << JF_SK | 1 << JF_SM | 1 << JF_SO,
  JF_SEPARATORS = 1 << JF_ZL | 1 << JF_ZP | 1 << JF_ZS,
  JF_OTHERS = 1 << JF_CN | 1 << JF_CC | 1 << JF_CF | 1 << JF_CO | 1 << JF_CS
};

/* Flags of characters, and how they join others in what a reader takes for one. */
enum {
  JF_ALPHABETIC = 1, JF_SPACE = 2, JF_PICTURE = 4, JF_HAS_LOWER = 8, JF_HAS_UPPER = 16,
  JF_CANONICAL = 32, JF_COMPATIBLE = 64, JF_SECOND = 128
};
typedef enum jf_joins {
  JF_JOINS_NOTHING, JF_IS_CR, JF_IS_LF, JF_IS_CONTROL, JF_EXTENDS, JF_IS_ZWJ, JF_PREPENDS,
  JF_SPACING, JF_HANGUL_L, JF_HANGUL_V, JF_HANGUL_T, JF_HANGUL_LV, JF_HANGUL_LVT
} jf_joins;

typedef struct jf_char_record { uint8_t category, flags, joins, order; } jf_char_record;

/* What is known of a character, a number up to U+10FFFF. */
const jf_char_record *jf_char(int32_t c);
static inline int jf_char_in(int32_t c, uint32_t categories)
{
  return categories >> jf_char(c)->category & 1;
}
int jf_char_is_space(int32_t c);
/* What may be in a word of a programming language: letters, marks, digits, "_". */
int jf_char_is_word(int32_t c);
/* ASCII's punctuation, with symbols such as "$", and Unicode's. */
int jf_char_is_punctuation(int32_t c);
/* Case, by the mappings to one character. */
int32_t jf_char_lower(int32_t c);
int32_t jf_char_upper(int32_t c);
/* What a character with the flag JF_CANONICAL or JF_COMPATIBLE is taken apart into, and how many
   parts these are, which may be taken apart in their turn. */
int jf_char_parts(int32_t c, const int32_t **parts);
/* The character that two make, or 0. */
int32_t jf_char_compose(int32_t a, int32_t b);
/* How many bytes the first cluster of a text has: what a reader takes for one character (Unicode
   Standard Annex 29, extended grapheme clusters; two regional indicators count as two). */
size_t jf_char_cluster(const char *s, size_t n);

/* The character at s, which is valid UTF-8; *size is how many bytes it has. */
static inline int32_t jf_char_at(const char *s, size_t *size)
{
  const unsigned char *p = (const unsigned char *)s;
  if (p[0] < 0x80) return *size = 1, p[0];
  if (p[0] < 0xe0) return *size = 2, (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
  if (p[0] < 0xf0) return *size = 3, (p[0] & 0xf) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
  return *size = 4, (p[0] & 7) << 18 | (p[1] & 0x3f) << 12 | (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
}
/* The character before s. */
int32_t jf_char_before(const char *s, size_t *size);
/* Writes c as UTF-8, of at most 4 bytes, and gives how many. */
size_t jf_char_put(char *to, int32_t c);

/* ---- patterns (pattern.c, find.c) ---- */

/* A regular expression of the kind that tokenizers have: characters, classes with \p{L} and such,
   groups, alternatives, lookaheads, quantifiers. A match is the first that alternatives give in
   their order, as in Oniguruma. */
typedef struct jf_pattern jf_pattern;
/* what: names the place of the expression in its file. */
jfl_status jf_pattern_new(const char *what, const char *s, size_t n, jf_pattern **out);
void jf_pattern_free(jf_pattern *p);

/* Goes through the matches in a text. Zeroed but for pattern, s and n it is at the start. */
typedef struct jf_finder {
  const jf_pattern *pattern;
  const char *s; size_t n;
  size_t at;                   /* where the next match may begin */
  size_t last; int has_last;   /* where the last one ended */
  int64_t steps, looked;       /* done so far, and when the time was looked at */
  size_t looked_at;            /* where it was by who looks for something else than a pattern */
  jfl_status late;             /* what a look came to */
  void *stack; int cap;        /* freed by jf_finder_end */
} jf_finder;
/* Gives the next match, or 0; *r is a failure where memory is out, or where a pattern tries far
   more ways than the text has bytes. */
int jf_finder_next(jf_finder *f, size_t *from, size_t *to, jfl_status *r);
void jf_finder_end(jf_finder *f);

#ifdef __cplusplus
}
#endif
#endif
