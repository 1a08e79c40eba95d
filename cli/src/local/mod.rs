//! Building a Kustomization from a directory of this machine, as the controller builds it from an artifact.

mod arguments;
mod mask;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Api;
use sluice_api::kustomize::{GROUP, Kustomization};
use sluice_apply::Object;
use sluice_artifact::ignore::{IgnoreRules, load_patterns, read_patterns};
use sluice_kustomization::{BuildError, BuildInput, Ignored, VariableMap};
use sluice_remote_bases::{Limits, RemoteBases};
use sluice_vfs::VirtualPath;

use crate::cluster::{Cluster, ClusterArguments};
use crate::disk::DiskFileSystem;
use crate::error::{CommandError, Result};

pub(crate) use arguments::LocalArguments;
pub(crate) use mask::is_masked;

/// A Kustomization and what it builds to.
pub(crate) struct LocalBuild {
    /// The Kustomization, with the status that it has in the cluster.
    pub(crate) kustomization: Kustomization,
    /// The objects with the owner's labels and the common metadata, the encrypted values of Secrets masked.
    pub(crate) objects: Vec<Object>,
}

/// Builds Kustomizations from directories.
pub(crate) struct Builder<'command> {
    arguments: &'command LocalArguments,
    /// Where Kustomizations and variables are looked up; `None` in a dry run.
    cluster: Option<&'command Cluster>,
    /// The namespace of what says nothing of one.
    namespace: String,
    timeout: Duration,
}

impl<'command> Builder<'command> {
    /// A builder that asks the cluster for Kustomizations and variables.
    pub(crate) fn online(arguments: &'command LocalArguments, cluster: &'command Cluster) -> Self {
        Self {
            arguments,
            cluster: Some(cluster),
            namespace: cluster.namespace.clone(),
            timeout: cluster.timeout,
        }
    }

    /// A builder that asks nobody: without the variables of ConfigMaps and Secrets.
    ///
    /// # Errors
    /// A namespace that is none.
    pub(crate) fn offline(arguments: &'command LocalArguments, cluster: &ClusterArguments) -> Result<Self> {
        Ok(Self {
            arguments,
            cluster: None,
            namespace: cluster.namespace()?,
            timeout: cluster.timeout,
        })
    }

    /// Builds the Kustomization that the arguments name. A file, if one is given, stands for its spec.
    ///
    /// # Errors
    /// Wrong paths, no such Kustomization, manifests that do not build.
    pub(crate) async fn build_named(&self, ignore_not_found: bool) -> Result<LocalBuild> {
        let directory = self.arguments.directory()?;
        let file = self.arguments.read_kustomization(&self.namespace)?;
        let name = &self.arguments.name;
        let mut kustomization = match (self.cluster, file) {
            (None, Some(file)) => file,
            (None, None) => {
                return Err(CommandError::new("dry-run mode requires a kustomization file")
                    .with_hint("name it with --kustomization-file"));
            }
            (Some(cluster), file) => match (get(cluster, &self.namespace, name).await?, file) {
                (Some(live), Some(file)) => Kustomization {
                    status: live.status,
                    ..file
                },
                (Some(live), None) => live,
                (None, Some(file)) if ignore_not_found => file,
                (None, _) => return Err(self.not_found(name)),
            },
        };
        self.place(&mut kustomization);
        self.build_in(kustomization, directory).await
    }

    /// Builds a Kustomization that another one brings, as it stands in the cluster or, where it is not there
    /// yet, as the other one has it.
    ///
    /// # Errors
    /// As [`Builder::build_named`], and a source whose directory is not known.
    pub(crate) async fn build_child(&self, child: Kustomization) -> Result<LocalBuild> {
        let directory = self.directory_of(&child)?;
        let (namespace, name) = identity(&child);
        let live = match self.cluster {
            Some(cluster) => get(cluster, &namespace, &name).await?,
            None => None,
        };
        let mut kustomization = live.unwrap_or(child);
        self.place(&mut kustomization);
        self.build_in(kustomization, directory).await
    }

