/* Products of quantized rows in one instruction set. The file that includes this defines NAME,
   which makes names of that set, IN and TARGET, how its functions are declared, and DOTS(u, s):
   sums of four products each of 32 bytes without a sign and 32 with one, as eight int32. */

IN __m256i NAME(load)(const void *p) { return _mm256_loadu_si256(p); }

/* Sums of products of two times 32 bytes with signs; that of -128 is right as a w. */
IN __m256 NAME(dots)(__m256i w, __m256i x)
{
  return _mm256_cvtepi32_ps(DOTS(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)));
}

/* The low four bits of 16 bytes, then the high ones. */
IN __m256i NAME(nibbles)(const uint8_t *p)
{
  const __m128i v = _mm_loadu_si128((const void *)p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(v, 4), v), _mm256_set1_epi8(15));
}

IN __m256 NAME(scale)(uint16_t d) { return _mm256_set1_ps(_cvtsh_ss(d)); }

/* Adds to sum[i] the products of group j of row i of x and the 32 numbers w times `scale`. */
IN void NAME(add)(const rows *x, int n, int64_t j, __m256i w, __m256 scale, __m256 *sum)
{
  EACH_ROW {
    const __m256 s = _mm256_mul_ps(scale, _mm256_set1_ps(x->d[i * x->groups + j]));
    const __m256 p = NAME(dots)(w, NAME(load)(x->q + (i * x->groups + j) * GROUP));
    sum[i] = _mm256_fmadd_ps(s, p, sum[i]);
  }
}

IN void NAME(q8_0)(const jf_q8_0 *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  NAME(add)(x, n, j, NAME(load)(b->q), NAME(scale)(b->d), sum);
}

IN void NAME(q4_0)(const jf_q4_0 *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const __m256i w = _mm256_sub_epi8(NAME(nibbles)(b->q), _mm256_set1_epi8(8));
  NAME(add)(x, n, j, w, NAME(scale)(b->d), sum);
}

/* Eight bytes as floats times d. */
IN __m256 NAME(eight)(const uint32_t *p, uint16_t d)
{
  const __m128i v = _mm_loadl_epi64((const void *)p);
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v)), NAME(scale)(d));
}

/* The leasts are taken times the sums of the groups of x. */
IN void NAME(q4_k)(const jf_q4_k *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
  uint32_t p[3];
  memcpy(p, b->part, sizeof p);
  const uint32_t s[2] = { p[0] & six, (p[2] & four) | (p[0] >> 2 & two) };
  const uint32_t m[2] = { p[1] & six, (p[2] >> 4 & four) | (p[1] >> 2 & two) };
  const __m256 least = NAME(eight)(m, b->dmin);
  float scale[8];
  _mm256_storeu_ps(scale, NAME(eight)(s, b->d));
  EACH_ROW sum[i] = _mm256_fnmadd_ps(least,
    _mm256_loadu_ps(x->sum + i * x->groups + j), sum[i]);
  _Pragma("GCC unroll 4") for (int g = 0; g < 4; g++) {
    const __m256i v = NAME(load)(b->q + 32 * g), mask = _mm256_set1_epi8(15);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), mask);
    NAME(add)(x, n, j + 2 * g, _mm256_and_si256(v, mask), _mm256_set1_ps(scale[2 * g]), sum);
    NAME(add)(x, n, j + 2 * g + 1, high, _mm256_set1_ps(scale[2 * g + 1]), sum);
  }
}

/* Part g of the 32 numbers of a q6_k. */
IN __m256i NAME(six)(const jf_q6_k *b, int g)
{
  const __m256i low = NAME(load)(b->low + g / 4 * 64 + g % 2 * 32);
  const __m256i high = NAME(load)(b->high + g / 4 * 32);
  const __m256i four = _mm256_srli_epi16(low, g % 4 / 2 * 4);
  const __m256i two = _mm256_srli_epi16(high, g % 4 * 2);
  const __m256i up = _mm256_slli_epi16(_mm256_and_si256(two, _mm256_set1_epi8(3)), 4);
  const __m256i q = _mm256_or_si256(_mm256_and_si256(four, _mm256_set1_epi8(15)), up);
  return _mm256_sub_epi8(q, _mm256_set1_epi8(32));
}

/* A scale belongs to 16 numbers, which are four of the eight sums. */
IN void NAME(q6_k)(const jf_q6_k *b, const rows *x, int n, int64_t j, __m256 *sum)
{
  const float d = _cvtsh_ss(b->d);
  _Pragma("GCC unroll 8") for (int g = 0; g < 8; g++) {
    const __m128 first = _mm_set1_ps(d * (float)b->scale[2 * g]);
    const __m128 second = _mm_set1_ps(d * (float)b->scale[2 * g + 1]);
    NAME(add)(x, n, j + g, NAME(six)(b, g), _mm256_set_m128(second, first), sum);
  }
}

IN float NAME(total)(__m256 v)
{
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* y[i, r + l] of n rows of x and `lines` rows of w. */
#define TILE(form)                                                                              \
  IN void NAME(form##_tile)(const product *p, const rows *x, int n, int64_t r, int lines)       \
  {                                                                                             \
    const jf_##form *w = (const jf_##form *)p->w + r * p->blocks;                               \
    __m256 sum[MOST_LINES][MOST_ROWS] = { { { 0 } } };                                          \
    const int64_t each = x->groups / p->blocks;                                                 \
    for (int64_t b = 0; b < p->blocks; b++)                                                     \
      EACH_LINE {                                                                               \
        const jf_##form *at = w + l * p->blocks + b;                                            \
        fetch(at + lines * p->blocks, sizeof *at);                                              \
        NAME(form)(at, x, n, b * each, sum[l]);                                                 \
      }                                                                                         \
    EACH_LINE                                                                                   \
      EACH_ROW x->y[i * p->n + r + l] = NAME(total)(sum[l][i]);                                 \
  }                                                                                             \
  IN void NAME(form##_lines)(const product *p, const rows *x, int n, int64_t r, int64_t end)    \
  {                                                                                             \
    const int most = n > 1 ? 2 : MOST_LINES;                                                    \
    for (; r + most <= end; r += most) NAME(form##_tile)(p, x, n, r, most);                     \
    for (; r < end; r++) NAME(form##_tile)(p, x, n, r, 1);                                      \
  }                                                                                             \
  TARGET static void NAME(form##_part)(void *ctx, int part)                                     \
  {                                                                                             \
    const product *p = ctx;                                                                     \
    const int64_t from = jf_from(part, p->span), to = jf_to(part, p->span, p->n);               \
    int64_t i = 0;                                                                              \
    for (; i + MOST_ROWS <= p->m; i += MOST_ROWS) {                                             \
      const rows x = rows_from(p, i);                                                           \
      NAME(form##_lines)(p, &x, MOST_ROWS, from, to);                                           \
    }                                                                                           \
    for (; i < p->m; i++) {                                                                     \
      const rows x = rows_from(p, i);                                                           \
      NAME(form##_lines)(p, &x, 1, from, to);                                                   \
    }                                                                                           \
  }
TILE(q8_0)
TILE(q4_0)
TILE(q4_k)
TILE(q6_k)
#undef TILE

static jf_part NAME(part_for)(jfl_dtype t)
{
  return t == JFL_Q8_0 ? NAME(q8_0_part) : t == JFL_Q4_0 ? NAME(q4_0_part)
       : t == JFL_Q4_K ? NAME(q4_k_part) : NAME(q6_k_part);
}
