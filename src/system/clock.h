/* The clock by which the library and the command measure what passes. */
#ifndef JF_CLOCK_H
#define JF_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds that only grow, also while the process sleeps or waits; safe in signal handlers. */
double jf_now(void);

#ifdef __cplusplus
}
#endif

#endif
