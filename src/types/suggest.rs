//! Suggests similar names for a name that does not exist.

/// The longest name that is compared.
const MOST_BYTES: usize = 256;

/// Up to three names that differ from `name` by few edits.
pub(crate) fn suggest<'a>(names: &'a [String], name: &str) -> Vec<&'a String> {
    // Longer names count as different. A name of a megabyte is not compared with every column.
    if name.len() > MOST_BYTES {
        return Vec::new();
    }
    let length = name.chars().count();
    let is_similar = |n: &&String| n.len() <= MOST_BYTES && distance(n, name) <= 1 + length.min(n.chars().count()) / 4;
    names.iter().filter(is_similar).take(3).collect()
}

/// A hint for a name that does not exist. It lists similar names, or else `shown`, which are some of the names.
pub(crate) fn suggestion_hint(names: &[String], shown: &[&str], name: &str) -> String {
    let similar: Vec<String> = suggest(names, name).into_iter().map(|known| format!("'{known}'")).collect();
    match similar.is_empty() {
        true => format!("Columns are: {}", shown.join(", ")),
        false => format!("Did you mean {}?", similar.join(", ")),
    }
}

/// Edits (insert, delete, replace) that make one name of the other, ignoring case; long names count as different.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, pair) in b.iter().zip(row.windows(2)) {
            let &[diagonal, above] = pair else { continue };
            left = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
