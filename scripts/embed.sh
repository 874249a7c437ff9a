#!/bin/sh
# embed.sh FILE... : C source that holds the front end's Lua files and their table
printf '%s\n' '/* The front end. Generated from lua/jfl. */' '#include "bind/embed.h"'
# lua/jfl/nd/array.lua is the module jfl.nd.array and the symbol jf_lua_nd_array.
wc -c "$@" | awk '
  $2 != "total" {
    path = $2; sub(/^lua\/jfl\//, "", path); sub(/\.lua$/, "", path)
    symbol = "jf_lua_" path; gsub(/\//, "_", symbol)
    name = path == "init" ? "jfl" : "jfl." path; gsub(/\//, ".", name)
    printf "\n__asm__(\".section .rodata\\n.balign 16\\n%s:\\n", symbol
    printf ".incbin \\\"%s\\\", 0, %d\\n.previous\\n\");\n", $2, $1
    printf "extern const char %s[];\n", symbol
    rows = rows sprintf("  { \"%s\", \"=jfl/%s.lua\", %s, %d },\n", name, path, symbol, $1)
  }
  END { printf "\nconst jf_lua_module jf_lua_modules[] = {\n%s  { 0, 0, 0, 0 }\n};\n", rows }'
