// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Conditions of Kconfig: `EXPERT && (X86 || ARM64) && !COMPILE_TEST`.
//!
//! Values are n < m < y; `&&` is the smaller one, `||` the larger, `!` turns y and n around
//! (Documentation/kbuild/kconfig-language.rst, "Menu dependencies"). What a macro such as `$(cc-option,...)` gives
//! is not known here, and a condition whose value hangs on it has none.

use std::fmt;

use super::values::Values;

/// A condition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Expr {
    Symbol(String),
    Text(String),
    Macro(String),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Compare(Box<Self>, &'static str, Box<Self>),
}

/// The value of a condition.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Tri {
    No,
    Module,
    Yes,
}

impl Tri {
    pub(crate) fn of(value: &str) -> Self {
        match value {
            "y" => Self::Yes,
            "m" => Self::Module,
            _ => Self::No,
        }
    }

    const fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Module => Self::Module,
            Self::Yes => Self::No,
        }
    }
}

impl Expr {
    /// Reads a condition, or nothing where it is not understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        if tokens.len() > LONGEST {
            return None;
        }
        let mut rest = tokens.as_slice();
        let expr = or(&mut rest, 0)?;
        rest.is_empty().then_some(expr)
    }

    /// Reads what an option depends on: a condition, which since Linux 7.0 may count only if another one holds.
    pub(crate) fn dependency(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let mut parts = tokens.split(|token| matches!(token, Token::Word(word) if word == "if"));
        let (first, when) = (parts.next()?, parts.next());
        if tokens.len() > LONGEST || parts.next().is_some() {
            return None;
        }
        let whole = |mut rest: &[Token]| or(&mut rest, 0).filter(|_| rest.is_empty());
        let depends = whole(first)?;
        match when {
            None => Some(depends),
            Some(when) => Some(Self::Or(Box::new(depends), Box::new(whole(when)?.off()))),
        }
    }

    /// Returns the condition that this one is n.
    fn off(self) -> Self {
        match self {
            Self::Symbol(_) => {
                Self::Compare(Box::new(self), "=", Box::new(Self::Symbol("n".to_owned())))
            }
            Self::And(a, b) => Self::Or(Box::new(a.off()), Box::new(b.off())),
            Self::Or(a, b) => Self::And(Box::new(a.off()), Box::new(b.off())),
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// Returns the value under `values`, or nothing where a macro decides.
    pub(crate) fn value(&self, values: &Values) -> Option<Tri> {
        match self {
            Self::Symbol(name) => Some(Tri::of(
                constant(name).unwrap_or_else(|| values.value(name)),
            )),
            Self::Text(text) => Some(Tri::of(text)),
            Self::Macro(_) => None,
            Self::Not(inner) => Some(inner.value(values)?.not()),
            Self::And(a, b) => match (a.value(values), b.value(values)) {
                (Some(Tri::No), _) | (_, Some(Tri::No)) => Some(Tri::No),
                (a, b) => Some(a?.min(b?)),
            },
            Self::Or(a, b) => match (a.value(values), b.value(values)) {
                (Some(Tri::Yes), _) | (_, Some(Tri::Yes)) => Some(Tri::Yes),
                (a, b) => Some(a?.max(b?)),
            },
            Self::Compare(a, operator, b) => {
                let (a, b) = (a.text(values)?, b.text(values)?);
                let numbers = (number(&a), number(&b));
                let holds = match (*operator, numbers) {
                    ("=", _) => a == b,
                    ("!=", _) => a != b,
                    ("<", (Some(a), Some(b))) => a < b,
                    ("<=", (Some(a), Some(b))) => a <= b,
                    (">", (Some(a), Some(b))) => a > b,
                    (">=", (Some(a), Some(b))) => a >= b,
                    _ => return None,
                };
                Some(if holds { Tri::Yes } else { Tri::No })
            }
        }
    }

    fn text(&self, values: &Values) -> Option<String> {
        match self {
            Self::Symbol(name) if number(name).is_some() => Some(name.clone()),
            Self::Symbol(name) => {
                let value = constant(name).unwrap_or_else(|| values.value(name));
                Some(value.trim_matches('"').to_owned())
            }
            Self::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Splits at `&&`.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::And(a, b) => [a.parts(), b.parts()].concat(),
            other => vec![other],
        }
    }

    /// Names the options that it looks at.
    pub(crate) fn symbols(&self) -> Vec<&str> {
        match self {
            Self::Symbol(name) if constant(name).is_none() && number(name).is_none() => vec![name],
            Self::Symbol(_) | Self::Text(_) | Self::Macro(_) => Vec::new(),
            Self::Not(inner) => inner.symbols(),
            Self::And(a, b) | Self::Or(a, b) | Self::Compare(a, _, b) => {
                [a.symbols(), b.symbols()].concat()
            }
        }
    }
}

/// `y`, `m` and `n` are themselves.
fn constant(name: &str) -> Option<&str> {
    matches!(name, "y" | "m" | "n").then_some(name)
}

/// Reads a number, decimal or hexadecimal.
pub(crate) fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only where the meaning would change without.
        let inner = |inner: &Self| match inner {
            Self::Or(..) | Self::And(..) | Self::Compare(..) => format!("({inner})"),
            _ => inner.to_string(),
        };
        match self {
            Self::Symbol(text) | Self::Macro(text) => f.write_str(text),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Not(of) => write!(f, "!{}", inner(of)),
            Self::And(a, b) => {
                let side = |of: &Self| match of {
                    Self::Or(..) => format!("({of})"),
                    _ => of.to_string(),
                };
                write!(f, "{} && {}", side(a), side(b))
            }
            Self::Or(a, b) => write!(f, "{a} || {b}"),
            Self::Compare(a, operator, b) => write!(f, "{a}{operator}{b}"),
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Macro(String),
    Sign(&'static str),
}

/// The longer ones first.
const SIGNS: [&str; 11] = ["&&", "||", "!=", "<=", ">=", "=", "<", ">", "!", "(", ")"];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let length = if rest.starts_with("$(") {
            let end = closing(rest)?;
            all.push(Token::Macro(rest.get(..end)?.to_owned()));
            end
        } else if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let end = rest.get(1..)?.find(quote)?;
            let inner = rest.get(1..=end)?;
            all.push(if inner.contains("$(") {
                Token::Macro(inner.to_owned())
            } else {
                Token::Text(inner.to_owned())
            });
            end + 2
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            all.push(Token::Sign(sign));
            sign.len()
        } else {
            let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            all.push(Token::Word(rest.get(..end)?.to_owned()));
            end
        };
        rest = rest.get(length..)?.trim_start();
    }
    Some(all)
}

