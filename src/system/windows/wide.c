/* Texts of UTF-8 and wide ones; errors. */
#include "system/windows/wide.h"

#include <errno.h>
#include <windows.h>

int jf_wide(const char *text, wchar_t *out, int size)
{
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, size)) return 0;
  errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EILSEQ;
  return -1;
}

int jf_narrow(const wchar_t *text, char *out, int size)
{
  if (WideCharToMultiByte(CP_UTF8, 0, text, -1, out, size, NULL, NULL)) return 0;
  errno = ENAMETOOLONG;
  return -1;
}

static const struct { DWORD windows; int is; } errors[] = {
  { ERROR_FILE_NOT_FOUND, ENOENT }, { ERROR_PATH_NOT_FOUND, ENOENT },
  { ERROR_INVALID_NAME, ENOENT }, { ERROR_BAD_PATHNAME, ENOENT }, { ERROR_INVALID_DRIVE, ENOENT },
  { ERROR_BAD_NETPATH, ENOENT }, { ERROR_BAD_NET_NAME, ENOENT },
  { ERROR_ACCESS_DENIED, EACCES }, { ERROR_SHARING_VIOLATION, EBUSY },
  { ERROR_LOCK_VIOLATION, EWOULDBLOCK }, { ERROR_IO_PENDING, EWOULDBLOCK },
  { ERROR_FILE_EXISTS, EEXIST }, { ERROR_ALREADY_EXISTS, EEXIST },
  { ERROR_DIR_NOT_EMPTY, ENOTEMPTY }, { ERROR_DIRECTORY, ENOTDIR },
  { ERROR_DISK_FULL, ENOSPC }, { ERROR_HANDLE_DISK_FULL, ENOSPC },
  { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG }, { ERROR_BUFFER_OVERFLOW, ENAMETOOLONG },
  { ERROR_WRITE_PROTECT, EROFS }, { ERROR_TOO_MANY_OPEN_FILES, EMFILE },
  { ERROR_NOT_ENOUGH_MEMORY, ENOMEM }, { ERROR_OUTOFMEMORY, ENOMEM },
  { ERROR_NOT_SAME_DEVICE, EXDEV }, { ERROR_INVALID_HANDLE, EBADF },
};

int jf_wide_fail(void)
{
  const DWORD last = GetLastError();
  errno = EIO;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].windows == last) errno = errors[i].is;
  return -1;
}
