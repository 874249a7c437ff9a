/* Folders, and the names in them. An open folder is a path that is remembered: Windows opens what
   is in it by its path. */
#include "system/windows/wide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* FIRST: the number of the first folder, above those of files. */
enum { MOST_FOLDERS = 256, FIRST = 1 << 20, LONG_PATH = 240, TRIES = 20 };

static struct {
  pthread_mutex_t mu;
  wchar_t *path[MOST_FOLDERS];
  HANDLE pin[MOST_FOLDERS];    /* of those that nobody may move meanwhile, or NULL */
} folders = { .mu = PTHREAD_MUTEX_INITIALIZER };

/* ---- paths ---- */

static int folder_is_absolute(const wchar_t *p)
{
  return *p == L'\\' || *p == L'/' || (*p && p[1] == L':');
}

/* A path of more than LONG_PATH characters needs a prefix, with which it is taken as it stands. */
static int folder_complete(const wchar_t *path, wchar_t out[JF_MOST_PATH])
{
  wchar_t whole[JF_MOST_PATH];
  const DWORD n = GetFullPathNameW(path, JF_MOST_PATH, whole, NULL);
  if (!n) return jf_wide_fail();
  if (n >= JF_MOST_PATH - 8) return errno = ENAMETOOLONG, -1;
  const int is_long = n > LONG_PATH && wcsncmp(whole, L"\\\\", 2);
  wcscpy(out, is_long ? L"\\\\?\\" : L"");
  wcscat(out, whole);
  return 0;
}

/* Without the prefix, which the complete path of a short one lacks. */
static const wchar_t *folder_bare(const wchar_t *path)
{
  return wcsncmp(path, L"\\\\?\\", 4) ? path : path + 4;
}

static int folder_holds(const wchar_t *start, const wchar_t *whole)
{
  const wchar_t *a = folder_bare(start), *b = folder_bare(whole);
  size_t n = wcslen(a);
  while (n && a[n - 1] == L'\\') n--;
  return !wcsncmp(a, b, n) && (!b[n] || b[n] == L'\\');
}

int jf_wide_path(int folder, const char *path, wchar_t out[JF_MOST_PATH])
{
  wchar_t end[JF_MOST_PATH], whole[JF_MOST_PATH], start[JF_MOST_PATH];
  if (jf_wide(path, end, JF_MOST_PATH)) return -1;
  if (!*end) return errno = ENOENT, -1;
  if (folder < FIRST || folder_is_absolute(end)) return folder_complete(end, out);
  pthread_mutex_lock(&folders.mu);
  wcscpy(start, folders.path[folder - FIRST]);
  pthread_mutex_unlock(&folders.mu);
  if (wcslen(start) + wcslen(end) + 2 >= JF_MOST_PATH) return errno = ENAMETOOLONG, -1;
  if (folder_complete(wcscat(wcscat(wcscpy(whole, start), L"\\"), end), out)) return -1;
  return folder_holds(start, out) ? 0 : (errno = EACCES, -1);
}

/* ---- open folders ---- */

static int folder_remember(const wchar_t *path, HANDLE pin)
{
  int i = 0;
  wchar_t *copy = _wcsdup(path);
  pthread_mutex_lock(&folders.mu);
  while (i < MOST_FOLDERS && folders.path[i]) i++;
  if (copy && i < MOST_FOLDERS) folders.path[i] = copy, folders.pin[i] = pin;
  pthread_mutex_unlock(&folders.mu);
  if (copy && i < MOST_FOLDERS) return FIRST + i;
  free(copy);
  if (pin) CloseHandle(pin);
  return errno = copy ? EMFILE : ENOMEM, -1;
}

int jf_raw_folder_open(int folder, const char *path, int how)
{
  wchar_t whole[JF_MOST_PATH];
  if (jf_wide_path(folder, path, whole)) return -1;
  const DWORD is = GetFileAttributesW(whole);
  if (is == INVALID_FILE_ATTRIBUTES) return jf_wide_fail();
  if (!(is & FILE_ATTRIBUTE_DIRECTORY)) return errno = ENOTDIR, -1;
  if (how & JF_NO_LINK && is & FILE_ATTRIBUTE_REPARSE_POINT) return errno = ELOOP, -1;
  if (!(how & JF_PINNED)) return folder_remember(whole, NULL);
  HANDLE pin = CreateFileW(whole, FILE_READ_ATTRIBUTES | FILE_LIST_DIRECTORY,
                           FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
                           FILE_FLAG_BACKUP_SEMANTICS, NULL);
  return pin == INVALID_HANDLE_VALUE ? jf_wide_fail() : folder_remember(whole, pin);
}

void jf_folder_close(int folder)
{
  pthread_mutex_lock(&folders.mu);
  const int i = folder - FIRST;
  if (folders.pin[i]) CloseHandle(folders.pin[i]);
  free(folders.path[i]);
  folders.path[i] = NULL;
  folders.pin[i] = NULL;
  pthread_mutex_unlock(&folders.mu);
}

