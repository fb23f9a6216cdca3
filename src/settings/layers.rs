//! The layers of the settings, and how they are merged into one value. The built-in layer defines which settings exist and
//! whether each is a string, a number, a boolean or a list; the values of the other layers are converted to that type.

use std::fs;
use std::path::Path;

use figment::value::{Dict, Map, Num, Tag, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};
use serde::de::DeserializeOwned;

use super::fault::{Fault, SettingsError, expected};

/// What every environment variable of the settings begins with.
pub(super) const PREFIX: &str = "CARREL__";

/// The layer that all others override.
const DEFAULTS: &str = include_str!("../../config/default.toml");

/// The layers read so far, and their faults.
pub(super) struct Layers {
    defaults: Dict,
    merged: Figment,
    faults: Vec<Fault>,
}

/// The entry of the built-in layer under a name.
enum DefaultEntry<'a> {
    Setting(&'a Value),
    Section,
    /// No entry; holds the known names of the section where the search ended.
    Unknown(Vec<&'a str>),
}

impl Layers {
    /// Returns the built-in layer alone.
    pub(super) fn built_in() -> Result<Self, SettingsError> {
        let defaults = parse(Path::new("config/default.toml"), DEFAULTS)?;
        let layer = Layer { source: Metadata::named("the defaults"), values: defaults.clone() };
        Ok(Self { defaults, merged: Figment::from(layer), faults: Vec::new() })
    }

    /// Adds a file as a layer over the present ones.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let content = fs::read_to_string(path)
            .map_err(|cause| SettingsError::Unreadable { path: path.to_owned(), cause })?;
        let name = format!("the file {}", path.display());
        let source = Metadata::named("file").interpolater(move |_: &Profile, _: &[&str]| name.clone());
        for (key, value) in parse(path, &content)? {
            self.add(vec![key], value, &source);
        }
        Ok(())
    }

    /// Adds the variables that begin with the prefix as a layer over the present ones.
    pub(super) fn environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        let source = Metadata::named("environment").interpolater(|_: &Profile, keys: &[&str]| {
            format!("the environment variable {PREFIX}{}", keys.join("__").to_uppercase())
        });
        let ours = |(name, text): (String, String)| Some((name.strip_prefix(PREFIX)?.to_lowercase(), text));
        let mut found: Vec<_> = variables.filter_map(ours).collect();
        // The order of the environment is arbitrary, and that of the faults should not be.
        found.sort();
        for (name, text) in found {
            self.add(name.split("__").map(str::to_owned).collect(), Value::from(text), &source);
        }
    }

    /// Reads the merged layers.
    ///
    /// Figment stops at the first invalid value. To report all of them, each is recorded and replaced by its default, and
    /// everything is read again.
    pub(super) fn read<T: DeserializeOwned>(mut self) -> Result<T, SettingsError> {
        loop {
            match self.merged.extract::<T>() {
                Ok(read) if self.faults.is_empty() => return Ok(read),
                Ok(_) => return Err(SettingsError::Wrong(self.faults)),
                Err(error) => self.replace_by_default(&error)?,
            }
        }
    }

    fn replace_by_default(&mut self, error: &Error) -> Result<(), SettingsError> {
        let keys = self.setting_of(&error.path);
        let name = keys.join(".");
        // A default that is refused too cannot be replaced again: the loop would not end.
        let again = self.faults.iter().any(|fault| fault.setting() == name);
        let value = self.merged.find_value(&name).unwrap_or_else(|_| "".into());
        let from = self.source_of(&name, &keys);
        self.faults.push(Fault::wrong(name, &value, &expected(&error.kind), &from));
        match find(&self.defaults, &keys) {
            DefaultEntry::Setting(default) if !again => {
                let values = nested(&keys, default.clone());
                self.merge(values, Metadata::named("the defaults"));
                Ok(())
            }
            DefaultEntry::Setting(_) | DefaultEntry::Section | DefaultEntry::Unknown(_) => {
                Err(SettingsError::Wrong(std::mem::take(&mut self.faults)))
            }
        }
    }

    /// Adds one value, or a table of values, over the present ones, or records the fault that prevents it.
    fn add(&mut self, keys: Vec<String>, value: Value, source: &Metadata) {
        let name = keys.join(".");
        let from = interpolated(source, &keys);
        match (find(&self.defaults, &keys), value) {
            (DefaultEntry::Section, Value::Dict(_, table)) => {
                for (key, value) in table {
                    self.add(keys.iter().cloned().chain([key]).collect(), value, source);
                }
            }
            (DefaultEntry::Section, value) => {
                self.faults.push(Fault::no_section(name, &value, &from));
            }
            (DefaultEntry::Setting(default), value) => {
                let values = nested(&keys, converted(default, value));
                self.merge(values, source.clone());
            }
            (DefaultEntry::Unknown(allowed), value) => {
                self.faults.push(Fault::unknown(name, &value, &allowed, &from));
            }
        }
    }

    fn merge(&mut self, values: Dict, source: Metadata) {
        self.merged = std::mem::take(&mut self.merged).merge(Layer { source, values });
    }

    /// The setting that a path leads to; an item of a list belongs to its list.
    fn setting_of(&self, path: &[String]) -> Vec<String> {
        let depth = (1..=path.len())
            .find(|depth| {
                let part = path.get(..*depth).unwrap_or_default();
                matches!(find(&self.defaults, part), DefaultEntry::Setting(_))
            })
            .unwrap_or(path.len());
        path.iter().take(depth).cloned().collect()
    }

    fn source_of(&self, name: &str, keys: &[String]) -> String {
        match self.merged.find_metadata(name) {
            Some(source) => interpolated(source, keys),
            None => "nowhere".to_owned(),
        }
    }
}

