#include "check.h"

/* Pixels of one colour become the bytes of a JPEG file. */
static jfl_array *jpeg(void)
{
  const jfl_shape shape = { 3, { 20, 30, 3 } };        /* height, width, channels */
  jfl_array *pixels, *file;
  check(jfl_array_new(JFL_U8, &shape, &pixels));
  memset(jfl_array_data(pixels), 200, 20 * 30 * 3);
  jfl_status s = jfl_jpeg_encode(pixels, 90, &file);
  jfl_array_unref(pixels);
  if (s == JFL_ENOSYS) {
    printf("%s\n", jfl_errmsg());
    exit(0);                                 /* a machine without a library for JPEG files */
  }
  check(s);
  return file;
}

/* A JPEG in memory becomes an array of the extents that a network wants. */
static void picture_in_memory(void)
{
  jfl_array *file = jpeg(), *picture;
  const jfl_picture_spec spec = { .channels = 3, .fit = JFL_CENTER, .height = 16, .width = 16,
                                  .dtype = JFL_F32, .planes = 1 };
  check(jfl_picture_decode(jfl_array_data(file), (size_t)jfl_array_size(file), &spec, 0, &picture));
  EXPECT(jfl_array_shape(picture)->d[0] == 3 && jfl_array_shape(picture)->d[2] == 16);
  jfl_array_unref(picture);
  jfl_array_unref(file);
}

/* A loader decodes batches of files ahead on threads of its own. */
static void batches_of_picture_files(void)
{
  static const char *const path[] = { "one.jpg", "two.jpg" };
  static const uint64_t seed[] = { 1, 2 };   /* each picture is cut out at random, by its seed */
  jfl_array *file = jpeg(), *batch;
  for (int i = 0; i < 2; i++) {
    jfl_output *o;
    check(jfl_output_open(path[i], &o));
    check(jfl_output_write(o, jfl_array_data(file), (size_t)jfl_array_size(file)));
    check(jfl_output_keep(o));
  }
  const jfl_picture_spec spec = { .channels = 1, .fit = JFL_RANDOM, .height = 8, .width = 8,
                                  .area = { 0.5, 1 }, .aspect = { 0.75, 1.33 }, .flip = 1,
                                  .dtype = JFL_U8 };
  jfl_loader *loader;
  check(jfl_loader_new(&spec, 1, &loader));
  check(jfl_loader_want(loader, path, seed, 2));
  check(jfl_loader_take(loader, &batch));    /* (2, 8, 8, 1) */
  EXPECT(jfl_array_size(batch) == 2 * 8 * 8);
  jfl_array_unref(batch);
  jfl_loader_free(loader);
  for (int i = 0; i < 2; i++) remove(path[i]);
  jfl_array_unref(file);
}

int main(void)
{
  picture_in_memory();
  batches_of_picture_files();
  return 0;
}
