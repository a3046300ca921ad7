// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What on a machine, or in the configuration of a kernel, hurts determinism.

mod processes;

use punctual_model::{CpuChoice, Diagnosis, Evidence, Fixer, Rule, RuleOutcome, Severity, Verdict};

use super::facts::{machine_facts, plural};
use super::named::{capital, counted};
use super::parts::{Block, Document, Ids, Item, More, Section, Tone};

/// Files that a finding cites; the others are counted.
const CITED: usize = 2;

impl Document {
    /// Says what was found on a machine, the worst first, then what is not known, fine and not applicable.
    pub fn of_diagnosis(diagnosis: &Diagnosis) -> Self {
        let (tone, word) = answer(diagnosis);
        Self::of(&title(diagnosis), blocks(diagnosis)).answering(tone, &word, judged(diagnosis))
    }

    /// Says what was found in the configuration of a kernel, named `name`, that has `options` options.
    pub fn of_checked_config(diagnosis: &Diagnosis, name: &str, options: usize) -> Self {
        let (tone, word) = answer(diagnosis);
        let sentence = format!(
            "{}{} judged the {options} options of {name}; {} fine.",
            severities(diagnosis),
            counted(diagnosis.verdicts.len() as u64, "rule"),
            diagnosis.with(RuleOutcome::Fine).count(),
        );
        let mut blocks = findings(diagnosis);
        blocks.extend(rest(diagnosis, RuleOutcome::Fine, "Fine"));
        Self::of("Configuration of a kernel", blocks).answering(tone, &word, sentence)
    }

    /// Says all about one rule, and what it says of the machine.
    pub fn of_verdict(diagnosis: &Diagnosis, verdict: &Verdict) -> Self {
        let (tone, word) = match verdict.outcome {
            RuleOutcome::Found => (Tone::Bad, "Found"),
            RuleOutcome::Fine => (Tone::Good, "Fine"),
            RuleOutcome::Unknown => (Tone::Doubtful, "Unknown"),
            RuleOutcome::NotApplicable => (Tone::Good, "Not applicable"),
        };
        let rule = &verdict.rule;
        let mut seen = Item::from(("Here", verdict.says.clone()));
        seen.more
            .extend(verdict.evidence.iter().map(cite).map(More::Said));
        let mut about = about(rule);
        about.extend(machine_facts(&diagnosis.host));
        about.push(("Judged".to_owned(), chosen(diagnosis)));
        let mut blocks = vec![Block::Items(vec![seen]), Block::Facts(about)];
        if let Some(more) = tune(verdict) {
            let more = vec![more];
            let next = Item {
                more,
                ..Item::from(("Next", ""))
            };
            blocks.push(Block::Items(vec![next]));
        }
        let sentence = format!("{} ({})", rule.title, rule.id);
        Self::of(&rule.id, blocks).answering(tone, word, sentence)
    }
}

/// Adds what was found on a machine to a report of something else.
pub(super) fn add(document: &mut Document, ids: &mut Ids, diagnosis: &Diagnosis) {
    let (_, word) = answer(diagnosis);
    let answer = Block::Text(format!("{word}: {}", judged(diagnosis)));
    document.sections.push(Section {
        id: ids.make("doctor"),
        title: title(diagnosis),
        blocks: [vec![answer], blocks(diagnosis)].concat(),
    });
}

fn title(diagnosis: &Diagnosis) -> String {
    let host = diagnosis.host.hostname.as_deref();
    format!(
        "What hurts determinism on {}",
        host.unwrap_or("a host unknown")
    )
}

