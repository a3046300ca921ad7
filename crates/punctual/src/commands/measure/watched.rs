// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How far a measurement in a guest is: what its host hears and sees. Of the samples nothing is heard before the run
//! is over, since a guest that told them would measure another thing.

use std::sync::Arc;
use std::time::Duration;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Machine;
use punctual_kernel::guest::Stage;
use punctual_model::{Event, Nanos, Progress};

use crate::metrics::Metrics;
use crate::signals::StopRequest;
use crate::view::{View, clock};

/// Who learns how far it is: the terminal, and Prometheus.
pub(super) struct Shown {
    view: View,
    metrics: Option<Arc<Metrics>>,
    machine: Machine,
    limit: Nanos,
    next: Nanos,
    stage: Option<Stage>,
}

impl Shown {
    /// Shows a measurement in `target`, unless `quiet`. The key of the screen to quit asks `stop`.
    pub(super) fn new(
        target: &GuestTarget,
        machine: Machine,
        (quiet, stop): (bool, &StopRequest),
        metrics: Option<Arc<Metrics>>,
    ) -> Self {
        let mut view = View::pick(quiet, stop);
        let kernel = target.kernel.file_name().unwrap_or_default();
        view.title(&format!("guest {}", kernel.display()));
        Self {
            view,
            metrics,
            machine,
            limit: target.time_limit,
            next: Nanos::ZERO,
            stage: None,
        }
    }

    /// Tells how far it is, where that is news or it is time to.
    pub(super) fn tell(&mut self, stage: Stage, since: Duration) {
        let since = Nanos::new(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        if since < self.next && self.stage == Some(stage) {
            return;
        }
        self.next = since + self.view.every();
        self.stage = Some(stage);
        let event = Event::Progress(Progress {
            t_ns: since,
            doing: Some(self.doing(stage, since)),
            ..Progress::default()
        });
        if let Some(metrics) = &self.metrics {
            metrics.event(&event);
        }
        self.view.event(&event);
    }

    fn doing(&self, stage: Stage, since: Nanos) -> String {
        let left = clock(self.limit - since);
        let what = match stage {
            Stage::Booting => "boots, until its timers are of high resolution",
            Stage::Measuring { done: 0 } => "measures; its samples come at the end",
            Stage::Measuring { .. } => "has sent its run",
            Stage::Leaving => "ends",
        };
        format!(
            "it {what} ({}); its time limit is {left} away",
            self.machine
        )
    }
}
