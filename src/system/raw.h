/* Inside the folder: files as the system has them, for whoever asks. reach.c has the functions of
   the same names that the rest calls, which ask first what the thread may open; no other file calls
   these. */
#ifndef JF_RAW_H
#define JF_RAW_H

#include "system/system.h"

int jf_raw_open(int folder, const char *path, int how);
int jf_raw_info_at(int folder, const char *path, int how, jf_info *out);
int jf_raw_folder_open(int folder, const char *path, int how);
int jf_raw_folder_make(int folder, const char *path, int how);
int jf_raw_folder_remove(int folder, const char *name);
int jf_raw_file_remove(int folder, const char *name);
int jf_raw_file_rename(int folder, const char *from, const char *to);
int jf_raw_folder_rename(int folder, const char *from, const char *to, int *inside);
int64_t jf_raw_link_read(int folder, const char *name, char *to, size_t size);

/* What else than a slash parts a path, or begins another one. */
#ifdef _WIN32
#define JF_RAW_SIGNS "\\:"
#else
#define JF_RAW_SIGNS ""
#endif

#endif
