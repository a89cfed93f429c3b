//! Decides whether a caller may use an endpoint or a page: the only place that does, for REST, pages and tools.

use windlass_api::endpoint::Access;

use crate::caller::{AgentCaller, Caller, Identity};
use crate::refusal::Refusal;

/// The identity under which a caller is admitted.
#[derive(Clone, Debug)]
pub enum AdmittedCaller {
    /// Without an identity: a public endpoint needs none.
    Anyone,
    /// As a person.
    Person(Identity),
    /// As an agent.
    Agent(AgentCaller),
}

/// Admits a caller under their identity, or returns why not. A use case that needs a second permission because of the
/// request's content, such as an export with secrets, checks that permission itself.
pub fn admit(access: Access, caller: &Caller) -> Result<AdmittedCaller, Refusal> {
    match (access, caller) {
        (Access::Public, Caller::Person(_) | Caller::Agent(_)) => Ok(AdmittedCaller::Anyone),
        (Access::SignedIn, Caller::Person(identity)) => Ok(AdmittedCaller::Person(identity.clone())),
        (Access::Needs(permission), Caller::Person(identity)) => {
            match identity.permissions.contains(&permission) {
                true => Ok(AdmittedCaller::Person(identity.clone())),
                false => Err(Refusal::forbidden(
                    format!("this needs the permission {permission}"),
                    "ask an admin of the account for it",
                )),
            }
        }
        (Access::Root, Caller::Person(identity)) => match identity.is_root {
            true => Ok(AdmittedCaller::Person(identity.clone())),
            false => Err(Refusal::forbidden(
                "only administrators of the installation may do this",
                "ask one of them",
            )),
        },
        (Access::Agent, Caller::Person(_)) => {
            Err(Refusal::forbidden("only agents may do this", "use an endpoint for people"))
        }
        (Access::Agent, Caller::Agent(agent)) => Ok(AdmittedCaller::Agent(agent.clone())),
        (Access::SignedIn | Access::Needs(_) | Access::Root, Caller::Agent(_)) => {
            Err(Refusal::forbidden("only people may do this", "use an endpoint for agents"))
        }
    }
}

