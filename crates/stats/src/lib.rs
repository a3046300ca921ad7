//! Online statistics for latency samples.
#![forbid(unsafe_code)]
