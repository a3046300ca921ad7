// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers
//
// Made of crates/stats-c by `make generate`. Every function that returns int32_t returns PUNCTUAL_OK or PUNCTUAL_INVALID.

#ifndef PUNCTUAL_STATS_H
#define PUNCTUAL_STATS_H

#include <stddef.h>
#include <stdint.h>

// What a function of this library answers where there is nothing else to say.
#define PUNCTUAL_OK 0

// A pointer is null, the state was never initialised or is of another kind, or a number is out of range.
#define PUNCTUAL_INVALID -1

// Buckets up to 2047 ns, one for each nanosecond.
#define PUNCTUAL_BUCKETS_2US 2048

// Buckets up to 1 048 575 ns, about 1 ms: 88 KiB.
#define PUNCTUAL_BUCKETS_1MS (2048 + (9 * 1024))

// Buckets up to 1 073 741 823 ns, about 1 s: 168 KiB.
#define PUNCTUAL_BUCKETS_1S (2048 + (19 * 1024))

// State of count, extremes, mean, standard deviation, skewness and kurtosis of a stream. Its words are nobody's business.
typedef struct PunctualMoments {
  uint64_t words[10];
} PunctualMoments;

// Figures of samples. What the samples do not define is not a number.
typedef struct PunctualFigures {
  // Samples.
  uint64_t count;
  // Values that were refused because they were infinite or not a number.
  uint64_t rejected;
  // The smallest sample.
  double min;
  // The largest sample.
  double max;
  // The arithmetic mean.
  double mean;
  // The standard deviation with divisor n - 1.
  double std_dev;
  // The biased skewness g1.
  double skewness;
  // The biased excess kurtosis g2.
  double excess_kurtosis;
} PunctualFigures;

// State of a set of quantiles after Jain and Chlamtac (1985). Its words are nobody's business.
typedef struct PunctualQuantiles {
  uint64_t words[12];
} PunctualQuantiles;

// State of one quantile.
typedef struct PunctualMarkers {
  double words[9];
} PunctualMarkers;

// State of a histogram of latencies. Its words are nobody's business.
typedef struct PunctualHistogram {
  uint64_t words[8];
} PunctualHistogram;

// What a histogram says of all its values.
typedef struct PunctualExtent {
  // Values.
  uint64_t count;
  // Of these, values above `highest_ns`: they are counted in the last bucket.
  uint64_t clamped;
  // The highest value that has a bucket, in ns.
  uint64_t highest_ns;
  // The smallest value in ns, exact; 0 without values.
  uint64_t min_ns;
  // The largest value in ns, exact; 0 without values.
  uint64_t max_ns;
} PunctualExtent;

// State of a window over the latest samples. Its words are nobody's business.
typedef struct PunctualWindow {
  uint64_t words[8];
} PunctualWindow;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Begins anew, without samples.
//
// Required: `moments` is null, or valid for writes.
int32_t punctual_moments_init(struct PunctualMoments *moments);

// Adds a sample. It takes the same time whatever came before, and no memory.
//
// Required: `moments` is null, or initialised and not in use elsewhere.
int32_t punctual_moments_push(struct PunctualMoments *moments, double sample);

// Adds the samples of `other`, such as those of another thread.
//
// Required: Both are null, or initialised and not in use elsewhere; they are not the same.
int32_t punctual_moments_merge(struct PunctualMoments *moments, struct PunctualMoments *other);

// Writes the figures of all samples so far to `figures`.
//
// Required: `moments` is null, or initialised and not in use elsewhere; `figures` is null, or valid for writes.
int32_t punctual_moments_figures(struct PunctualMoments *moments,
                                 struct PunctualFigures *figures);

// Begins anew with the `count` quantiles in `shares`, each above 0 and below 1. `markers` has as many places, which belong
// to `quantiles` from now on.
//
// Required: `quantiles` is null, or valid for writes; `markers` and `shares` are null, or point to `count` initialised values.
// Nothing else uses `markers` as long as `quantiles` is used.
int32_t punctual_quantiles_init(struct PunctualQuantiles *quantiles,
                                struct PunctualMarkers *markers,
                                const double *shares,
                                size_t count);

// Adds a sample. It takes about the same time whatever came before, and no memory.
//
// Required: `quantiles` is null, or initialised and not in use elsewhere.
int32_t punctual_quantiles_push(struct PunctualQuantiles *quantiles, double sample);

// Returns the estimate of the quantile at `index` of the set; not a number before the first sample, or where there is none.
// How good it is depends on the samples: docs/methods/samples.md of Punctual says how much. A far tail is a histogram's.
//
// Required: `quantiles` is null, or initialised and not in use elsewhere.
double punctual_quantiles_estimate(struct PunctualQuantiles *quantiles,
                                   size_t index);

// Begins anew with `length` buckets at `counts`, which belong to `histogram` from now on and are set to 0: as many as
// `PUNCTUAL_BUCKETS_1MS`, for example. A value that is read from a bucket is off by less than 1/1024 of itself.
//
// Required: `histogram` is null, or valid for writes; `counts` is null, or points to `length` initialised values that nothing else
// uses as long as `histogram` is used.
int32_t punctual_histogram_init(struct PunctualHistogram *histogram,
                                uint64_t *counts,
                                size_t length);

// Records a latency of `ns` nanoseconds.
//
// Required: `histogram` is null, or initialised and not in use elsewhere.
int32_t punctual_histogram_record(struct PunctualHistogram *histogram, uint64_t ns);

// Writes to `ns` the `q` quantile, 0 to 1, of what was recorded: never below the exact one, and above it by less than
// 1/1024.
//
// Required: `histogram` is null, or initialised and not in use elsewhere; `ns` is null, or valid for writes.
int32_t punctual_histogram_quantile(struct PunctualHistogram *histogram,
                                    double q,
                                    uint64_t *ns);

// Writes to `count` how many values are above `ns`: exact up to 2047 ns; beyond that, without those in its bucket.
//
// Required: `histogram` is null, or initialised and not in use elsewhere; `count` is null, or valid for writes.
int32_t punctual_histogram_count_above(struct PunctualHistogram *histogram,
                                       uint64_t ns,
                                       uint64_t *count);

// Writes to `extent` how many values there are, and between which ends.
//
// Required: `histogram` is null, or initialised and not in use elsewhere; `extent` is null, or valid for writes.
int32_t punctual_histogram_extent(struct PunctualHistogram *histogram,
                                  struct PunctualExtent *extent);

// Begins anew with a window over `length` samples. `ring` and `scratch` have as many places, which belong to `window` from now on.
//
// Required: `window` is null, or valid for writes; `ring` and `scratch` are null, or point each to `length` initialised values of
// their own that nothing else uses as long as `window` is used.
int32_t punctual_window_init(struct PunctualWindow *window,
                             double *ring,
                             double *scratch,
                             size_t length);

// Adds a sample; a full window forgets its oldest.
//
// Required: `window` is null, or initialised and not in use elsewhere.
int32_t punctual_window_push(struct PunctualWindow *window, double sample);

// Writes the figures of the samples in the window to `figures`. It sorts them: not for the loop that records.
//
// Required: `window` is null, or initialised and not in use elsewhere; `figures` is null, or valid for writes.
int32_t punctual_window_figures(struct PunctualWindow *window,
                                struct PunctualFigures *figures);

// Returns the exact `q` quantile, 0 to 1, of the samples in the window; not a number without samples. It sorts them.
//
// Required: `window` is null, or initialised and not in use elsewhere.
double punctual_window_quantile(struct PunctualWindow *window,
                                double q);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PUNCTUAL_STATS_H */
