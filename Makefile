# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
SOURCES := $(CURDIR)
CRATES := $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src
# Blanks separate the flags of compilers, which have these paths in them, and make's own words.
$(foreach path,SOURCES TARGET_DIR CRATES,$(if $(word 2,$($(path))),\
    $(error "$($(path))": a path with blanks, in which Punctual cannot be built. Move it, or name another CARGO_TARGET_DIR or CARGO_HOME)))
HOST_TRIPLE := $(shell scripts/host-triple.sh)
# What `agent` and `build` make programs for: TRIPLE=aarch64-unknown-linux-gnu on an x86-64 machine, for example.
TRIPLE ?= $(HOST_TRIPLE)
BINARY := $(TARGET_DIR)/$(TRIPLE)/release/punctual
AGENT := $(abspath $(TARGET_DIR))/$(TRIPLE)/agent/punctual
# Debian's cross compiler for what is not this machine's: gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, for example.
ifneq ($(TRIPLE),$(HOST_TRIPLE))
CROSS := $(subst -unknown,,$(TRIPLE))
export CARGO_TARGET_$(shell echo $(TRIPLE) | tr a-z- A-Z_)_LINKER := $(CROSS)-gcc
export CC_$(subst -,_,$(TRIPLE)) := $(CROSS)-gcc
export AR_$(subst -,_,$(TRIPLE)) := $(CROSS)-ar
endif
FIRST := $(TARGET_DIR)/$(TRIPLE)/first/punctual
# Says that the binary is whole, so that `make run` uses it.
WHOLE := $(BINARY).whole

# The home of who installs: not every shell writes it out behind `=`, and the quotes below keep it as it is.
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))
override DESTDIR := $(patsubst ~/%,$(HOME)/%,$(DESTDIR))
bindir := $(DESTDIR)$(PREFIX)/bin
datadir := $(DESTDIR)$(PREFIX)/share
bashdir := $(datadir)/bash-completion/completions
fishdir := $(datadir)/fish/vendor_completions.d
zshdir := $(datadir)/zsh/site-functions
mandir := $(datadir)/man/man1

.DEFAULT_GOAL := help
.PHONY: help run test bench lab calibrate agent build dist dist-check install uninstall check lint generate bless clean

help:
	@echo 'make run        build, and assess this machine in about a minute (works as any user)'
	@echo 'make test       the whole test suite; installs what it needs, or says what to install'
	@echo 'make arm64      the tests of what computes as arm64 programs, and those of arm64 guests, on any machine'
	@echo 'make bench      the budgets, compared with cyclictest; as root on a quiet machine'
	@echo 'make lab        kernels from source to a verdict, in virtual time; LAB="bisect reproducible" does more (an hour or so)'
	@echo 'make calibrate  how often verdicts are wrong and intervals miss, over thousands of simulated experiments'
	@echo 'make build      the whole program as one static binary: with PNG, Parquet and the small agent for guests'
	@echo 'make agent      what guests run, for a build of your own: PUNCTUAL_AGENT=FILE cargo build'
	@echo 'make dist       release archives and .deb packages for x86-64 and arm64, below target/packages; a cross compiler does the other one'
	@echo 'make dist-check what is in target/packages, in fresh minimal systems: install, run, purge; as root, with mmdebstrap'
	@echo 'make install    the binary, man pages and completions, to DESTDIR and PREFIX ($(PREFIX))'
	@echo 'make uninstall  what install put there'
	@echo 'make check      what a change needs before it is committed, in a minute or two: clippy, unit tests, generated files'
	@echo 'make lint       formatting, all clippys, layers, sizes, prose, spelling, generated files, rustdoc'
	@echo 'make generate   schemas, man pages, completions and docs/rules.md'
	@echo 'make bless      keep what is printed now as what the snapshot tests compare with'
	@echo 'make clean      remove all build output'

# Static, so that the same file runs on every host of an inventory and in a bare guest. --target keeps the flag away from
# build scripts and procedural macros, which cannot be static.
# Paths of this machine are in no program, so that two builds of the same sources give the same bytes.
REMAP := --remap-path-prefix=$(SOURCES)=. --remap-path-prefix=$(CRATES)=crates
MAPPED := CFLAGS='$(CFLAGS) -ffile-prefix-map=$(SOURCES)=. -ffile-prefix-map=$(CRATES)=crates'
# What the index does not use of SQLite stays out.
SQLITE := $(addprefix -USQLITE_,ENABLE_FTS3 ENABLE_FTS3_PARENTHESIS ENABLE_FTS5 ENABLE_RTREE ENABLE_DBSTAT_VTAB ENABLE_STAT4 SOUNDEX)
STATIC := $(MAPPED) LIBSQLITE3_FLAGS='$(SQLITE)' RUSTFLAGS='-C target-feature=+crt-static $(REMAP)'
COMPILE = $(STATIC) $(CARGO) build --locked --package punctual --target $(TRIPLE) --profile

