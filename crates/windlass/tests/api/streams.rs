//! The limit of event streams for one person.

use windlass_api::permission::Role;

use crate::harness::Installation;

#[tokio::test(flavor = "multi_thread")]
async fn one_person_has_so_many_streams_and_nobody_else_has_fewer_for_it() {
    let installation = Installation::start().await;
    let person = installation.person(&installation.account, Role::Viewer).await;
    let other = installation.person(&installation.account, Role::Viewer).await;
    let path = "/api/v1/system/fleet_events/stream?after=0";
    let open = async |token: &str| installation.request("GET", path).bearer_auth(token).send().await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..32 {
        let stream = open(&person.token).await;
        assert_eq!(stream.status().as_u16(), 200);
        streams.push(stream);
    }
    let refused = installation.ask(&person.token, "GET", path).await;
    assert_eq!((refused.status, refused.code()), (429, "too-many-streams".to_owned()));
    assert_eq!(open(&other.token).await.status().as_u16(), 200);
    installation.get(&person, "/api/v1/system/status").await;
}
