# make           build/jfl (the command), build/jfl.so (the Lua module), build/libjfl.a (the C library)
# make demo      install what is missing, build, train LeNet on Fashion-MNIST
# make test      install what is missing, build, run every test; the last line is the verdict
# make bench     milliseconds per step and per op beside those of PyTorch, which scripts/bench/setup
#                installs in build/peer; ops that take rows beside memcpy; compile times
# make bench-load  the same beside other programs, which it runs itself: JFL_PEER=python compares
# make fuzz      give changed files to every reader: SECONDS=60 for each, or for TARGET=npz alone
# make golden    rewrite spec/golden from what the code prints now
# make doc       the guide and the reference as Markdown and as a site of HTML, and type stubs for
#                editors, in build/doc
# make kernels   the GPU's kernels for each op, in which dtypes
# make lint      what includes and requires what, names, columns, exported symbols, luacheck
# make config    print the switches; make clean removes build/
#
# Switches: CC=gcc|clang  DEBUG=1  SAN=address,undefined|thread  CFLAGS="more flags"
# LUAJIT_INC=directory of lua.h

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
DEBUG ?=
CFLAGS ?=
LUAJIT_INC ?= /usr/include/luajit-2.1

# Objects of one setting never meet those of another.
SETTING := $(subst /,_,$(subst $(eval) ,_,$(CC)))$(if $(SAN),-$(SAN))$(if $(DEBUG),-debug)
O := build/obj-$(SETTING)

OPT := $(if $(DEBUG),-Og,$(if $(SAN),-O1,-O2))
# Kernels are left by no Lua error, so they need no tables for unwinding, which are a tenth of them.
# Of the ops' own files only the loops need to be fast.
NUMERIC := -fno-math-errno -fno-trapping-math $(if $(DEBUG)$(SAN),,-fno-asynchronous-unwind-tables)
FAST := $(if $(DEBUG)$(SAN),,-O3) $(NUMERIC)
LOOPS := $(if $(DEBUG)$(SAN)$(findstring clang,$(CC)),,-ftree-vectorize -fvect-cost-model=dynamic) \
  $(NUMERIC)
CHECKED := $(if $(DEBUG)$(SAN),-DJF_DEBUG) \
  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion \
  -Wno-sign-conversion
