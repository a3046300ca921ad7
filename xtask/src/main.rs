//! The chores of this repository: `cargo xtask --help`.
fn main() {}
