//! The objects of a build, in order, found by their present or former identities.

mod indexes;
mod labels;
mod selector;
mod sort;

pub(crate) use selector::Matcher;
pub(crate) use sort::sort;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use self::indexes::{Indexes, identities, index_names};
use crate::error::{Error, ErrorKind, Result};
use crate::resource::{IdKey, Origin, Resource, ResourceId};
use crate::schema::Schema;

/// The objects of a build, in order.
#[derive(Debug, Clone, Default)]
pub struct ResourceMap {
    resources: Vec<Resource>,
    indexes: Indexes,
    /// Whether something may have emptied an object since empty ones were dropped.
    touched: bool,
}

impl ResourceMap {
    pub(crate) fn new(resources: Vec<Resource>) -> Self {
        Self {
            resources,
            indexes: Indexes::default(),
            touched: true,
        }
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// The objects in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.resources.iter()
    }

    /// The objects in order, taken out.
    #[must_use]
    pub fn into_resources(self) -> Vec<Resource> {
        self.resources
    }

    /// All objects as `kustomize build` prints them, with `---` between them.
    ///
    /// # Errors
    /// An object with values that have no JSON form.
    pub fn to_yaml(&self) -> Result<String> {
        let mut out = String::new();
        for (index, resource) in self.resources.iter().enumerate() {
            if index > 0 {
                out.push_str("---\n");
            }
            out.push_str(&resource.to_yaml()?);
        }
        Ok(out)
    }

    /// The objects for changes that may change identities.
    pub(crate) fn resources_mut(&mut self) -> &mut Vec<Resource> {
        self.indexes = Indexes::default();
        self.touched = true;
        &mut self.resources
    }

    /// The objects for changes that leave identities alone.
    pub(crate) fn contents_mut(&mut self) -> &mut [Resource] {
        self.touched = true;
        &mut self.resources
    }

