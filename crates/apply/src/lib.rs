//! Server-side apply as Flux does it: what to send, in which order, what has drifted, what to prune.
//!
//! The identity is the caller's: every function that talks to a cluster takes or holds a [`kube::Client`],
//! which may impersonate. Pure parts: [`Object`] and [`ObjectId`], normalisation ([`normalise`]), order and
//! stages ([`sort`], [`Stages`]), drift ([`has_drifted`]), field-manager take-over ([`take_over`]),
//! the inventory ([`Inventory`]) and what a reconcile has done ([`ChangeSet`]).
//!
//! [`Applier`] puts them together. For each object it reads the live one and sends a server-side dry run;
//! only when all objects of a stage have passed are the new and drifted ones written, so an unchanged object
//! costs two requests and is not touched.

mod applier;
mod certificate;
mod change;
mod compare;
mod diff;
mod discovery;
mod error;
mod explain;
mod health;
mod id;
mod ignore;
mod inventory;
mod managers;
mod mark;
mod normalise;
mod object;
mod order;
mod prune;
mod requests;
mod selection;
mod selector;

pub use applier::{Announcer, Applier, ApplyOptions, Cleanup, Unannounced};
pub use change::{Action, Change, ChangeSet};
pub use compare::{Comparison, Difference};
pub use diff::has_drifted;
pub use discovery::{Discovery, Resource};
pub use error::{ApplyError, ApplyFailure, Failure, PruneFailure};
pub use explain::Explanation;
pub use health::Target;
pub use id::{IdError, ObjectId};
pub use ignore::{IgnoreRule, IgnoreRules, IgnoreTarget};
pub use inventory::{Entry, Inventory};
pub use managers::{ManagerPattern, Operation, take_over};
pub use mark::{Mark, MarkRules, last_writer};
pub use normalise::{normalise, normalise_all};
pub use object::{Object, ObjectError};
pub use order::{Stages, is_cluster_definition, parse_group_kinds, sort};
pub use prune::PruneOptions;
pub use selection::MetadataSelector;
