// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Puts a series into a source.

use std::path::Path;

use punctual_kernel::patch::{self, Limits, Series};
use punctual_kernel::source::{KernelStore, Tree};
use punctual_model::{AppliedSeries, PatchOutcome, PatchReport, PatchedTree, SourceOrigin};

use super::kernel_store::{self, failed};
use crate::error::CliError;
use crate::signals::StopRequest;

/// Whether patches of the series do not apply.
pub(crate) fn fails(report: &PatchReport) -> bool {
    let mut patches = report.patches.iter();
    patches.any(|patch| patch.outcome == PatchOutcome::Fails)
}

/// Tries the series on `source`, puts it in where it applies, and notes that in the store.
pub(crate) fn put_in(
    stock: &KernelStore,
    source: &Path,
    series: &Path,
    limits: Limits,
    stop: &StopRequest,
) -> Result<PatchReport, CliError> {
    let find = match limits.trial {
        true => kernel_store::find,
        false => kernel_store::find_to_change,
    };
    let mut found = find(stock, source)?;
    let seconds = found.tree.seconds();
    let scratch = tempfile::tempdir().map_err(|err| failed("make a temporary directory", err))?;
    let series = Series::read(series, scratch.path(), &|| stop.is_set())
        .map_err(|err| failed(&format!("read the series {}", series.display()), err))?;
    let report = patch::apply(&found.tree.path, &series, limits)
        .map_err(|err| failed(&format!("patch {}", source.display()), err))?;
    let in_tree = matches!(
        report.result,
        PatchedTree::Patched | PatchedTree::PatchedInPart
    );
    if in_tree && let Some(known) = &mut found.known {
        let names = |outcome| {
            let patches = report.patches.iter().filter(move |p| p.outcome == outcome);
            patches.map(|p| p.name.clone()).collect()
        };
        // The Makefile's time is that of the change, if the series has it. What lies elsewhere may be replaced by another source, and
        // git has the time of the commit.
        if matches!(known.origin, SourceOrigin::Package | SourceOrigin::Tarball) {
            known.seconds.get_or_insert(seconds);
        }
        if let Ok(changed) = Tree::open(&found.tree.path) {
            known.version = changed.version;
        }
        known.patches.push(AppliedSeries {
            series: report.series.clone(),
            applied: names(PatchOutcome::Applies),
            left_out: names(PatchOutcome::Fails),
        });
        stock
            .update(known)
            .map_err(|err| failed("note the patches in the store", err))?;
    }
    Ok(report)
}
