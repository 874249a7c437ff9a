# make           build/jfl (the command), build/jfl.so (the Lua module), build/libjfl.so and libjfl.a
#                (the C library)
# make demo      install what is missing, build, train LeNet on Fashion-MNIST
# make test      install what is missing, build, run the quick tests; the last line is the verdict;
#                OF="src/base/json.c lua/jfl/nd/array.lua" runs those of these sources alone
# make test-landing  those and all that must hold before a change lands
# make test-deep  what takes long or needs other programs: all slices, or SLICES="arm64 kills"
# make map       measure which tests reach what, and write spec/map, which OF reads, and
#                spec/sanitized; it takes about as long as the tests. OF="src/text lua/jfl/data"
#                measures what may reach these sources alone
# make coverage  how many places of the sources no test reaches, of what make map measured last;
#                OF="src/text lua/jfl/data" prints those of these sources
# make bench     milliseconds per step and per op beside those of PyTorch, which scripts/bench/setup
#                installs in build/peer; ops that take rows beside memcpy; compile times
# make bench-load  the same beside other programs, which it runs itself: JFL_PEER=python compares
# make bench-frames  how long the entries take that a game makes in its frames: FRAMES=2000, and
#                each for SECONDS=0 at least
# make roof      how fast training steps could be on GPUs that are not here, by their data sheets and
#                what the plans read and write; MODEL=gpt2_16 says which steps take the time
# make bench-onnx  predictions of models in ONNX files beside onnxruntime and OpenVINO
# make fuzz      give changed files to every reader: SECONDS=60 for each, or for TARGET=npz alone
# make soak      a mixture of calls for SECONDS=3600, with a curve of memory, descriptors, threads
#                and files, which must be flat
# make mutants   plant faults of one line and list those that no test sees: OF=src/run for these
#                sources, N=200 of them, SEED=1; ID=src/run/queue.c:123:bound for this one
# make golden    rewrite spec/golden from what the code prints now
# make doc       the guide and the reference as Markdown and as a site of HTML, and type stubs for
#                editors, in build/doc
# make kernels   the GPU's kernels for each op, in which dtypes
# make install   what was built, at PREFIX, and make uninstall: scripts/package/install.mk
# make lint      what includes and requires what, names, columns, the map of tests, symbols, luacheck
# make config    print the switches; make clean removes build/
#
# Switches: CC=gcc|clang  DEBUG=1  SAN=address,undefined|thread  CFLAGS="more flags"  LDFLAGS="same"
# COVER=1: what is built keeps which places are reached; SYNTAX=1: the sources are only checked
# VECTORS=256: without AVX-512, as for processors that lack it; VECTORS=128: without AVX2, too
# LUAJIT_INC=directory of lua.h; LUAJIT_LIB, ZLIB_LIB=the archives, as the linker is told of them
# LUAJIT_PIC=the same of one compiled by -fPIC, which libjfl.so then holds instead of opening LuaJIT
# CCACHE=ccache, where it is installed; CCACHE= compiles without

ifeq ($(origin CC),default)
CC := $(if $(COVER),clang,$(notdir $(or $(shell command -v gcc || command -v clang),gcc)))
endif
CCACHE ?= $(shell command -v ccache)
SAN ?=
DEBUG ?=
COVER ?=
VECTORS ?=
CFLAGS ?=
LUAJIT_INC ?= /usr/include/luajit-2.1
LUAJIT_LIB ?= -l:libluajit-5.1.a
ZLIB_LIB ?= -l:libz.a
LUAJIT_PIC ?=

# Objects of one setting never meet those of another.
SETTING := $(subst /,_,$(subst $(eval) ,_,$(CC)))$(if $(SAN),-$(SAN))$(if $(DEBUG),-debug)$(if \
  $(COVER),-cover)$(if $(SYNTAX),-syntax)$(if $(VECTORS),-$(VECTORS))
