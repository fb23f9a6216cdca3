//! The panel with the type of the reader, and the form that it sends.

use actix_web::HttpResponse;
use actors::operations::settings::{ChangeSettings, ReadingSettings};
use actors::target::Target;
use errors::Error;
use serde_json::{Map, Value, json};
use values::kind::{ReadingPaper, ReadingPreset};

use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::reading_presets::measures_of;

/// What the panel shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeView {
    /// The name of the preset.
    pub preset: &'static str,
    /// Size of the text, in thousandths of a rem.
    pub size: i32,
    /// Line height, in hundredths of the size.
    pub leading: i32,
    /// Width of the column, in em.
    pub measure: i32,
    /// The name of the paper.
    pub paper: &'static str,
    /// Whether the text is justified.
    pub is_justified: bool,
}

impl TypeView {
    /// Makes the view of settings.
    pub fn of(settings: &ReadingSettings) -> Self {
        let (size, leading, measure) = measures_of(settings.preset);
        Self {
            preset: settings.preset.name(),
            size: settings.size.unwrap_or(size),
            leading: settings.leading.unwrap_or(leading),
            measure: settings.measure.unwrap_or(measure),
            paper: settings.paper.name(),
            is_justified: settings.justified,
        }
    }

    /// The presets, in the order of the panel.
    pub fn presets(&self) -> Vec<PresetChoice> {
        let choice = |&name: &&'static str| {
            let (size, leading, measure) = measures_of(name.parse().ok()?);
            Some(PresetChoice { name, is_chosen: name == self.preset, size, leading, measure })
        };
        ReadingPreset::NAMES.iter().filter_map(choice).collect()
    }

    /// The papers, in the order of the panel.
    pub fn papers(&self) -> Vec<PaperChoice> {
        let choice = |&name: &&'static str| PaperChoice { name, is_chosen: name == self.paper };
        ReadingPaper::NAMES.iter().map(choice).collect()
    }
}

/// A preset to choose, with the measures that the sliders have then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresetChoice {
    /// Its name.
    pub name: &'static str,
    /// Whether it is chosen.
    pub is_chosen: bool,
    /// Size of the text, in thousandths of a rem.
    pub size: i32,
    /// Line height, in hundredths of the size.
    pub leading: i32,
    /// Width of the column, in em.
    pub measure: i32,
}

/// A paper to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperChoice {
    /// Its name.
    pub name: &'static str,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// Changes the type of the reader, and leads back to the text.
///
/// # Errors
/// Those of the change.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let now = TypeView::of(&request.viewer.settings.reading);
    let changes = changes(&now, &|name| request.form.get(name), request.form.has("panel"));
    request.run_json::<ChangeSettings>(&Target::default(), Value::Object(changes)).await?;
    let back = request.back("/");
    request.done(&back, DoneMessage::new("reader-type-changed"))
}

/// Returns the settings that a form changes. Another preset brings its own measures.
fn changes<'a>(
    now: &TypeView,
    field: &dyn Fn(&str) -> Option<&'a str>,
    has_switch: bool,
) -> Map<String, Value> {
    let mut changes = Map::new();
    let number = |name: &str| field(name).and_then(|value| value.parse::<i32>().ok());
    if let Some(paper) = field("paper") {
        changes.insert("paper".to_owned(), json!(paper));
    }
    if has_switch {
        // A box that is not ticked sends nothing.
        changes.insert("justified".to_owned(), json!(field("justified").is_some()));
    }
    let measures = [("size", now.size), ("leading", now.leading), ("measure", now.measure)];
    match field("preset").filter(|preset| *preset != now.preset) {
        Some(preset) => {
            changes.insert("preset".to_owned(), json!(preset));
            changes.extend(measures.map(|(name, _)| (name.to_owned(), Value::Null)));
        }
        None => {
            let moved = measures.into_iter().filter_map(|(name, shown)| {
                let value = number(name).filter(|value| *value != shown)?;
                Some((name.to_owned(), json!(value)))
            });
            changes.extend(moved);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> TypeView {
        TypeView {
            preset: "page",
            size: 1_250,
            leading: 162,
            measure: 33,
            paper: "auto",
            is_justified: false,
        }
    }

    fn changed(fields: &[(&'static str, &'static str)]) -> Value {
        let field = |name: &str| fields.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        Value::Object(changes(&view(), &field, fields.iter().any(|(name, _)| *name == "panel")))
    }

    #[test]
    fn only_what_was_moved_is_stored() {
        assert_eq!(
            changed(&[("preset", "page"), ("size", "1250"), ("measure", "36")]),
            json!({ "measure": 36 })
        );
        assert_eq!(
            changed(&[("panel", ""), ("paper", "linen")]),
            json!({ "paper": "linen", "justified": false })
        );
    }

    #[test]
    fn preset_choices_have_their_measures() {
        let presets = view().presets();

        let large = presets.iter().find(|preset| preset.name == "large").unwrap();
        assert_eq!((large.size, large.leading, large.measure, large.is_chosen), (1_500, 158, 29, false));
        assert_eq!(presets.len(), ReadingPreset::NAMES.len());
    }

    #[test]
    fn other_preset_brings_its_own_measures() {
        assert_eq!(
            changed(&[("preset", "large"), ("size", "1300")]),
            json!({ "preset": "large", "size": null, "leading": null, "measure": null })
        );
    }
}
