#!/bin/sh
# passes.sh FILE... : the prototype of each pass, a function jf_pass_NAME(graph, target)
sed -n 's/^jfl_status \(jf_pass_[a-z0-9_]*\)(jfl_graph \*g, const jf_target \*[a-z]*)$/\1/p' "$@" |
  LC_ALL=C sort | sed 's/.*/jfl_status &(jfl_graph *g, const jf_target *t);/'