O := build/obj-$(SETTING)
EXE :=
C_TESTS := $(wildcard spec/*/*_test.c)
.DEFAULT_GOAL := all
include scripts/systems/systems.mk

OPT := $(if $(DEBUG),-Og,$(if $(SAN)$(COVER),-O1,-O2))
# Kernels are left by no Lua error, so they need no tables for unwinding, which are a tenth of them.
# Of the ops' own files only the loops need to be fast.
NUMERIC := -fno-math-errno -fno-trapping-math $(if $(DEBUG)$(SAN),,-fno-asynchronous-unwind-tables)
FAST := $(if $(DEBUG)$(SAN)$(COVER),,-O3) $(NUMERIC)
LOOPS := $(if $(DEBUG)$(SAN)$(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic) \
  $(NUMERIC)
CHECKED := $(if $(DEBUG)$(SAN),-DJF_DEBUG) $(VECTORS:%=-DJF_VECTORS=% -include spec/c/vectors.h) \
  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
  -Wno-sign-conversion
# What turns a write past an end into the end of the program; spec/products_spec.lua looks at the
# products. The sanitizers see more, and FORTIFY needs optimization.
BRANCHES ?= -fcf-protection
PIC ?= -fPIC -fvisibility=hidden
HARD := -fstack-protector-strong $(BRANCHES) \
  $(if $(DEBUG)$(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
PIE ?= -pie
LINK_HARD := -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)
# Debug information names sources relative to this folder, so that clones share what ccache keeps.
# Of the sanitized builds only reports of lines are wanted.
DEBUG_INFO := -g$(if $(SAN),1) -fdebug-prefix-map=$(CURDIR)=.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(OPT) $(DEBUG_INFO) $(WARN) $(HARD) $(PIC) -pthread \
  -Isrc -Ikernels -Ibuild $(CHECKED) $(SYSTEM_CFLAGS)
COMPILE = $(CCACHE) $(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<$(if $(SYNTAX), -fsyntax-only && touch $@)
LDLIBS := $(SYSTEM_LDFLAGS) $(ZLIB_LIB) -ldl -lm -pthread

# The library's soname has the first of the version's numbers.
COMMA := ,
VERSION := $(shell sed -n 's/^.define JFL_VERSION "\(.*\)"/\1/p' src/jfl.h)
SONAME := libjfl.so.$(firstword $(subst ., ,$(VERSION)))

# What is built for other systems, or apart.
ELSEWHERE ?= src/world/mpi/% src/world/alone/% src/system/windows/% src/cmd/windows/%
LIB_SRC := $(filter-out src/cmd/% $(ELSEWHERE),$(wildcard src/*/*.c src/*/*/*.c)) \
  $(wildcard kernels/cpu/*.c kernels/cpu/*/*.c kernels/cuda/*.c)
CUDA_SRC := $(wildcard kernels/cuda/*.cu)
CMD_SRC ?= $(wildcard src/cmd/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$O/%.o) $(CUDA_SRC:%.cu=$O/%.o) $O/gen/embed.o $O/gen/cudatexts.o
CMD_OBJ := $(CMD_SRC:%.c=$O/%.o)
LUA := $(wildcard lua/jfl/*.lua lua/jfl/*/*.lua lua/jfl/*/*/*.lua)
LUA_MADE := lua/jfl/collected.lua lua/jfl/doc/pages.lua
GUIDE := $(wildcard lua/jfl/doc/guide/*.md)
GEN := build/gen/devicelist.h build/gen/oplist.h build/gen/optimlist.h build/gen/lualist.h build/gen/rulelist.h build/gen/cpulist.h build/gen/cudalist.h \
  build/gen/passlist.h build/gen/entries.h build/gen/embed.c \
  build/gen/cudatexts.c $(SYSTEM_GEN)
TESTS := $(C_TESTS:%.c=$O/%$(EXE))

ifneq ($(COVER),)
include spec/cover/cover.mk
endif

# What connects jfl to an MPI, for each that is installed.
MPIS := $(if $(SYSTEM),,$(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$m),$m)))

PRODUCTS ?= jfl jfl.so libjfl.so libjfl.a $(MPIS:%=jfl-mpi-%.so)

all: $(PRODUCTS:%=build/%) build/$(SONAME)
products: $(PRODUCTS:%=$O/%)
objects: $(LIB_OBJ) $(CMD_OBJ)
tests: $(TESTS) $(if $(SYSTEM),,emulated build/faults.so)

# build/ itself has the products of the setting that was built last.
$(PRODUCTS:%=build/%) build/counted: build/%: $O/% FORCE
	@cmp -s $< $@ || { cp $< $@.tmp && mv -f $@.tmp $@; }
build/$(SONAME): | build/libjfl.so
	@ln -s libjfl.so $@

# -Wl,-E: C modules that scripts load find the symbols of Lua in the command.
$O/jfl: $(CMD_OBJ) $O/libjfl.a
	$(CC) $(CHECKED) $(PIE) $(LINK_HARD) -o $@ $^ -Wl,-E -Wl,--exclude-libs,libz.a $(LUAJIT_LIB) $(LDLIBS)

# Lua's symbols come from the host program; -z nodelete, as worker threads may still run when it
# would be unloaded.
$O/jfl.so: $(LIB_OBJ)
	$(CC) $(CHECKED) -shared $(LINK_HARD) -Wl,-z,nodelete -Wl,--exclude-libs,ALL -o $@ $^ $(LDLIBS)

# For hosts in C, C++ and other languages: no name of Lua in it can meet those of another Lua.
SHARED_OBJ := $(if $(LUAJIT_PIC),$(LIB_OBJ),$(LIB_OBJ:$O/src/script/lua.o=$O/src/script/opened.o))
$O/libjfl.so: $(SHARED_OBJ) scripts/package/libjfl.map
	$(CC) $(CHECKED) -shared $(LINK_HARD) -Wl,-z,nodelete$(if $(SAN),,$(COMMA)-z$(COMMA)defs),-soname,$(SONAME) \
	  -Wl,--version-script=$(filter %.map,$^) -o $@ $(SHARED_OBJ) $(LUAJIT_PIC) $(LDLIBS)
$O/src/script/opened.o: ALL_CFLAGS += -I$O -DJF_OPENS_LUA
$O/src/script/opened.o: src/script/lua.c $O/gen/luaentries.h Makefile
	@mkdir -p $(@D)
	$(COMPILE)
$O/gen/luaentries.h: $(filter $O/src/bind/% $O/src/box/% $O/src/script/%,$(LIB_OBJ))
	@mkdir -p $(@D)
	nm -u $^ | sed -n 's/^ *[Uw] \(lua[A-Za-z]*_.*\)/ENTRY(\1)/p' | grep -v luaopen_jfl | sort -u >$@

# MPIs are no part of what the sanitizers look at.
# MPI_STATUSES_IGNORE of MPICH is the number 1 as a pointer, which gcc takes for an array of nothing.
MPI_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-stringop-overflow -fPIC -fvisibility=hidden -Isrc
$O/jfl-mpi-%.so: src/world/mpi/shim.c src/world/mpi.h src/world/collective.h Makefile
	@mkdir -p $(@D)
	mpicc.$* $(MPI_CFLAGS) -shared $(LINK_HARD) -o $@ $<

$O/libjfl.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$O/src/op/%.o $O/src/optim/%.o $O/src/run/initial.o: OPT += $(LOOPS)
$O/src/data/%.o $O/src/text/%.o $O/kernels/%.o $O/src/dev/number.o: OPT += $(FAST)
# Polynomials and products take half as long where a product and a sum are one instruction.
$(patsubst %,$O/kernels/cpu/%.o,attention cross_entropy functions own/tile recurrent row_norm softmax tiles): \
  ALL_CFLAGS += -ffp-contract=fast
# The rooms that see Lua.
LUA_ROOMS := bind box script cmd
$(foreach r,$(LUA_ROOMS),$O/src/$r/%.o): ALL_CFLAGS += -isystem $(LUAJIT_INC)
# ThreadSanitizer does not see that Lua's errors leave functions, and would count them as entered.
ifeq ($(SAN)$(findstring gcc,$(CC)),threadgcc)
$(foreach r,$(LUA_ROOMS),$O/src/$r/%.o): ALL_CFLAGS += --param tsan-instrument-func-entry-exit=0
endif
$O/%.o: %.c Makefile | $(GEN)
	@mkdir -p $(@D)
	$(COMPILE)
build/gen/lua/%.gz: lua/% scripts/embedded.awk
	@mkdir -p $(@D)
	awk -f scripts/embedded.awk $< | gzip -9n >$@
# The guide's chapters, which help shows, are one module.
build/gen/lua/jfl/doc/pages.lua.gz: $(GUIDE) scripts/guide.awk
	@mkdir -p $(@D)
	awk -f scripts/guide.awk $(GUIDE) | gzip -9n >$@
build/gen/lua/jfl/collected.lua.gz: build/gen/collected.lua
	@mkdir -p $(@D)
	gzip -9n <$< >$@
# The GPU's kernels: the half of a file that is C is compiled here, and its text is embedded.
$O/kernels/cuda/%.o: ALL_CFLAGS += -x c
$O/kernels/cuda/%.o: kernels/cuda/%.cu Makefile | $(GEN)
	@mkdir -p $(@D)
	$(COMPILE)
CUDA_TEXT := $(patsubst kernels/cuda/%,build/gen/cuda/%,$(CUDA_SRC) $(wildcard kernels/cuda/*.cuh))
build/gen/cuda/%: kernels/cuda/% scripts/device.awk
	@mkdir -p $(@D)
	awk -f scripts/device.awk $< >$@
$O/gen/cudatexts.o: build/gen/cudatexts.c $(CUDA_TEXT)
	@mkdir -p $(@D)
	$(COMPILE)
$O/gen/embed.o: build/gen/embed.c $(patsubst %,build/gen/%.gz,$(LUA) $(LUA_MADE))
	@mkdir -p $(@D)
	$(COMPILE)

# Tests with a Lua state, of their own or in the library, are those that include lua_test.h.
LUA_TESTS := $(patsubst %.c,$O/%,$(shell grep -l '"lua_test.h"' /dev/null $(C_TESTS)))
$O/spec/%.o: ALL_CFLAGS += -Ispec/c -isystem $(LUAJIT_INC)
$(LUA_TESTS): LDLIBS := $(LUAJIT_LIB) $(LDLIBS)
$O/spec/%_test: $O/spec/%_test.o $O/libjfl.a
	$(CC) $(CHECKED) $(PIE) $(LINK_HARD) -o $@ $^ $(LDLIBS)

# The emulated GPU of the tests: libraries with the entry points of NVIDIA's. A copy of a library
# without a soname is another version of it.
EMULATED := build/emulated/libcuda.so.1 build/emulated/libnvrtc.so.13 build/emulated/runtime.h \
  build/emulated/libcublasLt.so.13 build/emulated/libcudnn.so.9 build/emulated/libnccl.so.2
emulated: $(EMULATED) build/cache
EMULATED_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fPIC -shared -fvisibility=hidden -Ibuild -pthread
build/emulated/libcuda.so.1: $(addprefix spec/cuda/,driver.c memory.c stream.c fibre.c race.c order.c \
  emulated.h image.h)
	@mkdir -p $(@D)
	gcc $(EMULATED_CFLAGS) -Wl,-soname,libcuda.so.1 -o $@ $(filter %.c,$^) -ldl
build/emulated/libnvrtc.so.13: $(addprefix spec/cuda/,nvrtc.c image.h version.h runtime.h)
	@mkdir -p $(@D)
	gcc $(EMULATED_CFLAGS) -DEMULATED_SUM=$$(cat $^ | cksum | cut -d ' ' -f 1) -o $@ $< -ldl
build/emulated/libcublasLt.so.13: $(addprefix spec/cuda/,cublaslt.c emulated.h version.h) build/emulated/libcuda.so.1
	gcc $(EMULATED_CFLAGS) -O3 -o $@ $(filter %.c,$^) build/emulated/libcuda.so.1 -lm
build/emulated/libcudnn.so.9: $(addprefix spec/cuda/,cudnn.c graph.c cudnn.h emulated.h) build/emulated/libcuda.so.1
	gcc $(EMULATED_CFLAGS) -O3 -Wl,-soname,libcudnn.so.9 -o $@ $(filter %.c,$^) build/emulated/libcuda.so.1 -lm
build/emulated/libnccl.so.2: $(addprefix spec/cuda/,nccl.c emulated.h) build/emulated/libcuda.so.1
	gcc $(EMULATED_CFLAGS) -Wl,-soname,libnccl.so.2 -o $@ $(filter %.c,$^) build/emulated/libcuda.so.1
build/emulated/runtime.h: spec/cuda/runtime.h
	@mkdir -p $(@D)
	cp $< $@

# The kernels that were compiled for it; clones share them where they share what ccache keeps.
build/cache:
	@mkdir -p build
	$(if $(CCACHE),@kept="$${XDG_CACHE_HOME:-$$HOME/.cache}/jfl-emulated"; \
	  mkdir -p "$$kept" && ln -s "$$kept" $@ || mkdir -p $@,@mkdir -p $@)

# Faults of system calls in any program.
build/faults.so: spec/c/faults.c spec/c/faults.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -shared -fvisibility=hidden -o $@ $< -ldl

# The fuzzer: what reads files of others is compiled once more, to tell which places it reaches.
FUZZED := $(wildcard src/checkpoint/*.c src/data/*.c src/text/*.c src/world/*.c) src/base/json.c src/base/shape.c src/api/inflate.c \
  src/bind/convert.c
FUZZ_OBJ := $(FUZZED:%.c=$O/fuzz/%.o)
fuzzer: $O/fuzz/fuzz
$O/fuzz/src/bind/%.o: ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/fuzz/src/%.o: ALL_CFLAGS += -fsanitize-coverage=trace-pc,trace-cmp
$O/fuzz/src/%.o: src/%.c | $(GEN)
	@mkdir -p $(@D)
	$(COMPILE)
# What is called at each place must be quick, and is not what is tried.
$O/spec/fuzz/fuzz.o: ALL_CFLAGS += -O2 -fno-sanitize=all
$O/fuzz/fuzz: $(addprefix $O/spec/fuzz/,fuzz.o targets.o world.o) $(FUZZ_OBJ) $O/libjfl.a
	$(CC) $(CHECKED) $(PIE) $(LINK_HARD) -o $@ $^ $(LUAJIT_LIB) $(LDLIBS)

# The command once more, to count what it does; kernels and readers of files are those of the library.
COUNTED := $(filter-out src/data/% $(ELSEWHERE),$(wildcard src/*/*.c src/*/*/*.c))
COUNTED_OBJ := $(COUNTED:%.c=$O/count/%.o) $O/count/spec/counted/count.o
$(foreach r,$(LUA_ROOMS),$O/count/src/$r/%.o): ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/count/src/%.o: ALL_CFLAGS += -O0 -g0 -U_FORTIFY_SOURCE -fsanitize-coverage=trace-pc
$O/count/src/%.o: src/%.c Makefile | $(GEN)
	@mkdir -p $(@D)
	$(COMPILE)
