//! What every template reads besides its own fields.

use std::any::Any;

use actors::operations::settings::SettingsResponse;
use askama::Values;
use askama::filters::Safe;
use values::id::UserId;
use values::kind::{AppTheme, ReadingPaper, ReadingPreset};
use values::time::Timestamp;

use super::locale::Locale;
use super::strings::MessageValue;

/// What every template reads besides its own fields: the locale, and how the page looks.
#[derive(Clone, Debug)]
pub struct RenderContext {
    /// Language, time zone and time.
    pub locale: Locale,
    /// The user whose page it is; `None` for a page that is not of an account.
    pub user: Option<UserId>,
    /// Colour theme.
    pub theme: AppTheme,
    /// Type of the reader.
    pub preset: ReadingPreset,
    /// Ground of the reader.
    pub paper: ReadingPaper,
    /// Whether single keys are commands.
    pub has_single_keys: bool,
    /// Version of the account's own stylesheet; `None` if it would be empty.
    pub own_style: Option<Timestamp>,
}

impl RenderContext {
    /// The context of a page that is not of an account.
    pub fn of_public(locale: Locale) -> Self {
        Self {
            locale,
            user: None,
            theme: AppTheme::System,
            preset: ReadingPreset::Page,
            paper: ReadingPaper::Auto,
            has_single_keys: true,
            own_style: None,
        }
    }

    /// The context of a page of an account.
    pub fn of_settings(locale: Locale, user: UserId, settings: &SettingsResponse) -> Self {
        let reading = &settings.reading;
        let is_styled = reading.size.is_some() || reading.leading.is_some() || reading.measure.is_some();
        Self {
            locale,
            user: Some(user),
            theme: settings.theme,
            preset: reading.preset,
            paper: reading.paper,
            has_single_keys: settings.single_keys,
            own_style: is_styled.then_some(settings.updated_at),
        }
    }

    /// Returns an attribute by the name that templates use; `None` for an unknown name.
    pub fn attribute(&self, name: &str) -> Option<String> {
        Some(match name {
            "language" => self.locale.language.name().to_owned(),
            "user" => self.user.map(|id| id.to_string()).unwrap_or_default(),
            "theme" => match self.theme {
                AppTheme::System => String::new(),
                AppTheme::Light | AppTheme::Dark => self.theme.name().to_owned(),
            },
            "preset" => self.preset.name().to_owned(),
            "paper" => match self.paper {
                ReadingPaper::Auto => String::new(),
                ReadingPaper::Light | ReadingPaper::Linen | ReadingPaper::Dark => {
                    self.paper.name().to_owned()
                }
            },
            "keys" => if self.has_single_keys { "on" } else { "off" }.to_owned(),
            "style" => {
                self.own_style.map(|at| format!("/assets/me.css?v={}", at.millis())).unwrap_or_default()
            }
            _ => return None,
        })
    }

    /// Returns the HTML of a key. The text is ours; its values are escaped.
    ///
    /// # Errors
    /// [`askama::Error`] when a value cannot be escaped, which does not happen.
    pub fn html(&self, key: &str, values: &[(&str, MessageValue)]) -> askama::Result<Safe<String>> {
        let escape = |value: &MessageValue| match value {
            MessageValue::Text(text) => {
                Ok(MessageValue::Text(askama::filters::escape(text, askama::filters::Html)?.to_string()))
            }
            MessageValue::Number(number) => Ok::<_, askama::Error>(MessageValue::Number(*number)),
        };
        let mut escaped = Vec::with_capacity(values.len());
        for (name, value) in values {
            escaped.push((*name, escape(value)?));
        }
        Ok(Safe(self.locale.t_with(key, &escaped)))
    }
}

impl Values for RenderContext {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "context").then_some(self as &dyn Any)
    }
}
