// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel build`.

use std::path::Path;

use punctual_kernel::config::{Base, Wish};
use punctual_model::{BuiltKernel, KernelModel};
use punctual_report::document::Document;

use super::config::wish;
use crate::cli::{BuildTest, KernelBuildArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::build::{Manner, built, has_model, is_complete};
use crate::kernels::kernel_store::{self, FoundSource, show};
use crate::output::print;
use crate::signals::StopRequest;

/// Builds what the options ask for.
pub(super) fn run(home: Option<&Path>, args: &KernelBuildArgs) -> Result<Exit, CliError> {
    let stock = kernel_store::open(home)?;
    let stop = StopRequest::on_signals()?;
    let source = kernel_store::find(&stock, &args.source)?.built_for(args.wish.arch);
    if args.package && source.tree.is_foreign() {
        return Err(CliError::usage(
            "--package: makes packages only for this machine's architecture",
        ));
    }
    // Whether a patch has brought lazy, its Kconfig tells.
    let models = args
        .matrix
        .iter()
        .filter(|model| **model != KernelModel::Lazy);
    for model in models {
        has_model("--matrix", &model.to_string(), &source.tree.version)?;
    }
    let manner = Manner {
        jobs: args.jobs,
        ccache: !args.no_ccache,
        package: args.package,
        anyway: args.anyway,
        // As make wants directories.
        only: args
            .only
            .iter()
            .map(|dir| format!("{}/", dir.trim_end_matches('/')))
            .collect(),
        quiet: args.quiet,
    };
    let report = built(&stock, &source, orders(args, &source), &manner, &stop)?;
    show(&report, args.json, Document::of_kernel_builds)?;
    if !args.json && is_complete(&report) {
        print(&how_to_boot(&report.builds, &args.matrix))?;
    }
    Ok(if is_complete(&report) {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

/// Returns the names and configurations of what is to be built.
fn orders(args: &KernelBuildArgs, source: &FoundSource) -> Vec<(String, Wish)> {
    let mut base = wish(&args.wish);
    if let Some(test) = args.build_test {
        base.base = match test {
            BuildTest::Allyesconfig => Base::AllYes,
            BuildTest::Allmodconfig => Base::AllMod,
        };
    }
    let stem = args.name.clone().unwrap_or_else(|| stem(source));
    let named = |kind: &str| match (&args.name, args.matrix.is_empty()) {
        (Some(name), true) => name.clone(),
        _ => format!("{stem}-{kind}"),
    };
    let mut models: Vec<Option<KernelModel>> = Vec::new();
    for model in &args.matrix {
        let built = Some(match model {
            KernelModel::None | KernelModel::Voluntary | KernelModel::Full => KernelModel::Dynamic,
            other => *other,
        });
        if !models.contains(&built) {
            models.push(built);
        }
    }
    if models.is_empty() {
        models.push(base.model);
    }
    models
        .into_iter()
        .map(|model| {
            let kind = match (&base.base, model) {
                (Base::AllYes | Base::AllMod, _) | (_, None) => match &base.base {
                    Base::File(_) => "file".to_owned(),
                    base => base.name(),
                },
                (_, Some(model)) => model.to_string(),
            };
            let wish = Wish {
                model,
                ..base.clone()
            };
            (named(&kind), wish)
        })
        .collect()
}

fn stem(source: &FoundSource) -> String {
    let name = source.known.as_ref().map(|known| known.name.as_str());
    let name = name.unwrap_or(source.tree.version.as_str());
    let name = name.trim_start_matches("linux-source-");
    match source.tree.is_foreign() {
        true => format!("{name}-{}", source.tree.srcarch()),
        false => name.to_owned(),
    }
}

/// Says which build is which of the models that were asked for.
fn how_to_boot(builds: &[BuiltKernel], matrix: &[KernelModel]) -> String {
    let lines = matrix.iter().filter_map(|model| {
        let (built, append) = match model {
            KernelModel::None | KernelModel::Voluntary | KernelModel::Full => (
                KernelModel::Dynamic,
                format!(", booted with preempt={model}"),
            ),
            other => (*other, String::new()),
        };
        let build = builds.iter().find(|build| build.model == Some(built))?;
        Some(format!("Model {model}: {}{append}\n", build.name))
    });
    lines.collect()
}
