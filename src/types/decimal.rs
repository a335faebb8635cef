//! Decimals as unscaled 128-bit integers: text and minimal big-endian bytes.

/// The text of `unscaled` with `scale` digits after the point, as in `-0.05`.
pub fn format_decimal(unscaled: i128, scale: u8) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let scale = scale as usize;
    let digits = if digits.len() <= scale { format!("{digits:0>width$}", width = scale + 1) } else { digits };
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Unscaled value of `text` at exactly `scale` digits after the point. `None` if it is not a number, does not fit 38
/// digits, or has further digits that are not zero. Takes exponents (`2E+20`), as Java writes them.
pub fn parse_decimal(text: &str, scale: u8) -> Option<i128> {
    let (unscaled, digits_behind) = parse_exact(text)?;
    rescale(unscaled, digits_behind, scale as i32)
}

/// Unscaled value and scale (negative for large exponents) of a number's text, without rounding.
pub fn parse_exact(text: &str) -> Option<(i128, i32)> {
    let text = text.trim();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.strip_prefix('+').unwrap_or(e).parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(m) => (true, m),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut unscaled: i128 = 0;
    for c in whole.bytes().chain(fraction.bytes()) {
        if !c.is_ascii_digit() {
            return None;
        }
        unscaled = unscaled.checked_mul(10)?.checked_add((c - b'0') as i128)?;
    }
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some((if negative { -unscaled } else { unscaled }, scale))
}

/// `unscaled` at another scale; `None` if digits would be lost or it overflows 38 digits.
pub fn rescale(unscaled: i128, from: i32, to: i32) -> Option<i128> {
    if unscaled == 0 {
        return Some(0);
    }
    let power = 10i128.checked_pow(from.abs_diff(to))?;
    let out = if to >= from {
        unscaled.checked_mul(power)?
    } else if unscaled % power == 0 {
        unscaled / power
    } else {
        return None;
    };
    (out.unsigned_abs() < 10u128.pow(38)).then_some(out)
}

/// The fewest big-endian two's-complement bytes that hold `unscaled` (specification, Appendix B and D): -1 is `ff`,
/// -128 is `80`, 128 is `00 80`.
pub fn minimal_bytes(unscaled: i128) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    let mut start = 0;
    while start < 15 {
        let redundant = match bytes[start] {
            0x00 => bytes[start + 1] & 0x80 == 0,
            0xff => bytes[start + 1] & 0x80 != 0,
            _ => false,
        };
        if !redundant {
            break;
        }
        start += 1;
    }
    bytes[start..].to_vec()
}

/// The inverse of [`minimal_bytes`], for any sign-extended width; `None` if it needs more than 128 bits.
pub fn from_be_bytes(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let fill = if negative { 0xff } else { 0x00 };
    let skip = bytes.len().saturating_sub(16);
    if bytes[..skip].iter().any(|&b| b != fill) {
        return None;
    }
    let mut out = [fill; 16];
    let rest = &bytes[skip..];
    out[16 - rest.len()..].copy_from_slice(rest);
    let value = i128::from_be_bytes(out);
    (skip == 0 || (value < 0) == negative).then_some(value)
}

/// The bytes a decimal of this precision takes when stored at a fixed width (specification, Appendix A).
pub fn bytes_of_precision(precision: u8) -> usize {
    let max = 10u128.pow(precision.min(38) as u32) - 1;
    (1..16).find(|&n| max < 1u128 << (8 * n - 1)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for (text, scale, unscaled) in
            [("14.20", 2, 1420), ("-0.05", 2, -5), ("7", 0, 7), ("2E+20", 0, 2 * 10i128.pow(20))]
        {
            assert_eq!(parse_decimal(text, scale), Some(unscaled), "{text}");
        }
        assert_eq!(format_decimal(-5, 2), "-0.05");
        assert_eq!(format_decimal(1420, 2), "14.20");
        assert_eq!(parse_decimal("1.005", 2), None);
        assert_eq!(parse_decimal("1e2147483647", 0), None);
        assert_eq!(parse_decimal(".", 0), None);
    }

    #[test]
    fn bytes_are_minimal() {
        for (v, b) in
            [(0i128, vec![0u8]), (-1, vec![0xff]), (-128, vec![0x80]), (128, vec![0, 0x80]), (1420, vec![5, 0x8c])]
        {
            assert_eq!(minimal_bytes(v), b);
            assert_eq!(from_be_bytes(&b), Some(v));
        }
        assert_eq!(from_be_bytes(&[0u8; 20]), Some(0));
        assert_eq!(from_be_bytes(&[1u8; 20]), None);
        assert_eq!((bytes_of_precision(9), bytes_of_precision(18), bytes_of_precision(38)), (4, 8, 16));
    }
}
