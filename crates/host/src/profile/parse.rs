// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reads the TOML of a profile, and says on which line it is wrong.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::arguments;
use super::value::{distance, want};
use super::{BootArgument, PROFILE_FORMAT, Profile, ProfileError};
use punctual_model::Ordered as _;

type Entry<'a> = (
    &'a Spanned<std::borrow::Cow<'a, str>>,
    &'a Spanned<DeValue<'a>>,
);

/// The keys at the top.
const KEYS: [&str; 7] = ["format", "name", "summary", "base", "cpus", "knobs", "boot"];

struct Reader<'a> {
    text: &'a str,
    origin: &'a str,
}

/// Reads a profile.
pub(super) fn profile(text: &str, origin: &str) -> Result<Profile, ProfileError> {
    let reader = Reader { text, origin };
    let table = DeTable::parse(text).map_err(|err| {
        let line = err.span().map(|span| reader.line(&span));
        reader.error(line, None, err.message().to_owned())
    })?;
    reader.profile(table.get_ref())
}

impl Reader<'_> {
    fn profile(&self, table: &DeTable<'_>) -> Result<Profile, ProfileError> {
        let mut profile = Profile::empty("");
        let mut format = None;
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            match name {
                "format" => format = Some(self.string(key, value)?),
                "name" => profile.name = self.string(key, value)?,
                "summary" => profile.summary = self.string(key, value)?,
                "base" => profile.base = Some(self.string(key, value)?),
                "cpus" => {
                    let list = self.string(key, value)?.parse();
                    profile.cpus = Some(list.map_err(|err| self.at(key, format!("{err}")))?);
                }
                "knobs" => self.knobs(self.table(key, value)?, "", &mut profile)?,
                "boot" => self.boot(self.table(key, value)?, Names::Known, &mut profile)?,
                _ => {
                    let expected = format!("unknown key; expected {}", KEYS.join(", "));
                    return Err(self.at(key, expected));
                }
            }
        }
        match format.as_deref() {
            Some(PROFILE_FORMAT) => {}
            Some(other) => {
                let problem = format!("`{other}` is not known; expected \"{PROFILE_FORMAT}\"");
                return Err(self.error(self.line_of("format"), Some("format"), problem));
            }
            None => {
                let problem = format!("missing; expected format = \"{PROFILE_FORMAT}\"");
                return Err(self.error(None, Some("format"), problem));
            }
        }
        let named = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if profile.name.is_empty() || !profile.name.chars().all(named) {
            let problem = "expected a name of letters, digits, `-`, `_` and `.`".to_owned();
            return Err(self.error(self.line_of("name"), Some("name"), problem));
        }
        Ok(profile)
    }

    /// Reads knobs. TOML makes tables of dots, and a quoted key has them as they are.
    fn knobs(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        profile: &mut Profile,
    ) -> Result<(), ProfileError> {
        for (key, value) in in_order(table) {
            let name = format!("{prefix}{}", key.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                self.knobs(inner, &format!("{name}."), profile)?;
                continue;
            }
            let text = scalar(value.get_ref()).ok_or_else(|| {
                self.named(
                    key,
                    &name,
                    "expected a string, a whole number, true or false".into(),
                )
            })?;
            let wanted =
                want(&name, &text).map_err(|err| self.named(key, &name, err.to_string()))?;
            profile.wants.push(wanted);
        }
        Ok(())
    }

    fn boot(
        &self,
        table: &DeTable<'_>,
        names: Names,
        profile: &mut Profile,
    ) -> Result<(), ProfileError> {
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if name == "other" && names == Names::Known {
                self.boot(self.table(key, value)?, Names::Any, profile)?;
                continue;
            }
            if names == Names::Known && !arguments::is_known(name) {
                let likely = arguments::known_names().min_by_key(|known| distance(name, known));
                let hint = likely
                    .filter(|known| distance(name, known) <= 2)
                    .map(|known| format!("; did you mean `{known}`?"))
                    .unwrap_or_default();
                let problem = format!(
                    "Punctual does not know this kernel argument{hint} Put others into [boot.other]"
                );
                return Err(self.at(key, problem));
            }
            let value = match value.get_ref() {
                DeValue::Boolean(true) => None,
                DeValue::Boolean(false) => {
                    profile.boot.retain(|argument| argument.name != name);
                    continue;
                }
                other => Some(scalar(other).ok_or_else(|| {
                    self.at(key, "expected a string, a whole number or true".to_owned())
                })?),
            };
            let argument = BootArgument {
                name: name.to_owned(),
                value,
            };
            arguments::check(&argument).map_err(|problem| self.at(key, problem))?;
            profile.boot.push(argument);
        }
        Ok(())
    }

    fn string(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<String, ProfileError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.at(key, "expected a string".to_owned())),
        }
    }

    fn table<'t>(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Result<&'t DeTable<'t>, ProfileError> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.at(key, format!("expected a table, [{}]", key.get_ref()))),
        }
    }

    fn at(&self, key: &Spanned<std::borrow::Cow<'_, str>>, problem: String) -> ProfileError {
        self.named(key, key.get_ref(), problem)
    }

    fn named(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        name: &str,
        problem: String,
    ) -> ProfileError {
        self.error(Some(self.line(&key.span())), Some(name), problem)
    }

    fn error(&self, line: Option<usize>, key: Option<&str>, problem: String) -> ProfileError {
        ProfileError {
            origin: self.origin.to_owned(),
            line,
            key: key.map(str::to_owned),
            problem,
        }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn line_of(&self, key: &str) -> Option<usize> {
        let found = self
            .text
            .lines()
            .position(|l| l.trim_start().starts_with(key));
        found.map(|index| index + 1)
    }
}

