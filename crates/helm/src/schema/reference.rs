//! Finding what `$ref` means.

use std::collections::HashMap;

use serde_json::Value as Json;

/// Where the schema of a chart stands, for relative references.
pub(super) const ROOT: &str = "file:///values.schema.json";

/// The parts of a document by their addresses.
pub(super) struct Index<'schema> {
    /// Addresses without fragment.
    documents: HashMap<String, &'schema Json>,
    /// Addresses with the names of anchors.
    anchors: HashMap<(String, String), (&'schema Json, String)>,
}

/// What a reference leads to.
pub(super) enum Found<'schema> {
    /// A part of the document, with the address that its own references start from.
    Schema(&'schema Json, String),
    /// Something that is accepted as it is.
    Anything,
}

impl<'schema> Index<'schema> {
    pub(super) fn new(root: &'schema Json) -> Self {
        let mut index = Self {
            documents: HashMap::new(),
            anchors: HashMap::new(),
        };
        index.documents.insert(ROOT.to_owned(), root);
        index.add(root, ROOT, 0);
        index
    }

    fn add(&mut self, schema: &'schema Json, base: &str, depth: usize) {
        if depth > super::MAX_DEPTH {
            return;
        }
        match schema {
            Json::Object(map) => {
                let base = base_of(schema, base);
                if map.contains_key("$id") || map.contains_key("id") {
                    self.documents.entry(base.clone()).or_insert(schema);
                }
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Json::String(anchor)) = map.get(keyword) {
                        let key = (base.clone(), anchor.clone());
                        self.anchors.entry(key).or_insert((schema, base.clone()));
                    }
                }
                // Before draft 2019 an anchor was the fragment of an id.
                for keyword in ["$id", "id"] {
                    if let Some(Json::String(id)) = map.get(keyword)
                        && let Some((_, anchor)) = id.split_once('#').filter(|(_, anchor)| !anchor.is_empty())
                    {
                        let key = (base.clone(), anchor.to_owned());
                        self.anchors.entry(key).or_insert((schema, base.clone()));
                    }
                }
                map.values().for_each(|inner| self.add(inner, &base, depth + 1));
            }
            Json::Array(items) => items.iter().for_each(|inner| self.add(inner, base, depth + 1)),
            _ => {}
        }
    }

    /// Finds a reference from an address.
    ///
    /// # Errors
    /// If there is nothing, or it lies elsewhere.
    pub(super) fn find(&self, reference: &str, base: &str) -> Result<Found<'schema>, String> {
        let address = join(base, reference);
        let (document, fragment) = address.split_once('#').unwrap_or((&address, ""));
        if document.starts_with("urn:") && !self.documents.contains_key(document) {
            return Ok(Found::Anything);
        }
        let Some(root) = self.documents.get(document) else {
            return Err(format!(
                "failing loading \"{document}\": schemas at other places are not fetched; put its contents under \
                 $defs of values.schema.json"
            ));
        };
        let fragment = percent_decoded(fragment);
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let key = (document.to_owned(), fragment);
            return match self.anchors.get(&key) {
                Some((schema, base)) => Ok(Found::Schema(schema, base.clone())),
                None => Err(format!(
                    "anchor in \"{address}\" not found in schema \"{document}\""
                )),
            };
        }
        let mut schema: &Json = root;
        let mut base = document.to_owned();
        for token in fragment.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            let inner = match schema {
                Json::Object(map) => map.get(&name),
                Json::Array(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
                _ => None,
            };
            base = base_of(schema, &base);
            schema = inner.ok_or_else(|| format!("json-pointer in \"{address}\" not found"))?;
        }
        Ok(Found::Schema(schema, base))
    }
}

/// The address that references within a schema start from.
pub(super) fn base_of(schema: &Json, base: &str) -> String {
    let id = ["$id", "id"]
        .iter()
        .find_map(|keyword| schema.get(keyword)?.as_str());
    match id {
        Some(id) if !id.starts_with('#') => {
            let address = join(base, id);
            address.split('#').next().unwrap_or_default().to_owned()
        }
        _ => base.to_owned(),
    }
}

/// A reference taken from a base address.
fn join(base: &str, reference: &str) -> String {
    let has_scheme = reference.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    if has_scheme {
        return reference.to_owned();
    }
    let base = base.split('#').next().unwrap_or_default();
    if reference.is_empty() || reference.starts_with('#') {
        return format!("{base}{reference}");
    }
    let start = base.find("://").map_or(0, |at| at + 3);
    let root = base[start..].find('/').map_or(base.len(), |at| start + at);
    if reference.starts_with('/') {
        return format!("{}{reference}", &base[..root]);
    }
    let folder = base
        .rfind('/')
        .filter(|&at| at >= root)
        .map_or(base.len(), |at| at + 1);
    let (path, fragment) = reference
        .split_once('#')
        .map_or((reference, None), |(path, fragment)| (path, Some(fragment)));
    let path = crate::text::clean_path(&format!("{}{path}", &base[root..folder]));
    match fragment {
        Some(fragment) => format!("{}{path}#{fragment}", &base[..root]),
        None => format!("{}{path}", &base[..root]),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (ahead.next(), ahead.next());
        match digits {
            (Some(high), Some(low)) if byte == b'%' => {
                let pair = [high, low];
                let code = std::str::from_utf8(&pair)
                    .ok()
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok());
                match code {
                    Some(code) => {
                        out.push(code);
                        bytes = ahead;
                    }
                    None => out.push(byte),
                }
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
