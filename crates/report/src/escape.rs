// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Text that users, hosts and other tools gave, made harmless for HTML, SVG, scripts and Markdown.
//!
//! Control characters, and those that turn the direction of what follows, become U+FFFD everywhere: a name must not
//! rearrange the line that it stands in.

use std::fmt::{self, Display, Formatter, Write as _};

/// Writes text so that it is text, also inside a quoted attribute, in HTML and XML.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Xml<'a>(pub(crate) &'a str);

/// A character, or what replaces it.
pub(crate) fn plain(c: char) -> char {
    let harmful = (c.is_control() && c != '\n')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}');
    if harmful { '\u{fffd}' } else { c }
}

impl Display for Xml<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match plain(c) {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Makes JSON harmless inside a `script` element: nothing in it can end that.
pub(crate) fn script(json: &str) -> String {
    let json: String = json.chars().map(plain).collect();
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Writes text so that Markdown shows it as it is, also in a cell of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Markdown<'a>(pub(crate) &'a str);

impl Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match plain(c) {
                '\n' => f.write_char(' ')?,
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                c @ ('\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!') => {
                    write!(f, "\\{c}")?;
                }
                // Would become links, or notify people.
                '@' => f.write_str("&#64;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        let name = "</script><img src=x onerror=\"alert('1')\">&\u{202e}\x1b[2J";
        assert_eq!(
            Xml(name).to_string(),
            "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;\u{fffd}\u{fffd}[2J"
        );
        let json = serde_json::to_string(name).unwrap();
        let safe = script(&json);
        assert!(!safe.contains('<') && !safe.contains('>') && !safe.contains('&'));
        let read = serde_json::from_str::<String>(&safe).unwrap();
        assert_eq!(read, name.replace('\u{202e}', "\u{fffd}"));
        assert_eq!(
            Markdown("a|b <b>*x*\n# @me").to_string(),
            "a\\|b &lt;b&gt;\\*x\\* \\# &#64;me"
        );
    }
}
