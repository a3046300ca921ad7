// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a report is made of, and what it consists of.

use punctual_model::tasks::TasksCheck;
use punctual_model::{
    Assessment, Comparison, Diagnosis, ExperimentResults, Extrapolation, Finding, FleetReport,
    History, LatencyTest, Machines, Nanos, ProcessDiagnosis, RefusedRun, RunRecord, StudyResult,
    TrialReport,
};
use punctual_stats::ThreadHistogram;

use crate::chart::Drawing;

/// The largest sample of each stretch of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Maxima {
    /// The thread; `None` for all of them.
    pub thread: Option<u32>,
    /// The stretches that have a sample, in the order of time.
    pub stretches: Vec<Stretch>,
    /// Where they end too early: the run took more samples after it, and none of them was larger.
    pub cut: Option<Nanos>,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stretch {
    /// When it began, since the start.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// The largest sample that was taken in it, in ns.
    pub max_ns: u64,
}

/// A run with what a report needs of its files.
#[derive(Clone, Debug)]
pub struct RunItem {
    /// Its record.
    pub record: RunRecord,
    /// Its histograms; none where it has none.
    pub parts: Vec<ThreadHistogram>,
    /// The group that it was named with, where the user named runs in groups.
    pub group: Option<String>,
    /// The largest samples over time; none where nothing was recorded over time.
    pub maxima: Vec<Maxima>,
}

impl From<RunRecord> for RunItem {
    /// A run of which only the record is known.
    fn from(record: RunRecord) -> Self {
        Self {
            record,
            parts: Vec::new(),
            group: None,
            maxima: Vec::new(),
        }
    }
}

/// What a report is made of.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// Runs, in the order in which they were named.
    pub runs: Vec<RunItem>,
    /// Runs that cannot be read, and that belong to those that were named, or may.
    pub unreadable: Vec<RefusedRun>,
    /// Comparisons.
    pub comparisons: Vec<Comparison>,
    /// Machines compared with each other.
    pub machines: Vec<Machines>,
    /// Runs over time.
    pub histories: Vec<History>,
    /// Experiments.
    pub experiments: Vec<ExperimentResults>,
    /// The runs of the experiments, of which machine, kernel and method are shown.
    pub behind: Vec<RunRecord>,
    /// Published studies as they were carried out.
    pub studies: Vec<StudyResult>,
    /// Assessments.
    pub assessments: Vec<Assessment>,
    /// What `doctor` found.
    pub diagnoses: Vec<Diagnosis>,
    /// What was done on the hosts of an inventory.
    pub fleets: Vec<FleetReport>,
    /// What other verbs printed.
    pub printed: Vec<Printed>,
    /// A title given by the user.
    pub title: Option<String>,
    /// What made the report.
    pub program: String,
    /// When it was made, RFC 3339.
    pub made: String,
}

/// A result that is shown as the verb that printed it shows it.
#[derive(Clone, Debug)]
pub enum Printed {
    /// Of `tasks check`.
    TasksCheck(TasksCheck),
    /// Of `kernel latency-test`.
    LatencyTest(LatencyTest),
    /// Of `tune trial`.
    Trial(TrialReport),
    /// Of `doctor` for processes.
    Processes(ProcessDiagnosis),
    /// Of `runs extrapolate`.
    Extrapolation(Extrapolation),
}

impl Material {
    /// Whether all times in it are counts of instructions.
    pub(super) fn is_virtual(&self) -> bool {
        let runs = self.runs.iter().map(|run| run.record.is_virtual());
        let compared = self.comparisons.iter().map(Comparison::is_virtual);
        let experiments = self.experiments.iter().flat_map(|e| &e.measurements);
        let experiments = experiments.map(|m| m.comparison.is_virtual());
        let lines = self.histories.iter().flat_map(|history| &history.lines);
        let groups = self.machines.iter().flat_map(|fleet| &fleet.groups);
        let over = lines.map(|line| line.virtual_time);
        let over = over.chain(groups.map(|group| group.virtual_time));
        let mut all = runs
            .chain(compared)
            .chain(experiments)
            .chain(over)
            .peekable();
        all.peek().is_some() && all.all(|is_virtual| is_virtual)
    }
}

/// How an answer sounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tone {
    /// It is as wished.
    Good,
    /// It is not.
    Bad,
    /// It must not be believed, or not without a thought.
    Doubtful,
    /// It is a fact.
    Plain,
}

