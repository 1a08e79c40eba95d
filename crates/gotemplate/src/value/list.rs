use std::rc::Rc;

use super::{Operand, Type, Value, bury};

/// A Go slice: a window on elements that clones and sub-slices share.
///
/// No template function replaces an element in place, so the elements themselves never change; maps among
/// them do, for all who hold them.
#[derive(Clone)]
pub struct List(Rc<Window>);

struct Window {
    elements: Rc<Elements>,
    start: usize,
    length: usize,
    capacity: usize,
    element: &'static Type,
    is_nil: bool,
}

struct Elements(Vec<Value>);

impl Drop for Elements {
    fn drop(&mut self) {
        bury(std::mem::take(&mut self.0));
    }
}

impl List {
    /// A `[]interface {}`.
    pub fn new(elements: Vec<Value>) -> Self {
        Self::typed(&Type::Any, elements)
    }

    /// A slice whose elements are of type `element`, as all of `elements` must be.
    pub fn typed(element: &'static Type, elements: Vec<Value>) -> Self {
        let length = elements.len();
        Self(Rc::new(Window {
            elements: Rc::new(Elements(elements)),
            start: 0,
            length,
            capacity: length,
            element,
            is_nil: false,
        }))
    }

    /// A `[]string`.
    pub fn strings<T: Into<super::Text>>(elements: impl IntoIterator<Item = T>) -> Self {
        let elements = elements.into_iter().map(|text| Value::String(text.into()));
        Self::typed(&Type::String, elements.collect())
    }

    /// The nil slice: empty, and equal to nil.
    pub fn nil(element: &'static Type) -> Self {
        Self(Rc::new(Window {
            elements: Rc::new(Elements(Vec::new())),
            start: 0,
            length: 0,
            capacity: 0,
            element,
            is_nil: true,
        }))
    }

    /// Whether this is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.is_nil
    }

    /// The type of the elements.
    pub fn element_type(&self) -> &'static Type {
        self.0.element
    }

    /// The elements.
    pub fn as_slice(&self) -> &[Value] {
        &self.0.elements.0[self.0.start..self.0.start + self.0.length]
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.length == 0
    }

    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Element `index` with its static type; None past the end.
    pub(crate) fn operand(&self, index: usize) -> Option<Operand> {
        let value = self.as_slice().get(index)?.clone();
        Some(Operand::of_element(value, self.0.element))
    }

    /// Go's `list[from:to:limit]`, with bounds that the caller has checked against the capacity.
    pub(crate) fn window(&self, from: usize, to: usize, limit: usize) -> Option<Self> {
        (from <= to && to <= limit && limit <= self.0.capacity).then(|| {
            Self(Rc::new(Window {
                elements: Rc::clone(&self.0.elements),
                start: self.0.start + from,
                length: to - from,
                capacity: limit - from,
                element: self.0.element,
                is_nil: self.0.is_nil,
            }))
        })
    }

    /// Whether dropping this list drops its elements.
    pub(super) fn take_elements(self, graves: &mut Vec<Value>) {
        if let Ok(mut window) = Rc::try_unwrap(self.0)
            && let Some(elements) = Rc::get_mut(&mut window.elements)
        {
            graves.append(&mut elements.0);
        }
    }
}
