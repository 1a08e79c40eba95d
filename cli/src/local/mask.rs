//! Hiding what SOPS has encrypted in Secrets: the command line holds no keys, and cipher text compares with
//! nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use sluice_apply::Object;

use crate::error::{CommandError, Result};
use crate::output::yaml;

/// What stands in the place of an encrypted value.
const MASK: &str = "**SOPS**";

/// Masks the encrypted values of every Secret.
///
/// # Errors
/// A Secret whose `data` is not base64.
pub(super) fn mask_secrets(objects: &mut [Object]) -> Result<()> {
    objects
        .iter_mut()
        .filter(|object| object.kind() == "Secret")
        .try_for_each(mask_secret)
}

/// Whether a Secret holds a masked value.
pub(crate) fn is_masked(secret: &Object) -> bool {
    let data = secret.field(&["data"]).and_then(Value::as_object);
    data.into_iter()
        .flat_map(Map::values)
        .filter_map(|value| BASE64.decode(value.as_str()?).ok())
        .any(|value| contains(&value, MASK))
}

fn mask_secret(secret: &mut Object) -> Result<()> {
    let mut data = take_texts(secret, "data");
    let mut texts = take_texts(secret, "stringData");
    if is_encrypted(secret)? {
        secret.content_mut().remove("sops");
        let is_registry = secret.field(&["type"]) == Some(&json!("kubernetes.io/dockerconfigjson"));
        let mask = if is_registry {
            // A mask that the API server takes for a configuration.
            json!({"mask": MASK}).to_string()
        } else {
            MASK.to_owned()
        };
        data.values_mut()
            .for_each(|value| *value = BASE64.encode(&mask).into());
        texts.values_mut().for_each(|value| *value = mask.clone().into());
    } else {
        let name = secret.name().to_owned();
        for (key, value) in &mut data {
            let text = value.as_str().unwrap_or_default();
            let decoded = BASE64.decode(text).map_err(|error| {
                CommandError::new(format!(
                    "failed to mask secret {name} sops data: data.{key}: {error}"
                ))
                .with_hint("write the value in base64, or move it to stringData")
            })?;
            if is_cipher_text(&decoded) {
                *value = BASE64.encode(MASK).into();
            }
        }
        for value in texts.values_mut() {
            if value.as_str().is_some_and(|text| is_cipher_text(text.as_bytes())) {
                *value = BASE64.encode(MASK).into();
            }
        }
    }
    for (field, values) in [("data", data), ("stringData", texts)] {
        if !values.is_empty() {
            secret.content_mut().insert(field.to_owned(), values.into());
        }
    }
    Ok(())
}

/// Whether SOPS has encrypted the manifest as a whole. Its fields are looked at without the values, which may
/// speak of SOPS as they like.
fn is_encrypted(secret: &Object) -> Result<bool> {
    let text = yaml(&secret.to_value())?;
    Ok(text.contains("sops:") && text.contains("mac: ENC["))
}

/// Takes a map of texts out of a Secret.
fn take_texts(secret: &mut Object, field: &str) -> Map<String, Value> {
    match secret.content_mut().remove(field) {
        Some(Value::Object(values)) => values,
        _ => Map::new(),
    }
}

fn is_cipher_text(value: &[u8]) -> bool {
    contains(value, "sops") && contains(value, "ENC[")
}

fn contains(value: &[u8], text: &str) -> bool {
    value.windows(text.len()).any(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(mut secret: Value) -> Value {
        secret["apiVersion"] = "v1".into();
        secret["kind"] = "Secret".into();
        secret["metadata"] = json!({"name": "s"});
        let mut objects = [Object::from_value(secret).unwrap()];
        mask_secrets(&mut objects).unwrap();
        let [object] = objects;
        object.into_value()
    }

    #[test]
    fn values_of_an_encrypted_manifest_are_masked_and_its_marker_goes() {
        let sops = json!({"mac": "ENC[AES256_GCM,data:x]"});
        let secret = masked(json!({"data": {"a": "ENC[x]"}, "stringData": {"b": "ENC[y]"}, "sops": sops}));
        assert_eq!(secret["data"], json!({"a": BASE64.encode("**SOPS**")}));
        assert_eq!(secret["stringData"], json!({"b": "**SOPS**"}));
        assert!(secret.get("sops").is_none());
        let registry = masked(json!({"type": "kubernetes.io/dockerconfigjson", "sops": sops,
            "data": {".dockerconfigjson": "ENC[x]"}}));
        assert_eq!(
            registry["data"][".dockerconfigjson"],
            BASE64.encode(r#"{"mask":"**SOPS**"}"#)
        );
    }

    #[test]
    fn encrypted_files_in_plain_secrets_are_masked_alone() {
        let file = "data: ENC[x]\nsops: {}\n";
        let secret = masked(json!({"data": {"file": BASE64.encode(file), "plain": "QQ=="},
            "stringData": {"file": file, "plain": "text"}}));
        let mask = BASE64.encode(MASK);
        assert_eq!(secret["data"], json!({"file": mask, "plain": "QQ=="}));
        assert_eq!(secret["stringData"], json!({"file": mask, "plain": "text"}));
    }

    #[test]
    fn values_that_are_no_base64_are_told_with_their_key() {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "?"}});
        let error = mask_secrets(&mut [Object::from_value(secret).unwrap()]).unwrap_err();
        assert!(
            error.to_string().contains("secret s sops data: data.k: "),
            "{error}"
        );
    }
}
