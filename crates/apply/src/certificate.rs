//! Certificate bundles in custom resource definitions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::Value;

use crate::{Object, order};

/// Where a definition keeps the bundle of its conversion webhook.
const BUNDLE_HOLDER: [&str; 4] = ["spec", "conversion", "webhook", "clientConfig"];

/// Removes the conversion webhook's `caBundle` if it is not a bundle: recent API servers refuse the whole
/// definition otherwise, while the bundle is usually injected later anyway.
pub(crate) fn remove_invalid_bundle(object: &mut Object) {
    if !order::is_custom_resource_definition(object) {
        return;
    }
    let mut holder = object.content_mut().get_mut(BUNDLE_HOLDER[0]);
    for part in &BUNDLE_HOLDER[1..] {
        holder = holder.and_then(|value| value.get_mut(*part));
    }
    let Some(Value::Object(holder)) = holder else {
        return;
    };
    let Some(Value::String(bundle)) = holder.get("caBundle") else {
        return;
    };
    if !bundle.is_empty() && !is_valid(bundle) {
        holder.remove("caBundle");
    }
}

/// Whether the base64 text holds at least one certificate, or nothing.
fn is_valid(bundle: &str) -> bool {
    let compact: String = bundle
        .chars()
        .filter(|letter| !matches!(letter, '\n' | '\r'))
        .collect();
    let Ok(bytes) = STANDARD.decode(compact) else {
        return false;
    };
    if bytes.is_empty() {
        return true;
    }
    CertificateDer::pem_slice_iter(&bytes)
        .flatten()
        .any(|certificate| {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(certificate).is_ok()
        })
}
