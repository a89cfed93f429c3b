//! Whether a trusted key signed the checkpoints. Pure functions: the server uses them, and so does anyone who verifies with a
//! stored public key.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::types::{AuditKeyInfo, CheckpointInfo};

use crate::keys::signing::{follows_message, is_signed_by, key_id_of};

/// The message that a checkpoint's signature covers.
pub(crate) fn message(checkpoint: &CheckpointInfo) -> String {
    json!([
        "windlass audit checkpoint 1",
        checkpoint.account_id,
        checkpoint.seq,
        checkpoint.head,
        checkpoint.at,
        checkpoint.key_id
    ])
    .to_string()
}

/// A checkpoint that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFault {
    /// The entry that it is about.
    pub seq: i64,
    /// What is wrong with it.
    pub reason: String,
}

/// The first checkpoint that is not validly signed by a key that the given public key certifies.
pub fn first_fault(
    public_key: &str,
    keys: &[AuditKeyInfo],
    checkpoints: &[CheckpointInfo],
) -> Option<CheckpointFault> {
    let trusted = trusted_keys(public_key, keys);
    let mut faults: Vec<CheckpointFault> = checkpoints
        .iter()
        .filter_map(|checkpoint| {
            let reason = match trusted.get(&checkpoint.key_id) {
                None => format!(
                    "the checkpoint is signed with key {}, which key {} does not certify",
                    checkpoint.key_id,
                    key_id_of(public_key)
                ),
                Some(key) if !is_signed_by(key, &message(checkpoint), &checkpoint.signature) => {
                    "the checkpoint's signature is invalid".to_owned()
                }
                Some(_) => return None,
            };
            Some(CheckpointFault { seq: checkpoint.seq, reason })
        })
        .collect();
    faults.sort_by_key(|fault| fault.seq);
    faults.into_iter().next()
}

/// The keys that a public key certifies, by id: itself, the chain of earlier keys that were acknowledged, and the chain of
/// later keys that were endorsed.
fn trusted_keys(public_key: &str, keys: &[AuditKeyInfo]) -> BTreeMap<String, String> {
    let public: BTreeMap<&str, &str> =
        keys.iter().map(|key| (key.id.as_str(), key.public_key.as_str())).collect();
    let mut trusted = BTreeMap::from([(key_id_of(public_key).to_string(), public_key.to_owned())]);
    loop {
        let before = trusted.len();
        for key in keys {
            let Some(previous) = key.previous_id.as_deref() else { continue };
            let Some(previous_key) = public.get(previous) else { continue };
            // The id of a key must match its public key.
            if key_id_of(&key.public_key).as_str() != key.id || key_id_of(previous_key).as_str() != previous {
                continue;
            }
            let message = follows_message(previous_key, &key.public_key);
            let signed = |by: &str, signature: &Option<String>| {
                signature.as_ref().is_some_and(|signature| is_signed_by(by, &message, signature))
            };
            if trusted.contains_key(previous) && signed(previous_key, &key.endorsement) {
                trusted.insert(key.id.clone(), key.public_key.clone());
            }
            if trusted.contains_key(&key.id) && signed(&key.public_key, &key.acknowledgement) {
                trusted.insert(previous.to_owned(), (*previous_key).to_owned());
            }
        }
        if trusted.len() == before {
            return trusted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::signing::Signer;

    fn signer(number: u8) -> Signer {
        Signer::from_seed(&[number; 32]).expect("any seed makes a key")
    }

    fn key(number: u8, previous: Option<u8>, endorsed: bool) -> AuditKeyInfo {
        let (this, before) = (signer(number), previous.map(signer));
        let message = before.as_ref().map(|before| follows_message(&before.public_key(), &this.public_key()));
        AuditKeyInfo {
            id: this.key_id().to_string(),
            public_key: this.public_key(),
            previous_id: before.as_ref().map(|before| before.key_id().to_string()),
            endorsement: before
                .as_ref()
                .zip(message.as_ref())
                .filter(|_| endorsed)
                .map(|(by, it)| by.sign(it)),
            acknowledgement: message.as_ref().map(|message| this.sign(message)),
            created_at: String::new(),
        }
    }

    fn checkpoint(seq: i64, by: &Signer) -> CheckpointInfo {
        let mut made = CheckpointInfo {
            account_id: "a".to_owned(),
            seq,
            head: format!("hash {seq}"),
            at: "2026-11-17T00:00:00.000Z".to_owned(),
            key_id: by.key_id().to_string(),
            signature: String::new(),
        };
        made.signature = by.sign(&message(&made));
        made
    }

    #[test]
    fn a_key_certifies_the_keys_before_and_after_it_in_the_chain() {
        let keys = [key(1, None, false), key(2, Some(1), true), key(3, Some(2), true)];
        let checkpoints: Vec<CheckpointInfo> =
            (1..=3).map(|n| checkpoint(i64::from(n), &signer(n))).collect();
        for anchor in 1..=3 {
            assert_eq!(first_fault(&signer(anchor).public_key(), &keys, &checkpoints), None, "{anchor}");
        }
        let stranger = first_fault(&signer(9).public_key(), &keys, &checkpoints).expect("a fault");
        assert_eq!(stranger.seq, 1);
    }

    #[test]
    fn a_key_that_did_not_endorse_its_successor_does_not_certify_it() {
        let keys = [key(1, None, false), key(2, Some(1), false)];
        let checkpoints = [checkpoint(1, &signer(1)), checkpoint(2, &signer(2))];
        assert_eq!(first_fault(&signer(2).public_key(), &keys, &checkpoints), None);
        let fault = first_fault(&signer(1).public_key(), &keys, &checkpoints).expect("a fault");
        assert_eq!(fault.seq, 2);
    }

    #[test]
    fn a_changed_checkpoint_and_a_key_with_a_false_id_are_found() {
        let keys = [key(1, None, false)];
        let anchor = signer(1).public_key();
        for change in [
            |it: &mut CheckpointInfo| it.head = "another".to_owned(),
            |it: &mut CheckpointInfo| it.seq += 1,
            |it: &mut CheckpointInfo| it.account_id = "b".to_owned(),
            |it: &mut CheckpointInfo| it.at = "2026-11-18T00:00:00.000Z".to_owned(),
        ] {
            let mut changed = checkpoint(5, &signer(1));
            change(&mut changed);
            assert!(first_fault(&anchor, &keys, &[changed]).is_some());
        }
        let mut posing = key(2, Some(1), true);
        posing.public_key = signer(3).public_key();
        let mut forged = checkpoint(6, &signer(3));
        forged.key_id = posing.id.clone();
        assert!(first_fault(&anchor, &[key(1, None, false), posing], &[forged]).is_some());
    }
}
