/* Attributes of average_share. */
#ifndef JF_OPTIM_AVERAGE_H
#define JF_OPTIM_AVERAGE_H

/* An average becomes decay average + (1 - decay) parameter with each step. Where it warms up, step
   n has the lesser of decay and (1 + n) / (10 + n) in its place. */
#define JF_AVERAGE_SHARE \
  typedef struct jf_average_share { double decay; int warms_up; } jf_average_share;
JF_AVERAGE_SHARE

#endif
