/* Messages for what a run finds wrong in its data. */
#include "dev/kernel.h"

jfl_status jf_fault_fail(const jf_fault *f)
{
  static const char *const nouns[] = {
    [JF_WRONG_LABEL] = "label", [JF_WRONG_INDEX] = "index", [JF_WRONG_SEGMENT] = "segment id",
    [JF_WRONG_LENGTH] = "length",
  };
  if (!f->limit)
    return jf_fail(JFL_EDATA, "%s at position %lld must not be given where there is nothing to "
                   "name, got %lld", nouns[f->what], (long long)f->at, (long long)f->value);
  return jf_fail(JFL_EDATA,
                 "%s at position %lld must be from 0 to %lld, got %lld; all count from 0",
                 nouns[f->what], (long long)f->at, (long long)f->limit - 1, (long long)f->value);
}
