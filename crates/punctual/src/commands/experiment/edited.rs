// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An experiment of a name that there is: the same file again, or one that was edited.

use std::path::Path;

use punctual_lab::plan::Plan;
use punctual_lab::replan::obstacle;
use punctual_lab::state::{Snapshot, State};

use crate::error::CliError;
use crate::experiments::{Read, experiment_of};
use crate::output::remark;

/// Says what can be done where an experiment of that name is there.
pub(super) fn already_there(dir: &Path, read: &Read, plan: &Plan) -> CliError {
    let name = &plan.name;
    let failed = CliError::failed_to(format!("begin experiment `{name}`"));
    let there = format!("one of that name exists in {}", dir.display());
    let Ok(snapshot) = Snapshot::read(dir) else {
        return failed.because(there).hint(format!(
            "it cannot be read; `punctual experiment rm {name}` removes it, or give the new one a different name"
        ));
    };
    let same = snapshot.text == read.text && snapshot.plan.seed == plan.seed;
    if same && snapshot.finished.is_some() {
        return failed
            .because(format!("{there}, and it is finished"))
            .hint(format!(
                "see it with `punctual experiment results {name}`; to repeat it, give it another name or \
                 `punctual experiment rm {name}`"
            ));
    }
    if same {
        return failed.because(there).hint(format!(
            "continue it: `punctual experiment resume {name}`; or give the new one a different name"
        ));
    }
    let why = why_not(&snapshot, read, plan);
    let changed = format!("{there}, and the file has changed since it began");
    match why {
        None => failed.because(changed).hint(format!(
            "continue its runs with the new file: `punctual experiment run {} --replan`; or with the old one: \
             `punctual experiment resume {name}`",
            read.file
        )),
        Some(why) => failed.because(format!("{changed}: {why}")).hint(format!(
            "give the new one a different name, or `punctual experiment rm {name}` first; `punctual \
             experiment resume {name}` continues with the old file"
        )),
    }
}

/// Goes on with the experiment in `dir` as an edited file says.
pub(super) fn go_on_by(dir: &Path, read: &Read, plan: &Plan) -> Result<State, CliError> {
    let mut state = State::open(dir)?;
    let snapshot = Snapshot::read(dir)?;
    // A file without a seed has another one as soon as its text is edited; the order of what is done stays.
    let plan = &Plan {
        seed: read.experiment.seed.unwrap_or(snapshot.plan.seed),
        ..plan.clone()
    };
    if let Some(why) = why_not(&snapshot, read, plan) {
        return Err(
            CliError::usage(format!("--replan: `{}` cannot continue: {why}", plan.name)).hint(
                format!(
                    "give the new one a different name, or `punctual experiment rm {}` first",
                    plan.name
                ),
            ),
        );
    }
    let (before, now) = (state.plan().blocks, plan.blocks);
    if now > before && !state.attempts().is_empty() {
        remark(&format!(
            "{now} blocks instead of {before}. If that is because of the results so far, the \
             p-values are too small: confirm with a new experiment."
        ));
    }
    state.replan(plan, &read.text)?;
    Ok(state)
}

fn why_not(snapshot: &Snapshot, read: &Read, plan: &Plan) -> Option<String> {
    let Ok(old) = experiment_of(&snapshot.text, &snapshot.plan) else {
        return Some("its first file can no longer be read".to_owned());
    };
    let new = read.experiment.clone().only(&plan.measurements);
    let plan = &Plan {
        seed: read.experiment.seed.unwrap_or(snapshot.plan.seed),
        ..plan.clone()
    };
    obstacle((&old, &snapshot.plan), (&new, plan), &snapshot.attempts)
}
