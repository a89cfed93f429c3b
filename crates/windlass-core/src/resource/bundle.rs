//! Bundles: Kubernetes content and where it goes.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::LabelSelector;
use super::kind::Kind;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::shape::{Decoder, FreeSettings, choice, record};
use crate::value::{CountOrPercent, HttpsUrl, Name, Namespace, RepositoryPath, Timeout, VariableName};
use crate::yaml::NodeRef;

record! {
    /// A bundle is a set of Kubernetes objects (plain manifests, a kustomization or a Helm chart) and the clusters
    /// they go to.
    pub struct BundleSpec {
        /// What the bundle is, shown to reviewers.
        description: String = String::new() => "Certificates",
        /// A directory of the repository with manifests, a kustomization or a chart. Either this or `chart`.
        path: Option<RepositoryPath> = None => "applications/cert-manager",
        /// A Helm chart from a chart repository. Either this or `path`.
        chart: Option<Chart> = None =>
            "{repository: \"https://charts.example.com\", name: cert-manager, version: 1.16.2}",
        /// The clusters it goes to. A bundle without targets is checked, but goes nowhere.
        targets: Vec<BundleTarget> = Vec::new() => "[{cluster_group: prod}]",
        /// The namespace for objects that name none.
        namespace: Option<Namespace> = None => "cert-manager",
        /// Bundles that must be healthy on a cluster first.
        depends_on: BTreeSet<Name> = BTreeSet::new() => "[crds]",
        /// Remove objects that are no longer in the bundle.
        prune: bool = true => "true",
        /// Wait until everything is healthy before calling it applied.
        wait: bool = true => "true",
        /// How long applying and waiting may take.
        timeout: Timeout = Timeout::minutes(5) => "5m",
        /// Objects to wait for, instead of all of them.
        health_checks: Vec<HealthCheck> = Vec::new() =>
            "[{kind: Deployment, name: cert-manager, namespace: cert-manager}]",
        /// How encrypted files of the bundle are decrypted.
        decryption: Option<Decryption> = None => "{provider: sops}",
        /// Values for `${NAME}` in the bundle's files.
        substitute: BTreeMap<VariableName, String> = BTreeMap::new() => "{CLUSTER_NAME: prod-eu}",
        /// How the bundle moves over its clusters.
        rollout: Option<Rollout> = None => "{max_unavailable: 10%}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check BundleSpec::check
}

impl BundleSpec {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        decoder.exactly_one(node, &[("path", self.path.is_some()), ("chart", self.chart.is_some())])
    }
}

record! {
    /// A Helm chart from a chart repository.
    pub struct Chart {
        /// The chart repository: `https://…` or `oci://…`.
        repository: HttpsUrl => "https://charts.example.com",
        /// The chart.
        name: Name => "cert-manager",
        /// The exact version.
        version: crate::value::Version => "1.16.2",
        /// Values, over those of `values_files`.
        values: FreeSettings = FreeSettings::default() => "{replicaCount: 2}",
        /// Files of the repository with values; later ones win.
        values_files: Vec<RepositoryPath> = Vec::new() => "[values/prod.yaml]",
    }
}

record! {
    /// Where a bundle goes. Exactly one of the fields is given.
    pub struct BundleTarget {
        /// One cluster.
        cluster: Option<Name> = None => "prod-eu",
        /// All clusters of a group.
        cluster_group: Option<Name> = None => "prod",
        /// All clusters with these labels.
        cluster_selector: Option<LabelSelector> = None => "{matchLabels: {env: prod}}",
    }
    check BundleTarget::check
}

impl BundleTarget {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        decoder.exactly_one(
            node,
            &[
                ("cluster", self.cluster.is_some()),
                ("cluster_group", self.cluster_group.is_some()),
                ("cluster_selector", self.cluster_selector.is_some()),
            ],
        )
    }
}

record! {
    /// An object whose health is waited for.
    pub struct HealthCheck {
        /// The API group and version, where the kind alone is not clear.
        api_version "apiVersion": Option<String> = None => "apps/v1",
        /// The kind of object.
        kind: Name => "Deployment",
        /// The object.
        name: Name => "cert-manager",
        /// Its namespace. Default: the bundle's.
        namespace: Option<Namespace> = None => "cert-manager",
    }
}

choice! {
    /// What decrypts a bundle's files.
    pub enum DecryptionProvider {
        /// SOPS, with age keys.
        Sops = "sops",
    }
}

record! {
    /// How encrypted files of a bundle are decrypted.
    pub struct Decryption {
        /// What decrypts them.
        provider: DecryptionProvider => "sops",
    }
}

record! {
    /// How a bundle moves over its clusters.
    pub struct Rollout {
        /// How many clusters may be changing or unhealthy at a time.
        max_unavailable: CountOrPercent = CountOrPercent::Percent(100) => "10%",
        /// Groups of clusters that follow one another; clusters in no wave come last.
        waves: Vec<RolloutWave> = Vec::new() => "[{name: canary, clusters: [prod-eu]}]",
    }
}

record! {
    /// A step of a rollout.
    pub struct RolloutWave {
        /// What the step is called.
        name: Name => "canary",
        /// Its clusters.
        clusters: BTreeSet<Name> = BTreeSet::new() => "[prod-eu]",
        /// The clusters with these labels.
        cluster_selector: Option<LabelSelector> = None => "{matchLabels: {stage: canary}}",
    }
}

impl ResourceSpec for BundleSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        for (index, bundle) in self.depends_on.iter().enumerate() {
            visit(Reference::new(Kind::Bundle, bundle.as_str(), SpecPath::Item("depends_on", index)));
        }
        for (index, target) in self.targets.iter().enumerate() {
            if let Some(cluster) = &target.cluster {
                visit(Reference::new(
                    Kind::Cluster,
                    cluster.as_str(),
                    SpecPath::ItemField("targets", index, "cluster"),
                ));
            }
            if let Some(group) = &target.cluster_group {
                let at = SpecPath::ItemField("targets", index, "cluster_group");
                visit(Reference::new(Kind::ClusterGroup, group.as_str(), at));
            }
        }
        for cluster in self.rollout.iter().flat_map(|rollout| &rollout.waves).flat_map(|wave| &wave.clusters)
        {
            visit(Reference::new(Kind::Cluster, cluster.as_str(), SpecPath::Inside("rollout", "clusters")));
        }
    }

    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
        self.path.iter().for_each(|path| visit(path, SpecPath::Field("path")));
        for path in self.chart.iter().flat_map(|chart| &chart.values_files) {
            visit(path, SpecPath::Inside("chart", "values_files"));
        }
    }

    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        let values_files = self.chart.iter_mut().flat_map(|chart| &mut chart.values_files);
        self.path.iter_mut().chain(values_files).for_each(visit);
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
