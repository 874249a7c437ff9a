/* Numbers in decimal notation. */
#include "data/csv.h"
#include "system/system.h"

#include <string.h>

/* Digits of a mantissa that a 64-bit word holds whatever they are; a double holds 10^0 to 10^22
   exactly. */
enum { MOST_DIGITS = 19, MOST_POWER = 22, LONGEST = 400 };
static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* What the fast way cannot read exactly, infinities, and all that is no number. */
static jf_cell_kind decimal_slow(const char *s, size_t n, jf_cell_number *out)
{
  char copy[LONGEST + 1], *end;
  if (!n || n > LONGEST || memchr(s, 'x', n) || memchr(s, 'X', n)) return JF_NO_NUMBER;
  memcpy(copy, s, n);
  copy[n] = '\0';
  out->d = jf_number_read(copy, &end);
  return end == copy + n && copy[0] != ' ' && copy[0] != '\t' ? JF_REAL : JF_NO_NUMBER;
}

/* Where digits end; they are added to *value, and counted. */
static const char *decimal_digits(const char *p, const char *end, uint64_t *value)
{
  for (; p < end && *p >= '0' && *p <= '9'; p++) *value = *value * 10 + (uint64_t)(*p - '0');
  return p;
}

/* The exponent at p, or 0 where none stands there; *bad unless it is all that is left. */
static int decimal_exponent(const char *p, const char *end, int *bad)
{
  int power = 0;
  if (p == end) return 0;
  const int minus = end - p > 1 && p[1] == '-';
  const char *q = p + 1 + (end - p > 1 && (p[1] == '-' || p[1] == '+'));
  *bad = (*p != 'e' && *p != 'E') || q == end || end - q > 3;
  for (; !*bad && q < end; q++)
    if (*q >= '0' && *q <= '9') power = power * 10 + (*q - '0');
    else *bad = 1;
  return minus ? -power : power;
}

/* A mantissa below 2^53 times or over an exact power of ten is rounded once, so it is right
   (Clinger, "How to read floating point numbers accurately", 1990). */
static jf_cell_kind decimal_fast(const char *s, const char *end, jf_cell_number *out)
{
  uint64_t m = 0;
  int bad = 0;
  const int minus = *s == '-';
  const char *p = s + (minus || *s == '+'), *first = p;
  p = decimal_digits(p, end, &m);
  int64_t digits = p - first;
  const int whole = p == end;
  int power = 0;
  if (p < end && *p == '.') {
    const char *point = ++p;
    p = decimal_digits(p, end, &m);
    power = -(int)(p - point);
    digits += p - point;
  }
  power += decimal_exponent(p, end, &bad);
  if (bad || digits < 1 || digits > MOST_DIGITS - 1) return decimal_slow(s, (size_t)(end - s), out);
  if (whole) return out->i = minus ? -(int64_t)m : (int64_t)m, JF_WHOLE;
  if (m >> 53 || power > MOST_POWER || power < -MOST_POWER)
    return decimal_slow(s, (size_t)(end - s), out);
  const double d = power < 0 ? (double)m / powers[-power] : (double)m * powers[power];
  out->d = minus ? -d : d;
  return JF_REAL;
}

jf_cell_kind jf_decimal(const char *s, size_t n, jf_cell_number *out)
{
  const char *end = s + n;
  while (s < end && (*s == ' ' || *s == '\t')) s++;
  while (s < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
  return s < end ? decimal_fast(s, end, out) : JF_NO_NUMBER;
}