    /// The objects of a build and, if the arguments say so, of all Kustomizations among them.
    ///
    /// # Errors
    /// As [`Builder::build_child`].
    pub(crate) fn with_children(&self, build: LocalBuild) -> BoxFuture<'_, Result<Vec<Object>>> {
        async move {
            let mut objects = build.objects;
            if !self.arguments.recursive {
                return Ok(objects);
            }
            let children: Vec<Kustomization> = objects
                .iter()
                .filter_map(|object| child_of(object, &build.kustomization).transpose())
                .collect::<Result<_>>()?;
            for child in children {
                let build = self.build_child(child).await?;
                objects.extend(self.with_children(build).await?);
            }
            Ok(objects)
        }
        .boxed()
    }

    /// A file may leave the namespace to the command; labels and variables need it.
    fn place(&self, kustomization: &mut Kustomization) {
        let namespace = kustomization.metadata.namespace.get_or_insert_default();
        if namespace.is_empty() {
            namespace.clone_from(&self.namespace);
        }
    }

    fn not_found(&self, name: &str) -> CommandError {
        CommandError::new(format!(
            "failed to get kustomization object: Kustomization '{name}' not found in \"{}\" namespace",
            self.namespace
        ))
        .with_hint("list them with: sluice get kustomizations -A; or give one with --kustomization-file")
    }

    fn directory_of(&self, child: &Kustomization) -> Result<PathBuf> {
        let reference = &child.spec.source_ref;
        let namespace = reference
            .namespace
            .clone()
            .filter(|namespace| !namespace.is_empty());
        let (own, name) = identity(child);
        let source = format!(
            "{}/{}/{}",
            reference.kind,
            namespace.unwrap_or(own),
            reference.name
        );
        let known = self
            .arguments
            .local_sources
            .iter()
            .find(|local| local.source == source);
        let root = known.ok_or_else(|| {
            CommandError::new(format!(
                "cannot get local path for {source} of kustomization {name}"
            ))
            .with_hint(format!(
                "say where it lies with --local-sources {source}=DIRECTORY"
            ))
        })?;
        let path = child.spec.path.as_deref().unwrap_or_default();
        Ok(root.directory.join(path.trim_start_matches('/')))
    }

    async fn build_in(&self, kustomization: Kustomization, directory: PathBuf) -> Result<LocalBuild> {
        let (namespace, name) = identity(&kustomization);
        let post_build = kustomization.spec.post_build.as_ref();
        let variables = match (self.cluster, post_build) {
            (Some(cluster), Some(post_build)) => {
                let references = &post_build.substitute_from;
                sluice_kustomization::load_variables(&cluster.client, &namespace, references).await
            }
            _ => Ok(VariableMap::new()),
        };
        let real = directory.canonicalize().map_err(|error| {
            CommandError::new(format!(
                "invalid resource path \"{}\": {error}",
                directory.display()
            ))
        })?;
        // Bases may lie anywhere on the disk, so the root is that of the disk.
        let files = DiskFileSystem::new(Path::new("/"))
            .map_err(|error| CommandError::new(error.to_string()))?
            .without_linked_directories();
        let input = BuildInput {
            files: Arc::new(files),
            directory: VirtualPath::parse(&real.to_string_lossy())
                .map_err(|error| CommandError::new(error.to_string()))?,
            spec: kustomization.spec.clone(),
            variables,
            strict: self.arguments.strict_substitute,
            owner_labels: sluice_kustomization::owner_labels(&namespace, &name),
            ignored: Some(self.ignored(&real)?),
            remote: Some(Box::new(RemoteBases::new(
                std::env::temp_dir(),
                Limits::default(),
            ))),
            deadline: Instant::now() + self.timeout,
        };
        let place = input.directory.clone();
        let spec = input.spec.clone();
        let built = tokio::task::spawn_blocking(move || sluice_kustomization::build(&input))
            .await
            .map_err(|panic| CommandError::new(format!("recovered from kustomize build panic: {panic}")))?;
        let mut built = built.map_err(|error| describe(&error, &place))?;
        mask::mask_secrets(&mut built.objects)?;
        built.set_common_metadata(&spec);
        Ok(LocalBuild {
            kustomization,
            objects: built.objects,
        })
    }

    /// The files that ignore files below the directory and the arguments leave out.
    fn ignored(&self, directory: &Path) -> Result<Ignored> {
        let unreadable =
            |error: String| CommandError::new(format!("failed to load ignore patterns: {error}"));
        let tree = DiskFileSystem::new(directory)
            .map_err(|error| unreadable(error.to_string()))?
            .without_linked_directories();
        let mut patterns = load_patterns(&tree).map_err(|error| unreadable(error.to_string()))?;
        let given = self.arguments.ignore_paths.join("\n");
        patterns.extend(read_patterns(given.as_bytes(), &VirtualPath::root()));
        let rules = IgnoreRules::only(patterns);
        Ok(Arc::new(move |path, kind| rules.excludes(path.as_str(), kind)))
    }
}

/// The Kustomization that `object` is, unless it is `parent` itself.
///
/// # Errors
/// A Kustomization that cannot be read.
pub(crate) fn child_of(object: &Object, parent: &Kustomization) -> Result<Option<Kustomization>> {
    if object.group() != GROUP || object.kind() != "Kustomization" {
        return Ok(None);
    }
    let child: Kustomization = serde_json::from_value(object.to_value()).map_err(|error| {
        CommandError::new(format!(
            "failed to convert {} to kustomization: {error}",
            object.subject()
        ))
    })?;
    Ok(Some(child).filter(|child| identity(child) != identity(parent)))
}

fn identity(kustomization: &Kustomization) -> (String, String) {
    let metadata = &kustomization.metadata;
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

async fn get(cluster: &Cluster, namespace: &str, name: &str) -> Result<Option<Kustomization>> {
    let kustomizations: Api<Kustomization> = Api::namespaced(cluster.client.clone(), namespace);
    Ok(kustomizations.get_opt(name).await?)
}

/// What went wrong, with paths as the machine has them: those of a build have no slash in front.
fn describe(error: &BuildError, directory: &VirtualPath) -> CommandError {
    let mut message = with_roots(&error.to_string(), directory);
    if let Some(place) = error.place.as_deref().map(|place| with_roots(place, directory))
        && !message.contains(&place)
    {
        message = format!("{message} ({place})");
    }
    let failure = CommandError::new(message);
    match &error.remedy {
        Some(remedy) => failure.with_hint(remedy.clone()),
        None => failure,
    }
}

/// Puts a slash before every path that begins as that of the directory does.
fn with_roots(text: &str, directory: &VirtualPath) -> String {
    let Some(first) = directory.components().next() else {
        return text.to_owned();
    };
    let start = format!("{first}/");
    let mut whole = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&start) {
        whole.push_str(&rest[..at]);
        if whole
            .chars()
            .next_back()
            .is_none_or(|last| " (\"'".contains(last))
        {
            whole.push('/');
        }
        whole.push_str(&start);
        rest = &rest[at + start.len()..];
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_messages_begin_at_the_root() {
        let directory = VirtualPath::parse("/home/me/fleet").unwrap();
        assert_eq!(
            with_roots(
                "home/me/a.yaml:2: bad (in home/me/fleet/b.yaml), not at-home/c",
                &directory
            ),
            "/home/me/a.yaml:2: bad (in /home/me/fleet/b.yaml), not at-home/c"
        );
    }
}
