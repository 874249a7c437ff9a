# The guide's chapters, Markdown files whose first line is <!-- guide NUMBER: TITLE -->, as a module
# in Lua: a list of { number, title, text }.
BEGIN { print "return {" }
FNR == 1 {
  if (NR > 1) print "]====] },"
  if (!match($0, /^<!-- guide [0-9]+: .* -->$/)) {
    print FILENAME ": the first line must be <!-- guide NUMBER: TITLE -->" >"/dev/stderr"
    exit wrong = 1
  }
  number = $3 + 0
  title = substr($0, index($0, ": ") + 2)
  gsub(/"/, "\\\"", title)
  printf "{ number = %d, title = \"%s\", text = [====[\n", number, substr(title, 1, length(title) - 4)
  next
}
{ print }
END { if (!wrong) print "]====] } }" }
