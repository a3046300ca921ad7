// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What on a machine hurts determinism, as text.

use punctual_model::{
    CpuChoice, Diagnosis, Evidence, Fixer, JudgedProcess, ProcessDiagnosis, Rule, RuleOutcome,
    Severity, Verdict,
};

use super::Detail;
use super::layout::{clean, paragraph, wrapped};
use super::words::{self, plural};

/// Columns that the names of rules take.
const ID: usize = 22;

/// Files that a finding cites; the others are counted.
const CITED: usize = 2;

/// Says what was found, the worst first; in full, also what is fine and what is not applicable.
pub fn diagnosis(diagnosis: &Diagnosis, detail: Detail) -> String {
    let mut sections = vec![words::host(&diagnosis.host) + &judged(diagnosis)];
    sections.extend(outcomes(&diagnosis.verdicts, detail));
    sections.push(closing("doctor", detail));
    sections.join("\n")
}

/// Returns the verdicts of one outcome, the most severe first.
fn with(verdicts: &[Verdict], outcome: RuleOutcome) -> impl Iterator<Item = &Verdict> {
    verdicts.iter().filter(move |v| v.outcome == outcome)
}

/// Says how many rules came to which outcome.
fn counts(verdicts: &[Verdict]) -> String {
    let count = |outcome| with(verdicts, outcome).count();
    let all = verdicts.len();
    format!(
        "{all} rule{}: {} found, {} fine, {} unknown, {} not applicable",
        plural(all),
        count(RuleOutcome::Found),
        count(RuleOutcome::Fine),
        count(RuleOutcome::Unknown),
        count(RuleOutcome::NotApplicable),
    )
}

/// Says what was found, the worst first, and what is not known; in full, also what is fine and what is not applicable.
fn outcomes(verdicts: &[Verdict], detail: Detail) -> Vec<String> {
    let mut sections = Vec::new();
    for severity in Severity::ALL {
        let findings: Vec<_> = with(verdicts, RuleOutcome::Found)
            .filter(|verdict| verdict.rule.severity == *severity)
            .collect();
        if !findings.is_empty() {
            let heading = wrapped(
                "",
                0,
                &format!("{}: {}", capital(*severity), meaning(*severity)),
            );
            let findings: String = findings
                .into_iter()
                .map(|verdict| finding(verdict, detail))
                .collect();
            sections.push(heading + &findings);
        }
    }
    sections.extend(unknown(verdicts, detail));
    if detail == Detail::Full {
        sections.extend(short(verdicts, RuleOutcome::Fine, "Fine", detail));
        sections.extend(short(
            verdicts,
            RuleOutcome::NotApplicable,
            "Not applicable here",
            detail,
        ));
    }
    sections
}

/// Says how processes are set up, one after the other.
pub fn process_diagnosis(diagnosis: &ProcessDiagnosis, detail: Detail) -> String {
    let mut sections = vec![words::host(&diagnosis.host)];
    for process in &diagnosis.processes {
        sections.push(process_heading(process, detail));
        sections.extend(outcomes(&process.verdicts, detail));
    }
    sections.push(closing("doctor --pid PID", detail));
    sections.join("\n")
}

/// Threads of a process that are listed where not all is said.
const THREADS: usize = 8;

fn process_heading(process: &JudgedProcess, detail: Detail) -> String {
    let named = format!("{} (pid {})", clean(&process.name), process.pid);
    let mut text = paragraph("Process", &named);
    let real_time = process.threads.iter().filter(|t| t.is_real_time).count();
    let all = process.threads.len();
    let who = match real_time {
        0 => format!("{all} thread{}, none real-time", plural(all)),
        n => format!("{n} real-time thread{} of {all}", plural(n)),
    };
    text += &paragraph("Judged", &format!("{who}; {}", counts(&process.verdicts)));
    let mut threads: Vec<_> = process.threads.iter().collect();
    threads.sort_by_key(|thread| (!thread.is_real_time, thread.tid));
    let shown = match detail {
        Detail::Full => all,
        Detail::Summary => THREADS,
    };
    for (n, thread) in threads.iter().take(shown).enumerate() {
        let label = if n == 0 { "Threads" } else { "" };
        let line = format!(
            "{} {}: {}, CPU{} {}",
            thread.tid,
            clean(&thread.name),
            thread.policy,
            plural(thread.cpus.len()),
            thread.cpus
        );
        text += &paragraph(label, &line);
    }
    if all > shown {
        text += &paragraph("", &format!("and {} more", all - shown));
    }
    text
}

/// Says all about one rule, and what it says of each process.
pub fn process_verdict(diagnosis: &ProcessDiagnosis, id: &str) -> Option<String> {
    let mut text = String::new();
    for process in &diagnosis.processes {
        let verdict = process.verdicts.iter().find(|v| v.rule.id == id)?;
        if text.is_empty() {
            let rule = &verdict.rule;
            text = wrapped("", 0, &format!("{}: {}", rule.id, rule.title));
            text = format!("{text}\n{}\n{}", about(rule), words::host(&diagnosis.host));
        }
        let named = format!("{} (pid {})", clean(&process.name), process.pid);
        text += &paragraph("Process", &named);
        text += &answered(verdict);
    }
    Some(text)
}

