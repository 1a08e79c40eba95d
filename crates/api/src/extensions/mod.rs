//! Group `source.extensions.fluxcd.io`: artifacts made of other artifacts.

mod artifact_generator;

pub use artifact_generator::{
    ArtifactGenerator, ArtifactGeneratorSpec, ArtifactGeneratorStatus, CopyOperation, CopyStrategy,
    GeneratedArtifact, GeneratorSourceKind, OutputArtifact, SourceReference,
};

/// The API group of all kinds in this module.
pub const GROUP: &str = "source.extensions.fluxcd.io";
