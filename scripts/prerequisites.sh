#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
#
# prerequisites.sh build|lint|test|bench|lab|dist|arm64: finds what that make target needs. Installs what it may (as root on Debian or
# Ubuntu, and Python packages below target/); says the rest in one line each. Fails only if the target cannot go on:
# without cyclictest, rt-app, fio, stress-ng, setcap, gnuplot, Chromium, OpenBLAS, QEMU, kernel images, Ansible or scipy the tests that need them
# skip, unless PUNCTUAL_TEST_REQUIRE names them.
set -eu

purpose=${1:-}
case $purpose in
build | lint | test | bench | lab | dist | arm64) ;;
*)
    echo "usage: $0 build|lint|test|bench|lab|dist|arm64" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/venv
notes=$target/prerequisites.txt
failed=no
mkdir -p "$target"
: >"$notes"

stop() {
    echo "Error: $1" >&2
    failed=yes
}

# without NAME TEXT: the target goes on without NAME, unless the caller demanded it.
without() {
    case ",${PUNCTUAL_TEST_REQUIRE:-}," in
    *",$1,"*) stop "$2" ;;
    *) echo "Note: $2" | tee -a "$notes" ;;
    esac
}

# apt PACKAGE...: installs, where that is possible without asking anyone.
apt() {
    [ "$(id -u)" = 0 ] || return 1
    command -v apt-get >/dev/null || return 1
    echo "Installing: $*"
    # The first try fails where the package lists were never fetched, as in an image.
    apt_install "$@" 2>/dev/null || { apt-get update -qq </dev/null && apt_install "$@"; }
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

check_rust() {
    if ! command -v cargo >/dev/null; then
        stop "cargo is missing. Install Rust from https://rustup.rs, then open a new shell."
        return
    fi
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | cut -d ' ' -f 2)
    oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] ||
        stop "rustc $found is older than $wanted. Install Rust from https://rustup.rs (it brings the pinned version)."
}

check_compiler() {
    command -v cc >/dev/null || apt gcc libc6-dev ||
        stop "a C compiler is missing (bundled SQLite and zstd). Install it: sudo apt-get install gcc libc6-dev"
}

check_cyclictest() {
    command -v cyclictest >/dev/null || apt rt-tests ||
        without cyclictest "no cyclictest, so nothing is compared with it. Install it: sudo apt-get install rt-tests"
}

check_rt_app() {
    command -v rt-app >/dev/null || apt rt-app ||
        without rt-app "no rt-app, so what is seen of a program is not compared with what it says. Install it: sudo apt-get install rt-app"
}

check_chromium() {
    command -v chromium >/dev/null || apt chromium ||
        without chromium "no Chromium, so no report is looked at in a browser. Install it: sudo apt-get install chromium"
}

check_gnuplot() {
    command -v gnuplot >/dev/null || apt gnuplot-nox ||
        without gnuplot "no gnuplot, so no script that plots is tried. Install it: sudo apt-get install gnuplot-nox"
}

# A checker of charts that shares no code with us unpacks events and samples with it.
check_zstd() {
    command -v zstd >/dev/null || apt zstd ||
        without zstd "no zstd, so no chart is checked against the files of its run. Install it: sudo apt-get install zstd"
}

check_stress_ng() {
    command -v stress-ng >/dev/null || apt stress-ng ||
        without stress-ng "no stress-ng, so that load is not tried. Install it: sudo apt-get install stress-ng"
}

check_fio() {
    command -v fio >/dev/null || apt fio ||
        without fio "no fio, so no storage is measured. Install it: sudo apt-get install fio"
}

# What gives a copy of the program a capability.
check_setcap() {
    PATH=$PATH:/sbin:/usr/sbin command -v setcap >/dev/null || apt libcap2-bin ||
        without setcap "no setcap, so no capability of a file is tried. Install it: sudo apt-get install libcap2-bin"
}

check_qemu() {
    command -v qemu-system-x86_64 >/dev/null || apt qemu-system-x86 ||
        without qemu-system-x86_64 "no QEMU, so no guest is tried. Install it: sudo apt-get install qemu-system-x86"
}

# Debian's images, unpacked below target/ and not installed: any user can.
check_kernels() {
    scripts/kernel-images.sh || { [ "$(id -u)" = 0 ] && apt-get update -qq </dev/null && scripts/kernel-images.sh; } ||
        without kernels "no kernel images, so no guest is tried. On Debian: apt-get update, then scripts/kernel-images.sh"
}

# The libraries that the dynamic linker knows; where ldconfig lies is not in every user's path.
has_openblas() {
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep libopenblas.so.0 >/dev/null
}

check_openblas() {
    has_openblas || apt libopenblas0 ||
        without openblas "no OpenBLAS, so LINPACK is tried only with our own solver. Install it: sudo apt-get install libopenblas0"
}

# Hosts of a fleet are namespaces with sshd each; Ansible is in the Python environment.
check_ansible() {
    PATH=$PATH:/sbin:/usr/sbin command -v sshd >/dev/null || apt openssh-server ||
        without ansible "no sshd, so no fleet is tried. Install it: sudo apt-get install openssh-server"
    command -v ip >/dev/null || apt iproute2 ||
        without ansible "no ip, so no fleet is tried. Install it: sudo apt-get install iproute2"
}

