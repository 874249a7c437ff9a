# One program without a dynamic section. LuaJIT and zlib are compiled here, as Debian's are for
# another C library; of that one no header may be found, but those of the kernel are needed.
# LuaJIT unwinds the stack itself: the unwinder of gcc asks glibc where things are.
CC := musl-gcc
PIE := -static -Wl,--wrap=exit
PRODUCTS := jfl
LUAJIT_INC := $O/luajit/src
LUAJIT_LIB := $O/luajit/src/libluajit.a
SYSTEM_CFLAGS := -isystem $O/include -DJF_WRAPS_EXIT
SYSTEM_LDFLAGS := -static -L$O/zlib
SYSTEM_GEN := $O/include/zlib.h $(LUAJIT_LIB)

$(LUAJIT_LIB): | build/systems/src/luajit
	@rm -rf $O/luajit && mkdir -p $O && cp -r build/systems/src/luajit $O
	@$(MAKE) -s -C $O/luajit/src CC=$(CC) HOST_CC=gcc BUILDMODE=static \
	  XCFLAGS=-DLUAJIT_NO_UNWIND libluajit.a >/dev/null 2>&1
$O/zlib/libz.a: | build/systems/src/zlib
	@rm -rf $O/zlib && mkdir -p $O && cp -r build/systems/src/zlib $O
	@cd $(@D) && CC=$(CC) ./configure --static >/dev/null && $(MAKE) -s libz.a
$O/include/zlib.h: | $O/zlib/libz.a
	@mkdir -p $(@D) && ln -sfn /usr/include/linux /usr/include/asm-generic \
	  /usr/include/x86_64-linux-gnu/asm $(@D)
	@ln -sfn ../zlib/zconf.h ../zlib/zlib.h $(@D)
build/systems/src/%:
	@scripts/systems/fetch sources

C_TESTS :=
