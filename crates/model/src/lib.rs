//! Plain data shared by every crate: units, CPU sets, records. Nothing here touches the operating system.
#![forbid(unsafe_code)]
