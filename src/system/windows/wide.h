/* Inside the folder: paths as Windows has them, and its errors. */
#ifndef JF_WIDE_H
#define JF_WIDE_H

#include <wchar.h>

#include "system/raw.h"

/* Writes the path, which starts at the folder, as one from the root of its drive: 0, or -1 with
   errno. EACCES: it starts at an open folder and leads out of it, as names of devices do. */
int jf_wide_path(int folder, const char *path, wchar_t out[JF_MOST_PATH]);
/* UTF-8 as wide characters, and back; -1 with errno where they do not fit or are no text. */
int jf_wide(const char *text, wchar_t *out, int size);
int jf_narrow(const wchar_t *text, char *out, int size);
/* Puts the last error of Windows in errno; gives -1. */
int jf_wide_fail(void);

#endif
