/* The time that work has which a thread does for a state with limits. */
#include "base/base.h"

jfl_status jf_time_is_over(void) { return jf_fail(JFL_ELIMIT, "the script's time is over"); }

jfl_status jf_time_for(double steps)
{
  const double left = jf_budget_left(jf_memory_budget());
  if (left <= 0) return jf_time_is_over();
  if (steps <= left * JF_STEPS_A_SECOND) return JFL_OK;
  return jf_fail(JFL_ELIMIT, "it takes %.0g steps, which the script has no time for", steps);
}

jfl_status jf_time_for_call(double operations)
{
  const double left = jf_budget_left(jf_memory_budget());
  if (left <= 0) return jf_time_for(0);
  if (!(operations > JF_SLOWEST * left)) return JFL_OK;    /* or not a number: none of nothing */
  return jf_fail(JFL_ELIMIT, "it takes %.0g steps at once, which the script has no time for",
                 operations);
}