/// One layer in the form that figment reads.
struct Layer {
    source: Metadata,
    values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.source.clone()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

fn interpolated(source: &Metadata, keys: &[String]) -> String {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    source.interpolate(&Profile::Default, &keys)
}

fn parse(path: &Path, content: &str) -> Result<Dict, SettingsError> {
    let not_toml = |line, why: String| SettingsError::NotToml { path: path.to_owned(), line, why };
    let table: toml::Table = toml::from_str(content).map_err(|error| {
        let before = error.span().and_then(|span| content.get(..span.start)).unwrap_or_default();
        // The message alone: the `Display` of the error quotes the line, which may hold a secret.
        not_toml(before.matches('\n').count() + 1, error.message().replace('\n', " "))
    })?;
    match Value::serialize(&table) {
        Ok(Value::Dict(_, values)) => Ok(values),
        Ok(_) => Ok(Dict::new()),
        Err(error) => Err(not_toml(1, error.kind.to_string())),
    }
}

fn find<'a>(defaults: &'a Dict, keys: &[String]) -> DefaultEntry<'a> {
    let Some((first, rest)) = keys.split_first() else { return DefaultEntry::Section };
    match defaults.get(first) {
        Some(Value::Dict(_, section)) => find(section, rest),
        Some(setting) if rest.is_empty() => DefaultEntry::Setting(setting),
        Some(_) | None => DefaultEntry::Unknown(defaults.keys().map(String::as_str).collect()),
    }
}

fn nested(keys: &[String], value: Value) -> Dict {
    let value = keys
        .iter()
        .skip(1)
        .rfold(value, |inner, key| Value::Dict(Tag::Default, Dict::from([(key.clone(), inner)])));
    keys.first().map(|key| (key.clone(), value)).into_iter().collect()
}

/// Converts a value to the type of the default: environment variables are all text, and a file may have 123 for a setting that is
/// text. A value that cannot be converted is returned unchanged, and is reported later.
fn converted(default: &Value, value: Value) -> Value {
    match (default, &value) {
        (Value::Array(..), Value::String(_, text)) => {
            text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect::<Vec<_>>().into()
        }
        (Value::Num(..), Value::String(_, text)) => number(text).unwrap_or(value),
        (Value::Bool(..), Value::String(_, text)) => text.trim().parse::<bool>().map_or(value, Value::from),
        (Value::String(..), Value::Num(_, number)) => {
            number.to_i128().map_or(value, |whole| whole.to_string().into())
        }
        (Value::String(..), Value::Bool(_, truth)) => truth.to_string().into(),
        _ => value,
    }
}

/// Parses a whole number of ASCII digits with an optional minus sign.
fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let whole = plain.then(|| text.parse::<i64>().ok()).flatten()?;
    Some(Value::Num(Tag::Default, Num::I64(whole)))
}
