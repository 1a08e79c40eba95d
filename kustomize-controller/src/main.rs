//! kustomize-controller: builds Kustomizations from artifacts and keeps what they describe applied.

use std::process::ExitCode;

/// The allocator that holds least memory after churn; its settings stand in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    kustomize_controller::run()
}
