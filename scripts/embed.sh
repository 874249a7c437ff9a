#!/bin/sh
# embed.sh FILE... : C source that holds the front end's Lua files, compressed, and their table
printf '%s\n' '/* The front end. Generated from lua/jfl. */' '#include "bind/embed.h"' \
  '#include "system/embed.h"'
# lua/jfl/nd/array.lua is the module jfl.nd.array and the symbol jf_lua_nd_array; the build has
# compressed it to build/gen/lua/jfl/nd/array.lua.gz.
printf '%s\n' "$@" | awk '
  {
    path = $1; sub(/^lua\/jfl\//, "", path); sub(/\.lua$/, "", path)
    symbol = "jf_lua_" path; gsub(/\//, "_", symbol)
    name = path == "init" ? "jfl" : "jfl." path; gsub(/\//, ".", name)
    printf "\n__asm__(JF_EMBED_BEGIN \"%s:\\n", symbol
    printf ".incbin \\\"build/gen/%s.gz\\\"\\n%s_end:\\n\" JF_EMBED_END);\n", $1, symbol
    printf "extern const char %s[], %s_end[];\n", symbol, symbol
    rows = rows sprintf("  { \"%s\", \"=jfl/%s.lua\", %s, %s_end },\n", name, path, symbol, symbol)
  }
  END { printf "\nconst jf_lua_module jf_lua_modules[] = {\n%s  { 0, 0, 0, 0 }\n};\n", rows }'