build: agent
	PUNCTUAL_AGENT='$(AGENT)' $(COMPILE) release
	@touch '$(WHOLE)'
	@$(BINARY) kernel initramfs --force -o '$(AGENT).cpio.gz'
	@[ "$$(wc -c <'$(AGENT).cpio.gz')" -lt 3000000 ] || \
	    { echo 'Error: the initial RAM file system of a guest is not below 3 MB' >&2; exit 1; }
	@printf '%s: %s bytes\n' '$(BINARY)' "$$(wc -c <'$(BINARY)')"

# A program that aborts when it panics holds nothing of how its functions are unwound: LLVM's linker, which Rust has with it, leaves that out.
LLD = -C link-arg=-fuse-ld=lld -C link-arg=-B$(shell rustc --print sysroot)/lib/rustlib/$(HOST_TRIPLE)/bin/gcc-ld
NO_UNWINDING = -C force-unwind-tables=no $(LLD) -C link-arg=$(SOURCES)/packaging/no-unwinding.ld

# The same sources without the workbench, which the program then holds. It is loaded where it was linked.
COMPILE_AGENT = $(MAPPED) RUSTFLAGS='-C target-feature=+crt-static $(REMAP) -C relocation-model=static $(NO_UNWINDING)' \
    $(CARGO) build --locked --package punctual --no-default-features --bin punctual --target $(TRIPLE) --profile
agent:
	@scripts/prerequisites.sh build
	$(COMPILE_AGENT) agent
	@printf '%s: %s bytes\n' '$(AGENT)' "$$(wc -c <'$(AGENT)')"

# Each architecture's program holds its own agent, and comes with that of the other one.
TRIPLES := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
DIST := $(abspath $(TARGET_DIR))/packages
dist:
	@scripts/prerequisites.sh dist
	for triple in $(TRIPLES); do $(MAKE) agent TRIPLE=$$triple || exit; done
	for triple in $(TRIPLES); do $(MAKE) dist-program TRIPLE=$$triple || exit; done
	$(CARGO) xtask third-party --out '$(DIST)'
	scripts/dist.sh '$(DIST)' $(TRIPLES)
	scripts/deb.sh '$(DIST)' $(TRIPLES)

# C libraries since 2.36 can read packed relocations.
PACKED = $(shell getconf GNU_LIBC_VERSION | awk '$$2 + 0 > 2.355 { print "-C link-arg=-Wl,-z,pack-relative-relocs" }')
.PHONY: dist-program
dist-program:
	PUNCTUAL_AGENT='$(AGENT)' $(MAPPED) LIBSQLITE3_FLAGS='$(SQLITE)' \
	    RUSTFLAGS='-C target-feature=+crt-static $(REMAP) $(NO_UNWINDING) $(PACKED)' \
	    $(CARGO) build --profile dist --locked --package punctual --target $(TRIPLE)

dist-check:
	@scripts/prerequisites.sh dist
	scripts/dist-check.sh '$(DIST)'

# What a first assessment needs, which is there in a third of the time: no agent, no PNG, no Parquet, and only what measures and computes is
# optimised. The program says what it was made without. Where `make build` made the whole program, that is what runs.
run:
	@scripts/prerequisites.sh build
ifeq ($(wildcard $(WHOLE)),)
	$(COMPILE) first --no-default-features --features workbench
	$(FIRST) assess
else
	PUNCTUAL_AGENT='$(wildcard $(AGENT))' $(COMPILE) release
	$(BINARY) assess
endif

# Guests that boot the whole program as `cargo test` compiles it take minutes each, so they get an agent here too.
test: export PUNCTUAL_AGENT ?= $(abspath $(TARGET_DIR))/$(TRIPLE)/test-agent/punctual
# What keeps parts of crates for the next compilation takes a sixth of this one.
test: export CARGO_INCREMENTAL ?= 0
test:
	@scripts/prerequisites.sh test
ifeq ($(origin PUNCTUAL_AGENT),undefined)
	$(MAKE) test-agent
endif
	$(CARGO) test --workspace --no-run
	@$(MAKE) --no-print-directory --keep-going --jobs=5 test-program test-tune test-peers test-guests test-libraries
	@cat $(TARGET_DIR)/prerequisites.txt