fn blocks(diagnosis: &Diagnosis) -> Vec<Block> {
    let mut blocks = vec![Block::Facts(machine_facts(&diagnosis.host))];
    blocks.extend(findings(diagnosis));
    let unknown = entries(diagnosis, RuleOutcome::Unknown);
    if !unknown.is_empty() {
        let heading = "Not known, because a file could not be read".to_owned();
        blocks.push(Block::Part(heading, vec![Block::Items(unknown)]));
    }
    blocks.extend(rest(diagnosis, RuleOutcome::Fine, "Fine"));
    blocks.extend(rest(
        diagnosis,
        RuleOutcome::NotApplicable,
        "Not applicable here",
    ));
    let next = "`punctual doctor --explain RULE` says why, how to fix it, and gives the source; `--all` also lists \
                what is fine and what is not applicable. Severities follow the sources of the rules: measure to see \
                what a finding costs here.";
    blocks.push(Block::facts([("Next", next)]));
    blocks
}

fn answer(diagnosis: &Diagnosis) -> (Tone, String) {
    let found = diagnosis.with(RuleOutcome::Found).count() as u64;
    let tone = match diagnosis.worst() {
        Some(Severity::High) => Tone::Bad,
        Some(_) => Tone::Doubtful,
        None => Tone::Good,
    };
    let word = match found {
        0 => "Nothing found".to_owned(),
        n => counted(n, "finding"),
    };
    (tone, word)
}

/// How many findings there are of each severity.
fn severities(diagnosis: &Diagnosis) -> String {
    let of = |severity: &Severity| {
        let found = diagnosis.with(RuleOutcome::Found);
        let n = found.filter(|v| v.rule.severity == *severity).count();
        (n > 0).then(|| format!("{n} {severity}"))
    };
    let parts: Vec<String> = Severity::ALL.iter().filter_map(of).collect();
    match parts.is_empty() {
        true => String::new(),
        false => parts.join(", ") + ". ",
    }
}

fn judged(diagnosis: &Diagnosis) -> String {
    let count = |outcome| diagnosis.with(outcome).count();
    format!(
        "{}{} judged {}; {} fine, {} unknown, {} not applicable.",
        severities(diagnosis),
        counted(diagnosis.verdicts.len() as u64, "rule"),
        chosen(diagnosis),
        count(RuleOutcome::Fine),
        count(RuleOutcome::Unknown),
        count(RuleOutcome::NotApplicable),
    )
}

fn chosen(diagnosis: &Diagnosis) -> String {
    if diagnosis.cpus.is_empty() {
        return "no CPU: which are online could not be read".to_owned();
    }
    let why = match diagnosis.cpus_chosen {
        CpuChoice::Asked => "as asked",
        CpuChoice::Isolated => "which the kernel isolates",
        CpuChoice::Online => "all that are online",
    };
    let n = diagnosis.cpus.len();
    format!("CPU{} {}, {why}", plural(n), diagnosis.cpus)
}

/// The findings by severity.
fn findings(diagnosis: &Diagnosis) -> Vec<Block> {
    let mut blocks = Vec::new();
    for severity in Severity::ALL {
        let found = diagnosis.with(RuleOutcome::Found);
        let found = found.filter(|verdict| verdict.rule.severity == *severity);
        let found: Vec<Item> = found.map(finding).collect();
        if !found.is_empty() {
            let heading = format!("{}: {}", capital(severity.name()), meaning(*severity));
            blocks.push(Block::Part(heading, vec![Block::Items(found)]));
        }
    }
    blocks
}

/// What is wrong, what was seen, what helps, and the command of `tune` that does. What costs little is worth a line.
fn finding(verdict: &Verdict) -> Item {
    let rule = &verdict.rule;
    let fixers = fixers(&rule.fixed_by);
    let by = (!fixers.is_empty()).then(|| format!("fix: {fixers}"));
    let fix = by.as_ref().map(|_| format!("Fix ({fixers}): {}", rule.fix));
    let mut cited = verdict.evidence.iter().take(CITED).map(cite);
    let more = |cited| match verdict.evidence.len().saturating_sub(cited) {
        0 => None,
        more => Some(format!("and {more} more")),
    };
    let mut text = format!("{}: {}", rule.title, verdict.says);
    let mut lines: Vec<More> = Vec::new();
    if rule.severity >= Severity::Medium {
        lines.extend(cited.chain(more(CITED)).chain(fix).map(More::Said));
    } else {
        let first = cited.next().into_iter().chain(more(1));
        let first: Vec<String> = first.collect();
        let brief = [first.join(" "), by.unwrap_or_default()];
        let brief: Vec<String> = brief.into_iter().filter(|of| !of.is_empty()).collect();
        if !brief.is_empty() {
            text = format!("{text} ({})", brief.join("; "));
        }
        lines.extend(cited.chain(fix).map(More::Aside));
    }
    lines.extend(tune(verdict));
    Item {
        more: lines,
        ..Item::from((rule.id.as_str(), text))
    }
}

