/* Products and convolutions of float32 by jf's own loops, where no library is installed. */
#ifndef JF_OWN_H
#define JF_OWN_H

#include "tile.h"
#include "cpu/primitives.h"

/* What every unit begins with. */
typedef struct jf_own_primitive jf_own_primitive;
struct jf_own_primitive {
  void (*run)(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r);
  void (*ready)(const jf_own_primitive *u, const float *b, float *to);
  void (*release)(jf_own_primitive *u);    /* frees what the unit has beside itself; or NULL */
  uint64_t form;               /* of what `ready` makes, as jf_primitives.form says */
  const jf_own_loop *loop;
};

static inline int64_t jf_own_least(int64_t a, int64_t b) { return a < b ? a : b; }
/* The next multiple of a vector's lanes. */
static inline int64_t jf_own_up(int64_t n) { return (n + JF_LANES - 1) / JF_LANES * JF_LANES; }

jfl_status jf_own_matmul(const jf_primitive_matmul *m, jf_primitive_make *make);

const jf_primitives *jf_own_units(void);

#endif
