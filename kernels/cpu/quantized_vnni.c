/* Products with weights in blocks where the processor multiplies bytes (VNNI). The numbers of a
   group of w are scale u - least, where u is a byte without a sign. So the products of a group of w
   and one of x, whose numbers are d q, add up to

     scale d sum(u q) - least sum(d q)

   One row of x goes over rows of w as they lie. Several rows go over tiles of 16 rows of w, which
   are unpacked first, so that a vector has numbers of 16 rows. q4_0 is always read in tiles. */
#include "quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target( \
  "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define IN static inline __attribute__((always_inline)) TARGET

/* ROWS: of w, in a tile. GROUPS: of a chunk, which are worked on at once. LINES: rows of x that
   go over a tile together. AHEAD: by how many bytes w is asked for before it is used. */
enum { ROWS = 16, GROUPS = JF_CHUNK / JF_GROUP, LINES = 8, AHEAD = 3072 };

IN __m512i twice_at(const void *p)
{
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(p));
}

/* ---- the forms ---- */

/* Of the chunk at b: scales and leasts, eight of them or, in q6_k, which has one for half a group,
   sixteen; and the bytes of the groups 2 j and 2 j + 1. Numbers of four bits are taken times 16
   where they lie in the high bits and `is_raw`, and the sums of those are divided later (undo). */

IN __m512 q8_0_scales(const jf_q8_0 *b, __m512 *least)
{
  const __m128i d = _mm_setr_epi16((short)b[0].d, (short)b[1].d, (short)b[2].d, (short)b[3].d,
                                   (short)b[4].d, (short)b[5].d, (short)b[6].d, (short)b[7].d);
  const __m512 scale = _mm512_zextps256_ps512(_mm256_cvtph_ps(d));
  *least = _mm512_mul_ps(scale, _mm512_set1_ps(128));
  return scale;
}

IN __m512i q8_0_pair(const jf_q8_0 *b, int j)
{
  const __m512i first = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)b[2 * j].q));
  const __m256i second = _mm256_loadu_si256((const void *)b[2 * j + 1].q);
  return _mm512_xor_si512(_mm512_inserti64x4(first, second, 1), _mm512_set1_epi8(-128));
}

/* The low four bits of v where `shift` is 0, and the high ones where it is 4. */
IN __m512i four_bits(__m512i v, __m512i shift, int is_raw)
{
  const __m512i low = _mm512_set1_epi32(0x0f0f0f0f);
  if (is_raw) return _mm512_and_si512(v, _mm512_sllv_epi32(low, shift));
  return _mm512_and_si512(_mm512_srlv_epi32(v, shift), low);
}

IN __m512 eight_times(const uint32_t *p, uint16_t d)
{
  const __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)));
  return _mm512_zextps256_ps512(_mm256_mul_ps(v, _mm256_set1_ps(_cvtsh_ss(d))));
}

IN __m512 q4_k_scales(const jf_q4_k *b, __m512 *least)
{
  const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
  uint32_t p[3];
  memcpy(p, b->part, sizeof p);
  const uint32_t s[2] = { p[0] & six, (p[2] & four) | (p[0] >> 2 & two) };
  const uint32_t m[2] = { p[1] & six, (p[2] >> 4 & four) | (p[1] >> 2 & two) };
  *least = eight_times(m, b->dmin);
  return eight_times(s, b->d);
}

IN __m512i q4_k_pair(const jf_q4_k *b, int j, int is_raw)
{
  return four_bits(twice_at(b->q + j * 32),
                   _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4), is_raw);
}

IN __m512 q6_k_scales(const jf_q6_k *b, __m512 *least)
{
  const __m512i s = _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)b->scale));
  const __m512 scale = _mm512_mul_ps(_mm512_cvtepi32_ps(s), _mm512_set1_ps(_cvtsh_ss(b->d)));
  *least = _mm512_mul_ps(scale, _mm512_set1_ps(32));
  return scale;
}

/* The high bits are turned to where they belong. */
IN __m512i q6_k_pair(const jf_q6_k *b, int j)
{
  const __m512i v = _mm512_loadu_si512(b->low + j / 2 * 64);
  const __m512i low = j % 2 ? _mm512_srli_epi16(v, 4) : v;
  const int a = j % 2 ? 0 : 4, z = j % 2 ? 30 : 2;
  const __m512i by = _mm512_setr_epi32(a, a, a, a, a, a, a, a, z, z, z, z, z, z, z, z);
  const __m512i high = _mm512_rolv_epi32(twice_at(b->high + j / 2 * 32), by);
  return _mm512_or_si512(_mm512_and_si512(low, _mm512_set1_epi8(15)),
                         _mm512_and_si512(high, _mm512_set1_epi8(48)));
}

