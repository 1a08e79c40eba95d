//! The source-controller against a real API server and a real Git server.

mod artifacts;
mod failures;
mod lifecycle;
mod process;
mod references;
mod support;
