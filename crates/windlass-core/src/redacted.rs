//! Values that must not be displayed: passwords, keys, tokens.

use std::fmt;

use zeroize::Zeroize;

use crate::secret::HIDDEN;

/// Contains a secret. It prints as `(hidden)`, cannot be serialized, and is accessible only through
/// [`Redacted::expose`], so that all uses can be found by that word. Its memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted<T: Zeroize>(T);

impl<T: Zeroize> Redacted<T> {
    /// Wraps a secret.
    pub fn new(secret: T) -> Redacted<T> {
        Redacted(secret)
    }

    /// The secret itself, for the place that needs it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> Drop for Redacted<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl<T: Zeroize> fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_hidden_in_every_format() {
        let secret = Redacted::new("hunter2".to_owned());
        assert_eq!(
            format!("{secret} {secret:?} {secret:#?} {:?}", Some(&secret)),
            "(hidden) (hidden) (hidden) Some((hidden))"
        );
        assert_eq!(secret.expose(), "hunter2");
    }
}