/// Admits a caller as a person, or returns why not: for everything that only people use.
pub fn admit_person(access: Access, caller: &Caller) -> Result<Identity, Refusal> {
    match admit(access, caller)? {
        AdmittedCaller::Person(identity) => Ok(identity),
        AdmittedCaller::Anyone | AdmittedCaller::Agent(_) => {
            Err(Refusal::forbidden("only people may do this", "sign in as a person"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_api::endpoint::endpoints;
    use windlass_api::permission::{Permission, Role};
    use windlass_core::agent::Agent;
    use windlass_core::id::{AccountId, AgentId, SessionId, TokenId, UserId};
    use windlass_core::observed::{Enrolment, LastContact};
    use windlass_core::resource::{Kind, ResourceKey};
    use windlass_core::time::Timestamp;

    use super::*;
    use crate::caller::Credential;

    fn agent() -> Caller {
        let agent = Agent {
            id: AgentId::new("a"),
            account_id: AccountId::new("acme"),
            target: ResourceKey::new(Kind::Node, "edge-01"),
            enrolment: Enrolment(1),
            enrolled_at: Timestamp::from_millis(0),
            last_contact: LastContact::Never,
            revoked_at: None,
        };
        Caller::Agent(AgentCaller { agent, address: String::new(), request_id: String::new() })
    }

    fn person(permissions: BTreeSet<Permission>, is_root: bool, credential: Credential) -> Caller {
        Caller::Person(Identity {
            account_id: AccountId::new("acme"),
            account_name: "acme".to_owned(),
            user_id: UserId::new("u"),
            email: "ada@example.com".to_owned(),
            role: Role::Viewer,
            permissions,
            credential,
            is_root,
            must_change_password: false,
            address: String::new(),
            request_id: String::new(),
        })
    }

    fn session() -> Credential {
        Credential::Session { id: SessionId::new("s") }
    }

    fn token() -> Credential {
        Credential::Token { id: TokenId::new("t"), name: "ci".to_owned() }
    }

    /// People with the permissions of each role, with each single permission and with none; each with a session, with a
    /// session as administrator of the installation, and with a token.
    fn people() -> Vec<Caller> {
        let mut granted: Vec<BTreeSet<Permission>> =
            Role::ALL.iter().map(|role| role.permissions()).collect();
        granted.extend(Permission::ALL.iter().map(|permission| BTreeSet::from([*permission])));
        granted.push(BTreeSet::new());
        let each = |permissions: BTreeSet<Permission>| {
            [(false, session()), (true, session()), (false, token())]
                .map(|(is_root, credential)| person(permissions.clone(), is_root, credential))
        };
        granted.into_iter().flat_map(each).collect()
    }

    fn accesses() -> Vec<Access> {
        let needs = Permission::ALL.iter().map(|permission| Access::Needs(*permission));
        [Access::Public, Access::SignedIn, Access::Root, Access::Agent].into_iter().chain(needs).collect()
    }

    #[test]
    fn people_are_admitted_where_the_table_says_and_never_where_only_agents_are() {
        for access in accesses() {
            for caller in people() {
                let Caller::Person(identity) = &caller else { panic!("a person") };
                let expected = match access {
                    Access::Public | Access::SignedIn => true,
                    Access::Needs(permission) => identity.permissions.contains(&permission),
                    Access::Root => identity.is_root,
                    Access::Agent => false,
                };
                let admitted = admit(access, &caller);
                assert_eq!(admitted.is_ok(), expected, "{access:?} {identity:?}");
                if let Ok(admitted) = admitted {
                    assert_eq!(
                        matches!(admitted, AdmittedCaller::Person(_)),
                        access != Access::Public,
                        "{access:?} hands on who it is"
                    );
                }
            }
        }
    }

    #[test]
    fn agents_are_admitted_as_agents_and_never_as_people() {
        let agent = agent();
        for access in accesses() {
            match (access, admit(access, &agent)) {
                (Access::Agent, Ok(AdmittedCaller::Agent(caller))) => {
                    assert_eq!(caller.agent.id, AgentId::new("a"));
                }
                (Access::Public, Ok(AdmittedCaller::Anyone)) | (_, Err(_)) if access != Access::Agent => {}
                (access, admitted) => panic!("{access:?}: {admitted:?}"),
            }
            assert!(admit_person(access, &agent).is_err(), "{access:?}: no agent is ever a person");
        }
    }

    #[test]
    fn no_endpoint_of_people_admits_an_agent_and_no_endpoint_of_agents_a_person() {
        let (agent, people) = (agent(), people());
        for endpoint in endpoints() {
            let (access, path) = (endpoint.access, &endpoint.path);
            match access {
                Access::Public => {
                    assert!(matches!(admit(access, &agent), Ok(AdmittedCaller::Anyone)), "{path}");
                }
                Access::Agent => {
                    assert!(people.iter().all(|person| admit(access, person).is_err()), "{path}");
                    assert!(matches!(admit(access, &agent), Ok(AdmittedCaller::Agent(_))), "{path}");
                }
                Access::SignedIn | Access::Needs(_) | Access::Root => {
                    assert!(admit(access, &agent).is_err(), "{path}");
                }
            }
        }
    }

    #[test]
    fn the_audit_actor_names_a_token_and_not_a_session() {
        let name = |credential| person(BTreeSet::new(), false, credential).actor();
        assert_eq!((name(session()).name.as_str(), name(session()).token_id), ("ada@example.com", None));
        let actor = name(token());
        assert_eq!(
            (actor.name.as_str(), actor.token_id),
            ("ada@example.com (token ci)", Some(TokenId::new("t")))
        );
        assert_eq!(agent().actor().name, "agent a of node edge-01");
    }
}
