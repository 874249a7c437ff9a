# make install     what make built, at PREFIX (/usr/local): command, Lua module, C library, header,
#                  pages, completion
# make uninstall   removes exactly that
#
# Switches of both: DESTDIR, a root to put it in for now; PREFIX, and BINDIR, LIBDIR, INCLUDEDIR,
# DATADIR, MANDIR, DOCDIR, LUADIR (of C modules of Lua 5.1), ZSHDIR (of completions), SHIMDIR (of
# what connects jfl to an MPI) below it. DOC= leaves out the guide, which takes some seconds to
# write. STRIP=strip leaves out what debuggers need. MANIFEST= keeps no list of what was installed,
# for packages.
PREFIX ?= $(or $(prefix),/usr/local)
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/jfl
LUADIR ?= $(LIBDIR)/lua/5.1
ZSHDIR ?= $(DATADIR)/zsh/site-functions
SHIMDIR ?= $(PREFIX)/lib/jfl
MANIFEST ?= $(DATADIR)/jfl/installed
DOC ?= 1
STRIP ?=

PLACES := DESTDIR PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR DOCDIR LUADIR ZSHDIR SHIMDIR \
  MANIFEST
INSTALL_ENV = $(foreach v,$(PLACES),$v='$($v)') VERSION='$(VERSION)' SONAME='$(SONAME)' \
  MPIS='$(MPIS)' LUAJIT_LIB='$(LUAJIT_LIB)' LDLIBS='$(LDLIBS)' DOC='$(DOC)' STRIP='$(STRIP)'

install: all $(if $(DOC),build/doc/index.md)
	@$(INSTALL_ENV) scripts/package/install
uninstall:
	@$(INSTALL_ENV) scripts/package/install remove
build/doc/index.md: build/jfl
	@build/jfl scripts/doc.lua build/doc
# What luarocks builds; it tells LUA_INCDIR, which may be another Lua's.
rock:
	@$(MAKE) --no-print-directory -s -j"$$(nproc)" build/jfl.so \
	  $(if $(wildcard $(LUA_INCDIR)/luajit.h),LUAJIT_INC='$(LUA_INCDIR)')
.PHONY: install uninstall rock