/// The outcome of a rule, and what it rests on.
fn answered(verdict: &Verdict) -> String {
    let mut text = paragraph(outcome(verdict.outcome), &clean(&verdict.says));
    for evidence in &verdict.evidence {
        text += &paragraph("", &cite(evidence));
    }
    text
}

/// Says what was found in the configuration of a kernel, named `name`, that has `options` options; in full, also what
/// is fine.
pub fn checked_config(diagnosis: &Diagnosis, name: &str, options: usize, detail: Detail) -> String {
    let count = |outcome| diagnosis.with(outcome).count();
    let mut text = paragraph("Config", &format!("{}, {options} options", clean(name)));
    text += &paragraph(
        "Judged",
        &format!(
            "by {} rules that need only the options: {} found, {} fine",
            diagnosis.verdicts.len(),
            count(RuleOutcome::Found),
            count(RuleOutcome::Fine)
        ),
    );
    for severity in Severity::ALL {
        let found = diagnosis.with(RuleOutcome::Found);
        let found: Vec<_> = found.filter(|v| v.rule.severity == *severity).collect();
        if !found.is_empty() {
            text.push('\n');
            let heading = format!("{}: {}", capital(*severity), meaning(*severity));
            text += &wrapped("", 0, &heading);
            text.extend(found.into_iter().map(|verdict| finding(verdict, detail)));
        }
    }
    if detail == Detail::Full {
        let fine = short(&diagnosis.verdicts, RuleOutcome::Fine, "Fine", detail);
        text.extend(fine.map(|fine| format!("\n{fine}")));
    }
    text
}

/// Says all about one rule, and what it says of the machine.
pub fn verdict(diagnosis: &Diagnosis, verdict: &Verdict) -> String {
    let rule = &verdict.rule;
    let mut text = wrapped("", 0, &format!("{}: {}", rule.id, rule.title));
    text.push('\n');
    text += &about(rule);
    text.push('\n');
    let on = words::host(&diagnosis.host);
    text += &on;
    text += &paragraph("Judged", &chosen(diagnosis));
    text += &answered(verdict);
    if let Some(advice) = &verdict.tune {
        let line = match (&advice.command, &advice.obstacle) {
            (Some(command), _) => format!("{:<10}{}\n", "Command", clean(command)),
            (None, Some(why)) => paragraph("Tune", &format!("not here: {}", clean(why))),
            (None, None) => String::new(),
        };
        text += &line;
    }
    text
}

fn about(rule: &Rule) -> String {
    let knobs = match rule.knobs[..] {
        [] => String::new(),
        _ => format!("punctual tune, setting {}", rule.knobs.join(", ")),
    };
    let severity = format!("{}: {}", rule.severity, meaning(rule.severity));
    [
        ("Severity", severity.as_str()),
        ("Why", &rule.why),
        ("Fix", &rule.fix),
        ("Fixed by", &fixers(&rule.fixed_by)),
        ("Tune", &knobs),
        ("Source", &rule.source),
    ]
    .into_iter()
    .filter(|(_, text)| !text.is_empty())
    .map(|(label, text)| paragraph(label, text))
    .collect()
}