$O/count/spec/%.o: spec/%.c
	@mkdir -p $(@D)
	$(COMPILE)
$O/counted: $(COUNTED_OBJ) $O/libjfl.a
	$(CC) $(CHECKED) $(PIE) $(LINK_HARD) -o $@ $^ -Wl,-E -Wl,--exclude-libs,libz.a \
	  $(addprefix -Wl$(COMMA)--wrap=,memcpy memmove memset calloc realloc jf_heed_interrupt) \
	  $(LUAJIT_LIB) $(LDLIBS)

# Lists are remade on every run and touched only when they change, so removing a file counts too.
build/gen/devicelist.h: FORCE
	@$(call remake,scripts/list.sh JFL_DEVICE DEVICE src/dev/*/*.c)
build/gen/oplist.h: FORCE
	@$(call remake,scripts/list.sh JFL_OP OP src/op/*.c src/optim/*.c)
build/gen/optimlist.h: FORCE
	@$(call remake,scripts/list.sh JFL_OPTIM OPTIM src/optim/*.c)
build/gen/lualist.h: FORCE
	@$(call remake,scripts/list.sh JF_LUA FUNCTION src/bind/*.c)
build/gen/rulelist.h: FORCE
	@$(call remake,scripts/list.sh "JF_[A-Z_]*RULE" RULE src/optim/*.c)
build/gen/cpulist.h: FORCE
	@$(call remake,scripts/list.sh JFL_CPU KERNEL kernels/cpu/*.c kernels/cpu/*/*.c)
