// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel says to `SCHED_DEADLINE` tasks, computed as it computes it.
//!
//! A bandwidth is runtime * 2^20 / period, rounded down (`to_ratio`). A task is refused with EBUSY where the sum of all of the root
//! domain exceeds its CPUs times that of `sched_rt_runtime_us` / `sched_rt_period_us` (`__dl_overflow`, kernel/sched/deadline.c).
//! Kernels from 6.12 on have a server for ordinary threads on each CPU (50 ms of each second), whose bandwidth counts too.
//! Parameters are refused with EINVAL (`__checkparam_dl`) unless 1024 ns <= runtime <= deadline <= period, and
//! `sched_deadline_period_min_us` <= period <= `sched_deadline_period_max_us`.

/// What the kernel allows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// `sched_rt_runtime_us`; nothing: -1, no limit.
    pub runtime_us: Option<u64>,
    /// `sched_rt_period_us`.
    pub period_us: u64,
    /// CPUs of the root domain.
    pub cpus: u32,
    /// Runtime and period of each CPU's server for ordinary threads, in ns; nothing where the kernel has none.
    pub server_ns: Option<(u64, u64)>,
    /// `sched_deadline_period_min_us`.
    pub shortest_period_us: u64,
    /// `sched_deadline_period_max_us`.
    pub longest_period_us: u64,
}

impl Limits {
    /// What a kernel has that nobody changed.
    pub const fn usual(cpus: u32) -> Self {
        Self {
            runtime_us: Some(950_000),
            period_us: 1_000_000,
            cpus,
            server_ns: Some((50_000_000, 1_000_000_000)),
            shortest_period_us: 100,
            longest_period_us: 1 << 22,
        }
    }

    /// Returns the same limits for `cpus` CPUs.
    pub(crate) const fn of(&self, cpus: u32) -> Self {
        Self { cpus, ..*self }
    }

    /// The bandwidth of all CPUs; nothing where there is no limit.
    pub fn bandwidth(&self) -> Option<u64> {
        let runtime = self.runtime_us?.saturating_mul(1_000);
        let each = ratio(runtime, self.period_us.saturating_mul(1_000));
        Some(each.saturating_mul(self.cpus.into()))
    }

    /// The bandwidth of the servers of all CPUs.
    pub fn servers(&self) -> u64 {
        let each = self
            .server_ns
            .map_or(0, |(runtime, period)| ratio(runtime, period));
        each.saturating_mul(self.cpus.into())
    }
}

/// The kernel's unit: the bandwidth of one CPU.
pub const ONE: u64 = 1 << 20;

/// runtime * 2^20 / period, rounded down, as the kernel does it.
pub fn ratio(runtime: u64, period: u64) -> u64 {
    match period {
        0 => 0,
        _ => u64::try_from((u128::from(runtime) << 20) / u128::from(period)).unwrap_or(u64::MAX),
    }
}

/// The parameters of a task, in ns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// Runtime.
    pub runtime: u64,
    /// Deadline.
    pub deadline: u64,
    /// Period.
    pub period: u64,
}

impl Parameters {
    /// Why the kernel refuses them with EINVAL.
    pub fn refused(&self, limits: &Limits) -> Option<String> {
        let period = self.period;
        let (low, high) = (
            limits.shortest_period_us.saturating_mul(1_000),
            limits.longest_period_us.saturating_mul(1_000),
        );
        if self.runtime < 1_024 {
            return Some(format!(
                "its runtime of {} ns is below 1024 ns",
                self.runtime
            ));
        }
        if self.runtime > self.deadline {
            return Some("its runtime is longer than its deadline".to_owned());
        }
        if self.deadline > period {
            return Some("its deadline is later than its period".to_owned());
        }
        if period < low {
            return Some(format!(
                "its period is below {} µs (sched_deadline_period_min_us)",
                limits.shortest_period_us
            ));
        }
        (period > high).then(|| {
            format!(
                "its period is above {} µs (sched_deadline_period_max_us)",
                limits.longest_period_us
            )
        })
    }
}

/// Whether the kernel admits tasks of this bandwidth, none other being there.
pub fn admits(limits: &Limits, asked: u64) -> bool {
    let all = asked.saturating_add(limits.servers());
    limits.bandwidth().is_none_or(|limit| all <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_the_kernels() {
        assert_eq!(ratio(950_000_000, 1_000_000_000), 996_147);
        assert_eq!(ratio(50_000_000, 1_000_000_000), 52_428);
        assert_eq!(ratio(1, 3), 349_525);
        assert_eq!(Limits::usual(2).bandwidth(), Some(1_992_294));
        assert_eq!(Limits::usual(2).servers(), 104_856);
    }

    #[test]
    fn the_servers_take_their_share() {
        let limits = Limits::usual(1);
        assert!(admits(&limits, ratio(89, 100)) && !admits(&limits, ratio(91, 100)));
        let older = Limits {
            server_ns: None,
            ..limits
        };
        assert!(admits(&older, ratio(94, 100)) && !admits(&older, ratio(96, 100)));
        let open = Limits {
            runtime_us: None,
            ..limits
        };
        assert!(admits(&open, 100 * ONE));
    }

    #[test]
    fn parameters_that_the_kernel_refuses_are_named() {
        let limits = Limits::usual(1);
        let refused = |runtime, deadline, period| {
            Parameters {
                runtime,
                deadline,
                period,
            }
            .refused(&limits)
        };
        assert_eq!(refused(1_024, 100_000, 100_000), None);
        assert!(refused(1_023, 100_000, 100_000).unwrap().contains("1024"));
        assert!(refused(5_000, 4_000, 100_000).unwrap().contains("deadline"));
        assert!(refused(5_000, 200_000, 100_000).unwrap().contains("later"));
        assert!(
            refused(5_000, 9_000, 99_999)
                .unwrap()
                .contains("period_min")
        );
        assert!(
            refused(5_000, 9_000, 5_000_000_000)
                .unwrap()
                .contains("period_max")
        );
    }
}