fn judged(diagnosis: &Diagnosis) -> String {
    let text = format!("{}; {}", chosen(diagnosis), counts(&diagnosis.verdicts));
    paragraph("Judged", &text)
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

fn finding(verdict: &Verdict, detail: Detail) -> String {
    let rule = &verdict.rule;
    let says = found(verdict);
    if detail == Detail::Summary && rule.severity < Severity::Medium {
        return brief(verdict, &says);
    }
    let mut text = entry(&rule.id, &says);
    for evidence in verdict.evidence.iter().take(CITED) {
        text += &entry("", &cite(evidence));
    }
    let more = verdict.evidence.len().saturating_sub(CITED);
    if more > 0 {
        text += &entry("", &format!("and {more} more"));
    }
    if !rule.fixed_by.is_empty() {
        let fix = format!("Fix ({}): {}", fixers(&rule.fixed_by), rule.fix);
        text += &entry("", &fix);
    }
    text + &tune(verdict)
}

/// What a finding is: the thing that is wrong, which what was seen is about, and what was seen.
pub(crate) fn found(verdict: &Verdict) -> String {
    format!("{}: {}", verdict.rule.title, clean(&verdict.says))
}

/// What helps against a finding, with the command of `tune` or why there is none here.
pub(crate) fn remedy(verdict: &Verdict) -> String {
    let fix = &verdict.rule.fix;
    let advice = verdict.tune.as_ref();
    match advice.map(|advice| (&advice.command, &advice.obstacle)) {
        Some((Some(command), _)) => format!("{fix}: {}", clean(command)),
        Some((None, Some(why))) => format!("{fix}; not by tune here: {}", clean(why)),
        Some((None, None)) | None => fix.clone(),
    }
}

/// The command of `tune` that fixes a finding here, on a line of its own that can be copied, or why
/// none does.
fn tune(verdict: &Verdict) -> String {
    let Some(advice) = &verdict.tune else {
        return String::new();
    };
    match (&advice.command, &advice.obstacle) {
        (Some(command), _) => format!("{:ID$}{}\n", "", clean(command)),
        (None, Some(why)) => entry("", &format!("Not by tune here: {}", clean(why))),
        (None, None) => String::new(),
    }
}

/// What costs little is worth a line: the first evidence, and who can fix it.
fn brief(verdict: &Verdict, says: &str) -> String {
    let evidence = verdict.evidence.first().map(cite);
    let more = verdict.evidence.len().saturating_sub(1);
    let more = (more > 0).then(|| format!(" and {more} more"));
    let fixers = fixers(&verdict.rule.fixed_by);
    let fix = (!fixers.is_empty()).then(|| format!("; fix: {fixers}"));
    let text = format!(
        "{says} ({}{}{})",
        evidence.unwrap_or_default(),
        more.unwrap_or_default(),
        fix.unwrap_or_default()
    );
    let text = text.replace("(; ", "(").replace(" ()", "");
    entry(&verdict.rule.id, &text) + &tune(verdict)
}

/// What could not be read is said as shortly as that it is missing; files that several rules lack
/// are said once a rule, because each rule is a question that stays open.
fn unknown(verdicts: &[Verdict], detail: Detail) -> Option<String> {
    short(
        verdicts,
        RuleOutcome::Unknown,
        "Not known, because a file could not be read",
        detail,
    )
}

fn short(
    verdicts: &[Verdict],
    outcome: RuleOutcome,
    heading: &str,
    detail: Detail,
) -> Option<String> {
    let verdicts: Vec<_> = with(verdicts, outcome).collect();
    if verdicts.is_empty() {
        return None;
    }
    let mut text = format!("{heading}\n");
    for verdict in verdicts {
        let evidence = match outcome {
            RuleOutcome::Unknown if detail == Detail::Full => verdict.evidence.as_slice(),
            RuleOutcome::NotApplicable => &[],
            _ => verdict.evidence.get(..1).unwrap_or_default(),
        };
        let mut cited: Vec<_> = evidence.iter().map(cite).collect();
        if outcome != RuleOutcome::Unknown || cited.is_empty() {
            cited.insert(0, clean(&verdict.says).into_owned());
        }
        text += &entry(&verdict.rule.id, &cited.join("; "));
    }
    Some(text)
}

fn closing(command: &str, detail: Detail) -> String {
    let all = match detail {
        Detail::Summary => "; what is fine and what is not applicable: --all",
        Detail::Full => "",
    };
    let text = format!(
        "Severities are what the sources of the rules say that a thing can cost; what it costs here, a \
         measurement says. Why, how to fix it, and the source: punctual {command} --explain RULE{all}."
    );
    wrapped("", 0, &text)
}

/// Writes the name of a rule and, next to it, text.
fn entry(id: &str, text: &str) -> String {
    wrapped(&format!(" {id:<width$} ", width = ID - 2), ID, text)
}

fn cite(evidence: &Evidence) -> String {
    let text = match (&evidence.value, &evidence.problem) {
        (Some(value), _) if value.is_empty() => format!("{}: empty", evidence.path),
        (Some(value), _) => format!("{}: {value}", evidence.path),
        (None, Some(problem)) => format!("{}: {problem}", evidence.path),
        (None, None) => evidence.path.clone(),
    };
    clean(&text).into_owned()
}

fn fixers(fixers: &[Fixer]) -> String {
    let names: Vec<_> = fixers.iter().map(|fixer| fixer.name()).collect();
    names.join(", ")
}

const fn capital(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "High",
        Severity::Medium => "Medium",
        Severity::Low => "Low",
        Severity::Info => "Info",
    }
}

/// Says what a severity means.
pub(crate) const fn meaning(severity: Severity) -> &'static str {
    match severity {
        Severity::High => {
            "can delay a real-time thread by 100 µs and more, or without bound, or keeps one from being \
             real-time"
        }
        Severity::Medium => "can delay one by 10 to 100 µs, or by more but seldom",
        Severity::Low => "can delay one by less than 10 µs, or rarely, or only some programs",
        Severity::Info => "costs nothing by itself, but limits what is available or visible",
    }
}

const fn outcome(outcome: RuleOutcome) -> &'static str {
    match outcome {
        RuleOutcome::Found => "Found",
        RuleOutcome::Fine => "Fine",
        RuleOutcome::Unknown => "Unknown",
        RuleOutcome::NotApplicable => "No matter",
    }
}
