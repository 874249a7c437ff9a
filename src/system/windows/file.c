/* Files: numbers of the C library's around Windows's handles, which leave others free to rename and
   remove what is open. */
#include "system/windows/wide.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <windows.h>

enum { MAX_CHUNK = 1 << 30, SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };
/* Where the lock of a file lies: beyond what can be read and written. */
static const uint64_t lock_at = (uint64_t)1 << 62;

static HANDLE file_handle(int file) { return (HANDLE)_get_osfhandle(file); }

static HANDLE file_create(const wchar_t *path, int how)
{
  DWORD access = how & JF_ADD ? FILE_APPEND_DATA : 0;
  if (how & JF_READ) access |= GENERIC_READ;
  if (how & JF_WRITE) access |= GENERIC_WRITE | DELETE;
  const DWORD makes = how & JF_NEW ? CREATE_NEW : how & JF_ADD ? OPEN_ALWAYS : OPEN_EXISTING;
  const DWORD flags = how & JF_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
  return CreateFileW(path, access, SHARED, NULL, makes, FILE_ATTRIBUTE_NORMAL | flags, NULL);
}

int jf_raw_open(int folder, const char *path, int how)
{
  wchar_t whole[JF_MOST_PATH];
  BY_HANDLE_FILE_INFORMATION info;
  if (jf_wide_path(folder, path, whole)) return -1;
  HANDLE h = file_create(whole, how);
  if (h == INVALID_HANDLE_VALUE) {
    const DWORD e = GetLastError(), is = GetFileAttributesW(whole);
    SetLastError(e);
    if (is == INVALID_FILE_ATTRIBUTES || !(is & FILE_ATTRIBUTE_DIRECTORY)) return jf_wide_fail();
    return errno = how & JF_NEW ? EEXIST : EISDIR, -1;
  }
  if (how & JF_NO_LINK && GetFileInformationByHandle(h, &info) &&
      info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
    return CloseHandle(h), errno = ELOOP, -1;
  const int kind = _O_BINARY | _O_NOINHERIT | (how & (JF_WRITE | JF_ADD) ? 0 : _O_RDONLY) |
                   (how & JF_ADD ? _O_APPEND : 0);
  const int file = _open_osfhandle((intptr_t)h, kind);
  if (file < 0) CloseHandle(h);
  return file;
}

int jf_close(int file) { return _close(file); }

int64_t jf_read(int file, void *to, size_t n)
{
  return _read(file, to, (unsigned)(n < MAX_CHUNK ? n : MAX_CHUNK));
}

/* Nothing tells that of all that may be open; what waits here is ended by Ctrl-C. */
int jf_is_ready(int file, double seconds)
{
  (void)file;
  (void)seconds;
  return 1;
}

static OVERLAPPED file_place(uint64_t at)
{
  return (OVERLAPPED){ .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
}

int64_t jf_read_at(int file, void *to, size_t n, uint64_t at)
{
  OVERLAPPED place = file_place(at);
  DWORD got = 0;
  if (ReadFile(file_handle(file), to, (DWORD)(n < MAX_CHUNK ? n : MAX_CHUNK), &got, &place))
    return got;
  return GetLastError() == ERROR_HANDLE_EOF ? 0 : jf_wide_fail();
}

/* While a file is mapped nobody can replace it here. */
jf_mapping *jf_mapping_new(int file, size_t n) { return (void)file, (void)n, NULL; }
jf_mapping *jf_mapping_keep(jf_mapping *m) { return m; }
void jf_mapping_drop(jf_mapping *m) { (void)m; }
char *jf_mapping_data(const jf_mapping *m) { return (void)m, NULL; }
int jf_mapping_is_whole(jf_mapping *m) { return (void)m, 1; }
int jf_mapping_begin(void) { return 0; }
void jf_mapping_end(int was_blocked) { (void)was_blocked; }
void jf_mapping_rest(const jf_mapping *m, const void *from, size_t n)
{
  (void)m, (void)from, (void)n;
}

int jf_write_all(int file, const void *from, size_t n)
{
  for (const char *p = from; n;) {
    const int k = _write(file, p, (unsigned)(n < MAX_CHUNK ? n : MAX_CHUNK));
    if (k < 0) return -1;
    p += k;
    n -= (size_t)k;
  }
  return 0;
}

int jf_seek(int file, uint64_t at)
{
  return _lseeki64(file, (int64_t)at, SEEK_SET) < 0 ? -1 : 0;
}

int jf_sync(int file) { return FlushFileBuffers(file_handle(file)) ? 0 : jf_wide_fail(); }

int jf_lock(int file)
{
  OVERLAPPED place = file_place(lock_at);
  const DWORD how = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  return LockFileEx(file_handle(file), how, 0, 1, 0, &place) ? 0 : jf_wide_fail();
}

void jf_unlock(int file)
{
  OVERLAPPED place = file_place(lock_at);
  UnlockFileEx(file_handle(file), 0, 1, 0, &place);
}

void jf_touch(int file)
{
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  SetFileTime(file_handle(file), NULL, NULL, &now);
}

/* ---- what is known of files ---- */

/* FILETIME counts tenths of microseconds since 1601. */
static int64_t file_when(FILETIME t)
{
  const int64_t ticks = (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime);
  return (ticks - 116444736000000000) * 100;
}

static int file_tell(HANDLE h, jf_info *out)
{
  BY_HANDLE_FILE_INFORMATION i;
  *out = (jf_info){ .kind = JF_SPECIAL, .mine = 1, .names = 1, .rights = 0600 };
  if (GetFileType(h) != FILE_TYPE_DISK) return 0;
  if (!GetFileInformationByHandle(h, &i)) return jf_wide_fail();
  out->kind = i.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT ? JF_LINK
            : i.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? JF_FOLDER : JF_FILE;
  out->size = (int64_t)((uint64_t)i.nFileSizeHigh << 32 | i.nFileSizeLow);
  out->changed = file_when(i.ftLastWriteTime);
  out->id = (uint64_t)i.nFileIndexHigh << 32 | i.nFileIndexLow;
  out->place = i.dwVolumeSerialNumber;
  out->names = i.nNumberOfLinks;
  return 0;
}

int jf_info_of(int file, jf_info *out) { return file_tell(file_handle(file), out); }

int jf_raw_info_at(int folder, const char *path, int how, jf_info *out)
{
  wchar_t whole[JF_MOST_PATH];
  if (jf_wide_path(folder, path, whole)) return -1;
  const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS |
                      (how & JF_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0);
  HANDLE h = CreateFileW(whole, FILE_READ_ATTRIBUTES, SHARED, NULL, OPEN_EXISTING, flags, NULL);
  if (h == INVALID_HANDLE_VALUE) return jf_wide_fail();
  const int r = file_tell(h, out), e = errno;
  CloseHandle(h);
  errno = e;
  return r;
}

/* A file has the rights of the folder in which it is made. */
int jf_inherit(int file, const jf_info *from)
{
  (void)file, (void)from;
  return 0;
}
