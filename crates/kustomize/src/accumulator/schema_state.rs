use std::cell::RefCell;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::Kustomization;
use crate::loader::Loader;
use crate::schema::Schema;

/// The schema of a build: the first kustomization on the way down that names one decides.
pub(crate) struct SchemaState {
    current: RefCell<Arc<Schema>>,
    decided: RefCell<bool>,
}

impl SchemaState {
    pub(crate) fn new() -> Self {
        Self {
            current: RefCell::new(Schema::built_in()),
            decided: RefCell::new(false),
        }
    }

    pub(crate) fn get(&self) -> Arc<Schema> {
        Arc::clone(&self.current.borrow())
    }

    /// Takes up the field `openapi` of a kustomization.
    ///
    /// # Errors
    /// A schema that cannot be read, an unknown version, both at once.
    pub(crate) fn choose(
        &self,
        kustomization: &Kustomization,
        loader: &Loader<'_>,
        root: bool,
    ) -> Result<()> {
        let field = &kustomization.openapi;
        let custom = field.get("path").map(|path| loader.load(path)).transpose()?;
        if *self.decided.borrow() && !root {
            return Ok(());
        }
        let version = field.get("version").map_or("", String::as_str);
        let problem = |text: String| Error::new(ErrorKind::Schema, text).at_field("openapi");
        if let Some(loaded) = custom {
            if field.contains_key("version") {
                return Err(
                    problem("path and version exclude each other".to_owned()).remedy("remove one of them")
                );
            }
            let schema = self.get().with_custom(&loaded.contents, &loaded.name)?;
            *self.current.borrow_mut() = Arc::new(schema);
            *self.decided.borrow_mut() = true;
            return Ok(());
        }
        if !version.is_empty() {
            if !Schema::has_version(version) {
                return Err(problem(format!("the version {version:?} is not built in"))
                    .remedy("use v1.21.2, or a path"));
            }
            *self.decided.borrow_mut() = true;
        }
        Ok(())
    }
}
