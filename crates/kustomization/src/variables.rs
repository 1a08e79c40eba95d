//! The variables that `postBuild.substituteFrom` refers to.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use sluice_api::kustomize::{SubstituteReference, SubstituteReferenceKind};
use sluice_envsubst::clean_value;

use crate::{VariableMap, Variables};

/// Reads the variables of ConfigMaps and Secrets in `namespace`; later ones win, optional ones may be missing.
///
/// Reading goes on with no reference after the first that fails: the reason is the result, which counts only
/// once an object is to be substituted.
pub async fn load_variables(
    client: &Client,
    namespace: &str,
    references: &[SubstituteReference],
) -> Variables {
    let mut variables = VariableMap::new();
    for reference in references {
        match load_data(client, namespace, reference).await {
            Ok(data) => variables.extend(data),
            Err(kube::Error::Api(status)) if reference.optional && status.code == 404 => {}
            Err(error) => {
                let cause = match error {
                    kube::Error::Api(status) => status.message,
                    other => other.to_string(),
                };
                let (kind, name) = (&reference.kind, &reference.name);
                return Err(format!("substitute from '{kind}/{name}' error: {cause}"));
            }
        }
    }
    Ok(variables)
}

async fn load_data(
    client: &Client,
    namespace: &str,
    reference: &SubstituteReference,
) -> Result<Vec<(String, String)>, kube::Error> {
    let clean = |value: &str| clean_value(value).into_owned();
    Ok(match reference.kind {
        SubstituteReferenceKind::ConfigMap => {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let data = api.get(&reference.name).await?.data.unwrap_or_default();
            data.into_iter()
                .map(|(key, value)| (key, clean(&value)))
                .collect()
        }
        SubstituteReferenceKind::Secret => {
            let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let data = api.get(&reference.name).await?.data.unwrap_or_default();
            let text = |value: &[u8]| clean(&String::from_utf8_lossy(value));
            data.into_iter()
                .map(|(key, value)| (key, text(&value.0)))
                .collect()
        }
        SubstituteReferenceKind::Other(_) => Vec::new(),
    })
}
