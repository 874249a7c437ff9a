/* Ctrl-C: what signal.c, of each system, does for interrupt.c, and the other way round. */
#ifndef JF_INTERRUPT_H
#define JF_INTERRUPT_H

#include "cmd/cmd.h"

typedef struct jf_signals {
  /* lua_pcall during which Ctrl-C calls jf_interrupt_pressed. */
  int (*call)(lua_State *L, int n_arg, int n_result, int handler);
  /* Seconds by which the hook measures how long it waits for the user's code. */
  double (*clock)(void);
  /* Has jf_interrupt_is_late called after so long; 0: no more, or it may find nothing to do. */
  void (*time)(double seconds);
  /* Writes to standard error, as handlers may. */
  void (*say)(const char *text, size_t n);
} jf_signals;

void jf_interrupt_begin(lua_State *L, const jf_signals *signals);
/* For handlers: Ctrl-C came. */
void jf_interrupt_pressed(void);
/* For them: a moment has passed since. */
void jf_interrupt_is_late(void);

#endif