build/gen/cudalist.h: FORCE
	@$(call remake,scripts/list.sh JFL_CUDA KERNEL kernels/cuda/*.c kernels/cuda/*.cu)
build/gen/cudatexts.c: FORCE
	@$(call remake,scripts/texts.sh kernels/cuda/*.cu*)
build/gen/passlist.h: FORCE
	@$(call remake,scripts/passes.sh src/pass/*.c src/pass/*/*.c)
build/gen/entries.h: FORCE
	@$(call remake,scripts/entries.sh src/jfl.h)
build/gen/embed.c: FORCE
	@$(call remake,scripts/embed.sh $(LUA) $(LUA_MADE))
build/gen/collected.lua: FORCE
	@$(call remake,scripts/collect.sh $(wildcard $(LUA)))
define remake
mkdir -p $(@D); $(1) >$@.tmp && if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
endef

demo:
	@scripts/setup demo
	@echo 'make: builds jfl, which takes minutes the first time'
	@$(MAKE) --no-print-directory -s -j2 all
	@build/jfl examples/demo.lua
test:
	@$(if $(OF),scripts/tests_of.sh $(OF),scripts/setup test && scripts/test.sh quick)
test-landing:
	@scripts/setup test
	@scripts/test.sh landing
test-deep:
	@scripts/setup test
	@scripts/test.sh deep $(SLICES)
