# The build of smelt: one non-recursive GNU Makefile. `make help` lists the targets.
#
# Every variant of the build (asan, clang, fuzz) has its own directory below BUILD, so that
# none disturbs another. Sources are found by wildcard: a new file needs no line here.

ifneq ($(filter help clean distclean,$(or $(MAKECMDGOALS),all)),$(or $(MAKECMDGOALS),all))
include config.mk
endif

BUILD   ?= build
prefix  ?= /usr/local
VERSION := $(shell cat VERSION)

# Warnings stop the build for developers (a git checkout), not for those who build a release.
WERROR       ?= $(if $(wildcard .git),1,0)
SANITIZE     ?= 0
FUZZ_SECONDS ?= 600

# Parallel unless told otherwise; a make below another one shares that one's jobs.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
MAKEFLAGS += --no-builtin-rules

# An installed smelt finds its library here. A variant build (BUILD=build/asan) is never
# installed and uses the library of this source tree.
DATA_DIR ?= $(if $(findstring /,$(BUILD)),$(CURDIR),$(prefix)/share/smelt)

CFLAGS ?= -O2 -g
# No contraction: interpreter and compiled oracle must agree to the last bit.
BASE_FLAGS = -std=c17 -D_GNU_SOURCE -Isrc -Iinclude -I. -Wall -Wextra -pedantic -ffp-contract=off \
             $(if $(filter 1,$(WERROR)),-Werror) $(SANITIZE_FLAGS)
# SANITIZE is 0, 1 or fuzz.
SANITIZE_FLAGS = $(SANITIZE_FLAGS_$(SANITIZE))
SANITIZE_FLAGS_1 = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_FLAGS_fuzz = -fsanitize=fuzzer-no-link $(SANITIZE_FLAGS_1)
DEFINES := -DSMELT_VERSION='"$(VERSION)"' -DSMELT_DATA_DIR='"$(DATA_DIR)"'
# STATIC=1: for a machine that has no libsqlite3; glibc there is as new as here, or newer.
LDLIBS  := $(if $(filter 1,$(STATIC)),-l:libsqlite3.a,-lsqlite3) -lm -ldl -lpthread
COMPILE  = $(CC) $(BASE_FLAGS) $(DEFINES) $(CFLAGS) $(CPPFLAGS)
LINK     = $(CC) $(BASE_FLAGS) $(CFLAGS) $(LDFLAGS)

# ---------------------------------------------------------------------------------- sources

