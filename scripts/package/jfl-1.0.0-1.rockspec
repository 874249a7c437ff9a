-- `luarocks make scripts/package/jfl-1.0.0-1.rockspec` in the sources' folder builds the module and
-- installs it. It wants a C compiler, zlib and the headers of LuaJIT: luarocks finds those of the
-- LuaJIT that it is told of (--lua-dir), else they are Debian's.
rockspec_format = "3.0"
package = "jfl"
version = "1.0.0-1"
source = { url = "." }                -- of `luarocks make` alone: the sources are those it runs in
description = {
  summary = "A deep-learning runtime for LuaJIT",
  detailed = [[
Job functions described in Lua become static plans, with their gradients, memory and kernels settled
before anything runs; a C11 core runs them, waiting for the result or not.]],
  license = "MIT",
  labels = { "deep-learning", "neural-network", "numerics", "luajit" },
}
supported_platforms = { "linux" }
dependencies = { "lua == 5.1" }
external_dependencies = { ZLIB = { header = "zlib.h" } }
build = {
  type = "make",
  build_target = "rock",
  build_variables = { LUA_INCDIR = "$(LUA_INCDIR)", CFLAGS = "" },
  install_pass = false,
  install = { lib = { jfl = "build/jfl.so" } },
}
