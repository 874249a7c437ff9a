# COVER=1: the library and the command tell which of their places are reached, those in Lua too:
# spec/cover/flags.c says how. It embeds other files than a build without, so `make map` builds it
# in a copy of the sources. It needs clang, whose flags cost a store for each place, where gcc has
# calls.
LIB_OBJ += $O/spec/cover/flags.o $O/spec/cover/lua.o
$O/src/%.o $O/kernels/%.o: ALL_CFLAGS += -g1 -fno-builtin-malloc \
  -fsanitize-coverage=inline-bool-flag,pc-table
$O/src/bind/module.o: ALL_CFLAGS += -include spec/cover/cover.h \
  '-DluaL_loadbufferx(...)=cover_load(__VA_ARGS__)'
$O/spec/cover/lua.o: ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/spec/cover/lua.o: build/gen/marks.h
LDLIBS += -Wl,-T,spec/cover/cover.ld

build/gen/marks: $(LUA) scripts/map/marks.lua
	@mkdir -p $(@D)
	luajit scripts/map/marks.lua build/gen/marked $(LUA) >$@
build/gen/marks.h: build/gen/marks
	printf '#define COVER_MARKS %d\n' $$(wc -l <$<) >$@
build/gen/lua/%.gz: build/gen/marks
	@mkdir -p $(@D)
	gzip -9n <build/gen/marked/lua/$* >$@
