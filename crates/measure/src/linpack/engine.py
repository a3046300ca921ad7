# SPDX-License-Identifier: MIT OR Apache-2.0
# Copyright (c) The Punctual developers
"""Solves systems with another library's LAPACK: `python3 - LIBRARY...`, one `ORDER STRIDE SEED` a line.

Answers a line of JSON each: first which library it is, then the time and HPL's scaled residual of each system.
Needs nothing but Python: matrix and norms are made by the library too.
"""
import ctypes
import glob
import json
import os
import site
import sys
import time


def say(**answer):
    print(json.dumps(answer), flush=True)


def load(names):
    failures = []
    for name in names + beside_python(names):
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError as err:
            failures.append(str(err))
    say(missing="; ".join(failures))
    sys.exit(0)


def beside_python(names):
    """MKL of a Python package lies with Python, where the dynamic linker does not look."""
    if not any(name.startswith("libmkl_rt.") for name in names):
        return []
    places = dict.fromkeys((sys.prefix, site.getuserbase(), sys.base_prefix))
    found = [sorted(glob.glob(os.path.join(place, "lib", "libmkl_rt.so*"))) for place in places]
    return [path for paths in found for path in paths]


def path_of(word):
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[5:]
            if path and word in os.path.basename(path[0]):
                return path[0].strip()
    return None


def core_of(library):
    try:
        name = library.openblas_get_corename
    except AttributeError:
        return None
    name.restype = ctypes.c_char_p
    return name().decode()


def version_of(library):
    for symbol in ("openblas_get_config", "mkl_get_version_string"):
        try:
            function = getattr(library, symbol)
        except AttributeError:
            continue
        if symbol == "mkl_get_version_string":
            text = ctypes.create_string_buffer(256)
            function(text, 256)
            return text.value.decode().strip()
        function.restype = ctypes.c_char_p
        return function().decode().strip()
    return None


class Lapack:
    """The few functions that are needed, called as Fortran calls them."""

    def __init__(self, library):
        self.library = library
        for name in ("dgesv_", "dlarnv_", "dgemv_", "dlange_"):
            getattr(library, name)
        library.dlange_.restype = ctypes.c_double

    @staticmethod
    def integer(value):
        return ctypes.byref(ctypes.c_int(value))

    @staticmethod
    def real(value):
        return ctypes.byref(ctypes.c_double(value))

    def fill(self, seed, column, order):
        state = (ctypes.c_int * 4)(*seed)
        self.library.dlarnv_(self.integer(2), state, self.integer(order), column)
        return list(state)

    def solve(self, order, matrix, stride, right):
        pivots = (ctypes.c_int * order)()
        info = ctypes.c_int(0)
        begun = time.perf_counter()
        self.library.dgesv_(self.integer(order), self.integer(1), matrix, self.integer(stride),
                            pivots, right, self.integer(order), ctypes.byref(info))
        return time.perf_counter() - begun, info.value

    def residual(self, order, matrix, stride, solution, right):
        letter = ctypes.c_size_t(1)
        work = (ctypes.c_double * order)()
        norm = self.library.dlange_(b"I", self.integer(order), self.integer(order), matrix,
                                    self.integer(stride), work, letter)
        largest = max(map(abs, right))
        self.library.dgemv_(b"N", self.integer(order), self.integer(order), self.real(1.0), matrix,
                            self.integer(stride), solution, self.integer(1), self.real(-1.0), right,
                            self.integer(1), letter)
        scale = 2.0 ** -53 * (norm * max(map(abs, solution)) + largest) * order
        return max(map(abs, right)) / scale


def equations(lapack, order, stride, seed, memory):
    """Writes the matrix and returns the right-hand side; both follow from the seed."""
    state = [seed % 4096, 1, 2, 3]
    start = ctypes.addressof(memory)
    for column in range(order):
        state = lapack.fill(state, ctypes.c_void_p(start + column * stride * 8), order)
    right = (ctypes.c_double * order)()
    lapack.fill(state, right, order)
    return right


def main():
    library = load(sys.argv[1:])
    try:
        lapack = Lapack(library)
    except AttributeError as err:
        say(missing=f"it has no LAPACK: {err}")
        return
    name = os.path.basename(sys.argv[1]).split(".")[0]
    say(library=path_of(name) or path_of("blas"), core=core_of(library), version=version_of(library))
    memory = None
    for line in sys.stdin:
        order, stride, seed = map(int, line.split())
        if memory is None or len(memory) < stride * order:
            memory = None
            memory = (ctypes.c_double * (stride * order))()
        solution = equations(lapack, order, stride, seed, memory)
        seconds, info = lapack.solve(order, memory, stride, solution)
        right = equations(lapack, order, stride, seed, memory)
        residual = lapack.residual(order, memory, stride, solution, right)
        say(seconds=seconds, info=info, residual=residual if residual == residual else None)


main()
