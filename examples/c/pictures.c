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

/* A sound of a WAV file, at another rate, and its mel spectrogram. */
static void sounds(void)
{
  static const unsigned char wav[] = "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0"
    "\x80\x3e\0\0\2\0\x10\0" "data\x08\0\0\0" "\0\0\0\x40\0\0\0\xc0";
  const jfl_mel_spec spec = { .rate = 16000, .n_fft = 8, .hop = 4, .bands = 2,
                              .log = JFL_MEL_LOG };
  const jfl_sample_spec as_it_is = { .kind = JFL_SOUND };
  jfl_sound_info info;
  jfl_array *sound, *finer, *mel;
  check(jfl_sound_head(wav, sizeof wav - 1, &info));
  EXPECT(info.rate == 8000 && info.channels == 1 && info.length == 4);
  check(jfl_sample_decode(wav, sizeof wav - 1, &as_it_is, 0, &sound));    /* (1, 4) */
  EXPECT(((const float *)jfl_array_data(sound))[1] == 0.5f);
  check(jfl_sound_resample(sound, 8000, 16000, &finer));
  check(jfl_mel(finer, &spec, &mel));        /* (1, 2, 3) */
  EXPECT(jfl_array_size(finer) == 8 && jfl_array_size(mel) == 6);
  jfl_array_unref(mel);
  jfl_array_unref(finer);
  jfl_array_unref(sound);
}

/* Samples in a file of records: where each is, and batches of what they hold, also where one of
   them cannot be read. */
static void records_in_a_file(void)
{
  static const unsigned char file[] = "\x10\0\0\0\0\0\0\0" "\n\x0e\n\5label\x12\5*\3\n\1\7"
                                      "\2\0\0\0\0\0\0\0" "??";
  const jfl_sample_spec spec = { .kind = JFL_NUMBERS, .feature = "label",
                                 .numbers = { JFL_I32, { 1, { 1 } }, 0 } };
  jfl_place place[2];
  jfl_member member;
  jfl_output *o;
  jfl_pack *pack;
  jfl_loader *loader;
  jfl_array *batch;
  const char *why;
  int item;
  check(jfl_output_open("part-0", &o));
  check(jfl_output_write(o, file, sizeof file - 1));
  check(jfl_output_keep(o));
  check(jfl_pack_open("part-0", JFL_OFRECORD, &pack));
  EXPECT(jfl_pack_count(pack) == 2);
  for (int i = 0; i < 2; i++) {
    check(jfl_pack_member(pack, i, &member));
    place[i] = (jfl_place){ "part-0", member.offset, member.size, 0 };
  }
  jfl_pack_free(pack);
  check(jfl_loader_of(&spec, 1, &loader));
  check(jfl_loader_want_places(loader, place, 2));
  check(jfl_loader_take_some(loader, &batch));         /* (2, 1) */
  EXPECT(((const int32_t *)jfl_array_data(batch))[0] == 7);
  EXPECT(jfl_loader_bad(loader, 0, &item, &why) && item == 1);
  printf("left out: %s\n", why);
  jfl_array_unref(batch);
  jfl_loader_free(loader);
  remove("part-0");
}

int main(void)
{
  sounds();
  records_in_a_file();
  picture_in_memory();
  batches_of_picture_files();
  return 0;
}
