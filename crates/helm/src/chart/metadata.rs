//! What `Chart.yaml` says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use sluice_goyaml::Node;
use sluice_semver::Version;

use crate::decode::{Decoder, Place};

/// Who maintains a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Maintainer {
    /// A name of a person or an organisation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// An address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// A page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that another one depends on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dependency {
    /// The name in the dependency's own `Chart.yaml`; after dependencies have been processed, the alias.
    pub name: String,
    /// The range of versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Where the chart comes from.
    pub repository: String,
    /// Paths in the values, separated by commas: the first that leads to a boolean decides.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Names in the top-level table `tags` that switch the dependency.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether conditions and tags have left the dependency on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enabled: bool,
    /// Values that the parent takes over: names of exports, or pairs of child and parent.
    #[serde(rename = "import-values", skip_serializing_if = "Vec::is_empty")]
    pub import_values: Vec<serde_json::Value>,
    /// The name that the dependency has here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub alias: String,
    /// Whether `import_values` have been applied; they are applied once.
    #[serde(skip)]
    pub(crate) imported: bool,
}

/// The contents of `Chart.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The chart's name; for an aliased dependency, the alias.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A page of the project.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Where the source code is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The chart's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// One sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find the chart by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The maintainers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Maintainer>,
    /// The address of a picture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// `v1` or `v2`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Not used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Not used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of what the chart installs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Whether the chart should not be used any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Notes for other programs.
    #[serde(skip_serializing_if = "none_or_empty")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The range of Kubernetes versions that the chart accepts.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The charts that this one depends on. None and an empty list differ: only the latter is processed.
    #[serde(skip_serializing_if = "none_or_empty_list")]
    pub dependencies: Option<Vec<Dependency>>,
    /// `application` (also if empty) or `library`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

fn none_or_empty(map: &Option<BTreeMap<String, String>>) -> bool {
    map.as_ref().is_none_or(BTreeMap::is_empty)
}

fn none_or_empty_list(list: &Option<Vec<Dependency>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

/// What was found while reading metadata and only counts once everything has been read.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) metadata: Metadata,
    null_maintainer: bool,
    null_dependency: bool,
}

impl Draft {
    /// Reads `Chart.yaml`, or `requirements.yaml` on top of it: fields that are absent stay as they were.
    pub(crate) fn read(&mut self, text: &[u8]) -> Result<(), String> {
        crate::decode::decode(text, |decoder, node| self.apply(decoder, node))
    }

    fn apply(&mut self, decoder: &mut Decoder, node: &Node) {
        let Some(fields) = decoder.structure(node, &Place::root(), "Metadata", "v2.Metadata") else {
            return;
        };
        let set = |decoder: &mut Decoder, field: &mut String, name: &str| {
            let text = decoder.text(&fields, name);
            if !text.is_empty() {
                *field = text;
            }
        };
        let data = &mut self.metadata;
        set(decoder, &mut data.api_version, "apiVersion");
        set(decoder, &mut data.app_version, "appVersion");
        set(decoder, &mut data.condition, "condition");
        set(decoder, &mut data.description, "description");
        set(decoder, &mut data.home, "home");
        set(decoder, &mut data.icon, "icon");
        set(decoder, &mut data.kube_version, "kubeVersion");
        set(decoder, &mut data.name, "name");
        set(decoder, &mut data.tags, "tags");
        set(decoder, &mut data.kind, "type");
        set(decoder, &mut data.version, "version");
        data.deprecated |= decoder.flag(&fields, "deprecated");
        if let Some(annotations) = decoder.text_map(&fields, "annotations") {
            data.annotations.get_or_insert_default().extend(annotations);
        }
        if let Some(keywords) = decoder.texts(&fields, "keywords") {
            data.keywords = keywords;
        }
        if let Some(sources) = decoder.texts(&fields, "sources") {
            data.sources = sources;
        }
        let maintainers = decoder.items(&fields, "maintainers", "[]*v2.Maintainer", read_maintainer);
        if let Some(maintainers) = maintainers {
            self.null_maintainer = maintainers.iter().any(Option::is_none);
            data.maintainers = maintainers.into_iter().flatten().collect();
        }
        let dependencies = decoder.items(&fields, "dependencies", "[]*v2.Dependency", read_dependency);
        if let Some(dependencies) = dependencies {
            self.null_dependency = dependencies.iter().any(Option::is_none);
            data.dependencies = Some(dependencies.into_iter().flatten().collect());
        }
    }

