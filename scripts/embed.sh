#!/bin/sh
# embed.sh FILE... : C source that holds the front end's Lua files and their table
printf '%s\n' '/* The front end. Generated from lua/jfl. */' '#include "bind/embed.h"'
for f; do
  x=$(basename "$f" .lua)
  printf '\n__asm__(".section .rodata\\n.balign 16\\njf_lua_%s:\\n.incbin \\"%s\\", 0, %d\\n.previous\\n");\n' \
    "$x" "$f" "$(wc -c <"$f")"
  printf 'extern const char jf_lua_%s[];\n' "$x"
done
printf '\nconst jf_lua_module jf_lua_modules[] = {\n'
for f; do
  x=$(basename "$f" .lua)
  name=jfl.$x; [ "$x" = init ] && name=jfl
  printf '  { "%s", "=jfl/%s.lua", jf_lua_%s, %d },\n' "$name" "$x" "$x" "$(wc -c <"$f")"
done
printf '  { 0, 0, 0, 0 }\n};\n'
