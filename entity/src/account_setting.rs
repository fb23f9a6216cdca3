//! The settings of the web app that a user has changed.

use sea_orm::entity::prelude::*;
use values::id::UserId;
use values::kind::{AppLanguage, AppTheme, OnboardingState, PictureMode, ReadingPaper, ReadingPreset};
use values::time::Timestamp;

/// The settings of the web app of a user. An account that has changed none has no row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "account_setting")]
pub struct Model {
    /// The user whose settings they are.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Language of the pages; `None` for that of the browser.
    pub language: Option<AppLanguage>,
    /// IANA name of the time zone in which times are shown; `None` for UTC.
    pub time_zone: Option<String>,
    /// Colour theme.
    pub theme: AppTheme,
    /// How pictures of saved pages are shown.
    pub pictures: PictureMode,
    /// Whether single keys without a modifier are commands.
    pub single_keys: bool,
    /// How far the first steps are done.
    pub onboarding: OnboardingState,
    /// Type of the reader.
    pub reading_preset: ReadingPreset,
    /// Size of the text in thousandths of a rem; `None` for that of the preset.
    pub reading_size: Option<i32>,
    /// Line height in hundredths of the size; `None` for that of the preset.
    pub reading_leading: Option<i32>,
    /// Width of the column in em; `None` for that of the preset.
    pub reading_measure: Option<i32>,
    /// Ground of the reader.
    pub reading_paper: ReadingPaper,
    /// Whether the text is justified.
    pub reading_justified: bool,
    /// Whether pages of PDFs are inverted on a dark ground.
    pub reading_inverts_pages: bool,
    /// Words that the user reads in a minute.
    pub words_per_minute: i32,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!();

impl Model {
    /// Returns the settings of an account that has changed none.
    pub fn default_of(user_id: UserId) -> Self {
        Self {
            user_id,
            language: None,
            time_zone: None,
            theme: AppTheme::System,
            pictures: PictureMode::Shown,
            single_keys: true,
            onboarding: OnboardingState::Open,
            reading_preset: ReadingPreset::Page,
            reading_size: None,
            reading_leading: None,
            reading_measure: None,
            reading_paper: ReadingPaper::Auto,
            reading_justified: false,
            reading_inverts_pages: false,
            words_per_minute: 230,
            updated_at: Timestamp::from_millis(0),
        }
    }
}
