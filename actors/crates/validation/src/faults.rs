//! The faults that are found while a request is read: how they are collected, bounded and named.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use deserr::{DeserializeError, ErrorKind, IntoValue, MergeWithError, ValuePointerRef};

use super::invalid::{Fault, Invalid};
use super::reasons;

/// Faults that are reported for one request. More would only make the response large.
pub(crate) const MAX_FAULTS: usize = 100;
/// Characters of the name of a member or a parameter in a fault. Longer names are cut.
pub const MAX_NAME_CHARS: usize = 100;

/// The faults that were found so far, at most one for each field: the first.
#[derive(Debug, Default)]
pub(crate) struct FaultList(Vec<Fault>);

impl FaultList {
    pub(crate) fn add(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        self.push(Fault { field: field.into(), reason: reason.into() });
    }

    fn push(&mut self, fault: Fault) {
        // A linear search is enough: the list has at most `MAX_FAULTS` entries.
        if !self.is_full() && !self.0.iter().any(|earlier| earlier.field == fault.field) {
            self.0.push(fault);
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Invalid> {
        if self.0.is_empty() { Ok(value) } else { Err(Invalid { faults: self.0 }) }
    }

    pub(crate) fn extend(&mut self, faults: Self) {
        faults.0.into_iter().for_each(|fault| self.push(fault));
    }

    pub(crate) fn into_invalid(self) -> Invalid {
        Invalid { faults: self.0 }
    }
}

/// The form in which a request arrives. It decides how the types of fields read their values.
pub trait ReadMode: 'static {
    /// Whether all values are texts, so that numbers and flags are read from their text, and an empty value is a fault.
    const FROM_TEXT: bool;
    /// Whether texts and lists that are too long are cut rather than refused.
    const CUTS: bool;
    /// The reason of the fault for a name that is not in the request's type.
    const UNKNOWN_NAME: &'static str;
}

/// A JSON object: the body of a request, or the arguments of a tool. Values have the types of JSON, and nothing is cut.
#[derive(Debug)]
pub enum JsonMode {}

/// A query string. All values are texts, and nothing is cut.
#[derive(Debug)]
pub enum QueryMode {}

/// A row of an imported file, which another program wrote by its own limits. Values have the types of JSON, and long texts and
/// lists are cut.
#[derive(Debug)]
pub enum ImportMode {}

impl ReadMode for JsonMode {
    const FROM_TEXT: bool = false;
    const CUTS: bool = false;
    const UNKNOWN_NAME: &'static str = "is not a field of this request";
}

impl ReadMode for QueryMode {
    const FROM_TEXT: bool = true;
    const CUTS: bool = false;
    const UNKNOWN_NAME: &'static str = "is not a parameter of this route";
}

impl ReadMode for ImportMode {
    const FROM_TEXT: bool = false;
    const CUTS: bool = true;
    const UNKNOWN_NAME: &'static str = JsonMode::UNKNOWN_NAME;
}

/// The faults of a request that arrived in the form `M`. The types of fields implement `Deserr<Faults<M>>` for every `M`.
// The form is a parameter of the error, because that is all that deserr hands from the reader of a request down to its fields.
#[derive(Debug)]
pub struct Faults<M> {
    list: FaultList,
    mode: PhantomData<M>,
}

impl<M> Faults<M> {
    /// Creates a report of one fault. `reason` is a phrase that follows the name of the field and never repeats the value.
    pub fn new(location: ValuePointerRef<'_>, reason: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.list.add(path(location), reason);
        faults
    }

    pub(crate) fn into_list(self) -> FaultList {
        self.list
    }

    /// Reading ends when the list is full: no further fault would be reported.
    fn into_flow(self) -> ControlFlow<Self, Self> {
        if self.list.is_full() { ControlFlow::Break(self) } else { ControlFlow::Continue(self) }
    }
}

impl<M> Default for Faults<M> {
    fn default() -> Self {
        Self { list: FaultList::default(), mode: PhantomData }
    }
}

impl<M: ReadMode> MergeWithError<Self> for Faults<M> {
    fn merge(first: Option<Self>, second: Self, _: ValuePointerRef<'_>) -> ControlFlow<Self, Self> {
        let merged = match first {
            Some(mut first) => {
                first.list.extend(second.list);
                first
            }
            None => second,
        };
        merged.into_flow()
    }
}

impl<M: ReadMode> DeserializeError for Faults<M> {
    fn error<V: IntoValue>(
        earlier: Option<Self>,
        error: ErrorKind<'_, V>,
        location: ValuePointerRef<'_>,
    ) -> ControlFlow<Self, Self> {
        let mut faults = earlier.unwrap_or_default();
        match error {
            ErrorKind::MissingField { field } => {
                faults.list.add(path(location.push_key(field)), "is required")
            }
            ErrorKind::UnknownKey { key, .. } => {
                faults.list.add(path(location.push_key(key)), M::UNKNOWN_NAME)
            }
            // Only derived structs report this. The types of fields state their own reasons.
            ErrorKind::IncorrectValueKind { .. } => faults.list.add(path(location), "must be an object"),
            ErrorKind::UnknownValue { accepted, .. } => {
                faults.list.add(path(location), reasons::must_be_one_of(accepted));
            }
            ErrorKind::BadSequenceLen { expected, .. } => {
                faults.list.add(path(location), format!("must have {expected} items"));
            }
            ErrorKind::Unexpected { msg } => faults.list.add(path(location), msg),
        }
        faults.into_flow()
    }
}

/// The path of a value in a request, like `items[2].bookmarkId`.
// The recursion is bounded, because serde_json refuses values that are nested more deeply than 128 levels.
fn path(location: ValuePointerRef<'_>) -> String {
    match location {
        ValuePointerRef::Origin => String::new(),
        ValuePointerRef::Key { key, prev: ValuePointerRef::Origin } => format!("{key:.MAX_NAME_CHARS$}"),
        ValuePointerRef::Key { key, prev } => format!("{}.{key:.MAX_NAME_CHARS$}", path(*prev)),
        ValuePointerRef::Index { index, prev } => format!("{}[{index}]", path(*prev)),
    }
}
