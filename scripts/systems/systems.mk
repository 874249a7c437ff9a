# make system-NAME   jfl for another system, in build/systems/NAME: arm64 (Linux on 64-bit ARM), musl
#                    (one static program), windows
# make test-NAME     its tests, on an emulator where there must be one
# What both need is installed and fetched by `scripts/setup systems`.

SYSTEMS := arm64 musl windows
$(SYSTEMS:%=system-%): system-%:
	@$(MAKE) --no-print-directory -s SYSTEM=$* products
$(SYSTEMS:%=test-%): test-%:
	@scripts/systems/test $*
.PHONY: $(SYSTEMS:%=system-%) $(SYSTEMS:%=test-%)

ifdef SYSTEM
O := build/systems/$(SYSTEM)
include scripts/systems/$(SYSTEM).mk
endif