/* In what follows t is constant where functions are inlined. */
IN __m512 scales_of(jfl_dtype t, const void *b, __m512 *least)
{
  return t == JFL_Q8_0 ? q8_0_scales(b, least) : t == JFL_Q4_K ? q4_k_scales(b, least)
       : q6_k_scales(b, least);
}

IN __m512i pair_of(jfl_dtype t, const void *b, int j, int is_raw)
{
  return t == JFL_Q8_0 ? q8_0_pair(b, j) : t == JFL_Q4_K ? q4_k_pair(b, j, is_raw)
       : q6_k_pair(b, j);
}

/* Divides raw sums. */
IN __m512 undo(jfl_dtype t, __m512 v)
{
  return t == JFL_Q4_K ? _mm512_mask_mul_ps(v, 0xff00, v, _mm512_set1_ps(1.0f / 16)) : v;
}

/* Bytes of a block, and of a chunk. */
IN int64_t vnni_block(jfl_dtype t)
{
  return t == JFL_Q8_0 ? sizeof(jf_q8_0) : t == JFL_Q4_K ? sizeof(jf_q4_k) : sizeof(jf_q6_k);
}
IN int64_t chunk_of(jfl_dtype t) { return vnni_block(t) * (t == JFL_Q8_0 ? GROUPS : 1); }

/* The last blocks of a row, which are fewer than a chunk has, and zeros. */
typedef struct rest { _Alignas(64) char b[GROUPS * sizeof(jf_q8_0)]; } rest;

IN const void *rest_of(const char *w, int64_t size, rest *r)
{
  memset(r, 0, sizeof *r);
  memcpy(r, w, (size_t)size);
  return r;
}

/* ---- one row of x ---- */

/* Scales, leasts or what x has in their place, of a chunk. */
IN __m512 chunk_at(jfl_dtype t, const float *p, int64_t c)
{
  if (t == JFL_Q6_K) return _mm512_loadu_ps(p + 16 * c);
  return _mm512_zextps256_ps512(_mm256_loadu_ps(p + 8 * c));
}

/* The scales of the groups 2 j and 2 j + 1, each in the lanes of its products. */
IN __m512 scales_for(jfl_dtype t, __m512 v, int j)
{
  const int half = t == JFL_Q6_K, a = (half + 1) * 2 * j, b = a + half, c = b + 1, d = c + half;
  return _mm512_permutexvar_ps(
    _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d), v);
}

/* Two sums, so that they wait less for each other, and one of leasts. */
typedef struct line_sums { __m512 even, odd, less; } line_sums;

/* Adds chunk c, from b on. */
IN line_sums add_chunk(const jf_quantized *p, jfl_dtype t, const void *b, int64_t c, line_sums s)
{
  __m512 least, scale = scales_of(t, b, &least);
  scale = _mm512_mul_ps(scale, chunk_at(t, p->d, c));
  s.less = _mm512_fmadd_ps(least, chunk_at(t, p->sum, c), s.less);
  _Pragma("GCC unroll 4") for (int j = 0; j < GROUPS / 2; j++) {
    const __m512i x = _mm512_loadu_si512(p->q + c * JF_CHUNK + j * 2 * JF_GROUP);
    const __m512i dots = _mm512_dpbusd_epi32(_mm512_setzero_si512(), pair_of(t, b, j, 1), x);
    const __m512 more = _mm512_cvtepi32_ps(dots), by = scales_for(t, scale, j);
    if (j % 2) s.odd = _mm512_fmadd_ps(more, by, s.odd);
    else s.even = _mm512_fmadd_ps(more, by, s.even);
  }
  return s;
}

/* Rows are so short that the processor does not see what comes. */
IN void fetch_ahead(const char *p, int64_t size)
{
  for (int64_t i = 0; i < size; i += 64) __builtin_prefetch(p + AHEAD + i);
}

IN void vnni_rows(const jf_quantized *p, jfl_dtype t, int part)
{
  const int64_t row = p->blocks * vnni_block(t), size = chunk_of(t), whole = row / size;
  const int64_t to = jf_to(part, p->span, p->n);
  const char *w = (const char *)p->w + jf_from(part, p->span) * row;
  for (int64_t r = jf_from(part, p->span); r < to; r++, w += row) {
    line_sums s = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps() };
    rest last;
    for (int64_t c = 0; c < whole; c++) {
      fetch_ahead(w + c * size, size);
      s = add_chunk(p, t, w + c * size, c, s);
    }
    if (whole * size < row)
      s = add_chunk(p, t, rest_of(w + whole * size, row - whole * size, &last), whole, s);
    const __m512 sum = undo(t, _mm512_add_ps(s.even, s.odd));
    p->y[r] = _mm512_reduce_add_ps(_mm512_sub_ps(sum, s.less));
  }
}