map:
	@scripts/setup test
	@scripts/map/measure $(if $(OF),--of $(OF))
coverage:
	@luajit scripts/coverage.lua $(OF)
bench: all build/bench-copy
	@build/jfl scripts/bench/compare.lua
	@build/jfl scripts/bench/vocabulary.lua
	@build/jfl scripts/bench/memory.lua
	@build/jfl scripts/bench/compile.lua
roof: all emulated
	@LD_LIBRARY_PATH=build/emulated JFL_DEVICE=gpu JFL_EMULATED_COMPILE=0 \
	  XDG_CACHE_HOME="$$PWD/build/cache" build/jfl scripts/bench/roof.lua $(MODEL)
bench-onnx: all
	@build/jfl scripts/bench/onnx.lua $(or $(FOLDER),build/onnx)
bench-load: all build/bench-load
	@build/jfl scripts/bench/load.lua $(LOAD)
bench-frames: all
	@build/jfl scripts/bench/frames.lua $(or $(FRAMES),2000) $(or $(SECONDS),0)
build/bench-%: scripts/bench/%.c $O/libjfl.a
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -o $@ $< $O/libjfl.a $(LDLIBS)
fuzz:
	@scripts/fuzz.sh "$(or $(SECONDS),60)" $(TARGET)
soak: all
	build/jfl scripts/soak.lua "$(or $(SECONDS),3600)" $(SEED)
