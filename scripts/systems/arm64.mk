# jfl for Linux on 64-bit ARM: Debian's packages for that processor are unpacked in root.
CC := aarch64-linux-gnu-gcc
AR := aarch64-linux-gnu-ar
BRANCHES := -mbranch-protection=standard
LUAJIT_INC := $O/root/usr/include/luajit-2.1
SYSTEM_CFLAGS := -idirafter $O/root/usr/include
SYSTEM_LDFLAGS := -L$O/root/usr/lib/aarch64-linux-gnu
$O/root/packages:
	@scripts/systems/fetch arm64
SYSTEM_GEN := $O/root/packages

# Tests in C that an emulator does within seconds, and that neither compile nor load C.
C_TESTS := $(filter $(patsubst %,\%/%_test.c,across attr base checkpoint collective crash facts \
  functions graph inflate json late library loader misuse optim pace piece planted queue redefine \
  safetensors sim stack stream system tiles walk world),$(C_TESTS))
