#!/bin/sh
# collect.sh FILE... : the module jfl.collected, which says where each name under flow is defined
#
# A file of the front end names what scripts get of it, in lines of these kinds:
#   ---@flow data.loop poll             functions and values
#   ---@box nn.celu nn.upsample=nn.interpolate    the same, which scripts in a box have too; what
#                                       follows "=" is another name of it, or a field
#   ---@space data config=session       tables of names: what the file returns, and a field of that
#
# It writes "@job.queue fd poll+" where jfl.job.queue gives flow.fd, and flow.poll to boxes too.
printf '%s\n' '-- Where each name under flow is defined. Generated from the annotations in lua/jfl.'
awk '
  function add(space, word) {
    if (!(space in list)) order[++spaces] = space
    if (last[space] != module) list[space] = list[space] " @" module
    last[space] = module
    list[space] = list[space] " " word
  }
  /^---@(flow|box|space) / {
    module = FILENAME; sub(/^lua\/jfl\//, "", module); sub(/\.lua$/, "", module)
    gsub(/\//, ".", module)
    for (i = 2; i <= NF; i++) {
      n = split($i, pair, "="); name = pair[1]; space = ""
      if (match(name, /^.*\./)) space = substr(name, 1, RLENGTH - 1)
      if (space != "") name = substr(name, RLENGTH + 1)
      word = name ($1 == "---@box" ? "+" : "") (n > 1 ? "=" pair[2] : "")
      if ($1 == "---@space") add("tables", word)
      else add(space == "" ? "flow" : "flow." space, word)
    }
  }
  END {
    print "return {"
    for (i = 1; i <= spaces; i++)
      printf "  [\"%s\"] = \"%s\",\n", order[i], substr(list[order[i]], 2)
    print "}"
  }' "$@"
