//! The query parameters of endpoints: name and description.

pub(crate) const NONE: &[(&str, &str)] = &[];
pub(crate) const PAGE: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
];
pub(crate) const WAIT: &[(&str, &str)] =
    &[("wait", "Seconds to wait for the run to compare, up to 60; default 0.")];
pub(crate) const LIST_PROPOSALS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("status", "States, separated by commas; `open` for all open states."),
    ("run", "Of this sync run."),
    ("repository", "Of this repository, by id or name; `none` for direct changes."),
    ("kind", "Of this kind of resource."),
    ("change", "Only `create`, `update` or `destroy`."),
    ("name", "For the resource with this name."),
    ("q", "Text in the resource's name."),
];
pub(crate) const LIST_RESOURCES: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("q", "Text in the name."),
    ("repository", "Owned by this repository, by id or name; `none` for those without an owner."),
];
pub(crate) const DIRECT: &[(&str, &str)] =
    &[("reason", "The reason for the direct change, recorded in the audit log.")];
pub(crate) const LIST_ALL_RESOURCES: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("q", "Text in the name."),
    ("kind", "Of this kind."),
    ("repository", "Owned by this repository, by id or name; `none` for those without an owner."),
];
pub(crate) const LIST_RUNS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("repository", "Of this repository, by id or name."),
];
pub(crate) const LIST_EVENTS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("after", "Events after this number, oldest first."),
    ("kind", "Of this kind; `gitops.` for all kinds with that prefix."),
    ("run", "Of this sync run."),
    ("repository", "About this repository, by id or name."),
    ("resource", "About this resource: `kind/name`."),
    ("severity", "Of this severity."),
    ("q", "Text in the message."),
];
pub(crate) const FOLLOW_EVENTS: &[(&str, &str)] = &[
    (
        "after",
        "Events after this number; default: only new events. The header `Last-Event-ID` does the same.",
    ),
    ("kind", "Of this kind; `gitops.` for all kinds with that prefix."),
];
pub(crate) const LIST_AUDIT: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("target", "Entries about this target: `kind/name`."),
];
pub(crate) const CHAIN: &[(&str, &str)] =
    &[("chain", "`installation` for the installation's own log, which only its administrators see.")];
pub(crate) const VERIFY_AUDIT: &[(&str, &str)] = &[
    ("expect", "A hash seen earlier: some entry must have it."),
    ("chain", "`installation` for the installation's own log, which only its administrators see."),
];
pub(crate) const LIST_CHECKPOINTS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("chain", "`installation` for the installation's own log, which only its administrators see."),
];
pub(crate) const LIST_DELIVERIES: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("provider", "Through this provider."),
    ("state", "Only `pending`, `sent`, `failed` or `suppressed`."),
];
pub(crate) const LIST_ROLLOUTS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("status", "States, separated by commas; `open` for all that are not over."),
    ("node", "Only those that reach this node."),
];
pub(crate) const SHOW_ROLLOUT: &[(&str, &str)] =
    &[("nodes", "States of the nodes to list, separated by commas; `all` for every node; default `failed`.")];
pub(crate) const UNBIND: &[(&str, &str)] =
    &[("credential_path", "The credential's path."), ("host", "The host, as `host:port`.")];
pub(crate) const LIST_NODE_STATUS: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("state", "Statuses, separated by commas."),
    ("template", "Of this template."),
    ("region", "In this region."),
    ("label", "With this label: `key=value`, or `key` for any value."),
    ("q", "Text in the name."),
];
pub(crate) const NODE_STATUS_SUMMARY: &[(&str, &str)] = &[
    ("by", "`template` (default), `region` or `label:KEY`."),
    ("state", "Only nodes with these statuses, separated by commas."),
    ("template", "Only nodes of this template."),
    ("region", "Only nodes in this region."),
    ("label", "Only nodes with this label: `key=value`, or `key` for any value."),
    ("q", "Only nodes with this text in the name."),
];
pub(crate) const NODE_LOG: &[(&str, &str)] = &[
    ("limit", "The page size, 1 to 500; default 50."),
    ("cursor", "The previous page's `meta.next_cursor`."),
    ("after", "Events after this number, oldest first."),
];