/// Which names of kernel arguments are taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Names {
    Known,
    Any,
}

/// Lists a table as it was written: the order of settings matters.
fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.order_by_key(|(key, _)| key.span().start);
    entries
}

/// Returns a value as an option on the command line would have it.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Boolean(on) => Some(on.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format = \"punctual.profile/1\"\nname = \"x\"\n";

    fn error(rest: &str) -> String {
        let text = format!("{HEAD}{rest}");
        profile(&text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn dots_and_quotes_name_the_same_knob_in_the_order_written() {
        let text = format!(
            "{HEAD}cpus = \"2-3\"\n[knobs]\nvm.swappiness = 10\n\"thp.enabled\" = \"never\"\n\
             [knobs.kernel]\ntimer_migration = false\n[boot]\nthreadirqs = true\n\
             isolcpus = \"domain,{{rt}}\"\n[boot.other]\nmydriver.mode = 2\n"
        );
        let err = profile(&text, "x.toml").unwrap_err().to_string();
        assert!(err.contains("line 13, `mydriver`"), "{err}");
        let text = text.replace("mydriver.mode", "\"mydriver.mode\"");
        let profile = profile(&text, "x.toml").unwrap();
        let names: Vec<_> = profile.wants.iter().map(|want| want.knob.name).collect();
        assert_eq!(
            names,
            ["vm.swappiness", "thp.enabled", "kernel.timer_migration"]
        );
        assert_eq!(profile.cpus, Some([2, 3].into_iter().collect()));
        let boot: Vec<_> = profile
            .boot
            .iter()
            .map(|b| (b.name.as_str(), b.value.as_deref()))
            .collect();
        assert_eq!(
            boot,
            [
                ("threadirqs", None),
                ("isolcpus", Some("domain,{rt}")),
                ("mydriver.mode", Some("2"))
            ]
        );
    }

    #[test]
    fn errors_name_line_key_and_what_was_expected() {
        for (rest, parts) in [
            (
                "[knobs]\nvm.swapiness = 1\n",
                "x.toml, line 4, `vm.swapiness`: no such knob; did you mean `vm.swappiness`?",
            ),
            (
                "[knobs]\nvm.swappiness = 1.5\n",
                "line 4, `vm.swappiness`: expected a string, a whole number",
            ),
            (
                "[knobs]\nvm.swappiness = \"x\"\n",
                "line 4, `vm.swappiness`: this knob does not take `x`; expected a whole number",
            ),
            (
                "colour = 1\n",
                "line 3, `colour`: unknown key; expected format, name",
            ),
            ("knobs = 1\n", "line 3, `knobs`: expected a table, [knobs]"),
            ("cpus = \"3-1\"\n", "line 3, `cpus`: range in CPU list"),
            (
                "[boot]\nisolcpu = \"1\"\n",
                "line 4, `isolcpu`: Punctual does not know this kernel argument; did you mean `isolcpus`?",
            ),
            ("[boot]\nisolcpus = \"1 quiet\"\n", "line 4, `isolcpus`: "),
            ("[boot]\nisolcpus = \"{cpus}\"\n", "line 4, `isolcpus`: "),
            ("[knobs\n", "x.toml, line 3"),
        ] {
            let err = error(rest);
            assert!(err.contains(parts), "{rest}: {err}");
        }
    }

    #[test]
    fn a_profile_says_its_format_and_name() {
        let err = |text: &str| profile(text, "x.toml").unwrap_err().to_string();
        assert!(err("name = \"x\"\n").contains("`format`: missing"));
        assert!(err("format = \"punctual.profile/9\"\nname = \"x\"\n").contains("line 1"));
        assert!(err("format = \"punctual.profile/1\"\n").contains("`name`: expected"));
        assert!(err("format = \"punctual.profile/1\"\nname = \"a/b\"\n").contains("line 2"));
    }
}
