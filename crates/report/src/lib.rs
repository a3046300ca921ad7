// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs as text, CSV, JSON, Parquet and HdrHistogram logs. Pure: values in, bytes out.
#![forbid(unsafe_code)]