/* ---- several rows of x ---- */

/* A chunk of 16 rows of w: w[j] has numbers 4 j to 4 j + 3 of each. */
typedef struct byte_tile {
  _Alignas(64) uint8_t w[JF_CHUNK / 4][ROWS][4];
  float scale[16][ROWS], least[16][ROWS];
} byte_tile;

/* Rows of eight int32 become columns. */
IN void turn_tile(__m256i v[8])
{
  __m256i a[8], b[8];
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  _Pragma("GCC unroll 2") for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm256_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm256_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm256_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

/* Unpacks chunk c of half a tile's rows, from r on; those behind the last are that one. */
IN void unpack(const jf_quantized *p, jfl_dtype t, int64_t r, int64_t c, int column, byte_tile *to)
{
  rest part[8];
  const void *b[8];
  for (int l = 0; l < 8; l++) {
    const int64_t row = r + l < p->n ? r + l : p->n - 1;
    _Alignas(64) float scale[16], less[16];
    __m512 least;
    const int64_t size = p->blocks * vnni_block(t), at = c * chunk_of(t), left = size - at;
    const char *w = (const char *)p->w + row * size + at;
    b[l] = left < chunk_of(t) ? rest_of(w, left, &part[l]) : w;
    _mm512_store_ps(scale, scales_of(t, b[l], &least));
    _mm512_store_ps(less, least);
    for (int g = 0; g < (t == JFL_Q6_K ? 16 : 8); g++) {
      to->scale[g][column + l] = scale[g];
      to->least[g][column + l] = less[g];
    }
  }
  _Pragma("GCC unroll 4") for (int j = 0; j < GROUPS / 2; j++) {
    __m256i v[2][8];
    _Pragma("GCC unroll 8") for (int l = 0; l < 8; l++) {
      const __m512i both = pair_of(t, b[l], j, 0);
      v[0][l] = _mm512_castsi512_si256(both);
      v[1][l] = _mm512_extracti64x4_epi64(both, 1);
    }
    turn_tile(v[0]);
    turn_tile(v[1]);
    _Pragma("GCC unroll 16") for (int l = 0; l < 16; l++)
      _mm256_store_si256((void *)to->w[j * 16 + l][column], v[l / 8][l % 8]);
  }
}

#define EACH_LINE _Pragma("GCC unroll 8") for (int i = 0; i < lines; i++)

/* Adds chunk c of so many rows of x, from `row` on, to the columns of y that `mask` has. */
IN void add_tile(const jf_quantized *p, const byte_tile *w, int64_t c, int64_t row, int lines,
                 float *y, __mmask16 mask, int per)
{
  const int64_t n_per = p->width / per;
  const int8_t *q = p->q + row * p->width + c * JF_CHUNK;
  const float *d = p->d + row * n_per + c * JF_CHUNK / per;
  const float *sum = p->sum + row * n_per + c * JF_CHUNK / per;
  __m512 s[LINES];
  EACH_LINE s[i] = c ? _mm512_maskz_loadu_ps(mask, y + i * p->n) : _mm512_setzero_ps();
  for (int g = 0; g < JF_CHUNK / per; g++) {
    __m512i dots[LINES];
    EACH_LINE dots[i] = _mm512_setzero_si512();
    _Pragma("GCC unroll 8") for (int j = 0; j < per / 4; j++) {
      const __m512i u = _mm512_load_si512(w->w[g * per / 4 + j]);
      EACH_LINE {
        int32_t four;
        memcpy(&four, q + i * p->width + g * per + 4 * j, sizeof four);
        dots[i] = _mm512_dpbusd_epi32(dots[i], u, _mm512_set1_epi32(four));
      }
    }
    const __m512 scale = _mm512_load_ps(w->scale[g]), least = _mm512_load_ps(w->least[g]);
    EACH_LINE {
      const __m512 by = _mm512_mul_ps(scale, _mm512_set1_ps(d[i * n_per + g]));
      s[i] = _mm512_fmadd_ps(by, _mm512_cvtepi32_ps(dots[i]), s[i]);
      s[i] = _mm512_fnmadd_ps(least, _mm512_set1_ps(sum[i * n_per + g]), s[i]);
    }
  }
  EACH_LINE _mm512_mask_storeu_ps(y + i * p->n, mask, s[i]);
}

IN void vnni_tiles(const jf_quantized *p, jfl_dtype t, int part)
{
  const int64_t to = jf_to(part, p->span, p->n);
  const int per = t == JFL_Q6_K ? 16 : 32;
  for (int64_t r = jf_from(part, p->span); r < to; r += ROWS) {
    const __mmask16 mask = (__mmask16)(to - r < ROWS ? (1 << (to - r)) - 1 : -1);
    for (int64_t c = 0; c < p->width / JF_CHUNK; c++) {
      byte_tile w;
      int64_t i = 0;
      unpack(p, t, r, c, 0, &w);
      unpack(p, t, r + 8, c, 8, &w);
      for (; i + LINES <= p->m; i += LINES)
        add_tile(p, &w, c, i, LINES, p->y + i * p->n + r, mask, per);
      for (; i + 2 <= p->m; i += 2) add_tile(p, &w, c, i, 2, p->y + i * p->n + r, mask, per);
      for (; i < p->m; i++) add_tile(p, &w, c, i, 1, p->y + i * p->n + r, mask, per);
    }
  }
}

/* ---- q4_0 ---- */

/* Two groups of 16 rows: q[h][i] has four bytes of each row, whose low bits are numbers 4 i to
   4 i + 3 of the group, and the high ones those behind the next 12. What is not packed yet is
   packed Q4_PAIRS at a time, to the same results. */
enum { Q4_PAIRS = 16 };
typedef struct packed_q4_0 {
  _Alignas(64) uint16_t d[2][ROWS];
  uint8_t q[2][4][ROWS][4];
} packed_q4_0;

static int64_t packed_pairs(int64_t blocks) { return (blocks + 1) / 2; }

size_t jf_quantized_pack_size(const jf_quantized *p)
{
  const int64_t tiles = (p->n + ROWS - 1) / ROWS;
  return (size_t)(tiles * packed_pairs(p->blocks)) * sizeof(packed_q4_0);
}

/* Part l of the vector is what row `first` + 4 l has at group g. */
IN __m512i every_fourth(const jf_q4_0 *const row[ROWS], int64_t g, int first)
{
  __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)row[first][g].q));
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)row[first + 4][g].q), 1);
  v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)row[first + 8][g].q), 2);
  return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)row[first + 12][g].q), 3);
}