sources_in = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
objects_of = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# A program of its own: the process in which the driver of a device runs.
DEVICE_SOURCE   := src/target/runner.c
COMMAND_SOURCES := $(call sources_in,src/cmd)
LIBRARY_SOURCES := $(filter-out src/cmd/% $(DEVICE_SOURCE),$(sort $(wildcard src/*/*.c src/*/*/*.c)))
UNIT_SOURCES    := $(call sources_in,tests/unit)
REPLAY_SOURCE   := $(wildcard tests/fuzz/replay_main.c)
FUZZ_SOURCES    := $(filter-out $(REPLAY_SOURCE),$(sort $(wildcard tests/fuzz/*.c)))
RUNNER_SOURCES  := $(sort $(wildcard tests/tools/*.c))
BENCH_SOURCES   := $(sort $(wildcard bench/*.c))
EVERY_SOURCE    := $(COMMAND_SOURCES) $(DEVICE_SOURCE) $(LIBRARY_SOURCES) $(UNIT_SOURCES) $(REPLAY_SOURCE) \
                   $(FUZZ_SOURCES) $(RUNNER_SOURCES) tests/fault/inject.c $(BENCH_SOURCES)
FORMATTED       := $(EVERY_SOURCE) $(sort $(wildcard examples/*.c runtime/*.[ch] tests/llm/*.c)) \
                   $(sort $(wildcard include/*.h src/*/*.h src/*/*/*.h tests/*/*.h bench/*.h))

LIBRARY := $(BUILD)/libsmelt.a
BINARY  := $(if $(COMMAND_SOURCES),$(BUILD)/smelt)
CELL    := $(BUILD)/smelt-cell $(BUILD)/smelt-device
UNIT    := $(if $(UNIT_SOURCES),$(BUILD)/tests/unit)
RUNNERS := $(if $(RUNNER_SOURCES),$(BUILD)/tests/runner) $(BUILD)/tests/inject
REPLAYS := $(if $(REPLAY_SOURCE),$(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(FUZZ_SOURCES)))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/run/%,$(FUZZ_SOURCES))
BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(BENCH_SOURCES))

V ?= 0
Q   := $(if $(filter 1,$(V)),,@)
say  = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2))

.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all library test test-programs demo examples install uninstall check-asan check-clang fuzz \
        fuzzers run-fuzzers format check-format check-layers bench clean distclean help FORCE

# ---------------------------------------------------------------------------------- targets

all: $(LIBRARY) $(BINARY) $(CELL)          ## build/smelt and build/libsmelt.a (the default)

test: all test-programs            ## every test; the last line is the sum
	$(Q)BUILD='$(BUILD)' CLANG_FORMAT='$(CLANG_FORMAT)' tests/run

demo: all                          ## a search of about 30 s, its summary and its report
	$(Q)BUILD='$(BUILD)' tools/demo

check-asan:                        ## every test under the address and undefined sanitizers
	$(Q)ASAN_OPTIONS=exitcode=99:allocator_may_return_null=1:$$ASAN_OPTIONS \
	UBSAN_OPTIONS=exitcode=99:print_stacktrace=1:$$UBSAN_OPTIONS \
	$(MAKE) --no-print-directory BUILD=build/asan SANITIZE=1 CFLAGS='-O1 -g' test

check-clang:                       ## the whole build, tests included, by clang without a warning
	$(Q)$(call need,$(CLANG),clang)
	$(Q)$(MAKE) --no-print-directory BUILD=build/clang CC='$(CLANG)' WERROR=1 all test-programs

fuzz:                              ## each fuzzer for FUZZ_SECONDS (600) on its kept corpus
	$(Q)$(call need,$(CLANG),clang)
	$(Q)$(MAKE) --no-print-directory BUILD=build/fuzz CC='$(CLANG)' SANITIZE=fuzz \
	    CFLAGS='-O1 -g' fuzzers
	$(Q)BUILD=build/fuzz FUZZ_SECONDS='$(FUZZ_SECONDS)' tests/fuzz/run $(notdir $(FUZZERS))

format:                            ## clang-format every C file in place
	$(Q)$(call need,$(CLANG_FORMAT),clang-format)
	$(Q)$(CLANG_FORMAT) -i $(FORMATTED)

check-format:                      ## fail if clang-format would change a file
	$(Q)$(call need,$(CLANG_FORMAT),clang-format)
	@mkdir -p $(BUILD)
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED) 2>$(BUILD)/format.log || \
	    { awk -F: '/^[^ ].*error/ && !seen[$$1]++ { print $$1 ":" $$2 ": clang-format differs" }' \
	      $(BUILD)/format.log; echo '(make format repairs this)'; exit 1; }

check-layers:                      ## fail on an include that goes the wrong way
	$(Q)tools/layers

bench: all $(BENCHES)              ## the measured promises, as one table
	$(Q)BUILD='$(BUILD)' bench/run

library: $(LIBRARY)                ## build/libsmelt.a only

test-programs: $(UNIT) $(RUNNERS) $(REPLAYS) $(BENCHES) ## build what `make test` runs, and what `make bench` does
	@:

fuzzers: $(FUZZERS)
	@:

clean:                             ## remove build/
	$(Q)rm -rf build

distclean: clean                   ## remove build/ and what configure wrote
	$(Q)rm -f config.mk

help:                              ## this list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | \
	    awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo 'Variables: CC CFLAGS BUILD prefix DESTDIR WERROR=0|1 V=1 FUZZ_SECONDS'
	@echo 'Variants:  make CC=clang BUILD=build/clang   (does not disturb build/)'

need = test -n '$(1)' || { echo 'this target needs $(2): ./bootstrap --tests, then ./configure' >&2; exit 3; }

# ---------------------------------------------------------------------------------- install

bindir        = $(DESTDIR)$(prefix)/bin
libexecdir    = $(DESTDIR)$(prefix)/libexec/smelt
datadir       = $(DESTDIR)$(prefix)/share/smelt
mandir        = $(DESTDIR)$(prefix)/share/man/man1
completiondir = $(DESTDIR)$(prefix)/share/bash-completion/completions

install: all                       ## into DESTDIR + prefix (./configure --prefix=DIR)
	$(Q)test '$(DATA_DIR)' = '$(prefix)/share/smelt' || \
	    { echo 'a variant build (BUILD=$(BUILD)) cannot be installed' >&2; exit 2; }
	$(call say,INST,$(bindir)/smelt)
	$(Q)install -d '$(bindir)' '$(libexecdir)' '$(datadir)/lib' '$(datadir)/baselines' '$(mandir)' '$(completiondir)'
	$(Q)install -m 755 $(BUILD)/smelt '$(bindir)/smelt'
	$(Q)install -m 755 $(BUILD)/smelt-cell '$(libexecdir)/smelt-cell'
	$(Q)install -m 755 $(BUILD)/smelt-device '$(libexecdir)/smelt-device'
	$(Q)install -m 644 lib/*.op '$(datadir)/lib/'
	$(Q)for suite in tasks/*/; do install -d "$(datadir)/$$suite" && \
	    install -m 644 $$suite*.op "$(datadir)/$$suite" || exit 1; done
	$(Q)find kb -name '*.md' | while read -r page; do \
	    install -D -m 644 "$$page" "$(datadir)/$$page" || exit 1; done
	$(Q)install -m 755 tools/baselines/*.py '$(datadir)/baselines/'
	$(Q)$(BUILD)/smelt help --man >$(BUILD)/smelt.1
	$(Q)$(BUILD)/smelt help --completion bash >$(BUILD)/completion.bash
	$(Q)install -m 644 $(BUILD)/smelt.1 '$(mandir)/smelt.1'
	$(Q)install -m 644 $(BUILD)/completion.bash '$(completiondir)/smelt'

examples: $(BUILD)/examples/judge $(CELL)  ## build/examples/judge, which calls the library

$(BUILD)/examples/%: examples/%.c $(LIBRARY) $(BUILD)/flags
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $< $(LIBRARY) -o $@ $(LDLIBS)

uninstall:                         ## remove what install put there
	$(Q)rm -f '$(bindir)/smelt' '$(mandir)/smelt.1' '$(completiondir)/smelt'
	$(Q)rm -rf '$(datadir)' '$(libexecdir)'

# ------------------------------------------------------------------------------------ rules

# CC given to make is for that one build; CC in the environment is a choice to keep.
config.mk: configure
	$(Q)$(if $(findstring command,$(origin CC)),env -u CC )./configure --quiet $(CONFIGURE_ARGUMENTS)

# Rewritten only when its content changes; what depends on it is then rebuilt.
define remember
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
endef

$(BUILD)/flags: FORCE
	$(call remember,$(COMPILE) | $(LDFLAGS))
$(BUILD)/members: FORCE
	$(call remember,$(LIBRARY_SOURCES) $(COMMAND_SOURCES) $(UNIT_SOURCES) $(RUNNER_SOURCES))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c $< -o $@

$(LIBRARY): $(call objects_of,$(LIBRARY_SOURCES)) $(BUILD)/members
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/smelt: $(call objects_of,$(COMMAND_SOURCES)) $(LIBRARY) $(BUILD)/members
	$(call say,LINK,$@)
	$(Q)$(LINK) $(filter %.o %.a,$^) -o $@ $(LDLIBS)

# The cell runs beside kernels: libc only, and no sanitizer to reserve the address space.
$(BUILD)/smelt-cell: runtime/cell.c runtime/cell.h $(BUILD)/flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -fsanitize%,$(BASE_FLAGS)) -O2 $< -o $@ -ldl

# So does this one, beside drivers too, which break under a sanitizer: then it is made without.
ifeq ($(SANITIZE),0)
$(BUILD)/smelt-device: $(call objects_of,$(DEVICE_SOURCE)) $(LIBRARY) $(BUILD)/members
	$(call say,LINK,$@)
	$(Q)$(LINK) $(filter %.o %.a,$^) -o $@ $(LDLIBS)
else
DEVICE_ROOMS := $(foreach room,base os target,$(call sources_in,src/$(room)))
$(BUILD)/smelt-device: $(DEVICE_ROOMS) $(BUILD)/flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(filter-out -fsanitize%,$(BASE_FLAGS)) $(DEFINES) -O2 $(DEVICE_ROOMS) -o $@ $(LDLIBS)
endif

$(BUILD)/tests/unit: $(call objects_of,$(UNIT_SOURCES)) $(LIBRARY) $(BUILD)/members
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o %.a,$^) -o $@ $(LDLIBS)

# The runner is not what is tested: it frees nothing and needs no sanitizer.
$(BUILD)/tests/runner $(BUILD)/tests/inject \
$(call objects_of,$(RUNNER_SOURCES) tests/fault/inject.c): private SANITIZE_FLAGS :=

$(BUILD)/tests/runner: $(call objects_of,$(RUNNER_SOURCES)) $(BUILD)/members
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o,$^) -o $@ $(LDLIBS)

$(BUILD)/tests/inject: $(BUILD)/obj/tests/fault/inject.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $< -o $@ $(LDLIBS)

$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay_main.o $(LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o %.a,$^) -o $@ $(LDLIBS)

$(BUILD)/run/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -fsanitize=fuzzer $(filter %.o %.a,$^) -o $@ $(LDLIBS)

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o $(LIBRARY)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o %.a,$^) -o $@ $(LDLIBS)

-include $(patsubst %.c,$(BUILD)/obj/%.d,$(EVERY_SOURCE))
