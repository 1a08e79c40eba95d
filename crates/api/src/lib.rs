//! The custom resources of the toolkit as Rust types, and everything that is said
//! about them by name.
//!
//! * [`source`], [`kustomize`], [`helm`], [`notification`], [`image`], [`extensions`]: one module per API group, one file per kind. Every field of every
//!   kind is here, documented, with the validation that the API server applies to it. The custom resource
//!   definitions in `config/crd` are generated from these types, so type and schema cannot differ.
//! * [`conditions`], [`reasons`], [`annotations`], [`labels`], [`finalizers`], [`managers`]: names that
//!   controllers and tools agree on.
//!
//! Reading is lenient, writing is faithful: fields that are not known are ignored, values outside an
//! enumeration are kept (see [`string_enum`](macro@string_enum)), and what is absent stays absent. As in the
//! Go types that share these schemas, zero values of optional plain fields (`false`, `""`, `[]`, `{}`) count
//! as absent; where the difference matters the field is an `Option` that keeps it.

mod macros;
mod omit;
mod schema;

pub mod annotations;
pub mod conditions;
pub mod crd;
pub mod extensions;
pub mod finalizers;
pub mod helm;
pub mod image;
pub mod kustomize;
pub mod labels;
pub mod managers;
pub mod meta;
pub mod notification;
pub mod reasons;
pub mod resource;
pub mod source;

pub use resource::{CustomResource, Definition, PrinterColumn, Reconciled};