# What turns a write past an end into the end of the program; spec/products_spec.lua looks at the
# products. The sanitizers see more, and FORTIFY needs optimization.
HARD := -fstack-protector-strong -fcf-protection \
  $(if $(DEBUG)$(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
LINK_HARD := -Wl,-z,relro,-z,now,-z,noexecstack
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(OPT) -g $(WARN) $(HARD) -fPIC -fvisibility=hidden -pthread \
  -Isrc -Ikernels -Ibuild $(CHECKED)
LDLIBS := -l:libz.a -ldl -lm -pthread

LIB_SRC := $(filter-out src/cmd/%,$(wildcard src/*/*.c src/*/*/*.c)) \
  $(wildcard kernels/cpu/*.c kernels/cpu/*/*.c kernels/cuda/*.c)
CUDA_SRC := $(wildcard kernels/cuda/*.cu)
CMD_SRC := $(wildcard src/cmd/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$O/%.o) $(CUDA_SRC:%.cu=$O/%.o) $O/gen/embed.o $O/gen/cudatexts.o
CMD_OBJ := $(CMD_SRC:%.c=$O/%.o)
LUA := $(wildcard lua/jfl/*.lua lua/jfl/*/*.lua lua/jfl/*/*/*.lua)
GEN := build/gen/devicelist.h build/gen/oplist.h build/gen/optimlist.h build/gen/cpulist.h build/gen/cudalist.h \
  build/gen/passlist.h build/gen/entries.h build/gen/embed.c \
  build/gen/cudatexts.c
TESTS := $(patsubst spec/c/%.c,$O/spec/%,$(wildcard spec/c/*_test.c))

all: build/jfl build/jfl.so build/libjfl.a
products: $O/jfl $O/jfl.so $O/libjfl.a
objects: $(LIB_OBJ) $(CMD_OBJ)
tests: $(TESTS) $(if $(SAN),,build/counted) emulated

# build/ itself has the products of the setting that was built last.
build/jfl build/jfl.so build/libjfl.a build/counted: build/%: $O/% FORCE
	@cmp -s $< $@ || { cp $< $@.tmp && mv -f $@.tmp $@; }

# -Wl,-E: C modules that scripts load find the symbols of Lua in the command.
$O/jfl: $(CMD_OBJ) $O/libjfl.a
	$(CC) $(CHECKED) -pie $(LINK_HARD) -o $@ $^ -Wl,-E -Wl,--exclude-libs,libz.a -l:libluajit-5.1.a $(LDLIBS)

# Lua's symbols come from the host program; -z nodelete, as worker threads may still run when it
# would be unloaded.
$O/jfl.so: $(LIB_OBJ)
	$(CC) $(CHECKED) -shared $(LINK_HARD) -Wl,-z,nodelete -Wl,--exclude-libs,ALL -o $@ $^ $(LDLIBS)

$O/libjfl.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$O/src/op/%.o $O/src/optim/%.o $O/src/run/initial.o: OPT += $(LOOPS)
$O/src/data/%.o $O/kernels/%.o $O/src/dev/number.o: OPT += $(FAST)
# Polynomials and products take half as long where a product and a sum are one instruction.
$(patsubst %,$O/kernels/cpu/%.o,attention cross_entropy functions recurrent row_norm softmax tiles): \
  ALL_CFLAGS += -ffp-contract=fast
$O/src/bind/%.o $O/src/cmd/%.o: ALL_CFLAGS += -isystem $(LUAJIT_INC)
# ThreadSanitizer does not see that Lua's errors leave functions, and would count them as entered.
ifeq ($(SAN)$(findstring gcc,$(CC)),threadgcc)
$O/src/bind/%.o $O/src/cmd/%.o: ALL_CFLAGS += --param tsan-instrument-func-entry-exit=0
endif
$O/%.o: %.c Makefile | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
build/gen/lua/%.gz: lua/% scripts/embedded.awk
	@mkdir -p $(@D)
	awk -f scripts/embedded.awk $< | gzip -9n >$@
# The GPU's kernels: the half of a file that is C is compiled here, and its text is embedded.
$O/kernels/cuda/%.o: kernels/cuda/%.cu Makefile | $(GEN)
	@mkdir -p $(@D)
	$(CC) -x c $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
CUDA_TEXT := $(patsubst kernels/cuda/%,build/gen/cuda/%,$(CUDA_SRC) $(wildcard kernels/cuda/*.cuh))
build/gen/cuda/%: kernels/cuda/% scripts/device.awk
	@mkdir -p $(@D)
	awk -f scripts/device.awk $< >$@
$O/gen/cudatexts.o: build/gen/cudatexts.c $(CUDA_TEXT)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$O/gen/embed.o: build/gen/embed.c $(LUA:%=build/gen/%.gz)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$O/spec/bind_test $O/spec/states_test $O/spec/delivery_test: ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/spec/bind_test $O/spec/states_test $O/spec/delivery_test: LDLIBS := -l:libluajit-5.1.a $(LDLIBS)
$O/spec/misuse_test: build/gen/entries.h
$O/spec/%: spec/c/%.c $O/libjfl.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -o $@ $< $O/libjfl.a $(LDLIBS)

# The emulated GPU of the tests: libraries with the entry points of NVIDIA's.
EMULATED := build/emulated/libcuda.so.1 build/emulated/libnvrtc.so.13 build/emulated/runtime.h.gch \
  build/emulated/libcublasLt.so.13 build/emulated/libcudnn.so.9
emulated: $(EMULATED)
EMULATED_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fPIC -shared -fvisibility=hidden -Ibuild -pthread
build/emulated/libcuda.so.1: $(addprefix spec/cuda/,driver.c memory.c stream.c fibre.c emulated.h image.h)
	@mkdir -p $(@D)
	gcc $(EMULATED_CFLAGS) -Wl,-soname,libcuda.so.1 -o $@ $(filter %.c,$^) -ldl
build/emulated/libnvrtc.so.13: spec/cuda/nvrtc.c spec/cuda/image.h
	@mkdir -p $(@D)
	gcc $(EMULATED_CFLAGS) -Wl,-soname,libnvrtc.so.13 -o $@ $< -ldl
build/emulated/libcublasLt.so.13: $(addprefix spec/cuda/,cublaslt.c emulated.h) build/emulated/libcuda.so.1
	gcc $(EMULATED_CFLAGS) -O3 -Wl,-soname,libcublasLt.so.13 -o $@ $(filter %.c,$^) build/emulated/libcuda.so.1 -lm
build/emulated/libcudnn.so.9: $(addprefix spec/cuda/,cudnn.c graph.c cudnn.h emulated.h) build/emulated/libcuda.so.1
	gcc $(EMULATED_CFLAGS) -O3 -Wl,-soname,libcudnn.so.9 -o $@ $(filter %.c,$^) build/emulated/libcuda.so.1 -lm
build/emulated/runtime.h: spec/cuda/runtime.h
	@mkdir -p $(@D)
	cp $< $@
build/emulated/runtime.h.gch: build/emulated/runtime.h
	g++ -std=c++17 -O1 -fPIC -fvisibility=hidden -Wall -Wno-unused-function -Wno-unused-variable \
	  -Wno-unknown-pragmas -fno-strict-aliasing -ffp-contract=off -x c++-header -o $@ $<

# The fuzzer: what reads files of others is compiled once more, to tell which places it reaches.
FUZZED := $(wildcard src/checkpoint/*.c src/data/*.c) src/base/json.c src/base/shape.c src/api/inflate.c \
  src/bind/convert.c
FUZZ_OBJ := $(FUZZED:%.c=$O/fuzz/%.o)
fuzzer: $O/fuzz/fuzz
$O/fuzz/src/bind/%.o $O/fuzz/fuzz: ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/fuzz/src/%.o: src/%.c | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -fsanitize-coverage=trace-pc,trace-cmp -MMD -MP -c -o $@ $<
$O/fuzz/fuzz: spec/fuzz/fuzz.c spec/fuzz/targets.c spec/fuzz/fuzz.h spec/c/scratch.h $(FUZZ_OBJ) $O/libjfl.a
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -o $@ $(filter %.c %.o %.a,$^) -l:libluajit-5.1.a $(LDLIBS)

# The command once more, to count what it does; kernels and readers of files are those of the library.
COUNTED := $(filter-out src/data/%,$(wildcard src/*/*.c src/*/*/*.c))
COUNTED_OBJ := $(COUNTED:%.c=$O/count/%.o) $O/count/spec/counted/count.o
COMMA := ,
$O/count/src/bind/%.o $O/count/src/cmd/%.o: ALL_CFLAGS += -isystem $(LUAJIT_INC)
$O/count/src/%.o: src/%.c Makefile | $(GEN)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -O0 -g0 -U_FORTIFY_SOURCE -fsanitize-coverage=trace-pc -MMD -MP -c -o $@ $<
$O/count/spec/%.o: spec/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$O/counted: $(COUNTED_OBJ) $O/libjfl.a
	$(CC) $(CHECKED) -pie $(LINK_HARD) -o $@ $^ -Wl,-E -Wl,--exclude-libs,libz.a \
	  $(addprefix -Wl$(COMMA)--wrap=,memcpy memmove memset calloc realloc) \
	  -l:libluajit-5.1.a $(LDLIBS)

# Lists are remade on every run and touched only when they change, so removing a file counts too.
build/gen/devicelist.h: FORCE
	@$(call remake,scripts/list.sh JFL_DEVICE DEVICE src/dev/*/*.c)
build/gen/oplist.h: FORCE
	@$(call remake,scripts/list.sh JFL_OP OP src/op/*.c src/optim/*.c)
build/gen/optimlist.h: FORCE
	@$(call remake,scripts/list.sh JFL_OPTIM OPTIM src/optim/*.c)
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
	@$(call remake,scripts/embed.sh $(LUA))
define remake
mkdir -p $(@D); $(1) >$@.tmp && if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
endef

setup:
	@scripts/setup
demo: setup
	@$(MAKE) --no-print-directory -s -j2 all
	@build/jfl examples/demo.lua
test: setup
	@scripts/test.sh
bench: all build/bench-copy
	@build/jfl scripts/bench/compare.lua
	@build/jfl scripts/bench/vocabulary.lua
	@build/jfl scripts/bench/memory.lua
	@build/jfl scripts/bench/compile.lua
bench-load: all build/bench-load
	@build/jfl scripts/bench/load.lua $(LOAD)
build/bench-%: scripts/bench/%.c $O/libjfl.a
	$(CC) $(ALL_CFLAGS) $(CFLAGS) -o $@ $< $O/libjfl.a $(LDLIBS)
fuzz:
	@scripts/fuzz.sh "$(or $(SECONDS),60)" $(TARGET)
golden: all
	JFL_GOLDEN=write build/jfl /usr/bin/busted spec
doc: all emulated
	@build/jfl scripts/doc.lua build/doc
kernels: all emulated
	@build/jfl scripts/kernels.lua $(OP)
lint: all
	@scripts/lint.sh
config:
	@printf '%s\n' 'CC=$(CC)' 'SAN=$(SAN)' 'DEBUG=$(DEBUG)' 'CFLAGS=$(CFLAGS)' \
	  'LUAJIT_INC=$(LUAJIT_INC)' 'objects in $O'
clean:
	rm -rf build

FORCE:
.PHONY: all emulated products objects tests fuzzer fuzz setup demo test bench bench-load golden doc kernels lint config clean FORCE
.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(COUNTED_OBJ:.o=.d) $(TESTS:=.d)
