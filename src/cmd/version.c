/* What --version prints: the versions, how jfl was built, and what it found on this machine. */
#include "cmd/cmd.h"

#include "jfl.h"
#include "system/system.h"

#include <luajit.h>
#include <stdio.h>
#include <string.h>

/* Each line of the text, after two blanks. */
static void version_print_lines(const char *text)
{
  while (*text) {
    const size_t n = strcspn(text, "\n");
    printf("  %.*s\n", (int)n, text);
    text += n + (text[n] == '\n');
  }
}

void jf_print_version(int with_parts)
{
  char *text = NULL;
  puts("jfl " JFL_VERSION " (" LUAJIT_VERSION ")");
  if (with_parts) {
    if (jfl_build_text(&text)) printf("  %s\n", jfl_errmsg());
    else version_print_lines(text);
    jfl_text_free(text);
    version_print_lines(jf_so_open(JF_LIBEDIT) ? "libedit: editing of lines"
                        : "libedit not found: without it lines are plain");
  }
  fflush(stdout);
}
