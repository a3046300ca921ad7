// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The knobs that are files, and what is held.

use punctual_model::{Codec, CpuSet, Hold, PlanStep, SkipReason, Target, Writable};

use super::{Planner, part};
use crate::knob::{ABSENT, KnobKind, Part, Reading, Thread};
use crate::profile::{CpuWord, Selector, Value, Want};

/// Why nothing is changed of a CPU that was named: the first CPU of many machines cannot be taken offline.
const NOT_OF_CPU: &str = "the kernel does not have it for this CPU";

/// What a wanted setting comes to.
enum Wanted {
    Value(String),
    Satisfied,
    Skip(SkipReason, String),
}

impl Planner<'_> {
    /// Plans the knobs that are files. A later line for the same file wins, and takes its place.
    pub(super) fn settings(&mut self, wants: &[Want]) {
        let mut chosen: Vec<(&Reading, &Want)> = Vec::new();
        for want in wants {
            if want.knob.is_budget() {
                continue;
            }
            if let KnobKind::Held(_) = want.knob.kind {
                self.hold(want);
                continue;
            }
            let KnobKind::Files(_) = want.knob.kind else {
                continue;
            };
            let mut any = false;
            let mut reached = CpuSet::default();
            let survey = self.survey;
            for reading in survey.of(want.knob.name) {
                let fits = want
                    .selector
                    .as_ref()
                    .is_none_or(|s| self.selects(s, reading));
                if fits {
                    any = true;
                    let all = reached
                        .iter()
                        .chain(reading.cpus.iter().flat_map(CpuSet::iter));
                    reached = all.collect();
                    chosen.retain(|(other, _)| other.shown.target != reading.shown.target);
                    chosen.push((reading, want));
                }
            }
            match want.selector.as_ref().and_then(|s| s.cpus.as_ref()) {
                _ if !any => self.absent(want),
                // What was asked for by its number is not left out in silence.
                Some(CpuWord::List(asked)) if !reached.is_empty() => {
                    let missing = asked.without(&reached);
                    if !missing.is_empty() {
                        let which = missing.to_string();
                        self.skip(want.knob.name, Some(&which), SkipReason::Absent, NOT_OF_CPU);
                    }
                }
                _ => {}
            }
        }
        for (reading, want) in chosen {
            self.setting(reading, want);
        }
    }

    /// Whether a selector chooses this one of several.
    fn selects(&self, selector: &Selector, reading: &Reading) -> bool {
        let instance = reading.shown.instance.as_deref().unwrap_or_default();
        let by_cpu = match (&selector.cpus, &reading.cpus) {
            (Some(word), Some(cpus)) => !self.cpus(word).common(cpus).is_empty(),
            _ => false,
        };
        by_cpu || selector.names(instance)
    }

    /// Says why no setting of a knob is there to be changed.
    pub(super) fn absent(&mut self, want: &Want) {
        let mut there = self.survey.of(want.knob.name).peekable();
        let (instance, detail) = match &want.selector {
            Some(selector) if there.peek().is_some() => (
                Some(selector.text.as_str()),
                match &selector.cpus {
                    Some(CpuWord::Siblings) if self.cpus(&CpuWord::Siblings).is_empty() => {
                        "no CPU shares a core with those for real-time work".to_owned()
                    }
                    Some(CpuWord::List(_)) if there.any(|r| r.cpus.is_some()) => {
                        NOT_OF_CPU.to_owned()
                    }
                    Some(word) if there.any(|r| r.cpus.is_some()) => {
                        format!("none for CPUs {} ({word})", self.cpus(word))
                    }
                    _ => "none has that name".to_owned(),
                },
            ),
            selector => {
                let instance = selector.as_ref().map(|s| s.text.as_str());
                if let Some(why) = self.survey.unseen(want.knob) {
                    return self.skip(want.knob.name, instance, SkipReason::Unreadable, why);
                }
                (instance, ABSENT.to_owned())
            }
        };
        self.skip(want.knob.name, instance, SkipReason::Absent, &detail);
    }

    fn setting(&mut self, reading: &Reading, want: &Want) {
        let shown = &reading.shown;
        match self.wanted(reading, &want.value) {
            Wanted::Satisfied => self.plan.satisfied += 1,
            Wanted::Skip(reason, detail) => {
                self.skip(want.knob.name, shown.instance.as_deref(), reason, &detail);
            }
            Wanted::Value(new) => {
                let old = shown.value.clone().unwrap_or_default();
                let (instance, target) = (shown.instance.clone(), shown.target.clone());
                self.step(want.knob.name, instance, target, reading.codec, [old, new]);
            }
        }
    }

    fn wanted(&self, reading: &Reading, value: &Value) -> Wanted {
        let shown = &reading.shown;
        let Some(old) = &shown.value else {
            let why = shown.fault.clone().unwrap_or_default();
            return Wanted::Skip(SkipReason::Unreadable, why);
        };
        let new = match self.value(reading, value, old) {
            Ok(Some(new)) => new,
            Ok(None) => return Wanted::Satisfied,
            Err((reason, detail)) => return Wanted::Skip(reason, detail),
        };
        if new == *old {
            return Wanted::Satisfied;
        }
        if let Writable::No { reason } = &shown.writable {
            return Wanted::Skip(SkipReason::ReadOnly, reason.clone());
        }
        Wanted::Value(new)
    }

    /// Returns the value in canonical form; none where this setting is to stay as it is.
    fn value(
        &self,
        reading: &Reading,
        value: &Value,
        old: &str,
    ) -> Result<Option<String>, (SkipReason, String)> {
        let no_such = |detail: String| Err((SkipReason::NoSuchValue, detail));
        let new = match (value, reading.bounds) {
            (Value::Plain(text), _) => text.clone(),
            (Value::Least, Some((least, _))) => least.to_string(),
            (Value::Greatest, Some((_, greatest))) => greatest.to_string(),
            (Value::AtLeast(bound) | Value::AtMost(bound), _) => {
                let now: i64 = old.parse().unwrap_or_default();
                let wanted = matches!(value, Value::AtLeast(_)) && now < *bound
                    || matches!(value, Value::AtMost(_)) && now > *bound;
                if !wanted {
                    return Ok(None);
                }
                bound.to_string()
            }
            (Value::Above(limit), Some((latency_us, _))) => {
                // Another state may be disabled for a reason of its own.
                if latency_us <= limit.get() / 1_000 {
                    return Ok(None);
                }
                "1".to_owned()
            }
            (Value::Least | Value::Greatest | Value::Above(_), None) => {
                return no_such("the kernel does not report its limits".to_owned());
            }
            (Value::Cpus(word), _) => return self.mask(reading, word, old),
            (Value::Hold(_) | Value::Release, _) => return Ok(None),
        };
        let offered = reading.shown.choices.as_deref();
        if let Some(offered) = offered.filter(|words| !words.contains(&new)) {
            let words = offered.join(", ");
            return no_such(format!("{new} is not available; available: {words}"));
        }
        if let (Codec::Integer, Some((least, greatest)), Ok(number)) =
            (reading.codec, reading.bounds, new.parse::<u64>())
            && !(least..=greatest).contains(&number)
        {
            return no_such(format!("{number} is not between {least} and {greatest}"));
        }
        match reading.knob.part {
            Part::Siblings if !["on", "off", "forceoff"].contains(&old) => {
                Err((SkipReason::Absent, format!("the kernel says {old}")))
            }
            // The limit in bytes could not be written back.
            Part::Share(bytes) if old == "0" => {
                no_such(format!("the machine limits it in bytes ({bytes})"))
            }
            _ => Ok(Some(new)),
        }
    }

    fn mask(
        &self,
        reading: &Reading,
        word: &CpuWord,
        old: &str,
    ) -> Result<Option<String>, (SkipReason, String)> {
        let part = reading.knob.part;
        let wanted = self.cpus(word);
        let online = &self.plan.cpus_online;
        if wanted.common(online).is_empty() && !matches!(part, Part::Spread | Part::Queue) {
            let detail = format!("none of CPUs {wanted} ({word}) is online");
            return Err((SkipReason::NoSuchValue, detail));
        }
        let had: CpuSet = old.parse().unwrap_or_default();
        let kept = had.common(&wanted);
        let by_role = !matches!(word, CpuWord::List(_));
        let narrows = had.is_empty() || !kept.is_empty() && kept != had;
        if let Some(group) = &reading.shown.instance
            && part == Part::Group
            && by_role
            && narrows
            // The kernel makes none of CPUs that a group lists.
            && !self.closes
            && let Some(why) = self.needs_others(group, &wanted)
        {
            return Err((SkipReason::Bound, why.to_owned()));
        }
        match part {
            // Nothing is spread, and nothing shall be.
            Part::Spread if by_role && had.is_empty() => Ok(None),
            // An empty set of a version 2 group has all CPUs of the group above.
            Part::Group if by_role && had.is_empty() => Ok(Some(wanted.to_string())),
            Part::Group if by_role && kept.is_empty() => Err((
                SkipReason::Bound,
                "it may run only on CPUs set apart for real-time work".to_owned(),
            )),
            // Someone put the interrupt, the work, ... where it is: it keeps what it may.
            _ if by_role && !kept.is_empty() => Ok(Some(kept.to_string())),
            _ => Ok(Some(wanted.to_string())),
        }
    }

    /// Says why a control group may not be confined to `cpus`, if so. A thread none of whose CPUs are left to its group runs on
    /// those of the group, wherever it was bound (`__set_cpus_allowed_ptr`, cpuset(7)), and may ask for no others.
    pub(super) fn needs_others(&self, group: &str, cpus: &CpuSet) -> Option<&'static str> {
        let is_in = |thread: &Thread| {
            let of = self.survey.groups.get(&thread.process);
            !thread.kernel && of.is_some_and(|of| of == group)
        };
        let bound = |thread: &&Thread| is_in(thread) && thread.cpus.common(cpus).is_empty();
        if self.survey.threads.iter().any(|thread| bound(&thread)) {
            return Some("threads in it are bound only to other CPUs");
        }
        let ours = self.survey.own_group.as_deref() == Some(group);
        ours.then_some("this program is in it, and what it starts could not use the other CPUs")
    }

    fn hold(&mut self, want: &Want) {
        let name = want.knob.name;
        self.plan.held.retain(|held| held.knob != name);
        let Value::Hold(latency_ns) = want.value else {
            return;
        };
        let survey = self.survey;
        let Some(reading) = survey.of(name).next() else {
            self.absent(want);
            return;
        };
        if let Writable::No { reason } = &reading.shown.writable {
            self.skip(name, None, SkipReason::ReadOnly, reason);
            return;
        }
        if let Target::File { path } = &reading.shown.target {
            self.plan.held.push(Hold {
                knob: name.to_owned(),
                path: path.clone(),
                latency_ns,
            });
        }
    }

    /// Leaves out what is held already, as what reads as wanted is.
    pub(super) fn held_already(&mut self, already: &[Hold]) {
        let wanted = self.plan.held.len();
        self.plan.held.retain(|held| !already.contains(held));
        self.plan.satisfied += (wanted - self.plan.held.len()) as u64;
    }

    /// Puts the limits of a frequency in an order in which the lower one never passes the upper one.
    pub(super) fn frequency_order(&mut self) {
        let number = |text: &str| text.parse::<u64>().unwrap_or_default();
        let steps = &mut self.plan.steps;
        for at in 0..steps.len() {
            let Some(low) = steps.get(at) else { continue };
            let Part::Lower(upper) = part(low) else {
                continue;
            };
            let pair = |step: &PlanStep| step.knob == upper && step.instance == low.instance;
            let Some(other) = steps.iter().position(pair) else {
                continue;
            };
            let raised = steps
                .get(other)
                .is_some_and(|high| number(&low.new) > number(&high.old));
            if raised == (at < other) {
                steps.swap(at, other);
            }
        }
    }

    /// Adds a step that only makes sense with others of its kind.
    pub(super) fn bare_step(&mut self, knob: &str, path: &str, codec: Codec, values: [&str; 2]) {
        let values = values.map(str::to_owned);
        self.plan.steps.push(PlanStep {
            knob: knob.to_owned(),
            instance: None,
            target: Target::file(path),
            codec,
            old: values[0].clone(),
            new: values[1].clone(),
        });
    }
}