/* A folder that is open keeps being the same one when it gets another name. */
static void folder_follow(const wchar_t *from, const wchar_t *to)
{
  pthread_mutex_lock(&folders.mu);
  for (int i = 0; i < MOST_FOLDERS; i++) {
    wchar_t *copy = folders.path[i] && !wcscmp(folders.path[i], from) ? _wcsdup(to) : NULL;
    if (!copy) continue;
    free(folders.path[i]);
    folders.path[i] = copy;
  }
  pthread_mutex_unlock(&folders.mu);
}

int jf_info_of_folder(int folder, jf_info *out) { return jf_raw_info_at(folder, ".", 0, out); }

/* Names become durable as they are written: see what renames. */
int jf_folder_sync(int folder)
{
  (void)folder;
  return 0;
}

/* ---- what is in them ---- */

int jf_raw_folder_make(int folder, const char *path, int how)
{
  wchar_t whole[JF_MOST_PATH];
  (void)how;
  if (jf_wide_path(folder, path, whole)) return -1;
  return CreateDirectoryW(whole, NULL) ? 0 : jf_wide_fail();
}

int jf_raw_folder_remove(int folder, const char *name)
{
  wchar_t whole[JF_MOST_PATH];
  if (jf_wide_path(folder, name, whole)) return -1;
  return RemoveDirectoryW(whole) ? 0 : jf_wide_fail();
}

int jf_raw_file_remove(int folder, const char *name)
{
  wchar_t whole[JF_MOST_PATH];
  if (jf_wide_path(folder, name, whole)) return -1;
  return DeleteFileW(whole) ? 0 : jf_wide_fail();
}

/* Moves it so that it is on the disk when this returns. A program that looks through files, for
   viruses or to index them, may have one open for a moment. */
static int folder_move(const wchar_t *from, const wchar_t *to, DWORD how)
{
  for (int i = 0; i < TRIES; i++) {
    if (MoveFileExW(from, to, how | MOVEFILE_WRITE_THROUGH)) return 0;
    const DWORD e = GetLastError();
    if (e != ERROR_ACCESS_DENIED && e != ERROR_SHARING_VIOLATION) break;
    Sleep(10);
    SetLastError(e);
  }
  return jf_wide_fail();
}

int jf_raw_file_rename(int folder, const char *from, const char *to)
{
  wchar_t old[JF_MOST_PATH], new[JF_MOST_PATH];
  if (jf_wide_path(folder, from, old) || jf_wide_path(folder, to, new)) return -1;
  return folder_move(old, new, MOVEFILE_REPLACE_EXISTING);
}

int jf_raw_folder_rename(int folder, const char *from, const char *to, int *inside)
{
  wchar_t old[JF_MOST_PATH], new[JF_MOST_PATH];
  if (jf_wide_path(folder, from, old) || jf_wide_path(folder, to, new)) return -1;
  if (*inside >= 0) jf_close(*inside);
  *inside = -1;
  if (GetFileAttributesW(new) != INVALID_FILE_ATTRIBUTES && !RemoveDirectoryW(new))
    return GetLastError() == ERROR_DIR_NOT_EMPTY ? (errno = ENOTEMPTY, -1) : (errno = EEXIST, -1);
  if (folder_move(old, new, 0)) return -1;
  folder_follow(old, new);
  return 0;
}

/* Whoever opens a link here opens what it leads to. */
int64_t jf_raw_link_read(int folder, const char *name, char *to, size_t size)
{
  wchar_t whole[JF_MOST_PATH];
  (void)to, (void)size;
  if (jf_wide_path(folder, name, whole)) return -1;
  if (GetFileAttributesW(whole) == INVALID_FILE_ATTRIBUTES) return jf_wide_fail();
  return errno = EINVAL, -1;
}

/* ---- listings ---- */

struct jf_listing {
  HANDLE at;
  int has;                     /* `found` was not given yet */
  WIN32_FIND_DATAW found;
  char name[4 * MAX_PATH];
};

jf_listing *jf_listing_open(int folder)
{
  wchar_t whole[JF_MOST_PATH];
  jf_listing *l = calloc(1, sizeof *l);
  if (!l || jf_wide_path(folder, "*", whole)) return free(l), NULL;
  l->at = FindFirstFileW(whole, &l->found);
  l->has = l->at != INVALID_HANDLE_VALUE;
  if (l->has) return l;
  jf_wide_fail();
  free(l);
  return NULL;
}

const char *jf_listing_next(jf_listing *l)
{
  while (l->has || FindNextFileW(l->at, &l->found)) {
    l->has = 0;
    if (wcscmp(l->found.cFileName, L".") && wcscmp(l->found.cFileName, L"..") &&
        !jf_narrow(l->found.cFileName, l->name, sizeof l->name))
      return l->name;
  }
  if (GetLastError() == ERROR_NO_MORE_FILES) errno = 0;
  else jf_wide_fail();
  return NULL;
}

void jf_listing_close(jf_listing *l)
{
  if (l) FindClose(l->at);
  free(l);
}
