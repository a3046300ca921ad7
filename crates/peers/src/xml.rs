// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the XML formats have in common.

use quick_xml::events::BytesRef;

/// Adds what a reference such as `&amp;` or `&#38;` stands for. Entities other than those of XML itself are left out.
pub(crate) fn push(text: &mut String, reference: &BytesRef<'_>) -> Result<(), quick_xml::Error> {
    if let Some(character) = reference.resolve_char_ref()? {
        text.push(character);
        return Ok(());
    }
    text.push_str(match &*reference.decode()? {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    });
    Ok(())
}
