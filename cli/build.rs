//! How the program is linked.

fn main() {
    // At a fixed address: a program of this size has more than 100,000 addresses in its tables, and writing each
    // at every start takes longer than building a small kustomization.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    println!("cargo:rerun-if-changed=build.rs");
}
