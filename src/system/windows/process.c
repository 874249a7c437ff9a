/* Libraries, the environment, the process. */
#include "system/windows/memmem.h"
#include "system/windows/wide.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include <shellapi.h>
#include <ntsecapi.h>

/* Why the last library of this thread could not be opened. */
static _Thread_local char trouble[200];

void *jf_so_open(const char *name)
{
  wchar_t wide[JF_MOST_PATH];
  void *so = jf_wide(name, wide, JF_MOST_PATH) ? NULL : LoadLibraryW(wide);
  const unsigned long e = so ? 0 : GetLastError();
  snprintf(trouble, sizeof trouble, e == ERROR_MOD_NOT_FOUND ? "%.100s: not found"
           : "%.100s: cannot be loaded, error %lu of Windows", name, e);
  return so;
}

const char *jf_so_trouble(void) { return trouble; }

void *jf_so_find(void *so, const char *name)
{
  FARPROC f = GetProcAddress(so, name);
  void *p;
  memcpy(&p, &f, sizeof p);
  return p;
}

void jf_so_close(void *so) { FreeLibrary(so); }

/* Whether the process has one thread is not known here. */
int jf_environment_lend(const char *name, const char *value)
{
  (void)name, (void)value;
  return 0;
}

void jf_environment_take(const char *name) { (void)name; }

const char *jf_home_folder(void) { return getenv("USERPROFILE"); }

int jf_random(void *p, size_t n) { return RtlGenRandom(p, (ULONG)n); }
int jf_secret(void *p, size_t n) { return RtlGenRandom(p, (ULONG)n) ? 0 : -1; }

void *memmem(const void *text, size_t n, const void *part, size_t n_part)
{
  const char *at = text;
  if (!n_part) return (void *)at;
  for (; n >= n_part; at++, n--)
    if (!memcmp(at, part, n_part)) return (void *)at;
  return NULL;
}

/* Ends of lines are printed as they are elsewhere. */
void jf_begin(int *argc, char ***argv)
{
  wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), argc);
  char **list = wide ? calloc((size_t)*argc + 1, sizeof *list) : NULL;
  for (int i = 0; list && i < *argc; i++) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, NULL, 0, NULL, NULL);
    list[i] = calloc((size_t)size + 1, 1);
    if (list[i]) jf_narrow(wide[i], list[i], size);
  }
  if (list) *argv = list;
  LocalFree(wide);
  SetConsoleOutputCP(CP_UTF8);
  _setmode(1, _O_BINARY);
  _setmode(2, _O_BINARY);
}

long jf_process(void) { return (long)GetCurrentProcessId(); }

int jf_program(char *out, size_t size)
{
  wchar_t path[JF_MOST_PATH];
  const DWORD n = GetModuleFileNameW(NULL, path, JF_MOST_PATH);
  return n && n < JF_MOST_PATH ? jf_narrow(path, out, (int)size) : -1;
}

void jf_system_name(char *out, size_t size) { snprintf(out, size, "Windows, x86_64"); }

void jf_machine(char *out, size_t size)
{
  wchar_t name[256];
  DWORD n = sizeof name / sizeof *name;
  snprintf(out, size, "localhost");
  if (GetComputerNameW(name, &n)) jf_narrow(name, out, (int)size);
}

int jf_terminal_columns(int fd)
{
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (fd < 0 || !_isatty(fd)) return 0;
  if (!GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(fd), &info)) return 80;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

/* The C library of mingw-w64 reads numbers as in the C locale, whatever is set. */
double jf_number_read(const char *s, char **end) { return __mingw_strtod(s, end); }
