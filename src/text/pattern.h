/* What a pattern is made into: instructions that find.c goes through. */
#ifndef JF_PATTERN_H
#define JF_PATTERN_H

#include "text/text.h"

/* A class of characters: items, of which one must have the character, or none. ASCII has bits. */
typedef struct jf_class_item {
  enum { JF_RANGE, JF_CATEGORIES, JF_WORDS, JF_SPACES, JF_CLASS } kind;
  int negated;
  int32_t a, b;                /* a range; the number of a class */
  uint32_t categories;
} jf_class_item;
typedef struct jf_class {
  jf_class_item *item; int n, cap;
  int negated, folds;          /* folds: case does not count */
  uint64_t ascii[2];
} jf_class;

/* Places of instructions are told from where they stand. */
typedef struct jf_instruction {
  enum {
    JF_DONE, JF_ONE,           /* the end; one character of a class */
    JF_MANY,                   /* least to most characters of a class, as many as can be */
    JF_SPLIT, JF_JUMP,         /* to a, and if that fails to b; to a */
    JF_AHEAD, JF_NOT_AHEAD,    /* what follows, up to DONE, matches here or not; then on at a */
    JF_ATOMIC,                 /* the same, moved on and without a second try */
    JF_BEHIND, JF_NOT_BEHIND   /* the character before is of the class or not */
  } op;
  int a, b;
  int class_number, least, most;         /* most -1: any number */
  int keeps;                   /* MANY: gives none back */
} jf_instruction;

enum { JF_MOST_CHOICES = 32 };

struct jf_pattern {
  char *text;                  /* the expression, for messages */
  jf_instruction *code; int n, cap;
  jf_class *classes; int n_class, cap_class;
  int choice[JF_MOST_CHOICES]; int n_choice;       /* where the outermost alternatives begin */
  uint32_t begins[129];        /* which of them may begin with an ASCII character, or another */
};

int jf_class_has(const jf_pattern *p, const jf_class *c, int32_t character);

#endif
