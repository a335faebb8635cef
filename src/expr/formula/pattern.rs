//! Patterns of `like`: `%` stands for any text, `_` for any one character, `\` makes the next one a plain character.

/// A pattern of `like`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    text: String,
    /// The parts between `%`. A part has characters, or `None` for `_`.
    parts: Vec<Vec<Option<char>>>,
}

impl Pattern {
    /// Reads a pattern. `None` if a `\` precedes another character than `%`, `_` and `\`.
    pub fn parse(text: &str) -> Option<Pattern> {
        let mut parts = vec![Vec::new()];
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let part = match c {
                '%' => {
                    parts.push(Vec::new());
                    continue;
                }
                '_' => None,
                '\\' => Some(chars.next().filter(|c| matches!(c, '%' | '_' | '\\'))?),
                c => Some(c),
            };
            if let Some(last) = parts.last_mut() {
                last.push(part);
            }
        }
        // Several `%` in a row are one.
        let last = parts.len() - 1;
        let mut at = 0;
        parts.retain(|part| {
            at += 1;
            at == 1 || at == last + 1 || !part.is_empty()
        });
        Some(Pattern { text: text.to_owned(), parts })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The one text that matches, if there is just one.
    pub fn only(&self) -> Option<String> {
        match self.parts.as_slice() {
            [part] => part.iter().copied().collect(),
            _ => None,
        }
    }

    /// The characters with which every matching text begins.
    pub fn prefix(&self) -> String {
        self.parts.first().into_iter().flatten().map_while(|c| *c).collect()
    }

    /// Whether exactly the texts with this prefix match.
    pub fn is_prefix(&self) -> bool {
        matches!(self.parts.as_slice(), [first, last] if last.is_empty() && !first.contains(&None))
    }

    /// Whether a text matches.
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some(mut left) = after(first, text) else { return false };
        let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
        for part in middle {
            let starts = left.char_indices().map(|(i, _)| i).chain([left.len()]);
            let found = starts.filter_map(|i| left.get(i..)).find_map(|from| after(part, from));
            let Some(found) = found else { return false };
            left = found;
        }
        ends_with(last, left)
    }
}

/// The text after a part at its beginning.
fn after<'t>(part: &[Option<char>], text: &'t str) -> Option<&'t str> {
    let mut chars = text.chars();
    for wanted in part {
        let found = chars.next()?;
        if wanted.is_some_and(|w| w != found) {
            return None;
        }
    }
    Some(chars.as_str())
}

fn ends_with(part: &[Option<char>], text: &str) -> bool {
    let mut chars = text.chars();
    part.iter().rev().all(|wanted| chars.next_back().is_some_and(|found| wanted.is_none_or(|w| w == found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(text)
    }

    /// Results of `like` in Spark 4 and DuckDB.
    #[test]
    fn matches_as_other_engines_do() {
        for (text, pattern, want) in [
            ("Spark", "_park", true),
            ("Spark", "%par%", true),
            ("Spark", "s%", false),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "a%c", true),
            ("abc", "a%%c", true),
            ("ac", "a%c", true),
            ("a", "a%a", false),
            ("aba", "a%a", true),
            ("abab", "%ab", true),
            ("aab", "%a_b", true),
            ("ab", "%a_b", false),
            ("aaab", "%a_b", true),
            ("xaybz", "%a%b%", true),
            ("xbyaz", "%a%b%", false),
            ("50%", "50\\%", true),
            ("50x", "50\\%", false),
            ("a_b", "%\\_%", true),
            ("axb", "%\\_%", false),
            ("a\\b", "a\\\\b", true),
            ("日本語", "_本_", true),
            ("😀", "_", true),
            ("line\nbreak", "line%break", true),
            ("abc", "abc%", true),
            ("abc", "abcd%", false),
        ] {
            assert_eq!(like(text, pattern), want, "{text:?} like {pattern:?}");
        }
        assert_eq!(Pattern::parse("a\\b"), None);
        assert_eq!(Pattern::parse("a\\"), None);
    }

    #[test]
    fn tells_prefixes_and_plain_texts() {
        let of = |text: &str| {
            let p = Pattern::parse(text).unwrap();
            (p.only(), p.prefix(), p.is_prefix())
        };
        assert_eq!(of("abc"), (Some("abc".to_owned()), "abc".to_owned(), false));
        assert_eq!(of("ab%"), (None, "ab".to_owned(), true));
        assert_eq!(of("ab%%"), (None, "ab".to_owned(), true));
        assert_eq!(of("%"), (None, String::new(), true));
        assert_eq!(of("a_c%"), (None, "a".to_owned(), false));
        assert_eq!(of("a%c"), (None, "a".to_owned(), false));
        assert_eq!(of("10\\%%"), (None, "10%".to_owned(), true));
    }
}