/// A figure that carries an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFigure {
    /// What it is.
    pub name: String,
    /// Its value with its unit.
    pub value: String,
    /// Its interval and the observations behind it.
    pub detail: String,
}

/// What one part of the material says, in a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How it sounds.
    pub tone: Tone,
    /// One or two words: `valid`, `INVALID`, `worse`.
    pub word: String,
    /// The sentence.
    pub sentence: String,
    /// The figures that carry it.
    pub figures: Vec<KeyFigure>,
    /// Why it may, or may not, be believed.
    pub validity: Vec<Reason>,
}

/// A reason to believe an answer, or not to.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The reason.
    pub text: String,
    /// Whether it speaks against the answer.
    pub is_fault: bool,
}

impl Reason {
    /// Makes one that speaks against the answer.
    pub fn fault(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_fault: true,
        }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self {
            text,
            is_fault: false,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its heading, with the unit.
    pub name: String,
    /// Whether it has figures, which end at the same place.
    pub figures: bool,
    /// How early it goes where there is no room; 0: never.
    pub rank: u8,
    /// What stands between the column before and this one, where lines are short and both are written as one.
    pub behind: Option<&'static str>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its heading, with the unit of its figures.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// What has to be known of it.
    pub notes: Vec<String>,
    /// Whether it only has the values of a chart: text has it where all is asked for.
    pub aside: bool,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A chart, with the table of its values.
    Drawing(Box<Drawing>, Option<Table>),
    /// Sentences with a mark each: `fail`, `observed`.
    Items(Vec<Item>),
    /// Something with a heading.
    Part(String, Vec<Self>),
    /// Something that is opened by who wants it.
    Fold(String, Vec<Self>),
}

/// A sentence with a mark, and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    /// The mark: `fail`, the name of a rule.
    pub mark: String,
    /// The sentence.
    pub text: String,
    /// What belongs to it, each on lines of its own.
    pub more: Vec<More>,
}

/// What belongs to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum More {
    /// A sentence.
    Said(String),
    /// A sentence that a terminal shows where all is asked for.
    Aside(String),
    /// Lines that are never broken: a command to copy, a file.
    Verbatim(String),
}

impl<N: Into<String>, T: Into<String>> From<(N, T)> for Item {
    fn from((mark, text): (N, T)) -> Self {
        Self {
            mark: mark.into(),
            text: text.into(),
            more: Vec::new(),
        }
    }
}

impl Block {
    /// Makes a block of names and values.
    pub(crate) fn facts<N: Into<String>, T: Into<String>>(
        facts: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let facts = facts.into_iter();
        Self::Facts(facts.map(|(n, t)| (n.into(), t.into())).collect())
    }

    /// Makes a block of sentences with a mark each.
    pub(crate) fn items<I: Into<Item>>(items: impl IntoIterator<Item = I>) -> Self {
        Self::Items(items.into_iter().map(Into::into).collect())
    }
}

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// A name for links.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its parts.
    pub blocks: Vec<Block>,
}

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// What it was made of, by what and when.
    pub made: String,
    /// What has to be known before all else: what no figure here may be taken for.
    pub caveats: Vec<String>,
    /// The answers.
    pub answers: Vec<Answer>,
    /// The sections.
    pub sections: Vec<Section>,
}

/// Findings as items: how sure they are, and what they say.
pub(crate) fn remarks(of: &[Finding]) -> impl Iterator<Item = (String, String)> {
    let item = |finding: &Finding| {
        let said = format!("{}: {}", finding.id, finding.detail);
        (finding.certainty.to_string(), said)
    };
    of.iter().map(item)
}

impl Table {
    /// Makes a table. Before the name of a column, `?` means that it goes where there is no room, `??` that it goes
    /// before those; `<` that it has words, else figures. `..`, `±` and `/`: it is written behind the column before.
    pub(crate) fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let column = |name: &&str| {
            let ranked = name.trim_start_matches('?');
            let (behind, shown) = match ranked {
                _ if ranked.starts_with("..") => (Some(" .. "), &ranked[2..]),
                _ if ranked.starts_with('±') => (Some(" ±"), ranked),
                _ if ranked.starts_with('/') => (Some(" of "), &ranked[1..]),
                _ => (None, ranked),
            };
            Column {
                name: shown.trim_start_matches('<').to_owned(),
                figures: !shown.starts_with('<'),
                rank: u8::try_from(name.len() - ranked.len()).unwrap_or(u8::MAX),
                behind,
            }
        };
        Self {
            caption: caption.into(),
            columns: columns.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// Makes a table of columns with `|` between their names.
    pub(crate) fn of(caption: impl Into<String>, columns: &str) -> Self {
        Self::new(caption, &columns.split('|').collect::<Vec<_>>())
    }

    /// The same with rows.
    pub(crate) fn with<R>(mut self, rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item: Into<String>>,
    {
        let rows = rows.into_iter();
        let row = |cells: R| cells.into_iter().map(Into::into).collect();
        self.rows = rows.map(row).collect();
        self
    }

    /// Removes columns that have nothing in any row.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        for at in (0..self.columns.len()).rev() {
            let empty = |row: &Vec<String>| row.get(at).is_none_or(|c| c.is_empty());
            if self.rows.iter().all(empty) {
                self.columns.remove(at);
                for row in &mut self.rows {
                    if at < row.len() {
                        row.remove(at);
                    }
                }
            }
        }
        self
    }
}

