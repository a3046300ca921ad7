// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

// A loop that keeps statistics of its own latencies, as on a microcontroller: no heap, all memory known when it is linked.
// What it prints, bit for bit, is what examples/figures.rs prints with the classes of the desktop.

#include <inttypes.h>
#include <stdio.h>

#include "punctual_stats.h"

enum { SAMPLES = 20000, QUANTILES = 4, WINDOW = 500 };

static const double shares[QUANTILES] = {0.05, 0.5, 0.95, 0.99};

static struct PunctualMoments moments;
static struct PunctualQuantiles quantiles;
static struct PunctualMarkers markers[QUANTILES];
static struct PunctualHistogram histogram;
static uint64_t counts[PUNCTUAL_BUCKETS_1MS];
static struct PunctualWindow window;
static double ring[WINDOW], scratch[WINDOW];

// A latency in ns in place of the one that a program would measure: most are about 40 us, one in 256 is up to 2 ms later.
static uint64_t next_latency(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t usual = 30000 + (*state >> 40) % 20000;
    uint64_t late = (*state >> 33) % 256 == 0 ? (*state >> 20) % 2000000 : 0;
    return usual + late;
}

static void print_figures(const char *name, const struct PunctualFigures *f)
{
    printf("%s %" PRIu64 " %" PRIu64 " %a %a %a %a %a %a\n", name, f->count, f->rejected, f->min, f->max, f->mean, f->std_dev,
           f->skewness, f->excess_kurtosis);
}

int main(void)
{
    int32_t failed = punctual_moments_init(&moments);
    failed |= punctual_quantiles_init(&quantiles, markers, shares, QUANTILES);
    failed |= punctual_histogram_init(&histogram, counts, PUNCTUAL_BUCKETS_1MS);
    failed |= punctual_window_init(&window, ring, scratch, WINDOW);

    uint64_t state = 1;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t ns = next_latency(&state);
        failed |= punctual_moments_push(&moments, (double)ns);
        failed |= punctual_quantiles_push(&quantiles, (double)ns);
        failed |= punctual_histogram_record(&histogram, ns);
        failed |= punctual_window_push(&window, (double)ns);
    }

    struct PunctualFigures figures;
    failed |= punctual_moments_figures(&moments, &figures);
    print_figures("all", &figures);
    failed |= punctual_window_figures(&window, &figures);
    print_figures("window", &figures);
    for (size_t i = 0; i < QUANTILES; i++) {
        uint64_t ns = 0;
        failed |= punctual_histogram_quantile(&histogram, shares[i], &ns);
        printf("quantile %zu %a %" PRIu64 " %a\n", i, punctual_quantiles_estimate(&quantiles, i), ns,
               punctual_window_quantile(&window, shares[i]));
    }
    struct PunctualExtent extent;
    uint64_t above = 0;
    failed |= punctual_histogram_extent(&histogram, &extent);
    failed |= punctual_histogram_count_above(&histogram, 100000, &above);
    printf("extent %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", extent.count, extent.clamped,
           extent.highest_ns, extent.min_ns, extent.max_ns, above);
    return failed == PUNCTUAL_OK ? 0 : 1;
}
