# Leaves a Lua file as it is, but for lines that hold a comment alone, which become empty: what the
# program carries is smaller so, and errors name the same lines. Text in long brackets stays.
{
  line = $0
  if (closer == "" && line ~ /^ *--([^[>]|$)/) { print ""; next }
  print line
  for (;;) {
    if (closer != "") {
      at = index(line, closer)
      if (!at) next
      line = substr(line, at + length(closer))
      closer = ""
    }
    if (!match(line, /\[=*\[/)) next
    closer = "]" substr(line, RSTART + 1, RLENGTH - 2) "]"
    line = substr(line, RSTART + RLENGTH)
  }
}
