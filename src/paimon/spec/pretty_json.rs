//! JSON files in Java's layout, so that equal content gives equal bytes.

use serde_json::Value as Json;

/// The text of a value: members on lines of their own, elements side by side.
pub(crate) fn pretty(value: &Json) -> Vec<u8> {
    let mut out = String::new();
    write(value, 0, &mut out);
    out.into_bytes()
}

fn line(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn write(value: &Json, depth: usize, out: &mut String) {
    match value {
        Json::Object(members) if members.is_empty() => out.push_str("{ }"),
        Json::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(depth + 1, out);
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push_str(" : ");
                write(value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Json::Array(items) if items.is_empty() => out.push_str("[ ]"),
        Json::Array(items) => {
            out.push_str("[ ");
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write(item, depth, out);
            }
            out.push_str(" ]");
        }
        other => out.push_str(&other.to_string()),
    }
}
