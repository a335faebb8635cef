//! Shortened bounds: a prefix below, a rounded-up prefix above.
//!
//! Source: Iceberg specification, "Manifests" (bounds of strings and binary may be truncated); Java Iceberg's
//! `UnicodeUtil` and `BinaryUtil` for the exact result. Text is cut by code points, binary by bytes.

/// The first `length` code points. The result is not above `text`.
pub(crate) fn lower_text(text: &str, length: usize) -> &str {
    match text.char_indices().nth(length) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A text of at most `length` code points that is not below `text`. It is also not below any text that begins with the
/// same `length` code points. `None` if no such text exists. A text that is short enough stays.
pub(crate) fn upper_text(text: &str, length: usize) -> Option<String> {
    let prefix = lower_text(text, length);
    if prefix.len() == text.len() {
        return Some(text.to_owned());
    }
    prefix.char_indices().rev().find_map(|(at, c)| {
        let next = next_code_point(c)?;
        let mut out = prefix[..at].to_owned();
        out.push(next);
        Some(out)
    })
}

/// The code point after `c`, past the surrogates, which no UTF-8 can hold; `None` after the last one.
fn next_code_point(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        c => char::from_u32(c as u32 + 1),
    }
}

/// The first `length` bytes. The result is not above `bytes`.
pub(crate) fn lower_bytes(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(..length).unwrap_or(bytes)
}

/// Does the same as [`upper_text`], by unsigned bytes.
pub(crate) fn upper_bytes(bytes: &[u8], length: usize) -> Option<Vec<u8>> {
    let prefix = lower_bytes(bytes, length);
    if prefix.len() == bytes.len() {
        return Some(bytes.to_vec());
    }
    let at = prefix.iter().rposition(|b| *b != u8::MAX)?;
    let mut out = prefix[..=at].to_vec();
    if let Some(last) = out.last_mut() {
        *last += 1;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_rounds_up_by_code_points() {
        assert_eq!(lower_text("aaaaaaaaaaaaaaaaa", 16), "aaaaaaaaaaaaaaaa");
        assert_eq!(upper_text("aaaaaaaaaaaaaaaaa", 16).as_deref(), Some("aaaaaaaaaaaaaaab"));
        assert_eq!(upper_text("aaaaaaaaaaaaaaaa", 16).as_deref(), Some("aaaaaaaaaaaaaaaa"));
        assert_eq!(upper_text("", 16).as_deref(), Some(""));
        assert_eq!(lower_text("żółw", 2), "żó");
        assert_eq!(upper_text("żółw", 2).as_deref(), Some("żô"));
    }

    /// Cases of Java Iceberg's truncation tests: the last code point, runs of it, surrogates.
    #[test]
    fn code_points_that_cannot_grow_are_dropped() {
        assert_eq!(upper_text("a\u{d7ff}x", 2).as_deref(), Some("a\u{e000}"));
        assert_eq!(upper_text("a\u{10ffff}x", 2).as_deref(), Some("b"));
        assert_eq!(upper_text("\u{10ffff}\u{10ffff}x", 2), None);
        assert_eq!(upper_text("\u{7f}x", 1).as_deref(), Some("\u{80}"));
        assert_eq!(upper_text("\u{ffff}x", 1).as_deref(), Some("\u{10000}"));
    }

    #[test]
    fn bytes_round_up() {
        assert_eq!(upper_bytes(&[1, 2, 3], 2), Some(vec![1, 3]));
        assert_eq!(upper_bytes(&[1, 255, 3], 2), Some(vec![2]));
        assert_eq!(upper_bytes(&[255, 255, 0], 2), None);
        assert_eq!(upper_bytes(&[255, 255], 2), Some(vec![255, 255]));
        assert_eq!(lower_bytes(&[1, 2, 3], 2), [1, 2]);
        assert_eq!(lower_bytes(&[1], 2), [1]);
    }

    proptest! {
        #[test]
        fn bounds_enclose_and_are_short(text in "[a\u{d7fe}\u{d7ff}\u{e000}\u{10fffe}\u{10ffff}\u{7f}]{0,9}", n in 1usize..6) {
            let lower = lower_text(&text, n);
            prop_assert!(lower <= text.as_str() && lower.chars().count() <= n);
            if let Some(upper) = upper_text(&text, n) {
                prop_assert!(upper.as_str() >= text.as_str() && upper.chars().count() <= n);
            } else {
                prop_assert!(lower.chars().all(|c| c == char::MAX));
            }
        }

        #[test]
        fn byte_bounds_enclose(bytes in proptest::collection::vec(250u8..=255, 0..9), n in 1usize..6) {
            prop_assert!(lower_bytes(&bytes, n) <= &bytes[..]);
            if let Some(upper) = upper_bytes(&bytes, n) {
                prop_assert!(upper.len() <= n && upper >= bytes);
            }
        }
    }
}
