# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
TRIPLE := $(shell scripts/host-triple.sh)
BINARY := $(TARGET_DIR)/$(TRIPLE)/release/punctual
AGENT := $(abspath $(TARGET_DIR))/$(TRIPLE)/agent/punctual
# Says that the binary is whole, so that `make run` does not take anything out of it again.
WHOLE := $(BINARY).whole

bindir := $(DESTDIR)$(PREFIX)/bin
datadir := $(DESTDIR)$(PREFIX)/share
bashdir := $(datadir)/bash-completion/completions
fishdir := $(datadir)/fish/vendor_completions.d
zshdir := $(datadir)/zsh/site-functions
mandir := $(datadir)/man/man1

.DEFAULT_GOAL := help
.PHONY: help run test bench lab calibrate agent build install uninstall check lint generate bless clean

help:
	@echo 'make run        build, and assess this machine in about a minute (works as any user)'
	@echo 'make test       the whole test suite; installs what it needs, or says what to install'
	@echo 'make bench      the budgets, compared with cyclictest; as root on a quiet machine'
	@echo 'make lab        kernels from source to a verdict, in virtual time; LAB="bisect reproducible" does more (an hour or so)'
	@echo 'make calibrate  how often verdicts are wrong and intervals miss, over thousands of simulated experiments'
	@echo 'make build      the whole program as one static binary: with PNG, Parquet and the small agent for guests'
	@echo 'make agent      what guests run, for a build of your own: PUNCTUAL_AGENT=FILE cargo build'
	@echo 'make install    the binary, man pages and completions, to DESTDIR and PREFIX ($(PREFIX))'
	@echo 'make uninstall  what install put there'
	@echo 'make check      what a change needs before it is committed, in a minute or two: clippy, unit tests, generated files'
	@echo 'make lint       formatting, all clippys, layers, sizes, prose, spelling, generated files, rustdoc'
	@echo 'make generate   schemas, man pages, completions and docs/rules.md'
	@echo 'make bless      keep what is printed now as what the snapshot tests compare with'
	@echo 'make clean      remove all build output'

# Static, so that the same file runs on every host of an inventory and in a bare guest. --target keeps the flag away from
# build scripts and procedural macros, which cannot be static.
COMPILE := RUSTFLAGS='-C target-feature=+crt-static' $(CARGO) build --release --locked --package punctual --target $(TRIPLE)

build: agent
	PUNCTUAL_AGENT='$(AGENT)' $(COMPILE)
	@touch '$(WHOLE)'
	@$(BINARY) kernel initramfs --force -o '$(AGENT).cpio.gz'
	@[ "$$(wc -c <'$(AGENT).cpio.gz')" -lt 3000000 ] || \
	    { echo 'Error: the initial RAM file system of a guest is not below 3 MB' >&2; exit 1; }
	@printf '%s: %s bytes\n' '$(BINARY)' "$$(wc -c <'$(BINARY)')"

# The same sources without the workbench, which the program then holds. It is never unwound, and loaded where it was linked.
COMPILE_AGENT := RUSTFLAGS='-C target-feature=+crt-static -C relocation-model=static -C force-unwind-tables=no' \
    $(CARGO) build --locked --package punctual --no-default-features --bin punctual --target $(TRIPLE) --profile
agent:
	@scripts/prerequisites.sh build
	$(COMPILE_AGENT) agent
	@printf '%s: %s bytes\n' '$(AGENT)' "$$(wc -c <'$(AGENT)')"

# What a first assessment needs, which is there in a third of the time: no agent, no PNG, no Parquet. The program says
# what it was made without. Where `make build` made the whole program, that is what runs.
run:
	@scripts/prerequisites.sh build
ifeq ($(wildcard $(WHOLE)),)
	$(COMPILE) --no-default-features --features workbench
else
	PUNCTUAL_AGENT='$(wildcard $(AGENT))' $(COMPILE)
endif
	$(BINARY) assess

# Guests that boot the whole program as `cargo test` compiles it take minutes each, so they get an agent here too. Most
# tests wait: more of them at a time than there are CPUs.
test: export PUNCTUAL_AGENT ?= $(abspath $(TARGET_DIR))/$(TRIPLE)/test-agent/punctual
test: export RUST_TEST_THREADS ?= 4
test:
	@scripts/prerequisites.sh test
ifeq ($(origin PUNCTUAL_AGENT),undefined)
	$(COMPILE_AGENT) test-agent
endif
	@python='$(abspath $(TARGET_DIR))/venv/bin/python'; \
	if [ -x "$$python" ]; then PUNCTUAL_PYTHON=$$python; export PUNCTUAL_PYTHON; fi; \
	echo '$(CARGO) test --workspace'; \
	$(CARGO) test --workspace
	@cat $(TARGET_DIR)/prerequisites.txt

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
	@test -x $(BINARY) || { echo 'Error: $(BINARY) is missing. Run make build first.' >&2; exit 1; }
	install -d $(bindir) $(mandir) $(bashdir) $(fishdir) $(zshdir)
	install -m 755 $(BINARY) $(bindir)/punctual
	install -m 644 docs/man/*.1 $(mandir)
	install -m 644 docs/completions/punctual.bash $(bashdir)/punctual
	install -m 644 docs/completions/punctual.fish $(fishdir)/punctual.fish
	install -m 644 docs/completions/_punctual $(zshdir)/_punctual

uninstall:
	rm -f $(bindir)/punctual $(mandir)/punctual.1 $(mandir)/punctual-*.1
	rm -f $(bashdir)/punctual $(fishdir)/punctual.fish $(zshdir)/_punctual

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
