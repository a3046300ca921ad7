// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A git repository whose own files and branches are left alone: work happens in separate worktrees.

use std::path::{Path, PathBuf};
use std::process::Command;

use punctual_model::ConflictingCommit;

use crate::tool::{Answer, Long, ToolError, ask, command, run};

/// Set for every command, whatever the user and the repository say: no hooks, no signatures, no advice, resolutions
/// are kept and used, and a rebase moves no branch but its own.
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "advice.mergeConflict=false",
    "rebase.updateRefs=false",
    "rebase.rebaseMerges=false",
    "rebase.autoStash=false",
    "rebase.autoSquash=false",
    "rerere.enabled=true",
    "rerere.autoUpdate=true",
    "core.quotePath=false",
];

/// A repository or a worktree of one.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    pub(crate) path: PathBuf,
}

impl Git {
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut git = command("git");
        self.set(&mut git).args(args);
        git
    }

    fn set<'a>(&self, git: &'a mut Command) -> &'a mut Command {
        git.arg("-C").arg(&self.path);
        git.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
    }

    /// Runs git, and returns what it said, without the last newline.
    pub(crate) fn say(&self, args: &[&str]) -> Result<String, ToolError> {
        Ok(run(&mut self.command(args))?.text())
    }

    /// Runs git, whatever comes of it.
    pub(crate) fn try_it(&self, args: &[&str]) -> Result<Answer, ToolError> {
        ask(&mut self.command(args))
    }

    /// Runs git where it may write the files of a whole kernel, until `stop` says so; returns whether it succeeded, and
    /// what it said.
    pub(crate) fn try_long(
        &self,
        args: &[&str],
        stop: &dyn Fn() -> bool,
    ) -> Result<(bool, String), ToolError> {
        let mut said = String::new();
        match self.start(args).run(stop, |line| said.extend([line, "\n"])) {
            Ok(()) => Ok((true, said)),
            Err(ToolError::Failed { .. }) => Ok((false, said)),
            Err(err) => Err(err),
        }
    }

    /// As [`Git::try_long`], and requires success.
    pub(crate) fn long(&self, args: &[&str], stop: &dyn Fn() -> bool) -> Result<(), ToolError> {
        self.start(args).run(stop, |_| {})
    }

    fn start(&self, args: &[&str]) -> Long<'_> {
        let mut git = Long::new("git");
        self.set(&mut git.command).args(args);
        git
    }

    /// Returns the id of a commit, if there is such a one.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>, ToolError> {
        let commit = format!("{name}^{{commit}}");
        let answer = self.try_it(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ])?;
        Ok(answer.status.success().then(|| answer.text()))
    }

    /// Returns a commit with the first line of its message.
    pub(crate) fn described(&self, id: &str) -> Result<ConflictingCommit, ToolError> {
        Ok(described(&self.of_commit(id, "%H%x09%s")?))
    }

    /// Returns what a commit says of itself, in a format of git-log(1).
    pub(crate) fn of_commit(&self, id: &str, format: &str) -> Result<String, ToolError> {
        let format = format!("--format={format}");
        self.say(&["show", "-s", "--no-show-signature", &format, id])
    }

    /// Returns where a file of git's own is.
    pub(crate) fn own(&self, name: &str) -> Result<PathBuf, ToolError> {
        let path = self.say(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
        Ok(PathBuf::from(path))
    }
}

/// Reads `ID<TAB>SUBJECT`.
pub(crate) fn described(line: &str) -> ConflictingCommit {
    let (id, subject) = line.split_once('\t').unwrap_or((line, ""));
    ConflictingCommit {
        id: id.to_owned(),
        subject: subject.to_owned(),
    }
}