    /// Checks the metadata and cleans its texts.
    ///
    /// # Errors
    /// Helm's text of what is wrong.
    pub(crate) fn validate(mut self) -> Result<Metadata, String> {
        self.metadata.clean();
        self.metadata.check()?;
        if self.null_maintainer {
            return Err("maintainers must not contain empty or null nodes".to_owned());
        }
        if self.null_dependency {
            return Err("dependencies must not contain empty or null nodes".to_owned());
        }
        self.metadata.check_dependencies()?;
        Ok(self.metadata)
    }
}

fn read_maintainer(decoder: &mut Decoder, node: &Node, place: &Place) -> Option<Maintainer> {
    let fields = decoder.structure(node, place, "Maintainer", "v2.Maintainer")?;
    Some(Maintainer {
        email: decoder.text(&fields, "email"),
        name: decoder.text(&fields, "name"),
        url: decoder.text(&fields, "url"),
    })
}

pub(crate) fn read_dependency(decoder: &mut Decoder, node: &Node, place: &Place) -> Option<Dependency> {
    let fields = decoder.structure(node, place, "Dependency", "v2.Dependency")?;
    Some(Dependency {
        alias: decoder.text(&fields, "alias"),
        condition: decoder.text(&fields, "condition"),
        enabled: decoder.flag(&fields, "enabled"),
        import_values: decoder.anything(&fields, "import-values").unwrap_or_default(),
        name: decoder.text(&fields, "name"),
        repository: decoder.text(&fields, "repository"),
        tags: decoder.texts(&fields, "tags").unwrap_or_default(),
        version: decoder.text(&fields, "version"),
        imported: false,
    })
}

impl Metadata {
    /// Whether the chart only holds definitions for others.
    pub fn is_library(&self) -> bool {
        self.kind.eq_ignore_ascii_case("library")
    }

    fn clean(&mut self) {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            clean(text);
        }
        self.sources.iter_mut().chain(&mut self.keywords).for_each(clean);
        for maintainer in &mut self.maintainers {
            clean(&mut maintainer.name);
            clean(&mut maintainer.email);
            clean(&mut maintainer.url);
        }
        for dependency in self.dependencies.iter_mut().flatten() {
            clean(&mut dependency.name);
            clean(&mut dependency.version);
            clean(&mut dependency.repository);
            clean(&mut dependency.condition);
            dependency.tags.iter_mut().for_each(clean);
        }
    }

    fn check(&self) -> Result<(), String> {
        let quoted = |text: &str| crate::text::quoted(text);
        let name = self.name.as_str();
        if self.api_version.is_empty() {
            return Err("chart.metadata.apiVersion is required".to_owned());
        }
        if name.is_empty() {
            return Err("chart.metadata.name is required".to_owned());
        }
        if name == "." || name == ".." {
            return Err(format!("chart.metadata.name {} is not allowed", quoted(name)));
        }
        if name.contains('/') {
            return Err(format!("chart.metadata.name {} is invalid", quoted(name)));
        }
        if self.version.is_empty() {
            return Err("chart.metadata.version is required".to_owned());
        }
        if Version::parse(&self.version).is_err() {
            return Err(format!(
                "chart.metadata.version {} is invalid",
                quoted(&self.version)
            ));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return Err("chart.metadata.type must be application or library".to_owned());
        }
        Ok(())
    }

    fn check_dependencies(&self) -> Result<(), String> {
        let mut names = std::collections::HashSet::new();
        for dependency in self.dependencies.iter().flatten() {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if !dependency.alias.bytes().all(is_plain) {
                let name = crate::text::quoted(&dependency.name);
                return Err(format!(
                    "dependency {name} has disallowed characters in the alias"
                ));
            }
            let name = if dependency.alias.is_empty() {
                &dependency.name
            } else {
                &dependency.alias
            };
            if !names.insert(name) {
                let name = crate::text::quoted(name);
                return Err(format!("more than one dependency with name or alias {name}"));
            }
        }
        Ok(())
    }
}

/// Turns all space into blanks and drops what cannot be printed.
fn clean(text: &mut String) {
    if text.bytes().all(|byte| (b' '..0x7F).contains(&byte)) {
        return;
    }
    *text = text
        .chars()
        .filter_map(|character| match character {
            space if space.is_whitespace() => Some(' '),
            plain if is_printable(plain) => Some(plain),
            _ => None,
        })
        .collect();
}

fn is_printable(character: char) -> bool {
    static PRINTABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());
    let mut buffer = [0; 4];
    let text: &str = character.encode_utf8(&mut buffer);
    PRINTABLE.as_ref().is_some_and(|pattern| pattern.is_match(text))
}
