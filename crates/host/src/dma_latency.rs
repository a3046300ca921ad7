// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The device by which a process bounds how long idle states may take to leave.

/// Where it is.
pub(crate) const PLACE: &str = "/dev/cpu_dma_latency";

/// Where the kernel lists it.
pub(crate) const LIST: &str = "/proc/misc";

/// Says why the device is not there although the kernel has it, if its list says so: a container or a chroot may have no devices.
pub(crate) fn hidden(list: &str) -> Option<&'static str> {
    let is_listed = list.contains("cpu_dma_latency");
    is_listed.then_some("the kernel has it, /dev does not")
}