    /// One object, for changes that leave its identities alone and something of it.
    pub(crate) fn content_mut(&mut self, index: usize) -> Option<&mut Resource> {
        self.resources.get_mut(index)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Resource> {
        self.resources.get(index)
    }

    /// Changes one object; the indexes follow its identities.
    pub(crate) fn change<T>(
        &mut self,
        index: usize,
        schema: &Schema,
        change: impl FnOnce(&mut Resource) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(resource) = self.resources.get_mut(index) else {
            return Ok(None);
        };
        let before = self.indexes.tracks().then(|| identities(resource, schema));
        let result = change(resource);
        self.touched |= resource.is_empty();
        match before {
            Some(before) => {
                let after = identities(resource, schema);
                self.indexes.update(index, &before, after);
            }
            None => self.indexes = Indexes::default(),
        }
        result.map(Some)
    }

    /// The objects that have or had a name; all objects if none is given.
    pub(crate) fn candidates(&mut self, name: Option<&str>) -> Vec<usize> {
        let Some(name) = name else {
            return (0..self.resources.len()).collect();
        };
        let resources = &self.resources;
        let names = self.indexes.names.get_or_insert_with(|| index_names(resources));
        names.get(name).cloned().unwrap_or_default()
    }

    fn current(&mut self, schema: &Schema) -> &mut HashMap<IdKey, usize> {
        let resources = &self.resources;
        self.indexes.current.get_or_insert_with(|| {
            resources
                .iter()
                .enumerate()
                .map(|(index, resource)| (resource.id(schema).into_key(), index))
                .collect()
        })
    }

    fn any(&mut self, schema: &Schema) -> &mut HashMap<IdKey, Vec<usize>> {
        let resources = &self.resources;
        self.indexes.any.get_or_insert_with(|| {
            let mut any: HashMap<IdKey, Vec<usize>> = HashMap::with_capacity(resources.len());
            for (index, resource) in resources.iter().enumerate() {
                for key in identities(resource, schema) {
                    any.entry(key).or_default().push(index);
                }
            }
            any
        })
    }

    /// Adds an object.
    ///
    /// # Errors
    /// One with the same identity is there.
    pub(crate) fn append(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        let key = resource.id(schema).into_key();
        let index = self.resources.len();
        let other = match self.current(schema).entry(key) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(index);
                None
            }
        };
        if let Some(other) = other {
            return Err(self.duplicate(&resource, &resource.id(schema), other));
        }
        if self.indexes.tracks() {
            self.indexes.add(index, identities(&resource, schema));
        }
        self.touched |= resource.is_empty();
        self.resources.push(resource);
        Ok(())
    }

    fn duplicate(&self, resource: &Resource, id: &ResourceId, other: usize) -> Error {
        let name = |source: Option<&str>| source.unwrap_or("the build").to_owned();
        let first = name(self.resources.get(other).and_then(Resource::source));
        let second = name(resource.source());
        Error::new(
            ErrorKind::DuplicateId,
            format!("{id} comes twice: from {first} and from {second}"),
        )
        .in_file(second)
        .remedy("remove one of them, or give them different names or namespaces")
    }

    pub(crate) fn append_all(
        &mut self,
        resources: impl IntoIterator<Item = Resource>,
        schema: &Schema,
    ) -> Result<()> {
        resources
            .into_iter()
            .try_for_each(|resource| self.append(resource, schema))
    }

    /// The objects that have or had the identity.
    pub(crate) fn find_any(&mut self, id: &ResourceId, schema: &Schema) -> Vec<usize> {
        self.any(schema).get(&id.key()).cloned().unwrap_or_default()
    }

    /// The one object that has or had the identity.
    ///
    /// # Errors
    /// There is none, or several.
    pub(crate) fn find_one(&mut self, id: &ResourceId, schema: &Schema) -> Result<usize> {
        match self.find_any(id, schema).as_slice() {
            [one] => Ok(*one),
            [] => Err(
                Error::new(ErrorKind::Reference, format!("there is no object {id}"))
                    .remedy("check kind, apiVersion, name and namespace, or add the object"),
            ),
            several => {
                let names: Vec<String> = several
                    .iter()
                    .filter_map(|index| self.resources.get(*index))
                    .map(|resource| {
                        resource.source().map_or_else(
                            || resource.describe(),
                            |source| format!("{} from {source}", resource.describe()),
                        )
                    })
                    .collect();
                Err(Error::new(
                    ErrorKind::Reference,
                    format!("several objects match {id}: {}", names.join(", ")),
                )
                .remedy("name the one that is meant by its present name and namespace"))
            }
        }
    }

    /// Adds what generators made: each object is new, or replaces or merges with one that is there.
    pub(crate) fn absorb_all(&mut self, resources: Vec<Resource>, schema: &Schema) -> Result<()> {
        for resource in resources {
            self.absorb(resource, schema)?;
        }
        Ok(())
    }

    fn absorb(&mut self, mut resource: Resource, schema: &Schema) -> Result<()> {
        let id = resource.id(schema);
        let matches = self.find_any(&id, schema);
        let behavior = resource.state.behavior.clone().unwrap_or_default();
        let problem = |text: String| {
            let source = resource.source().unwrap_or_default().to_owned();
            Error::new(ErrorKind::Generator, text).in_file(source)
        };
        match (matches.as_slice(), behavior.as_str()) {
            ([], "merge" | "replace") => Err(problem(format!("{id} is not there to {behavior} into"))
                .remedy("generate it in a base, or use the behavior create")),
            ([], _) => self.append(resource, schema),
            ([index], "merge" | "replace") => {
                let index = *index;
                let Some(old) = self.resources.get(index) else {
                    return Ok(());
                };
                let origin = old.origin();
                resource.take_metadata_from(old)?;
                if behavior == "merge" {
                    resource.merge_data_from(old)?;
                    if let Some(origin) = origin {
                        resource.set_origin(&origin)?;
                    }
                }
                let before = identities(old, schema);
                self.indexes.update(index, &before, identities(&resource, schema));
                self.touched |= resource.is_empty();
                self.resources[index] = resource;
                Ok(())
            }
            ([_], _) => Err(
                problem(format!("{id} is there already, and the behavior is {behavior:?}"))
                    .remedy("use another name, or the behavior merge or replace"),
            ),
            _ => Err(problem(format!("several objects match {id}"))
                .remedy("give the objects different names or namespaces")),
        }
    }

    /// Drops objects of which nothing is left.
    pub(crate) fn drop_empty(&mut self) {
        if self.touched && self.resources.iter().any(Resource::is_empty) {
            self.resources_mut().retain(|resource| !resource.is_empty());
        }
        self.touched = false;
    }

    /// Fails if two objects have become the same.
    pub(crate) fn check_unique(&self, schema: &Schema) -> Result<()> {
        let mut seen: HashMap<IdKey, usize> = HashMap::with_capacity(self.resources.len());
        for (index, resource) in self.resources.iter().enumerate() {
            if let Some(other) = seen.insert(resource.id(schema).into_key(), index) {
                return Err(self.duplicate(resource, &resource.id(schema), other));
            }
        }
        Ok(())
    }

    /// Records the origin of objects that have none.
    pub(crate) fn add_origin(&mut self, origin: &Origin) -> Result<()> {
        self.resources
            .iter_mut()
            .filter(|resource| resource.origin().is_none())
            .try_for_each(|resource| resource.set_origin(origin))
    }

    /// Records a transformer at every object; one without origin was made by it.
    pub(crate) fn add_transformation(&mut self, origin: &Origin) -> Result<()> {
        self.resources
            .iter_mut()
            .filter(|resource| !resource.is_empty())
            .try_for_each(|resource| {
                if resource.origin().is_none() {
                    resource.set_origin(origin)
                } else {
                    resource.add_transformation(origin)
                }
            })
    }
}

impl<'a> IntoIterator for &'a ResourceMap {
    type Item = &'a Resource;
    type IntoIter = std::slice::Iter<'a, Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.resources.iter()
    }
}

impl IntoIterator for ResourceMap {
    type Item = Resource;
    type IntoIter = std::vec::IntoIter<Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.resources.into_iter()
    }
}
