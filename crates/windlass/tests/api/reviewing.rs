//! An edited payload is approved only with the digest of the content that was reviewed.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{Installation, Person, fleet};

const PROPOSALS: &str = "/api/v1/system/proposals";
const BATCH: &str = "/api/v1/system/proposals/batch";
const FLEET: &str = "version: 1\naccount: acme\nclusters: [{name: one}, {name: two}]\n";

/// A run with an edited proposal and an unedited one, in this order.
async fn edited() -> (Installation, Person, Value, [String; 2]) {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let ids = [0, 1].map(|number| run["proposals"][number]["id"].as_str().unwrap().to_owned());
    let edit = json!({"payload": {"labels": {"tier": "typed"}}});
    let path = format!("{PROPOSALS}/{}/edit", ids[0]);
    installation.tell(&operator.token, "POST", &path, &edit).await.expect(200);
    (installation, admin, run, ids)
}

async fn status(installation: &Installation, admin: &Person, id: &str) -> Value {
    installation.get(admin, &format!("{PROPOSALS}/{id}")).await["proposal"]["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_proposal_or_a_direct_change_is_approved_only_with_its_digest() {
    let (installation, admin, _, [typed, plain]) = edited().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let direct = installation.make_cluster(&operator, "direct").await.expect(202);
    let direct = direct["proposal"]["id"].as_str().unwrap().to_owned();
    for id in [&typed, &direct] {
        let refused = installation.ask(&admin.token, "POST", &format!("{PROPOSALS}/{id}/approve")).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "digest-needed"), "{refused:?}");
        let digest =
            installation.get(&admin, &format!("{PROPOSALS}/{id}")).await["proposal"]["digest"].clone();
        assert!(refused.text.contains(digest.as_str().unwrap()), "{refused:?}");
        installation.approve(&admin, id).await.expect(200);
    }
    installation.ask(&admin.token, "POST", &format!("{PROPOSALS}/{plain}/approve")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_skips_typed_content_and_reports_it() {
    for by_run in [true, false] {
        let (installation, admin, run, [typed, plain]) = edited().await;
        let mut body = match by_run {
            true => json!({"decision": "approve", "approval_request_id": run["id"]}),
            false => json!({"decision": "approve", "ids": [typed, plain]}),
        };
        let decided = installation.tell(&admin.token, "POST", BATCH, &body).await.expect(200);
        assert_eq!((&decided["done"], &decided["refused"]), (&json!(1), &json!(1)), "{decided}");
        let results = decided["results"].as_array().unwrap();
        let refused = results.iter().find(|item| item["id"] == typed.as_str()).unwrap();
        assert_eq!(refused["error"]["code"], "digest-needed", "{decided}");
        assert_eq!(status(&installation, &admin, &typed).await, "pending_approval");
        let digest =
            installation.get(&admin, &format!("{PROPOSALS}/{typed}")).await["proposal"]["digest"].clone();
        body["digests"] = json!({ typed.as_str(): digest });
        let decided = installation.tell(&admin.token, "POST", BATCH, &body).await.expect(200);
        assert_eq!(decided["done"], 1, "{decided}");
        assert_ne!(status(&installation, &admin, &typed).await, "pending_approval");
    }
}
