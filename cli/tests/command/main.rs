//! Every command of the command line on a real API server, and what needs none.

mod act;
mod get;
mod lifecycle;
mod local;
mod objects;
mod support;
