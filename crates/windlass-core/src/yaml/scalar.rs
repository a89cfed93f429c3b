//! The meaning of plain scalars: the YAML 1.2 core schema, without values that JSON cannot represent.

/// The meaning of a scalar without a declared type.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'t> {
    /// `null`, `~` or empty.
    Null,
    /// `true` or `false`; never `yes`, `no`, `on` or `off`.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// A finite number with a fraction or exponent.
    Float(f64),
    /// A number that JSON cannot represent: not finite, or too large for 64 bits.
    Unrepresentable(&'t str),
    /// Everything else, dates included.
    Text(&'t str),
}

impl<'t> Scalar<'t> {
    /// Interprets an unquoted scalar.
    pub fn of_plain(text: &'t str) -> Scalar<'t> {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
            "true" | "True" | "TRUE" => return Scalar::Bool(true),
            "false" | "False" | "FALSE" => return Scalar::Bool(false),
            _ => {}
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        match unsigned.as_bytes().first() {
            Some(b'0'..=b'9') => number(text, unsigned),
            Some(b'.') if is_not_finite(text, unsigned) => Scalar::Unrepresentable(text),
            Some(b'.') if unsigned[1..].starts_with(|c: char| c.is_ascii_digit()) => number(text, unsigned),
            _ => Scalar::Text(text),
        }
    }
}

fn is_not_finite(text: &str, unsigned: &str) -> bool {
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn number<'t>(text: &'t str, unsigned: &'t str) -> Scalar<'t> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(text, digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(text, digits, 8);
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_or(Scalar::Unrepresentable(text), Scalar::Int);
    }
    if !looks_like_float(unsigned) {
        return Scalar::Text(text);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Scalar::Float(value),
        _ => Scalar::Unrepresentable(text),
    }
}

fn radix<'t>(text: &'t str, digits: &'t str, radix: u32) -> Scalar<'t> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Scalar::Text(text);
    }
    i64::from_str_radix(digits, radix).map_or(Scalar::Unrepresentable(text), Scalar::Int)
}

/// `[0-9]* (. [0-9]*)? ([eE] [-+]? [0-9]+)?`, so that `1.26.0` and `2026-11-15` stay text.
fn looks_like_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(position) => (&unsigned[..position], Some(&unsigned[position + 1..])),
        None => (unsigned, None),
    };
    let mut parts = mantissa.splitn(2, '.');
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_is_whole = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    parts.all(all_digits) && exponent_is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_yaml_1_2_says() {
        let cases = [
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("true", Scalar::Bool(true)),
            ("no", Scalar::Text("no")),
            ("12", Scalar::Int(12)),
            ("-7", Scalar::Int(-7)),
            ("0644", Scalar::Int(644)),
            ("0o644", Scalar::Int(420)),
            ("0x1F", Scalar::Int(31)),
            ("1.5", Scalar::Float(1.5)),
            (".5", Scalar::Float(0.5)),
            ("1e3", Scalar::Float(1000.0)),
            ("1.26.0", Scalar::Text("1.26.0")),
            ("2026-11-15", Scalar::Text("2026-11-15")),
            ("12:30", Scalar::Text("12:30")),
            ("-", Scalar::Text("-")),
            ("1e", Scalar::Text("1e")),
            ("0x", Scalar::Text("0x")),
            (".inf", Scalar::Unrepresentable(".inf")),
            (".nan", Scalar::Unrepresentable(".nan")),
            ("9223372036854775808", Scalar::Unrepresentable("9223372036854775808")),
            ("1e999", Scalar::Unrepresentable("1e999")),
        ];
        for (text, expected) in cases {
            assert_eq!(Scalar::of_plain(text), expected, "{text:?}");
        }
    }
}
