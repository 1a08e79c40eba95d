//! The requests themselves.

use kube::api::{DeleteParams, DynamicObject, GetParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::Request;
use kube::{Client, Resource as _};
use serde_json::Value;

use crate::error::{Failure, UNKNOWN_PATH};
use crate::{Object, Resource};

/// The reason kube gives to answers that are no API status, such as "404 page not found".
const NO_STATUS: &str = "Failed to parse error data";

/// Requests for objects of any kind under one identity.
#[derive(Clone)]
pub(crate) struct Requests {
    client: Client,
}

impl Requests {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) async fn get(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, Failure> {
        match self.read(resource, namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Reads an object; it is a failure if it does not exist.
    pub(crate) async fn read(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Object, Failure> {
        let request = Request::new(path(resource, namespace)).get(name, &GetParams::default());
        self.send("get", resource, name, request).await
    }

    /// Sends a server-side apply of `object`, forcing ownership.
    pub(crate) async fn apply(
        &self,
        resource: &Resource,
        object: &Object,
        manager: &str,
        dry_run: bool,
    ) -> Result<Object, Failure> {
        let mut parameters = PatchParams::apply(manager).force();
        parameters.dry_run = dry_run;
        let request = Request::new(path(resource, object.namespace())).patch(
            object.name(),
            &parameters,
            &Patch::Apply(object.content()),
        );
        self.send("patch", resource, object.name(), request).await
    }

    /// Sends a JSON patch.
    pub(crate) async fn patch(
        &self,
        resource: &Resource,
        object: &Object,
        manager: &str,
        operations: Vec<Value>,
    ) -> Result<Object, Failure> {
        let operations: json_patch::Patch = serde_json::from_value(operations.into())
            .map_err(|error| Failure::Transport(error.to_string()))?;
        let parameters = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let request = Request::new(path(resource, object.namespace())).patch(
            object.name(),
            &parameters,
            &Patch::<Value>::Json(operations),
        );
        self.send("patch", resource, object.name(), request).await
    }

    /// Deletes an object with background propagation. An object that is gone already is no failure.
    pub(crate) async fn delete(&self, resource: &Resource, object: &Object) -> Result<(), Failure> {
        self.delete_with(resource, object, &DeleteParams::background())
            .await
    }

    /// As [`Requests::delete`], but only if the object is still in the state in which it was read; else the
    /// server refuses with a conflict.
    pub(crate) async fn delete_unchanged(&self, resource: &Resource, object: &Object) -> Result<(), Failure> {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: given(object.uid()),
                resource_version: given(object.resource_version()),
            }),
            ..DeleteParams::background()
        };
        self.delete_with(resource, object, &parameters).await
    }

    async fn delete_with(
        &self,
        resource: &Resource,
        object: &Object,
        parameters: &DeleteParams,
    ) -> Result<(), Failure> {
        let request = Request::new(path(resource, object.namespace())).delete(object.name(), parameters);
        match self.send_value("delete", resource, object.name(), request).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.is_not_found() => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Lists the objects of a namespace that the label selector matches.
    pub(crate) async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, Failure> {
        self.list_with(resource, namespace, &ListParams::default().labels(selector))
            .await
    }

    /// Lists at most `limit` objects of a namespace that label and field selector match; an empty one matches all.
    pub(crate) async fn list_some(
        &self,
        resource: &Resource,
        namespace: &str,
        labels: &str,
        fields: &str,
        limit: u32,
    ) -> Result<Vec<Value>, Failure> {
        let mut parameters = ListParams::default().limit(limit);
        if !labels.is_empty() {
            parameters = parameters.labels(labels);
        }
        if !fields.is_empty() {
            parameters = parameters.fields(fields);
        }
        self.list_with(resource, namespace, &parameters).await
    }

    async fn list_with(
        &self,
        resource: &Resource,
        namespace: &str,
        parameters: &ListParams,
    ) -> Result<Vec<Value>, Failure> {
        let request = Request::new(path(resource, namespace)).list(parameters);
        let mut list = self.send_value("list", resource, "", request).await?;
        let (api_version, kind) = (resource.api_version(), resource.kind.clone());
        let Some(Value::Array(mut items)) = list.get_mut("items").map(Value::take) else {
            return Ok(Vec::new());
        };
        // The items of a list carry no type of their own.
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.insert("apiVersion".to_owned(), api_version.clone().into());
            item.insert("kind".to_owned(), kind.clone().into());
        }
        Ok(items)
    }

    async fn send(
        &self,
        verb: &str,
        resource: &Resource,
        name: &str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Object, Failure> {
        let value = self.send_value(verb, resource, name, request).await?;
        Object::from_value(value).map_err(|error| Failure::Transport(error.to_string()))
    }

    async fn send_value(
        &self,
        verb: &str,
        resource: &Resource,
        name: &str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, Failure> {
        let request = request.map_err(|error| Failure::Transport(error.to_string()))?;
        self.client.request(request).await.map_err(|error| {
            let context = if name.is_empty() {
                format!("({verb} {})", resource.qualified_plural())
            } else {
                format!("({verb} {} {name})", resource.qualified_plural())
            };
            failure_of(error, &context)
        })
    }
}

/// Translates a client error; `context` names the request where the server's answer does not.
pub(crate) fn failure_of(error: kube::Error, context: &str) -> Failure {
    match error {
        kube::Error::Api(status) if status.reason == NO_STATUS => {
            let message = if status.code == 404 {
                format!("{UNKNOWN_PATH} {context}")
            } else {
                format!("{} {context}", status.message.trim_end())
            };
            let reason = if status.code == 404 { "NotFound" } else { "" };
            Failure::Refused {
                message,
                reason: reason.to_owned(),
                code: status.code,
                field_conflict: false,
            }
        }
        kube::Error::Api(status) => {
            let causes = status
                .details
                .as_ref()
                .map(|details| details.causes.as_slice())
                .unwrap_or_default();
            Failure::Refused {
                field_conflict: causes.iter().any(|cause| cause.reason == "FieldManagerConflict"),
                message: status.message,
                reason: status.reason,
                code: status.code,
            }
        }
        other => Failure::Transport(with_sources(&other)),
    }
}

/// The error's text and those of its sources that it does not repeat.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}

/// The path of the collection that holds the object.
fn path(resource: &Resource, namespace: &str) -> String {
    let namespace = Some(namespace).filter(|namespace| resource.namespaced && !namespace.is_empty());
    DynamicObject::url_path(&resource.api_resource(), namespace)
}
