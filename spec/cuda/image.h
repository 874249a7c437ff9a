/* The head of what the emulated NVRTC gives in place of a cubin; a shared object is behind it. */
#ifndef EMULATED_IMAGE_H
#define EMULATED_IMAGE_H

enum { IMAGE_MAGIC = 0x6c666a45, IMAGE_MOST = 64, IMAGE_NAME = 96 };
typedef struct image_head {
  int magic, n;
  int arch, is_ptx;            /* what was asked for: sm_90, or compute_90 */
  int version;                 /* of the compiler, 13000 for 13.0 */
  int hollow;                  /* nothing was compiled: it has every kernel, and none can be run */
  char name[IMAGE_MOST][IMAGE_NAME];
} image_head;

#endif
