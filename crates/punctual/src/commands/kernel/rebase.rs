// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel rebase`.

use std::path::{Path, PathBuf};

use punctual_kernel::rebase::{self, Order, RebaseError};
use punctual_kernel::source::make_private;
use punctual_model::RebaseState;
use punctual_report::document::Document;
use punctual_sys::dir::Missing;

use crate::cli::KernelRebaseArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::kernels::kernel_store::{self, FoundSource, failed, show};

/// Begins a rebase, goes on with it, gives it up, or says how far it is.
pub(super) fn run(home: Option<&Path>, args: &KernelRebaseArgs) -> Result<Exit, CliError> {
    let (tree, _held) = tree(home, &args.tree)?;
    let result = if args.resume {
        rebase::resume(&tree)
    } else if args.abort {
        rebase::abort(&tree)
    } else if args.status {
        rebase::status(&tree)
    } else {
        rebase::start(&tree, &order(home, args)?)
    };
    let report = result.map_err(|err| {
        let hint = match &err {
            RebaseError::UnderWay { .. } => {
                Some("continue with --continue, or give up with --abort")
            }
            RebaseError::BranchThere(_) => Some("give the new one a different name with --branch"),
            RebaseError::WorktreeThere(_) => Some("give another directory with --worktree"),
            RebaseError::WorktreeListed(_) => Some(
                "`git worktree prune` in the repository forgets it; or give another directory with --worktree",
            ),
            RebaseError::GivenUp { .. } => {
                Some("--abort removes what is left of it; then begin again")
            }
            RebaseError::Apart { .. } => Some("say where the vendor's work starts with --base"),
            _ => None,
        };
        failed("rebase", err).hints(hint)
    })?;
    show(&report, args.json, Document::of_rebase)?;
    Ok(if report.state == RebaseState::Stopped {
        Exit::Failed
    } else {
        Exit::Fine
    })
}

/// Finds a repository: a directory, or a source of the store, which is not removed while what is returned lives.
pub(super) fn tree(
    home: Option<&Path>,
    word: &Path,
) -> Result<(PathBuf, Option<FoundSource>), CliError> {
    if word.is_dir() {
        return std::path::absolute(word)
            .map(|path| (path, None))
            .map_err(|err| failed(&format!("find {}", word.display()), err));
    }
    let source = kernel_store::find(&kernel_store::open(home)?, word)?;
    Ok((source.tree.path.clone(), Some(source)))
}

fn order(home: Option<&Path>, args: &KernelRebaseArgs) -> Result<Order, CliError> {
    let vendor = args.vendor.clone().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let worktree = match &args.worktree {
        Some(worktree) => worktree.clone(),
        None => {
            let kernels = home::own(home, Missing::Make)?.join("kernels/rebase");
            make_private(&kernels)
                .map_err(|err| failed(&format!("make {}", kernels.display()), err))?;
            kernels.join(vendor.replace(|c| !plain(c), "-"))
        }
    };
    let branch = args.branch.clone();
    Ok(Order {
        branch: branch.unwrap_or_else(|| format!("punctual/{vendor}")),
        onto: args.onto.clone().unwrap_or_default(),
        base: args.base.clone(),
        vendor,
        worktree,
    })
}