/// Returns where the parenthesis that opens a macro closes.
pub(crate) fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// What nobody nests deeper; input must not exhaust the stack.
const DEEPEST: u32 = 100;
/// Nor has any condition more words and signs: each `&&` is a level too.
const LONGEST: usize = 1_000;

fn or(rest: &mut &[Token], depth: u32) -> Option<Expr> {
    let mut left = and(rest, depth)?;
    while take(rest, "||") {
        left = Expr::Or(Box::new(left), Box::new(and(rest, depth)?));
    }
    Some(left)
}

fn and(rest: &mut &[Token], depth: u32) -> Option<Expr> {
    let mut left = single(rest, depth)?;
    while take(rest, "&&") {
        left = Expr::And(Box::new(left), Box::new(single(rest, depth)?));
    }
    Some(left)
}

fn single(rest: &mut &[Token], depth: u32) -> Option<Expr> {
    if depth > DEEPEST {
        return None;
    }
    if take(rest, "!") {
        return Some(Expr::Not(Box::new(single(rest, depth + 1)?)));
    }
    if take(rest, "(") {
        let inner = or(rest, depth + 1)?;
        return take(rest, ")").then_some(inner);
    }
    let left = atom(rest)?;
    for sign in ["!=", "<=", ">=", "=", "<", ">"] {
        if take(rest, sign) {
            return Some(Expr::Compare(Box::new(left), sign, Box::new(atom(rest)?)));
        }
    }
    Some(left)
}

