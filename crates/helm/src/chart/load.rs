//! Making charts of files.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, VirtualPath};

use super::archive::{Archive, ArchiveError, without_mark};
use super::ignore::{IgnoreError, IgnoreRules};
use super::metadata::{Draft, read_dependency};
use super::{Chart, File};
use crate::decode::Place;
use crate::values::read_documents;

/// How deep charts may stand within charts.
const MAX_DEPTH: usize = 64;

/// Why a chart cannot be loaded. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoChartFile,
    /// There is no `Chart.yaml` in an archive.
    #[error("unable to detect chart version, no Chart.yaml found")]
    Undetected,
    /// `apiVersion` is neither `v1` nor `v2`.
    #[error("unsupported chart version")]
    Unsupported,
    /// A file is no YAML, or not of the right shape.
    #[error("cannot load {file}: {problem}")]
    File {
        /// Which.
        file: &'static str,
        /// The text of Helm's YAML library.
        problem: String,
    },
    /// `Chart.yaml` lacks something or has something wrong.
    #[error("validation: {0}")]
    Invalid(String),
    /// A chart within the chart cannot be loaded.
    #[error("error unpacking subchart {file} in {chart}: {error}")]
    Subchart {
        /// The name below `charts/`.
        file: String,
        /// The chart that holds it.
        chart: String,
        /// Why.
        error: Box<LoadError>,
    },
    /// An archive in `charts/` is a directory.
    #[error("error unpacking subchart tar in {chart}: expected {file}, got {found}")]
    SubchartTar {
        /// The name below `charts/`.
        file: String,
        /// The chart that holds it.
        chart: String,
        /// What stands there.
        found: String,
    },
    /// Charts stand within charts without end.
    #[error("charts within charts are nested deeper than {0} levels")]
    TooDeep(usize),
    /// The chart is an archive that cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// `.helmignore` cannot be used.
    #[error(transparent)]
    Ignore(#[from] IgnoreError),
    /// The directory cannot be read.
    #[error(transparent)]
    FileSystem(#[from] FileSystemError),
    /// A file of a directory is too large.
    #[error("chart file {} is larger than the maximum file size {limit}", crate::text::quoted(.name))]
    FileTooLarge {
        /// Which.
        name: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The chart is no application.
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    /// Dependencies are declared but not there.
    #[error("found in Chart.yaml, but missing in charts/ directory: {0}")]
    MissingDependencies(String),
}

/// Loads charts within limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loader {
    /// The limits, for directories as for archives.
    pub limits: Archive,
}

impl Loader {
    /// Loads a chart from a `.tgz`.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load_archive(&self, archive: &[u8]) -> Result<Chart, LoadError> {
        let files = self.limits.read(archive)?;
        if files.iter().all(|file| file.name != "Chart.yaml") {
            return Err(LoadError::Undetected);
        }
        self.load_root(files)
    }

    /// Loads a chart from a directory, without what its `.helmignore` leaves out.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load_directory(&self, tree: &dyn FileSystem, directory: &VirtualPath) -> Result<Chart, LoadError> {
        let ignore = directory.child(".helmignore");
        let rules = if tree.is_file(&ignore)? {
            let text = tree.read(&ignore)?;
            IgnoreRules::parse(&String::from_utf8_lossy(&text))?
        } else {
            IgnoreRules::parse("")?
        };
        let mut walk = Walk {
            tree,
            rules: &rules,
            limits: &self.limits,
            files: Vec::new(),
            bytes: 0,
        };
        walk.directory(directory, "", 0)?;
        self.load_root(walk.files)
    }

    /// Makes a chart of files with their paths below the chart.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load_files(&self, files: Vec<File>) -> Result<Chart, LoadError> {
        self.load_root(files)
    }

    /// Helm looks at the version before it looks at anything else.
    fn load_root(&self, files: Vec<File>) -> Result<Chart, LoadError> {
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            let version = crate::decode::decode(&file.data, |decoder, node| {
                let fields = decoder.structure(node, &Place::root(), "chartBase", "loader.chartBase");
                fields
                    .map(|fields| decoder.text(&fields, "apiVersion"))
                    .unwrap_or_default()
            })
            .map_err(|problem| LoadError::File {
                file: "Chart.yaml",
                problem,
            })?;
            if !matches!(version.as_str(), "" | "v1" | "v2") {
                return Err(LoadError::Unsupported);
            }
        }
        self.load(files, 0)
    }

    fn load(&self, files: Vec<File>, depth: usize) -> Result<Chart, LoadError> {
        if depth > MAX_DEPTH {
            return Err(LoadError::TooDeep(MAX_DEPTH));
        }
        let mut parts = Parts::default();
        parts.read_chart_file(&files)?;
        for file in &files {
            parts.take(file)?;
        }
        let Some(draft) = parts.draft else {
            return Err(LoadError::NoChartFile);
        };
        let metadata = draft.validate().map_err(LoadError::Invalid)?;
        let mut chart = Chart {
            metadata,
            templates: parts.templates.into(),
            files: parts.files.into(),
            raw: files.into(),
            ..parts.chart
        };
        for (name, files) in parts.subcharts {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let subchart = self.load_subchart(&name, files, chart.name(), depth + 1)?;
            chart.dependencies.push(subchart);
        }
        Ok(chart)
    }

    fn load_subchart(
        &self,
        name: &str,
        files: Vec<File>,
        parent: &str,
        depth: usize,
    ) -> Result<Chart, LoadError> {
        let loaded = if crate::text::extension(name) == ".tgz" {
            let Some(file) = files.first().filter(|file| file.name == name) else {
                return Err(LoadError::SubchartTar {
                    file: name.to_owned(),
                    chart: parent.to_owned(),
                    found: files.into_iter().next().map(|file| file.name).unwrap_or_default(),
                });
            };
            self.limits
                .read(&file.data)
                .map_err(LoadError::from)
                .and_then(|files| self.load(files, depth))
        } else {
            let below = files.into_iter().filter_map(|file| {
                let (_, path) = file.name.split_once('/')?;
                Some(File {
                    name: path.to_owned(),
                    ..file
                })
            });
            self.load(below.collect(), depth)
        };
        loaded.map_err(|error| LoadError::Subchart {
            file: name.to_owned(),
            chart: parent.to_owned(),
            error: Box::new(error),
        })
    }
}