# What the kernel verbs drive; their tests do not skip.
check_kernel_tools() {
    for tool in git make patch tar pgrep; do
        package=$tool
        [ "$tool" != pgrep ] || package=procps
        command -v "$tool" >/dev/null || apt "$package" ||
            stop "$tool is missing, which tests of \`punctual kernel\` need. Install it: sudo apt-get install $package"
    done
}

# What a kernel is built with. Headers are no commands: libelf's are looked for where Debian and others have them.
check_kernel_build() {
    for pair in gcc:gcc make:make flex:flex bison:bison bc:bc xz:xz-utils curl:curl python3:python3 \
        /usr/include/libelf.h:libelf-dev; do
        command -v "${pair%%:*}" >/dev/null || [ -f "${pair%%:*}" ] || apt "${pair##*:}" ||
            stop "${pair##*:} is missing, which a kernel is built with. Install it: sudo apt-get install ${pair##*:}"
    done
    command -v ccache >/dev/null || apt ccache ||
        without ccache "no ccache, so nothing is taken from an earlier build. Install it: sudo apt-get install ccache"
    command -v qemu-system-x86_64 >/dev/null || apt qemu-system-x86 ||
        stop "QEMU is missing. Install it: sudo apt-get install qemu-system-x86"
    apt-cache show linux-source-6.12 >/dev/null 2>&1 || { [ "$(id -u)" = 0 ] && apt-get update -qq </dev/null; } ||
        stop "linux-source-6.12 is in none of the package lists: sudo apt-get update, on Debian"
}

# What makes programs of the other architecture, and runs them.
check_cross() {
    case $(uname -m) in
    x86_64) other=aarch64 package=gcc-aarch64-linux-gnu library=libc6-dev-arm64-cross ;;
    *) other=x86_64 package=gcc-x86-64-linux-gnu library=libc6-dev-amd64-cross ;;
    esac
    command -v $other-linux-gnu-gcc >/dev/null || apt $package $library ||
        stop "no cross compiler. Install it: sudo apt-get install $package $library"
    if command -v rustup >/dev/null; then
        rustup target add $other-unknown-linux-gnu >/dev/null 2>&1 || stop "rustup target add $other-unknown-linux-gnu failed"
    fi
    command -v qemu-$other-static >/dev/null || apt qemu-user-static ||
        stop "qemu-$other-static is missing. Install it: sudo apt-get install qemu-user-static"
}

# What makes and tries Debian's packages. The linker comes with Rust.
check_dist() {
    [ -x "$(rustc --print sysroot)/lib/rustlib/$(scripts/host-triple.sh)/bin/gcc-ld/ld.lld" ] ||
        stop "this Rust comes without LLVM's linker. Install Rust from https://rustup.rs."
    for pair in dpkg-deb:dpkg lintian:lintian mmdebstrap:mmdebstrap; do
        command -v "${pair%%:*}" >/dev/null || apt "${pair##*:}" ||
            stop "${pair%%:*} is missing. Install it: sudo apt-get install ${pair##*:}"
    done
}

python_ready() {
    cmp -s scripts/requirements.txt "$venv/requirements.txt" &&
        [ -x "$venv/bin/typos" ] &&
        [ -x "$venv/bin/ansible-playbook" ] &&
        "$venv/bin/python" -c \
            'import axe_playwright_python, numpy, pandas, PIL, playwright, prometheus_client, pyarrow, scipy' 2>/dev/null
}

can_make_venv() {
    python3 -c 'import ensurepip, venv' 2>/dev/null
}

check_python() {
    if python_ready; then
        return
    fi
    if ! can_make_venv && ! { apt python3 python3-venv && can_make_venv; }; then
        without scipy "no python3 -m venv, so nothing is compared with scipy. Install it: sudo apt-get install python3-venv"
        return
    fi
    echo "Making a Python environment in $venv"
    # Wheels only: a compilation of scipy takes longer than all the tests.
    if python3 -m venv --clear "$venv" &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
            -r scripts/requirements.txt </dev/null; then
        cp scripts/requirements.txt "$venv/requirements.txt"
    else
        without scipy "pip could not install what scripts/requirements.txt names in $venv, so nothing is compared with scipy. Is PyPI reachable?"
    fi
}

check_rust
check_compiler
case $purpose in
lint)
    check_python
    [ -x "$venv/bin/typos" ] || stop "the spelling checker is missing: $venv/bin/python -m pip install typos"
    ;;
test)
    check_cyclictest
    check_rt_app
    check_fio
    check_stress_ng
    check_setcap
    check_zstd
    check_gnuplot
    check_chromium
    check_openblas
    check_qemu
    check_kernels
    check_kernel_tools
    check_ansible
    check_python
    ;;
lab)
    check_kernel_tools
    check_kernel_build
    ;;
dist)
    check_cross
    check_dist
    ;;
arm64)
    check_cross
    command -v qemu-system-aarch64 >/dev/null || apt qemu-system-arm ||
        without arm64 "no qemu-system-aarch64, so no arm64 guest is tried. Install it: sudo apt-get install qemu-system-arm"
    scripts/kernel-images.sh arm64 ||
        without arm64 "no arm64 kernel images, so no arm64 guest is tried. On Debian: scripts/kernel-images.sh arm64"
    ;;
bench)
    check_cyclictest
    check_ansible
    check_python
    [ -x /usr/bin/time ] || apt time || stop "GNU time is missing. Install it: sudo apt-get install time"
    ;;
esac
[ "$failed" = no ]
