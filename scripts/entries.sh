#!/bin/sh
# entries.sh HEADER: for each function of the header one that calls it with what is wrong for each
# argument in turn, and the list of these, for spec/api/misuse_test.c. A type is spelt as in
# "jfl_shape_p" for const jfl_shape *; a count of list elements is "count", of bytes "n_bytes".
awk '
{ sub(/\/\*.*\*\//, ""); sub(/\/\*.*/, "") }
/^JFL_API/ { text = ""; on = 1 }
on { text = text " " $0 }
on && /;/ { on = 0; entry(text) }
END { printf "#define ENTRIES%s\n", list }

function kind_of(type, name) {
  sub(/ +$/, "", type)
  if (type == "int" && name ~ /^n(_|$)/) return "count"
  if (type == "size_t" && name == "n") return "n_bytes"
  if (type ~ /jfl_/) sub(/^const /, "", type)
  gsub(/const/, "c", type); gsub(/\*/, "p", type); gsub(/ /, "_", type)
  gsub(/__+/, "_", type); sub(/_$/, "", type)
  return type
}

function entry(text,   result, name, list_of, n, i, p, type, arg, kind, call, status) {
  gsub(/[ \t]+/, " ", text); sub(/^ *JFL_API /, "", text)
  match(text, /jfl_[a-z0-9_]+\(/)
  result = substr(text, 1, RSTART - 1); name = substr(text, RSTART, RLENGTH - 1)
  p = substr(text, RSTART + RLENGTH); sub(/\) *;.*/, "", p)
  gsub(/int \(\*asked\)\(void \*ctx\)/, "asked_fn asked", p)
  status = result ~ /^jfl_status *$/ && name != "jfl_error_code"
  n = p == "void" ? 0 : split(p, list_of, /, */)
  printf "static void misuse_%s(void)\n{\n  for (int at = -1; at < %d; at++)\n", name, n
  printf "    for (int k = 0, left = FAILS; at < 0 ? !k : left; k++) {\n"
  for (i = 1; i <= n; i++) {
    match(list_of[i], /[a-z0-9_]+$/)
    arg = substr(list_of[i], RSTART); type = substr(list_of[i], 1, RSTART - 1)
    kind = kind_of(type, arg)
    call = call (i > 1 ? ", " : "") arg
    printf "      %s%s = { 0 };\n      if (at == %d) left = WRONG_%s(\"%s.%s\", &%s, k);\n", type, \
      arg, i - 1, kind, name, arg, arg
    printf "#ifdef GOOD_%s_%s\n      else %s = GOOD_%s_%s;\n", name, arg, arg, name, arg
    printf "#else\n      else %s = good_%s();\n#endif\n", arg, kind
  }
  printf "      if (at >= 0 && !left) break;\n      begin();\n"
  if (status) printf "      jfl_status got = %s(%s);\n", name, call
  else printf "      (void)%s(%s);\n", name, call
  printf "      static const char *const arguments[] = { %s\"\" };\n", quoted(call)
  printf "      end(\"%s\", at < 0 ? NULL : arguments[at], k, at < 0 ? PASSES : left, ", name
  printf "%s);\n", status ? "got" : "NO_STATUS"
  printf "    }\n}\n\n"
  list = list " ENTRY(" name ")"
}

function quoted(call,   s) {
  s = call
  if (s == "") return ""
  gsub(/, /, "\", \"", s)
  return "\"" s "\", "
}' "$1"