# In five parts at the same time. Tests of the program take turns themselves (`machine::Turn`), so all of them are begun at once; of the others,
# three for each CPU. All parts but one of the longest are printed when they are over. That most tests wait for more than a minute is no news.
# Cargo is not to look for make's jobs.
.PHONY: test-guests test-libraries test-peers test-tune test-program
PYTHON := $(wildcard $(abspath $(TARGET_DIR))/venv/bin/python)
TESTS = unset MAKEFLAGS MFLAGS; $(if $(PYTHON),PUNCTUAL_PYTHON='$(PYTHON)') RUST_TEST_THREADS=$(1) $(CARGO) test --workspace --no-fail-fast
ALL := 1000
FEW := $(or $(RUST_TEST_THREADS),$(shell expr 3 '*' "$$(nproc)"))
# Test programs whose tests take turns, and all others.
TURNS := cyclictest import program tune
PROGRAMS := $(notdir $(basename $(wildcard crates/*/tests/*.rs xtask/tests/*.rs)) $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs)))
OTHERS := $(foreach name,$(filter-out $(TURNS),$(sort $(PROGRAMS))),--test $(name))
NO_NEWS = grep --line-buffered -v 'has been running for over'
LATER = log='$(TARGET_DIR)/$(1).log'; status=0; { $(2) } 2>&1 | $(NO_NEWS) >"$$log" || status=1; cat "$$log"; exit $$status
test-guests test-libraries test-peers test-tune test-program: SHELL := /bin/bash
test-guests test-libraries test-peers test-tune test-program: .SHELLFLAGS := -o pipefail -c
test-guests:
	@$(call LATER,guests,$(call TESTS,$(ALL)) --test program -- guest;)
test-libraries:
	@$(call LATER,libraries,one=0; $(call TESTS,$(FEW)) --lib --bins $(OTHERS) || one=1; \
	    $(call TESTS,$(FEW)) --doc && ((one == 0));)
test-peers:
	@$(call LATER,peers,$(call TESTS,$(ALL)) --test cyclictest --test import;)
test-tune:
	@$(call LATER,tune,$(call TESTS,$(ALL)) --test tune;)
test-program:
	@{ $(call TESTS,$(ALL)) --test program -- --skip guest; } 2>&1 | $(NO_NEWS)

# Nightly, or by hand on whatever machine: the crates that compute, as arm64 programs under qemu-user (on arm64: as they are), and the
# tests of arm64 guests. What they find is to be the same to the last digit, so the same tests are run.
ARM64 := aarch64-unknown-linux-gnu
PURE := model stats loops peers verdict report
arm64: export QEMU_CPU ?= cortex-a57
arm64:
	@scripts/prerequisites.sh arm64
	$(MAKE) test-agent TRIPLE=$(ARM64)
	$(MAKE) arm64-pure TRIPLE=$(ARM64)
	PUNCTUAL_TEST_REQUIRE=arm64 $(CARGO) test --package punctual --test program -- arm64

.PHONY: arm64 arm64-pure test-agent
test-agent:
	$(COMPILE_AGENT) test-agent

ifneq ($(TRIPLE),$(HOST_TRIPLE))
arm64-pure: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER := qemu-aarch64-static
endif
arm64-pure:
	$(STATIC) $(CARGO) test --target $(TRIPLE) --lib --tests $(PURE:%=--package punctual-%)

bench: build
	@scripts/prerequisites.sh bench
	$(CARGO) xtask bench --punctual $(BINARY) $(BENCH)
	scripts/import-time.sh $(BINARY)

# Nightly: it takes hours the first time on a small machine, and minutes after that.
lab: build
	@scripts/prerequisites.sh lab
	PUNCTUAL=$(abspath $(BINARY)) scripts/lab.sh $(LAB)

# EXPERIMENTS=10000 takes five times as long as the 2000 that it makes otherwise; EXPERIMENTS='2000 sequential tails' are two of its
# tables.
calibrate:
	$(CARGO) run --release --quiet --package punctual-stats --example calibrate -- $(EXPERIMENTS)

# Does not build: `make build` is the user's work, this is root's.
install:
	@test -x '$(BINARY)' || { echo 'Error: $(BINARY) is missing. Run make build first.' >&2; exit 1; }
	install -d '$(bindir)' '$(mandir)' '$(bashdir)' '$(fishdir)' '$(zshdir)'
	install -m 755 '$(BINARY)' '$(bindir)/punctual'
	install -m 644 docs/man/*.1 '$(mandir)'
	install -m 644 docs/completions/punctual.bash '$(bashdir)/punctual'
	install -m 644 docs/completions/punctual.fish '$(fishdir)/punctual.fish'
	install -m 644 docs/completions/_punctual '$(zshdir)/_punctual'

uninstall:
	rm -f '$(bindir)/punctual' '$(mandir)/punctual.1' '$(mandir)'/punctual-*.1
	rm -f '$(bashdir)/punctual' '$(fishdir)/punctual.fish' '$(zshdir)/_punctual'

lint:
	@scripts/prerequisites.sh lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy --package punctual --no-default-features -- -D warnings
	$(CARGO) clippy --package punctual --no-default-features --features workbench -- -D warnings
	$(CARGO) xtask check-layers
	$(CARGO) xtask check-sizes
	$(CARGO) xtask check-prose
	$(TARGET_DIR)/venv/bin/typos
	$(CARGO) xtask generate --check
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

# What a change needs before it is committed: no privilege, no installation, no guest.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask check-layers
	$(CARGO) xtask check-sizes
	$(CARGO) xtask check-prose
	$(CARGO) xtask generate --check
	$(CARGO) test --workspace --lib --quiet

generate:
	$(CARGO) xtask generate

# Keeps what is printed now as what the snapshot tests compare with. Read the difference before you commit it.
bless:
	PUNCTUAL_TEST_BLESS=1 $(CARGO) test --package punctual-report --package punctual-host
	git status --short

clean:
	$(CARGO) clean
