/* Products and convolutions of float32 by jf's own loops, where no library is installed. */
#ifndef JF_OWN_H
#define JF_OWN_H

#include "tile.h"
#include "cpu/units.h"

/* What every unit begins with. */
typedef struct jf_own_unit jf_own_unit;
struct jf_own_unit {
  void (*run)(const jf_own_unit *u, float *scratch, const jf_unit_run *r);
  void (*ready)(const jf_own_unit *u, const float *b, float *to);
  void (*release)(jf_own_unit *u);         /* frees what the unit has beside itself; or NULL */
  const jf_own_loop *loop;
};

jfl_status jf_own_matmul(const jf_unit_matmul *m, jf_unit_make *make);

const jf_units *jf_own_units(void);

#endif
