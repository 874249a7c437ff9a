/* What signal.c offers to who reads from the console. */
#ifndef JF_CONSOLE_H
#define JF_CONSOLE_H

/* Says whether a line is being read, which Ctrl-C then gives up. */
void jf_interrupt_reading(int reads);
/* The event that Ctrl-C sets, a HANDLE. */
void *jf_interrupt_typed(void);

#endif
