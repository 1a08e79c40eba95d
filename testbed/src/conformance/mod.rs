//! Plays scenarios against any set of controller binaries and compares what is to be seen from outside:
//! status, events, managed objects with their managed fields, and requests.
//!
//! A [`Scenario`] is a file of steps. [`play`] lets a set of controllers on a [`Stage`] go through it and gives
//! a [`Recording`]: one picture for each `snapshot` step, [normalised](Normaliser) so that two runs of the
//! same controllers are equal. Recordings made with Flux's own controllers stand beside the scenarios;
//! [`compare`] says where ours differ, but for the [differences](Difference) that are meant.

mod compare;
mod managed_fields;
mod normalise;
mod objects;
mod play;
mod recording;
mod requests;
mod scenario;
mod snapshot;
mod stage;
mod steps;

pub use compare::{compare, undocumented_differences};
pub use normalise::Normaliser;
pub use play::{Mode, Outcome, Suite, play};
pub use recording::{Recording, Snapshot};
pub use scenario::{Difference, Scenario, Step};
pub use stage::{Controllers, Stage};
