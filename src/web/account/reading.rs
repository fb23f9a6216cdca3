//! Type and ground of the reader, and pictures.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::settings::{ChangeSettings, ReadingSettings};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};
use values::kind::{PictureMode, ReadingPreset};

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::reading_presets::measures_of;

/// The page of the reader.
#[derive(Template)]
#[template(path = "account/reading.html")]
struct ReadingPage {
    shell: Shell,
    tab: &'static str,
    faults: FormFaults,
    reading: ReadingSettings,
    presets: &'static [&'static str],
    papers: [&'static str; 4],
    /// Size, line height and width as the sliders show them: the own ones, or those of the preset.
    size: i32,
    leading: i32,
    measure: i32,
    has_own_sizes: bool,
    shows_pictures: bool,
    words_per_minute: String,
}

parts!(ReadingPage {});

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    show_with(&request, StatusCode::OK, FormFaults::default()).await
}

/// Changes what the form says. The sliders count only if own sizes are wanted.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    match request.run_json::<ChangeSettings>(&Target::default(), changes(&request)).await {
        Ok(_) => request.done(&request.back("/settings/reading"), DoneMessage::new("account-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            show_with(&request, status, faults).await
        }
    }
}

fn changes(request: &PageRequest) -> Value {
    let form = &request.form;
    let has_own_sizes = form.has("own");
    let number = |name| {
        let number =
            form.get(name).filter(|_| has_own_sizes).and_then(|text| text.trim().parse::<i64>().ok());
        number.map_or(Value::Null, Value::from)
    };
    let mut changes = json!({
        "size": number("size"),
        "leading": number("leading"),
        "measure": number("measure"),
        "justified": form.has("justified"),
        "invertsPages": form.has("invertsPages"),
        "pictures": if form.has("pictures") { "shown" } else { "on_click" },
    });
    if let Some(changes) = changes.as_object_mut() {
        for name in ["preset", "paper"] {
            changes.extend(form.get(name).map(|chosen| (name.to_owned(), Value::from(chosen))));
        }
        let words = form
            .get("wordsPerMinute")
            .map(|text| text.trim().parse().map_or(Value::from(text), |n: i64| n.into()));
        changes.extend(words.map(|words| ("wordsPerMinute".to_owned(), words)));
    }
    changes
}

async fn show_with(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let (settings, form) = (&request.viewer.settings, &request.form);
    let mut reading = settings.reading.clone();
    let mut shows_pictures = settings.pictures == PictureMode::Shown;
    let mut words_per_minute = reading.words_per_minute.to_string();
    if faults.is_any() {
        reading = sent_reading(reading, form);
        shows_pictures = form.has("pictures");
        form.text("wordsPerMinute").clone_into(&mut words_per_minute);
    }
    let (size, leading, measure) = measures_of(reading.preset);
    let page = ReadingPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "reading",
        faults,
        presets: ReadingPreset::NAMES,
        papers: ["auto", "light", "linen", "dark"],
        size: reading.size.unwrap_or(size),
        leading: reading.leading.unwrap_or(leading),
        measure: reading.measure.unwrap_or(measure),
        has_own_sizes: reading.size.is_some() || reading.leading.is_some() || reading.measure.is_some(),
        shows_pictures,
        words_per_minute,
        reading,
    };
    request.show_with_status(status, &page)
}

/// Returns the settings that a refused form has. What cannot be read is shown as it is stored.
fn sent_reading(stored: ReadingSettings, form: &Fields) -> ReadingSettings {
    let size =
        |name: &str| form.get(name).filter(|_| form.has("own")).and_then(|text| text.trim().parse().ok());
    ReadingSettings {
        preset: form.get("preset").and_then(|name| name.parse().ok()).unwrap_or(stored.preset),
        size: size("size"),
        leading: size("leading"),
        measure: size("measure"),
        paper: form.get("paper").and_then(|name| name.parse().ok()).unwrap_or(stored.paper),
        justified: form.has("justified"),
        inverts_pages: form.has("invertsPages"),
        words_per_minute: stored.words_per_minute,
    }
}
