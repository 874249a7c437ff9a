/* The standard descriptors of a process that is given none of this one's: pipes, from and to which
   this process copies. A terminal it gets as it is. */
#ifndef JF_COPIES_H
#define JF_COPIES_H

#include <limits.h>
#include <stddef.h>

/* What is taken from standard input only once the child has read it. */
typedef enum jf_peek { JF_PEEK_NONE, JF_PEEK_FILE, JF_PEEK_PIPE, JF_PEEK_SOCKET } jf_peek;

typedef struct jf_copies {
  int its[3];                  /* ends of pipes for the child; -1: it gets what this process has */
  int input, unread;           /* where its input is written, -1: no more; the pipe's other end */
  jf_peek peek;
  size_t ahead;                /* bytes in that pipe that are in the input still */
  struct jf_output {
    int from;                  /* -1: nothing more is copied */
    int is_socket, error;
    size_t n, at;              /* bytes that were read from there, and how many are copied */
    char data[PIPE_BUF];
  } output[3];                 /* of 1 and 2 */
} jf_copies;

/* Before the fork; 0 or -1. */
int jf_copies_open(jf_copies *c);
/* In the child, whose descriptors become these ends. */
int jf_copies_take(const jf_copies *c);
/* In the parent: the child's ends are its own alone. */
void jf_copies_keep(jf_copies *c);
/* Copies for so many milliseconds, or longer where whoever reads this is slow. */
void jf_copies_pass(jf_copies *c, int milliseconds);
/* Whether the child, which has ended, said something that is not copied yet. */
int jf_copies_are_left(const jf_copies *c);
/* Says what of the output was lost; gives whether something was. */
int jf_copies_end(jf_copies *c);

#endif
