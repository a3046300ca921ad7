// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Decoding of standard base64 (RFC 4648, 4), which the interval log wraps its payloads in.

/// Decodes `text`; `None` when it is not padded standard base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let digits = bytes
        .strip_suffix(b"==")
        .or_else(|| bytes.strip_suffix(b"="))
        .unwrap_or(bytes);
    if !bytes.len().is_multiple_of(4) || bytes.len() - digits.len() != (4 - digits.len() % 4) % 4 {
        return None;
    }
    let mut decoded = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            bits = bits << 6 | u32::from(sextet(digit)?);
        }
        bits <<= 6 * (4 - group.len());
        // A group of n digits holds n - 1 bytes.
        decoded.extend_from_slice(bits.to_be_bytes().get(1..group.len())?);
    }
    Some(decoded)
}

fn sextet(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Encodes `bytes`; the logs are written by a library.
#[cfg(test)]
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(group.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            text.push(match at > group.len() {
                true => '=',
                false => char::from(digits[bits >> (18 - 6 * at) & 63]),
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_vectors_of_the_rfc_decode() {
        for (text, plain) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn malformed_text_is_none() {
        for text in [
            "A", "AA", "AAA", "A===", "====", "AA=A", "Zm9v\n", "Zm 9", "é===",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
