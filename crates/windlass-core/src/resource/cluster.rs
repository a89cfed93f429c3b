//! Kubernetes clusters, and groups of them chosen by label.

use std::collections::BTreeSet;

use super::needs::{Reference, ResourceSpec};
use crate::diagnostic::{Code, Finding};
use crate::shape::{Decoder, Segment, choice, record};
use crate::value::{LabelKey, LabelValue, Labels};
use crate::yaml::NodeRef;

record! {
    /// A cluster is a Kubernetes cluster with a Windlass agent in it.
    pub struct ClusterSpec {
        /// What the cluster is for, shown to reviewers.
        description: String = String::new() => "Production, Europe",
        /// Labels, which cluster groups choose by.
        labels: Labels = Labels::new() => "{env: prod}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for ClusterSpec {
    fn references<'s>(&'s self, _name: &'s str, _visit: &mut dyn FnMut(Reference<'s>)) {}

    fn is_protected(&self) -> bool {
        self.protect
    }
}

record! {
    /// A cluster group is the set of clusters its selector matches, now and later.
    pub struct ClusterGroupSpec {
        /// What the group is for, shown to reviewers.
        description: String = String::new() => "All production clusters",
        /// Which clusters belong to it.
        selector: LabelSelector => "{matchLabels: {env: prod}}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for ClusterGroupSpec {
    fn references<'s>(&'s self, _name: &'s str, _visit: &mut dyn FnMut(Reference<'s>)) {}

    fn is_protected(&self) -> bool {
        self.protect
    }
}

record! {
    /// A label selector, as in Kubernetes: everything given must hold. An empty one matches all clusters.
    pub struct LabelSelector {
        /// Labels that must have exactly these values.
        match_labels "matchLabels": Labels = Labels::new() => "{env: prod}",
        /// Conditions on labels.
        match_expressions "matchExpressions": Vec<LabelExpression> = Vec::new() =>
            "[{key: region, operator: In, values: [eu, us]}]",
    }
}

choice! {
    /// How a label is compared.
    pub enum ExpressionOperator {
        /// The label has one of the values.
        In = "In",
        /// The label has none of the values, or is absent.
        NotIn = "NotIn",
        /// The label is present.
        Exists = "Exists",
        /// The label is absent.
        DoesNotExist = "DoesNotExist",
    }
}

record! {
    /// A condition on one label.
    pub struct LabelExpression {
        /// The label.
        key: LabelKey => "region",
        /// How it is compared.
        operator: ExpressionOperator => "In",
        /// The values it is compared with, for `In` and `NotIn`.
        values: BTreeSet<LabelValue> = BTreeSet::new() => "[eu, us]",
    }
    check LabelExpression::check
}

impl LabelSelector {
    /// Whether something with these labels is chosen.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl LabelExpression {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let is_listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            ExpressionOperator::In => is_listed,
            ExpressionOperator::NotIn => !is_listed,
            ExpressionOperator::Exists => value.is_some(),
            ExpressionOperator::DoesNotExist => value.is_none(),
        }
    }

    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let needs_values = matches!(self.operator, ExpressionOperator::In | ExpressionOperator::NotIn);
        let fits = needs_values != self.values.is_empty();
        if !fits {
            let word = self.operator.word();
            let (message, help) = match needs_values {
                true => (format!("`{word}` needs `values`"), "list the values"),
                false => (format!("`{word}` takes no `values`"), "remove `values`, or use In or NotIn"),
            };
            let span = node.get("operator").unwrap_or(node).span();
            let finding = Finding::new(Code::BadValue, span, message).help(help);
            decoder.report_within(Segment::Key("operator"), finding);
        }
        fits
    }
}
