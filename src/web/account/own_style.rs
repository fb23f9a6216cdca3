//! The stylesheet of an account: the sizes of the reader that its user set with sliders. No page has an inline style.

use std::fmt::Write;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actors::operations::settings::ReadingSettings;
use errors::Error;

use crate::web::page::request::PageRequest;

/// Serves the stylesheet. Its address has the time of the last change of the settings, so a browser keeps it.
pub async fn serve(request: PageRequest) -> Result<HttpResponse, Error> {
    let style = own_style(&request.viewer.settings.reading);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/css; charset=utf-8"))
        .insert_header((CACHE_CONTROL, "private, max-age=31536000, immutable"))
        .body(style))
}

/// Writes the sizes that differ from those of the preset.
fn own_style(reading: &ReadingSettings) -> String {
    let mut style = String::from("[data-read] {");
    let mut set = |name: &str, value: Option<i32>, divisor: i32, unit: &str| {
        if let Some(value) = value {
            // Writing to a text does not fail.
            let _ = write!(style, " --read-{name}: {}{unit};", f64::from(value) / f64::from(divisor));
        }
    };
    set("size", reading.size, 1_000, "rem");
    set("leading", reading.leading, 100, "");
    set("measure", reading.measure, 1, "em");
    style.push_str(" }\n");
    style
}

#[cfg(test)]
mod tests {
    use values::kind::{ReadingPaper, ReadingPreset};

    use super::*;

    #[test]
    fn style_has_the_sizes_that_were_set() {
        let reading = ReadingSettings {
            preset: ReadingPreset::Page,
            size: Some(1_500),
            leading: Some(162),
            measure: None,
            paper: ReadingPaper::Auto,
            justified: false,
            inverts_pages: false,
            words_per_minute: 230,
        };

        assert_eq!(own_style(&reading), "[data-read] { --read-size: 1.5rem; --read-leading: 1.62; }\n");
    }
}
