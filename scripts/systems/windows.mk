# jfl for Windows of 64 bits, by mingw-w64: the command, jfl.dll (the module, for the luajit.exe and
# lua51.dll beside it), libjfl.dll with its import library and libjfl.a for programs in C.
CC := x86_64-w64-mingw32-gcc
AR := x86_64-w64-mingw32-ar
BRANCHES :=
PIC := -DJFL_BUILD_DLL
LUAJIT := $O/luajit/src
SOURCES := build/systems/src/luajit
LUAJIT_INC := $(SOURCES)/src
ELSEWHERE := src/system/posix/% src/world/mpi/% \
  $(filter-out src/world/ask.c,$(wildcard src/world/*.c))
$O/src/box/pattern.o: SYSTEM_CFLAGS += -include system/windows/memmem.h
$O/src/system/windows/%.o: SYSTEM_CFLAGS += -D_WIN32_WINNT=0x0A00
CMD_SRC := $(wildcard src/cmd/windows/*.c) \
  $(addprefix src/cmd/,main.c interrupt.c options.c version.c bundle.c sandbox.c walls.c)
PRODUCTS := jfl.exe jfl.dll libjfl.dll libjfl.a
# The formats of printf are those of C99 here, which gcc does not know; the build for Linux checks
# them. gcc aligns vectors on the stack to 16 bytes where 32 or 64 are needed (its bug 54412).
SYSTEM_CFLAGS := -Wno-format -Wno-attributes -Wno-float-conversion -Wa,-muse-unaligned-vector-move
WHOLE = -Wl,--exclude-all-symbols,--whole-archive $O/libjfl.a -Wl,--no-whole-archive
WINDOWS_LIBS := -static -l:libz.a -lsynchronization -ladvapi32 -lssp -pthread

$O/jfl.exe: $(CMD_SRC:%.c=$O/%.o) $O/libjfl.a $O/manifest.o $(LUAJIT)/libluajit.a
	$(CC) -o $@ $^ $(WINDOWS_LIBS) -lshell32
$O/jfl.dll: $O/libjfl.a $O/lua51.dll
	$(CC) -shared $(WHOLE) -o $@ $O/lua51.dll $(WINDOWS_LIBS)
$O/libjfl.dll: $O/libjfl.a $(LUAJIT)/libluajit.a
	$(CC) -shared $(WHOLE) -Wl,--out-implib,$@.a -o $@ $(LUAJIT)/libluajit.a $(WINDOWS_LIBS)

# Texts that the C library reads and opens by are UTF-8 in the command: names of files, too.
$O/manifest.o: scripts/systems/windows.rc scripts/systems/windows.manifest
	@mkdir -p $(@D)
	x86_64-w64-mingw32-windres -o $@ $<

# LuaJIT from the sources that scripts/setup fetched, once as an archive and once as lua51.dll.
WITH := -s HOST_CC=gcc CROSS=x86_64-w64-mingw32- CC=gcc-posix TARGET_SYS=Windows
$(LUAJIT)/libluajit.a: | $(SOURCES)
	@mkdir -p $O && rm -rf $O/luajit && cp -r $(SOURCES) $O/luajit
	$(MAKE) -C $(LUAJIT) $(WITH) BUILDMODE=static libluajit.a >/dev/null
$O/lua51.dll: | $(SOURCES)
	@mkdir -p $O && rm -rf $O/luajit-dll && cp -r $(SOURCES) $O/luajit-dll
	$(MAKE) -C $O/luajit-dll/src $(WITH) >/dev/null
	cp $O/luajit-dll/src/luajit.exe $O && mkdir -p $O/lua && cp -r $O/luajit-dll/src/jit $O/lua
	cp $O/luajit-dll/src/lua51.dll $@
$(SOURCES):
	@echo "make: run scripts/setup systems first, which fetches the sources of LuaJIT" >&2; exit 1

# Tests in C that call nothing of POSIX, and one more of the library as a program sees it.
EXE := .exe
C_TESTS := $(filter $(patsubst %,\%/%_test.c,attr facts functions graph inflate \
  json layout library memory optim pace places redefine states system view walk),$(C_TESTS))
$O/spec/%.o: PIC :=
$O/spec/%_test.exe: $O/spec/%_test.o $O/libjfl.a $(LUAJIT)/libluajit.a
	$(CC) -o $@ $^ $(WINDOWS_LIBS)
tests: $O/spec/embed.exe
$O/spec/embed.exe: examples/embed.c src/jfl.h $O/libjfl.dll
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -DJFL_USE_DLL -Isrc -o $@ $< $O/libjfl.dll.a
	cp $O/libjfl.dll $(@D)