IN void pack_group(const jf_q4_0 *const row[ROWS], int64_t g, packed_q4_0 *to)
{
  const __m512i a = every_fourth(row, g, 0), b = every_fourth(row, g, 1);
  const __m512i c = every_fourth(row, g, 2), d = every_fourth(row, g, 3);
  const __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
  const __m512i ab_2 = _mm512_unpackhi_epi32(a, b), cd_2 = _mm512_unpackhi_epi32(c, d);
  for (int l = 0; l < ROWS; l++) to->d[g % 2][l] = row[l][g].d;
  _mm512_store_si512(to->q[g % 2][0], _mm512_unpacklo_epi64(ab, cd));
  _mm512_store_si512(to->q[g % 2][1], _mm512_unpackhi_epi64(ab, cd));
  _mm512_store_si512(to->q[g % 2][2], _mm512_unpacklo_epi64(ab_2, cd_2));
  _mm512_store_si512(to->q[g % 2][3], _mm512_unpackhi_epi64(ab_2, cd_2));
}

/* Packs groups from .. to - 1 of the rows of w from r on; behind the last is that one again. The
   rows after them are asked for meanwhile. */
IN void pack_groups(const jf_quantized *p, int64_t r, int64_t from, int64_t to, packed_q4_0 *out)
{
  const jf_q4_0 *w = p->w, *row[ROWS];
  const char *next = (const char *)(w + (r + ROWS) * p->blocks + from * ROWS);
  for (int64_t l = 0; l < ROWS; l++) row[l] = w + (r + l < p->n ? r + l : p->n - 1) * p->blocks;
  for (int64_t g = from; g < to; g++) {
    for (int i = 0; i < ROWS * (int)sizeof *w; i += 64) __builtin_prefetch(next + i);
    next += ROWS * sizeof *w;
    pack_group(row, g, out + (g - from) / 2);
  }
}

TARGET static void pack_tiles(void *ctx, int part)
{
  const jf_quantized *p = ctx;
  const int64_t to = jf_to(part, p->span, p->n);
  for (int64_t r = jf_from(part, p->span); r < to; r += ROWS)
    pack_groups(p, r, 0, p->blocks,
                (packed_q4_0 *)p->packed + r / ROWS * packed_pairs(p->blocks));
}
jf_part jf_quantized_pack(void) { return pack_tiles; }