mutants:
	@luajit scripts/mutants.lua $(foreach o,OF N SEED FROM EACH MINUTES ID WORKERS,$(if $($o),$o='$($o)'))
golden: all
	JFL_GOLDEN=write build/jfl /usr/bin/busted spec
doc: all $(if $(shell command -v g++),emulated)
	@build/jfl scripts/doc.lua build/doc
kernels: all emulated
	@build/jfl scripts/kernels.lua $(OP)
lint: all
	@scripts/lint.sh
config:
	@printf '%s\n' 'CC=$(CC)' 'SAN=$(SAN)' 'DEBUG=$(DEBUG)' 'CFLAGS=$(CFLAGS)' \
	  'LUAJIT_INC=$(LUAJIT_INC)' 'LUAJIT_LIB=$(LUAJIT_LIB)' 'ZLIB_LIB=$(ZLIB_LIB)' 'objects in $O'
clean:
	rm -rf build

include scripts/package/install.mk

FORCE:
.PHONY: all emulated products objects tests fuzzer fuzz soak mutants demo test test-landing test-deep map coverage \
  bench bench-load bench-frames bench-onnx golden doc kernels lint config clean FORCE
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $O/src/script/opened.d $(CMD_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(COUNTED_OBJ:.o=.d) $(C_TESTS:%.c=$O/%.d) \
  $(addprefix $O/spec/fuzz/,fuzz.d targets.d world.d)
