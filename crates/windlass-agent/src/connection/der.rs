//! The two parts of a certificate that the agent must know and that `webpki` does not tell: the public key and the time from
//! which it is valid.

use std::time::Duration;

/// What the agent must know of a certificate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CertificateParts<'c> {
    /// SubjectPublicKeyInfo, with its header.
    pub(crate) public_key: &'c [u8],
    /// The start of its validity, since 1970. Zero for a time before.
    pub(crate) valid_from: Duration,
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// Reads a certificate as DER. `None` if it is not one.
pub(crate) fn certificate_parts(certificate: &[u8]) -> Option<CertificateParts<'_>> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (mut rest, _) = element(certificate.value, SEQUENCE).map(|(tbs, rest)| (tbs.value, rest))?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest, VERSION)?.1;
    }
    rest = element(rest, INTEGER)?.1;
    rest = element(rest, SEQUENCE)?.1;
    rest = element(rest, SEQUENCE)?.1;
    let (validity, rest) = element(rest, SEQUENCE)?;
    let (_subject, rest) = element(rest, SEQUENCE)?;
    let (public_key, _) = element(rest, SEQUENCE)?;
    let valid_from = match validity.value.first()? {
        &UTC_TIME => utc_time(element(validity.value, UTC_TIME)?.0.value)?,
        _ => generalized_time(element(validity.value, GENERALIZED_TIME)?.0.value)?,
    };
    Some(CertificateParts { public_key: public_key.whole, valid_from })
}

struct Element<'d> {
    whole: &'d [u8],
    value: &'d [u8],
}

/// The first element, if it has this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(Element<'_>, &[u8])> {
    let (&found, after_tag) = bytes.split_first()?;
    let (&short, after_length) = after_tag.split_first()?;
    let (length, content) = match short {
        0..=0x7f => (usize::from(short), after_length),
        0x81..=0x84 => {
            let count = usize::from(short & 0x7f);
            let (digits, content) = after_length.split_at_checked(count)?;
            (digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), content)
        }
        _ => return None,
    };
    let (value, rest) = content.split_at_checked(length)?;
    let whole = &bytes[..bytes.len() - rest.len()];
    (found == tag).then_some((Element { whole, value }, rest))
}

/// `YYMMDDhhmmssZ`, of 1950 to 2049.
fn utc_time(text: &[u8]) -> Option<Duration> {
    let year = number(text.get(..2)?)?;
    since_1970(if year < 50 { 2000 + year } else { 1900 + year }, text.get(2..)?)
}

/// `YYYYMMDDhhmmssZ`.
fn generalized_time(text: &[u8]) -> Option<Duration> {
    since_1970(number(text.get(..4)?)?, text.get(4..)?)
}

fn since_1970(year: u64, rest: &[u8]) -> Option<Duration> {
    let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| rest.get(at..at + 2).and_then(number));
    let (month, day) = (month?, day?);
    if rest.len() != 11 || rest[10] != b'Z' || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let Some(years) = year.checked_sub(1970) else { return Some(Duration::ZERO) };
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let before_month = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][(month - 1) as usize];
    let leap_day = u64::from(is_leap(year) && month > 2);
    let days = years * 365 + leap_days(year - 1) - leap_days(1969) + before_month + leap_day + day - 1;
    Some(Duration::from_secs(days * 86_400 + hour? * 3600 + minute? * 60 + second?))
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, PublicKeyData as _, date_time_ymd};
    use windlass_core::time::Timestamp;

    use super::*;

    #[test]
    fn the_public_key_and_the_start_of_validity_are_found() {
        for (year, month, day) in
            [(1970, 1, 1), (1999, 12, 31), (2000, 2, 29), (2026, 11, 18), (2049, 3, 1), (2100, 3, 1)]
        {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["a.example.com".to_owned()]).unwrap();
            params.not_before = date_time_ymd(year, month, day);
            let certificate = params.self_signed(&key).unwrap();
            let parts = certificate_parts(certificate.der()).unwrap();
            assert_eq!(parts.public_key, key.subject_public_key_info());
            let expected = Timestamp::parse(&format!("{year}-{month:02}-{day:02}T00:00:00Z")).unwrap();
            assert_eq!(parts.valid_from.as_millis() as i64, expected.as_millis(), "{year}-{month}-{day}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(cut in 0..400_usize, at in 0..400_usize, byte: u8) {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
            let mut bytes = certificate.der().to_vec();
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
            certificate_parts(&bytes);
        }
    }
}