IN __m512i four_of(const int8_t *q)
{
  int32_t four;
  memcpy(&four, q, sizeof four);
  return _mm512_set1_epi32(four);
}

/* Adds groups from .. to - 1 of 16 rows of w and so many of x, from `row` on, to y. */
IN void packed_lines(const jf_quantized *p, const packed_q4_0 *w, int64_t from, int64_t to,
                     int64_t row, int lines, float *y, __mmask16 mask)
{
  const __m512i low = _mm512_set1_epi8(15);
  const int64_t groups = p->width / JF_GROUP;
  const int8_t *q = p->q + row * p->width;
  const float *d = p->d + row * groups, *sum = p->sum + row * groups;
  __m512 s[LINES];
  EACH_LINE s[i] = from ? _mm512_maskz_loadu_ps(mask, y + i * p->n) : _mm512_setzero_ps();
  for (int64_t g = from; g < to; g++) {
    const packed_q4_0 *b = w + (g - from) / 2;
    __m512i dots[LINES];
    EACH_LINE dots[i] = _mm512_setzero_si512();
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) {
      const __m512i v = _mm512_load_si512(b->q[g % 2][j]);
      const __m512i first = _mm512_and_si512(v, low);
      const __m512i second = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
      EACH_LINE {
        const int8_t *at = q + i * p->width + g * JF_GROUP + 4 * j;
        dots[i] = _mm512_dpbusd_epi32(dots[i], first, four_of(at));
        dots[i] = _mm512_dpbusd_epi32(dots[i], second, four_of(at + 16));
      }
    }
    const __m512 scale = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)b->d[g % 2]));
    const __m512 least = _mm512_mul_ps(scale, _mm512_set1_ps(8));
    EACH_LINE {
      const __m512 by = _mm512_mul_ps(scale, _mm512_set1_ps(d[i * groups + g]));
      s[i] = _mm512_fmadd_ps(by, _mm512_cvtepi32_ps(dots[i]), s[i]);
      s[i] = _mm512_fnmadd_ps(least, _mm512_set1_ps(sum[i * groups + g]), s[i]);
    }
  }
  EACH_LINE _mm512_mask_storeu_ps(y + i * p->n, mask, s[i]);
}

/* All rows of x over some groups of 16 rows of w. */
IN void packed_groups(const jf_quantized *p, const packed_q4_0 *w, int64_t from, int64_t to,
                      float *y, __mmask16 mask)
{
  int64_t i = 0;
  for (; i + LINES <= p->m; i += LINES)
    packed_lines(p, w, from, to, i, LINES, y + i * p->n, mask);
  for (; i + 2 <= p->m; i += 2) packed_lines(p, w, from, to, i, 2, y + i * p->n, mask);
  for (; i < p->m; i++) packed_lines(p, w, from, to, i, 1, y + i * p->n, mask);
}

TARGET static void q4_0_tiles(void *ctx, int part)
{
  const jf_quantized *p = ctx;
  const int64_t last = jf_to(part, p->span, p->n);
  packed_q4_0 own[Q4_PAIRS];
  for (int64_t r = jf_from(part, p->span); r < last; r += ROWS) {
    const packed_q4_0 *w = (const packed_q4_0 *)p->w + r / ROWS * packed_pairs(p->blocks);
    const __mmask16 mask = (__mmask16)(last - r < ROWS ? (1 << (last - r)) - 1 : -1);
    for (int64_t from = 0; from < p->blocks; from += 2 * Q4_PAIRS, w += Q4_PAIRS) {
      const int64_t to = from + 2 * Q4_PAIRS < p->blocks ? from + 2 * Q4_PAIRS : p->blocks;
      if (!p->is_packed) pack_groups(p, r, from, to, own);
      packed_groups(p, p->is_packed ? w : own, from, to, p->y + r, mask);
    }
  }
}

#define FORMS(X) X(q8_0, JFL_Q8_0) X(q4_k, JFL_Q4_K) X(q6_k, JFL_Q6_K)
#define PARTS(form, t)                                                                         \
  TARGET static void form##_row(void *ctx, int i) { vnni_rows(ctx, t, i); }                     \
  TARGET static void form##_tile(void *ctx, int i) { vnni_tiles(ctx, t, i); }
FORMS(PARTS)
#undef PARTS

jf_part jf_quantized_vnni(const jf_quantized *p)
{
  if (p->dtype == JFL_Q4_0) return q4_0_tiles;
#define CHOOSE(form, t) if (p->dtype == t) return p->m == 1 ? form##_row : form##_tile;
  FORMS(CHOOSE)
#undef CHOOSE
  return NULL;
}

#endif
