//! What a Helm release has installed, from the record that Helm keeps of it.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::GzDecoder;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::Value;
use sluice_apply::{Discovery, Object, ObjectId};
use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents};

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::kind::Kind;

/// The group of HelmReleases.
pub(super) const GROUP: &str = "helm.toolkit.fluxcd.io";

/// The most that a record may unpack to: Helm keeps it in a Secret, which holds a megabyte.
const LARGEST_RECORD: u64 = 64 << 20;

/// The objects of a HelmRelease: none while it has no release, or where that lies in another cluster.
///
/// # Errors
/// A record that can't be read.
pub(super) async fn inventory(
    cluster: &Cluster,
    discovery: &Discovery,
    id: &ObjectId,
) -> Result<Vec<ObjectId>> {
    let Some(kind) = Kind::by_name("HelmRelease") else {
        return Ok(Vec::new());
    };
    let Some(release) = cluster
        .within(&id.namespace)
        .objects(kind)
        .get_opt(&id.name)
        .await?
    else {
        return Ok(Vec::new());
    };
    let release = kind.value(release);
    let status = &release["status"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let storage = text(&status["storageNamespace"]);
    let latest = &status["history"][0];
    if release["spec"]["kubeConfig"].is_object() || storage.is_empty() || latest.is_null() {
        return Ok(Vec::new());
    }
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &storage);
    let record = format!(
        "sh.helm.release.v1.{}.v{}",
        text(&latest["name"]),
        latest["version"]
    );
    let Some(secret) = secrets.get_opt(&record).await? else {
        return Ok(Vec::new());
    };
    let wrong = |problem: String| {
        CommandError::new(format!(
            "failed to decode the Helm storage object for HelmRelease '{}/{}': {problem}",
            id.namespace, id.name
        ))
    };
    let data = secret.data.unwrap_or_default().remove("release");
    let data = data.ok_or_else(|| wrong(format!("Secret {storage}/{record} has no key 'release'")))?;
    let manifest = manifest_of(&data.0).map_err(wrong)?;
    let mut ids = objects_of(&manifest).map_err(wrong)?;
    place(&mut ids, discovery, &text(&latest["namespace"])).await;
    let mut ids: Vec<ObjectId> = ids.iter().map(Object::id).collect();
    if installs_definitions(&release["spec"]) {
        add_definitions(cluster, id, &mut ids).await?;
    }
    Ok(ids)
}

/// The manifest in a record: JSON, usually compressed, as base64.
fn manifest_of(record: &[u8]) -> std::result::Result<String, String> {
    let bytes = BASE64.decode(record).map_err(|error| error.to_string())?;
    let text = if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        let mut text = Vec::new();
        let mut decoder = GzDecoder::new(bytes.as_slice()).take(LARGEST_RECORD + 1);
        decoder
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        if text.len() as u64 > LARGEST_RECORD {
            return Err(format!("it unpacks to more than {LARGEST_RECORD} bytes"));
        }
        text
    } else {
        bytes
    };
    let record: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    Ok(record["manifest"].as_str().unwrap_or_default().to_owned())
}

fn objects_of(manifest: &str) -> std::result::Result<Vec<Object>, String> {
    let documents = parse_documents(manifest.as_bytes(), Flavour::Sigs, Limits::default())
        .map_err(|error| error.to_string())?;
    let mut objects = Vec::new();
    for document in &documents {
        let mut value = json_from_node(document, Flavour::Sigs).map_err(|error| error.to_string())?;
        match value.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                objects.extend(items.into_iter().filter_map(|item| Object::from_value(item).ok()));
            }
            _ => objects.extend(Object::from_value(value).ok()),
        }
    }
    Ok(objects)
}

/// Gives namespaced objects that name no namespace the release's.
async fn place(objects: &mut [Object], discovery: &Discovery, namespace: &str) {
    for object in objects.iter_mut().filter(|object| object.namespace().is_empty()) {
        let resource = discovery
            .resolve(object.group(), object.version(), object.kind())
            .await;
        if resource.is_ok_and(|resource| resource.namespaced)
            && let Some(metadata) = object
                .content_mut()
                .get_mut("metadata")
                .and_then(Value::as_object_mut)
        {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }
}

fn installs_definitions(spec: &Value) -> bool {
    ["install", "upgrade"]
        .iter()
        .filter_map(|action| spec[*action]["crds"].as_str())
        .any(|policy| !policy.is_empty() && policy != "Skip")
}

/// Adds the definitions that the release brought: they are not in its manifest.
async fn add_definitions(cluster: &Cluster, release: &ObjectId, ids: &mut Vec<ObjectId>) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let selector = format!(
        "{GROUP}/name={},{GROUP}/namespace={}",
        release.name, release.namespace
    );
    let listed = definitions
        .list_metadata(&ListParams::default().labels(&selector))
        .await?;
    for definition in listed {
        let id = ObjectId {
            namespace: String::new(),
            name: definition.name_any(),
            group: "apiextensions.k8s.io".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(())
}