/// A chart while its files are sorted.
#[derive(Default)]
struct Parts {
    draft: Option<Draft>,
    chart: Chart,
    templates: Vec<File>,
    files: Vec<File>,
    subcharts: BTreeMap<String, Vec<File>>,
}

impl Parts {
    /// `Chart.yaml` comes first, wherever it stands.
    fn read_chart_file(&mut self, files: &[File]) -> Result<(), LoadError> {
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            let draft = self.draft.get_or_insert_default();
            draft.read(&file.data).map_err(|problem| LoadError::File {
                file: "Chart.yaml",
                problem,
            })?;
            if draft.metadata.api_version.is_empty() {
                "v1".clone_into(&mut draft.metadata.api_version);
            }
            self.chart.modified = file.modified;
        }
        Ok(())
    }

    fn take(&mut self, file: &File) -> Result<(), LoadError> {
        let failed = |name| move |problem| LoadError::File { file: name, problem };
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => self.chart.lock = Some(read_lock(&file.data).map_err(failed("Chart.lock"))?),
            "values.yaml" => {
                let values = read_documents(&file.data).map_err(failed("values.yaml"))?;
                self.chart.values = Some(Arc::new(values));
            }
            "values.schema.json" => {
                self.chart.schema = Some(file.data.clone());
                self.chart.schema_modified = file.modified;
            }
            "requirements.yaml" => {
                let draft = self.draft.get_or_insert_default();
                draft.read(&file.data).map_err(failed("requirements.yaml"))?;
                self.keep_if_old(file);
            }
            "requirements.lock" => {
                self.chart.lock = Some(read_lock(&file.data).map_err(failed("requirements.lock"))?);
                self.draft.get_or_insert_default();
                self.keep_if_old(file);
            }
            name if name.starts_with("templates/") => self.templates.push(file.clone()),
            name if name.starts_with("charts/") && crate::text::extension(name) != ".prov" => {
                let below = &name["charts/".len()..];
                let first = below.split('/').next().unwrap_or_default();
                let files = self.subcharts.entry(first.to_owned()).or_default();
                files.push(File {
                    name: below.to_owned(),
                    ..file.clone()
                });
            }
            _ => self.files.push(file.clone()),
        }
        Ok(())
    }

    /// Charts of version 1 keep their requirements among the files.
    fn keep_if_old(&mut self, file: &File) {
        if self
            .draft
            .as_ref()
            .is_some_and(|draft| draft.metadata.api_version == "v1")
        {
            self.files.push(file.clone());
        }
    }
}

fn read_lock(text: &[u8]) -> Result<serde_json::Value, String> {
    crate::decode::decode(text, |decoder, node| {
        let Some(fields) = decoder.structure(node, &Place::root(), "Lock", "v2.Lock") else {
            return serde_json::Value::Null;
        };
        let dependencies = decoder.items(&fields, "dependencies", "[]*v2.Dependency", read_dependency);
        let dependencies = dependencies.map(|list| list.into_iter().flatten().collect::<Vec<_>>());
        let generated = match decoder.text(&fields, "generated") {
            time if time.is_empty() => "0001-01-01T00:00:00Z".to_owned(),
            time => time,
        };
        serde_json::json!({
            "generated": generated,
            "digest": decoder.text(&fields, "digest"),
            "dependencies": dependencies,
        })
    })
}

/// Collects the files of a directory in the order of their paths.
struct Walk<'tree> {
    tree: &'tree dyn FileSystem,
    rules: &'tree IgnoreRules,
    limits: &'tree Archive,
    files: Vec<File>,
    bytes: u64,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &VirtualPath, below: &str, depth: usize) -> Result<(), LoadError> {
        if depth > 4 * MAX_DEPTH {
            return Err(LoadError::TooDeep(4 * MAX_DEPTH));
        }
        for entry in self.tree.list(directory)? {
            let path = directory.child(&entry.name);
            let name = if below.is_empty() {
                entry.name.clone()
            } else {
                format!("{below}/{}", entry.name)
            };
            let is_directory = entry.kind == EntryKind::Directory;
            if self.rules.ignores(&name, is_directory) {
                continue;
            }
            if is_directory {
                self.directory(&path, &name, depth + 1)?;
            } else {
                let data = self.tree.read(&path)?;
                self.file(name, data)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, name: String, data: Bytes) -> Result<(), LoadError> {
        if data.len() as u64 > self.limits.file_bytes {
            return Err(LoadError::FileTooLarge {
                name: crate::text::base(&name).to_owned(),
                limit: self.limits.file_bytes,
            });
        }
        self.bytes += data.len() as u64;
        if self.bytes > self.limits.total_bytes {
            return Err(ArchiveError::TooLarge(self.limits.total_bytes).into());
        }
        if self.files.len() >= self.limits.files {
            return Err(ArchiveError::TooMany(self.limits.files).into());
        }
        self.files.push(File::new(name, without_mark(data)));
        Ok(())
    }
}