/// The command of `tune` that fixes a finding here, or why none does.
fn tune(verdict: &Verdict) -> Option<More> {
    let advice = verdict.tune.as_ref()?;
    let command = advice.command.clone().map(More::Verbatim);
    let obstacle = advice.obstacle.as_ref();
    command.or_else(|| Some(More::Said(format!("Not by tune here: {}", obstacle?))))
}

/// What a rule says that found nothing. What could not be read is said as shortly as that it is missing; files that
/// several rules lack are said once a rule, because each rule is a question that stays open.
fn entries(diagnosis: &Diagnosis, outcome: RuleOutcome) -> Vec<Item> {
    let entry = |verdict: &Verdict| {
        let mut lines = verdict.evidence.iter().map(cite);
        let text = match outcome {
            RuleOutcome::Unknown => lines.next(),
            RuleOutcome::Fine => lines
                .next()
                .map(|cited| format!("{}; {cited}", verdict.says)),
            RuleOutcome::Found | RuleOutcome::NotApplicable => None,
        };
        let text = text.unwrap_or_else(|| verdict.says.clone());
        let mut item = Item::from((verdict.rule.id.as_str(), text));
        if outcome == RuleOutcome::Unknown {
            item.more.extend(lines.map(More::Aside));
        }
        item
    };
    diagnosis.with(outcome).map(entry).collect()
}

/// What is only there for who wants to know all.
fn rest(diagnosis: &Diagnosis, outcome: RuleOutcome, heading: &str) -> Option<Block> {
    let entries = entries(diagnosis, outcome);
    (!entries.is_empty()).then(|| Block::Fold(heading.to_owned(), vec![Block::Items(entries)]))
}

fn about(rule: &Rule) -> Vec<(String, String)> {
    let knobs = match rule.knobs[..] {
        [] => String::new(),
        _ => format!("punctual tune, setting {}", rule.knobs.join(", ")),
    };
    let facts = [
        (
            "Severity",
            format!("{}: {}", rule.severity, meaning(rule.severity)),
        ),
        ("Why", rule.why.clone()),
        ("Fix", rule.fix.clone()),
        ("Fixed by", fixers(&rule.fixed_by)),
        ("Tune", knobs),
        ("Source", rule.source.clone()),
    ];
    let facts = facts.into_iter().filter(|(_, text)| !text.is_empty());
    facts.map(|(name, text)| (name.to_owned(), text)).collect()
}

fn cite(evidence: &Evidence) -> String {
    match (&evidence.value, &evidence.problem) {
        (Some(value), _) if value.is_empty() => format!("{}: empty", evidence.path),
        (Some(said), _) | (None, Some(said)) => format!("{}: {said}", evidence.path),
        (None, None) => evidence.path.clone(),
    }
}

fn fixers(fixers: &[Fixer]) -> String {
    let names: Vec<_> = fixers.iter().map(|fixer| fixer.name()).collect();
    names.join(", ")
}

/// Says what a severity means.
pub(crate) const fn meaning(severity: Severity) -> &'static str {
    match severity {
        Severity::High => {
            "can delay a real-time thread by 100 µs and more, or without bound, or keeps it from being \
             real-time"
        }
        Severity::Medium => "can delay a real-time thread by 10 to 100 µs, or rarely by more",
        Severity::Low => "can delay a real-time thread by less than 10 µs, or rarely",
        Severity::Info => "costs nothing by itself, but limits what is available or visible",
    }
}
