// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The JSON Schemas of what Punctual prints and stores.

use anyhow::Context as _;
use schemars::{Schema, schema_for};

use crate::generated::Generated;

/// Every schema: the name of its file in docs/schemas, without `.json`, and the schema.
fn table() -> Vec<(&'static str, Schema)> {
    vec![
        ("run.schema", schema_for!(punctual_model::RunRecord)),
        ("runs.schema", schema_for!(punctual_model::RunList)),
        ("diagnosis.schema", schema_for!(punctual_model::Diagnosis)),
        (
            "process-diagnosis.schema",
            schema_for!(punctual_model::ProcessDiagnosis),
        ),
        ("assessment.schema", schema_for!(punctual_model::Assessment)),
        ("imports.schema", schema_for!(punctual_model::ImportList)),
        ("fleet.schema", schema_for!(punctual_model::FleetReport)),
        ("comparison.schema", schema_for!(punctual_model::Comparison)),
        ("machines.schema", schema_for!(punctual_model::Machines)),
        ("history.schema", schema_for!(punctual_model::History)),
        (
            "experiment-plan.schema",
            schema_for!(punctual_lab::shown::PlanShown),
        ),
        (
            "experiments.schema",
            schema_for!(punctual_lab::shown::StatusShown),
        ),
        (
            "experiment-results.schema",
            schema_for!(punctual_model::ExperimentResults),
        ),
        (
            "extrapolation.schema",
            schema_for!(punctual_model::Extrapolation),
        ),
        ("guest-boot.schema", schema_for!(punctual_model::GuestBoot)),
        (
            "latency-test.schema",
            schema_for!(punctual_model::LatencyTest),
        ),
        (
            "study-facts.schema",
            schema_for!(punctual_model::StudyShown),
        ),
        ("studies.schema", schema_for!(punctual_model::StudyList)),
        (
            "study-report.schema",
            schema_for!(punctual_model::StudyReport),
        ),
        ("loads.schema", schema_for!(punctual_model::LoadReport)),
        ("plan.schema", schema_for!(punctual_model::Plan)),
        ("trial.schema", schema_for!(punctual_model::TrialReport)),
        ("boot-plan.schema", schema_for!(punctual_model::BootPlan)),
        ("tuning.schema", schema_for!(punctual_model::TuningReport)),
        ("knobs.schema", schema_for!(punctual_model::KnobList)),
        (
            "kernel-stock.schema",
            schema_for!(punctual_model::KernelStock),
        ),
        (
            "kernel-patch.schema",
            schema_for!(punctual_model::PatchReport),
        ),
        (
            "kernel-config.schema",
            schema_for!(punctual_model::ConfigReport),
        ),
        (
            "kernel-config-diff.schema",
            schema_for!(punctual_model::ConfigDiff),
        ),
        (
            "kernel-build.schema",
            schema_for!(punctual_model::BuildReport),
        ),
        ("kernel-rt.schema", schema_for!(punctual_model::RtFlow)),
        (
            "kernel-rebase.schema",
            schema_for!(punctual_model::RebaseReport),
        ),
        (
            "kernel-bisect.schema",
            schema_for!(punctual_model::BisectReport),
        ),
        (
            "kernel-install-plan.schema",
            schema_for!(punctual_model::KernelInstallPlan),
        ),
        (
            "installed-kernels.schema",
            schema_for!(punctual_model::InstalledKernels),
        ),
        (
            "one-shot-plan.schema",
            schema_for!(punctual_model::OneShotPlan),
        ),
        (
            "one-shot-status.schema",
            schema_for!(punctual_model::OneShotStatus),
        ),
        (
            "tasks-check.schema",
            schema_for!(punctual_model::tasks::TasksCheck),
        ),
        ("tasks.schema", schema_for!(punctual_model::tasks::TaskSet)),
        ("event.schema", schema_for!(punctual_model::Event)),
    ]
}

/// Returns the files of docs/schemas.
pub(crate) fn files() -> anyhow::Result<Vec<Generated>> {
    render(&table())
}

fn render(table: &[(&str, Schema)]) -> anyhow::Result<Vec<Generated>> {
    table
        .iter()
        .map(|(name, schema)| {
            let mut content = serde_json::to_vec_pretty(schema)
                .with_context(|| format!("failed to render schema {name}"))?;
            content.push(b'\n');
            Ok(Generated {
                name: format!("{name}.json"),
                content,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = table().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_schema_becomes_a_json_file_that_ends_with_a_newline() {
        let files = render(&[("count", schemars::schema_for!(u64))]).unwrap();
        assert_eq!(files[0].name, "count.json");
        let text = String::from_utf8(files[0].content.clone()).unwrap();
        assert!(
            text.contains("\"$schema\"") && text.ends_with("}\n"),
            "{text}"
        );
    }
}
