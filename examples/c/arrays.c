#include "check.h"

/* An array is counted: each reference that is kept is given back once. */
static void array_of_numbers(void)
{
  const jfl_shape shape = { 2, { 2, 3 } };   /* 2 rows of 3 */
  jfl_array *a;
  check(jfl_array_new(JFL_F32, &shape, &a));
  float *p = jfl_array_data(a);              /* row by row; zeros at first */
  EXPECT(p[5] == 0);
  p[5] = 7;
  EXPECT(jfl_array_dtype(a) == JFL_F32 && jfl_array_size(a) == 6);
  EXPECT(jfl_array_shape(a)->n == 2 && jfl_array_shape(a)->d[1] == 3);
  jfl_array *kept = jfl_array_ref(a);
  jfl_array_unref(a);
  EXPECT(((float *)jfl_array_data(kept))[5] == 7);
  jfl_array_unref(kept);
}

/* Rows and other shapes share the memory of the array they are made of. */
static void parts_of_an_array(void)
{
  jfl_array *a = numbers(4, 3), *rows, *flat;
  const jfl_shape shape = { 1, { 6 } };
  check(jfl_array_rows(a, 1, 2, &rows));     /* rows 1 and 2 */
  check(jfl_array_reshape(rows, &shape, &flat));
  EXPECT(jfl_array_data(flat) == (float *)jfl_array_data(a) + 3);
  jfl_array_unref(flat);
  jfl_array_unref(rows);
  jfl_array_unref(a);
}

/* Casting copies; without loss it refuses numbers that the other dtype does not have. */
static void array_of_another_dtype(void)
{
  jfl_array *a = numbers(1, 4), *bytes = NULL;
  ((float *)jfl_array_data(a))[0] = 0.5f;
  EXPECT(jfl_array_cast(a, JFL_U8, 1, &bytes) == JFL_EDTYPE);
  check(jfl_array_cast(a, JFL_U8, 0, &bytes));
  EXPECT(((uint8_t *)jfl_array_data(bytes))[3] == 3);
  jfl_array_unref(bytes);
  jfl_array_unref(a);
}

/* Weights in few bits lie in blocks of numbers; a view takes bytes of a file as such. */
static void weights_in_blocks(void)
{
  const jfl_shape bytes = { 1, { 34 } }, blocks = { 1, { 1 } };
  jfl_array *raw, *view, *values;
  check(jfl_array_new(JFL_U8, &bytes, &raw));          /* zeros: a scale, and 32 numbers */
  check(jfl_array_view(raw, JFL_Q8_0, &blocks, &view));
  check(jfl_array_cast(view, JFL_F32, 1, &values));
  EXPECT(jfl_array_size(values) == jfl_dtype_numbers(JFL_Q8_0));
  jfl_array_unref(values);
  jfl_array_unref(view);
  jfl_array_unref(raw);
}

/* Bytes are packed as gzip does and unpacked, also in part, or up to a size that one can bear. */
static void packed_bytes(void)
{
  static const char text[] = "row row row row row row row";
  jfl_array *packed, *whole, *head, *none = NULL;
  check(jfl_compress(text, sizeof text, JFL_GZIP, &packed));
  const void *data = jfl_array_data(packed);
  const size_t n = (size_t)jfl_array_size(packed);
  check(jfl_inflate(data, n, JFL_GZIP, sizeof text, &whole));
  EXPECT(!memcmp(jfl_array_data(whole), text, sizeof text));
  check(jfl_inflate_head(data, n, JFL_GZIP, 3, &head));
  EXPECT(jfl_array_size(head) == 3);
  EXPECT(jfl_inflate_within(data, n, JFL_GZIP, 10, &none) == JFL_EDATA);
  EXPECT(jfl_crc32("123456789", 9) == 0xcbf43926);
  jfl_array_unref(head);
  jfl_array_unref(whole);
  jfl_array_unref(packed);
}

int main(void)
{
  array_of_numbers();
  parts_of_an_array();
  array_of_another_dtype();
  weights_in_blocks();
  packed_bytes();
  return 0;
}
