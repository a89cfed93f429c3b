//! An approval counts only while its approver has the permission to approve.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{Installation, Person, fleet, now};

const PROPOSALS: &str = "/api/v1/system/proposals";
const FLEET: &str = "version: 1\naccount: acme\nclusters: [{name: one}]\n";

/// A halted account with a run that proposes a cluster.
async fn halted() -> (Installation, Person, Value) {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let halt = json!({"reason": "for the time being"});
    installation.tell(&admin.token, "POST", "/api/v1/system/halt", &halt).await.expect(200);
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    (installation, admin, run)
}

async fn shown(installation: &Installation, admin: &Person, run: &Value) -> Value {
    let id = run["proposals"][0]["id"].as_str().unwrap();
    installation.get(admin, &format!("{PROPOSALS}/{id}")).await["proposal"].clone()
}

/// Resumes applying and checks whether the proposal is applied.
async fn is_applied_after_resume(installation: &Installation, admin: &Person, run: &Value) -> bool {
    installation.ask(&admin.token, "POST", "/api/v1/system/resume").await.expect(200);
    let id = run["proposals"][0]["id"].as_str().unwrap();
    let applied = installation.ask(&admin.token, "POST", &format!("{PROPOSALS}/{id}/apply?wait=60")).await;
    applied.status == 200 && applied.json()["proposal"]["status"] == "applied"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_does_not_count_after_the_approver_lost_the_permission() {
    for (method, body) in
        [("DELETE", json!(null)), ("PATCH", json!({"role": "viewer"})), ("PATCH", json!({"disabled": true}))]
    {
        let (installation, admin, run) = halted().await;
        let approver = installation.person(&installation.account, Role::Approver).await;
        let id = run["proposals"][0]["id"].as_str().unwrap();
        let approved = installation.approve(&approver, id).await.expect(200);
        assert_eq!(approved["proposal"]["status"], "approved", "{approved}");
        let path = format!("/api/v1/auth/users/{}", approver.id);
        let status = installation.tell(&admin.token, method, &path, &body).await.status;
        assert!(matches!(status, 200 | 204), "{body}: {status}");
        let held = shown(&installation, &admin, &run).await;
        assert_eq!(held["status"], "pending_approval", "{body}: {held}");
        assert!(held["reason"].as_str().unwrap().contains("lost the permission to approve"), "{held}");
        assert_eq!((&held["gate"]["have"], &held["approvals"][0]["counts"]), (&json!(0), &json!(false)));
        // A person who returns does not get their earlier approvals back.
        installation.add_to_account(&approver, &installation.account, Role::Approver).await;
        let mut writing = installation.store.write().await.unwrap();
        writing.user_set_disabled(&approver.id, None).await.unwrap();
        writing.commit().await.unwrap();
        assert!(!is_applied_after_resume(&installation, &admin, &run).await, "{body}");
        installation.approve(&admin, id).await.expect(200);
        assert!(is_applied_after_resume(&installation, &admin, &run).await, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approval_of_a_whole_plan_lapses_with_its_approvers_permission() {
    let (installation, admin, run) = halted().await;
    let approver = installation.person(&installation.account, Role::Approver).await;
    let path = format!("/api/v1/system/gitops_sync_runs/{}", run["id"].as_str().unwrap());
    let plan = installation.get(&admin, &path).await["sync_run"]["sets"][0]["digest"].clone();
    let body = json!({ "digest": plan });
    installation.tell(&approver.token, "POST", &format!("{path}/approve"), &body).await.expect(200);
    assert_eq!(shown(&installation, &admin, &run).await["status"], "approved");
    let user = format!("/api/v1/auth/users/{}", approver.id);
    installation.ask(&admin.token, "DELETE", &user).await.expect(204);
    assert_eq!(shown(&installation, &admin, &run).await["status"], "pending_approval");
    let events = installation.get(&admin, "/api/v1/system/fleet_events?kind=gitops.plan_approval_fell").await;
    assert!(events.to_string().contains("they lost the permission to approve"), "{events}");
    assert!(!is_applied_after_resume(&installation, &admin, &run).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_suspended_while_the_approvers_groups_are_unproved() {
    let (installation, admin, run) = halted().await;
    let approver = installation.person(&installation.account, Role::Approver).await;
    installation.approve(&approver, run["proposals"][0]["id"].as_str().unwrap()).await.expect(200);
    let grant = async |proved_at| {
        let mut writing = installation.store.write().await.unwrap();
        let (account, role) = (&installation.account, Role::Approver);
        writing.member_grant(account, &approver.id, role, proved_at).await.unwrap();
        writing.commit().await.unwrap();
    };
    grant(now().minus(Duration::from_secs(13 * 3600))).await;
    let resting = shown(&installation, &admin, &run).await;
    assert_eq!((&resting["gate"]["have"], &resting["gate"]["consent"]), (&json!(0), &json!("needed")));
    assert!(!is_applied_after_resume(&installation, &admin, &run).await);
    let resting = shown(&installation, &admin, &run).await;
    assert_eq!(resting["status"], "pending_approval", "{resting}");
    assert!(resting["reason"].as_str().unwrap().contains("may not approve in this account now"), "{resting}");
    grant(now()).await;
    let counted = shown(&installation, &admin, &run).await;
    assert_eq!(counted["gate"]["consent"], "granted", "{counted}");
}
