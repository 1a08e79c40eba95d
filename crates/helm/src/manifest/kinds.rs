//! In which order kinds are installed and uninstalled.

use std::cmp::Ordering;

/// Kinds in the order of installation.
pub const INSTALL_ORDER: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Kinds in the order of removal.
pub const UNINSTALL_ORDER: [&str; 38] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

/// Compares two kinds by an order. Unknown kinds come last in every order, sorted by their names.
pub fn compare_kinds(first: &str, second: &str, order: &[&str]) -> Ordering {
    place(first, order).cmp(&place(second, order))
}

fn place<'kind>(kind: &'kind str, order: &[&str]) -> (usize, &'kind str) {
    match order.iter().position(|known| *known == kind) {
        Some(place) => (place, ""),
        None => (order.len(), kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_come_last_by_name() {
        let mut kinds = ["Zebra", "Service", "Apple", "Namespace"];
        kinds.sort_by(|first, second| compare_kinds(first, second, &INSTALL_ORDER));
        assert_eq!(kinds, ["Namespace", "Service", "Apple", "Zebra"]);
        kinds.sort_by(|first, second| compare_kinds(first, second, &UNINSTALL_ORDER));
        assert_eq!(kinds, ["Service", "Namespace", "Apple", "Zebra"]);
    }
}
