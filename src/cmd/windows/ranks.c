/* Several processes: there is one on Windows. */
#include "cmd/cmd.h"

#include <stdio.h>

int jf_run_ranks(int n, int restarts, char **argv)
{
  (void)n, (void)restarts, (void)argv;
  fputs("jfl: --ranks needs a system on which processes can work together; Windows runs one\n",
        stderr);
  return 1;
}

void jf_quieten(void) { }
void jf_report_open(void) { }
int jf_report(const char *message) { return (void)message, 0; }