fn atom(rest: &mut &[Token]) -> Option<Expr> {
    let (first, after) = rest.split_first()?;
    let expr = match first {
        Token::Word(word) => Expr::Symbol(word.clone()),
        Token::Text(text) => Expr::Text(text.clone()),
        Token::Macro(text) => Expr::Macro(text.clone()),
        Token::Sign(_) => return None,
    };
    *rest = after;
    Some(expr)
}

fn take(rest: &mut &[Token], sign: &'static str) -> bool {
    match rest.split_first() {
        Some((Token::Sign(found), after)) if *found == sign => {
            *rest = after;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<Tri> {
        let values =
            Values::parse("CONFIG_Y=y\nCONFIG_M=m\nCONFIG_HZ=1000\nCONFIG_NAME=\"tiny\"").unwrap();
        Expr::parse(text).unwrap().value(&values)
    }

    #[test]
    fn conditions_have_the_values_that_kconfig_gives_them() {
        for (text, expected) in [
            ("Y", Tri::Yes),
            ("M", Tri::Module),
            ("N", Tri::No),
            ("!N", Tri::Yes),
            ("!M", Tri::Module),
            ("Y && M", Tri::Module),
            ("N || M", Tri::Module),
            ("N && Y || Y", Tri::Yes),
            ("N && (Y || Y)", Tri::No),
            ("M=n", Tri::No),
            ("M!=n", Tri::Yes),
            ("HZ >= 300 && HZ<2000", Tri::Yes),
            ("NAME = \"tiny\"", Tri::Yes),
            ("m && Y", Tri::Module),
            ("N && $(cc-option,-mfoo)", Tri::No),
            ("Y || $(success,test -e (a))", Tri::Yes),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_dependency_counts_only_if_its_condition_holds() {
        for (text, means) in [
            ("X", "X"),
            ("X if Y", "X || Y=n"),
            ("X if Y && !(Z || M)", "X || Y=n || Z || M"),
        ] {
            assert_eq!(Expr::dependency(text).unwrap().to_string(), means);
        }
        for text in ["X if", "if Y", "X if Y if Z", "X Y", ""] {
            assert_eq!(Expr::dependency(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_macro_decides_is_not_known() {
        assert_eq!(value("Y && $(cc-option,-mfoo)"), None);
        assert_eq!(value("\"$(ARCH)\" = \"um\""), None);
    }

    #[test]
    fn a_condition_is_written_as_it_is_meant() {
        for text in [
            "A && (B || C) && !D",
            "A || B && C",
            "!(A && B)",
            "A=y && B!=\"x\"",
        ] {
            assert_eq!(Expr::parse(text).unwrap().to_string(), text);
        }
        let expr = Expr::parse("A && (B || C) && !D").unwrap();
        let parts: Vec<_> = expr.parts().iter().map(ToString::to_string).collect();
        assert_eq!(parts, ["A", "B || C", "!D"]);
        assert_eq!(expr.symbols(), ["A", "B", "C", "D"]);
    }

    #[test]
    fn nonsense_is_not_understood_and_does_no_harm() {
        for text in ["", "A &&", "(A", "A B", "&& A", "A = ", "$(x", "\"x", "é"] {
            assert_eq!(Expr::parse(text), None, "{text}");
        }
        assert_eq!(Expr::parse(&"!".repeat(100_000)), None);
        assert_eq!(Expr::parse(&"(".repeat(100_000)), None);
        for sign in ["&&", "||"] {
            let chain = |terms: usize| vec!["X"; terms].join(&format!(" {sign} "));
            assert_eq!(Expr::parse(&chain(200_000)), None);
            let long = Expr::parse(&chain(500)).unwrap();
            assert_eq!(long.symbols().len(), 500);
            assert_eq!(long.to_string(), chain(500));
        }
    }
}
