// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers
//
// The plain loops that `punctual measure memory` is compared with: memory BYTES. Prints nanoseconds for a MiB copied
// from one block to another by memcpy, and for a word of 8 bytes read at a random place of one.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Observations take at least this long, as Punctual's do.
#define LEAST 100000000.0
#define ACCESSES (1 << 22)

// Observations whose mean is printed.
#define ROUNDS 5

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    size_t words = bytes / sizeof(uint64_t);
    uint64_t *from = malloc(bytes), *to = malloc(bytes);
    if (words == 0 || !from || !to)
        return 1;
    for (size_t i = 0; i < words; i++)
        from[i] = i;
    memset(to, 1, bytes);

    double copies = 0, reads = 0;
    uint64_t at = 0x9e3779b97f4a7c15u, sum = 0;
    // The first of each is slower than those that follow, and is not counted, as Punctual does not count it.
    for (int round = 0; round <= ROUNDS; round++) {
        double begun = now(), took = 0;
        long passes = 0;
        while (took < LEAST) {
            memcpy(to, from, bytes);
            // The compiler must believe that the copy is used.
            __asm__ volatile("" : : "r"(to) : "memory");
            passes++;
            took = now() - begun;
        }
        if (round > 0)
            copies += took / ((double)passes * (double)bytes / 1048576.0);
    }
    for (int round = 0; round <= ROUNDS; round++) {
        double begun = now(), took = 0;
        long accesses = 0;
        while (took < LEAST) {
            for (long i = 0; i < ACCESSES; i++) {
                at = at * 6364136223846793005u + 1442695040888963407u;
                sum += from[(size_t)(((unsigned __int128)at * words) >> 64)];
            }
            __asm__ volatile("" : : "r"(sum));
            accesses += ACCESSES;
            took = now() - begun;
        }
        if (round > 0)
            reads += took / (double)accesses;
    }
    printf("copy %.3f\nrandom-read %.3f\n", copies / ROUNDS, reads / ROUNDS);
    return 0;
}