impl Document {
    /// Lists of names and what each is, under a caption and two headings each.
    pub fn of_names<'a>(
        title: &str,
        lists: impl IntoIterator<Item = (&'a str, [&'a str; 2], Vec<(String, String)>)>,
    ) -> Self {
        let table = |(caption, heads, rows): (&str, [&str; 2], Vec<(String, String)>)| {
            let mut table = Table::new(caption, &heads);
            table.rows = rows.into_iter().map(|(a, b)| vec![a, b]).collect();
            Block::Table(table)
        };
        Self::of(title, lists.into_iter().map(table).collect())
    }

    /// Makes one of a single section, which is all that is said. Blocks that have nothing are left out.
    pub(crate) fn of(title: &str, mut blocks: Vec<Block>) -> Self {
        blocks.retain(|block| match block {
            Block::Facts(facts) => !facts.is_empty(),
            Block::Items(items) => !items.is_empty(),
            Block::Table(table) => !table.rows.is_empty(),
            _ => true,
        });
        let section = Section {
            id: String::new(),
            title: title.to_owned(),
            blocks,
        };
        Self {
            title: title.to_owned(),
            sections: vec![section],
            ..Self::default()
        }
    }

    /// Adds all that another document says.
    pub(super) fn append(&mut self, ids: &mut Ids, id: &str, other: Self) {
        self.caveats.extend(other.caveats);
        self.answers.extend(other.answers);
        let sections = other.sections.into_iter().map(|section| Section {
            id: ids.make(id),
            ..section
        });
        self.sections.extend(sections);
    }

    /// The same with an answer.
    pub(crate) fn answering(mut self, tone: Tone, word: &str, sentence: impl Into<String>) -> Self {
        self.answers.push(Answer {
            tone,
            word: word.to_owned(),
            sentence: sentence.into(),
            figures: Vec::new(),
            validity: Vec::new(),
        });
        self
    }

    /// The same with the evidence against the answer.
    pub(crate) fn faulted(mut self, faults: impl IntoIterator<Item = String>) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            let faults = faults.into_iter().map(Reason::fault);
            answer.validity.extend(faults);
        }
        self
    }

    /// Returns every chart, in order.
    pub fn drawings(&self) -> Vec<&Drawing> {
        fn inside<'a>(blocks: &'a [Block], into: &mut Vec<&'a Drawing>) {
            for block in blocks {
                match block {
                    Block::Drawing(drawing, _) => into.push(drawing),
                    Block::Part(_, blocks) | Block::Fold(_, blocks) => inside(blocks, into),
                    _ => {}
                }
            }
        }
        let mut drawings = Vec::new();
        for section in &self.sections {
            inside(&section.blocks, &mut drawings);
        }
        drawings
    }
}

/// Names that are used once in a report.
#[derive(Debug, Default)]
pub(crate) struct Ids(Vec<String>);

impl Ids {
    /// Makes a name of letters, digits and dashes that nothing else has.
    pub(crate) fn make(&mut self, wanted: &str) -> String {
        let mut name = String::new();
        for c in wanted.chars().take(60) {
            match c.to_ascii_lowercase() {
                c if c.is_ascii_alphanumeric() => name.push(c),
                _ if name.ends_with('-') || name.is_empty() => {}
                _ => name.push('-'),
            }
        }
        let name = match name.trim_end_matches('-') {
            "" => "part".to_owned(),
            name => name.to_owned(),
        };
        let mut unique = name.clone();
        let mut number = 1;
        while self.0.contains(&unique) {
            number += 1;
            unique = format!("{name}-{number}");
        }
        self.0.push(unique.clone());
        unique
    }
}
