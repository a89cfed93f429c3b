//! Hosts that credentials are bound to.

use windlass_core::id::AccountId;
use windlass_store::CredentialBinding;

use crate::world::{at, on_both};

#[test]
fn a_credential_can_be_bound_to_several_hosts_in_each_account() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let binding = |account: &AccountId, path: &str, host: &str| CredentialBinding {
            account_id: account.clone(),
            credential_path: path.to_owned(),
            host: host.to_owned(),
            bound_by: "ada@example.com".to_owned(),
            bound_at: at(7),
        };
        let mut writing = world.store.write().await.unwrap();
        let (one, two) = (binding(&acme, "git", "a.example:443"), binding(&acme, "git", "B.example:22"));
        assert!(writing.credential_bind(&one).await.unwrap());
        assert!(!writing.credential_bind(&one).await.unwrap(), "it is bound already");
        assert!(writing.credential_bind(&two).await.unwrap());
        assert!(writing.credential_bind(&binding(&other, "git", "c.example:443")).await.unwrap());
        assert_eq!(writing.credential_bindings(&acme).await.unwrap(), [two.clone(), one.clone()]);
        assert_eq!(writing.credential_hosts(&acme, "git").await.unwrap(), ["B.example:22", "a.example:443"]);
        assert_eq!(writing.credential_hosts(&acme, "absent").await.unwrap(), Vec::<String>::new());
        assert_eq!(writing.credential_hosts_elsewhere(&acme, "git").await.unwrap(), ["c.example:443"]);
        assert!(writing.credential_unbind(&acme, "git", "a.example:443").await.unwrap());
        assert!(
            !writing.credential_unbind(&acme, "git", "c.example:443").await.unwrap(),
            "another account's"
        );
        assert_eq!(writing.credential_bindings(&acme).await.unwrap(), [two]);
        writing.commit().await.unwrap();
    });
}
