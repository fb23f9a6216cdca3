//! Shows and changes the settings that the web app keeps for a user.
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::account_setting;
use schemars::JsonSchema;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, Iterable};
use serde::Serialize;
use values::id::UserId;
use values::kind::{AppLanguage, AppTheme, OnboardingState, PictureMode, ReadingPaper, ReadingPreset};
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use library::owned_transaction::{begin_owned, begin_request};
use validation::{Choice, Flag, Integer, NoFields, Words, request};

/// The settings of the web app of a user.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsResponse {
    /// Language of the pages; null for that of the browser.
    pub language: Option<AppLanguage>,
    /// IANA name of the time zone in which times are shown; null for UTC.
    pub time_zone: Option<String>,
    /// Colour theme.
    pub theme: AppTheme,
    /// How pictures of saved pages are shown.
    pub pictures: PictureMode,
    /// Whether single keys without a modifier are commands.
    pub single_keys: bool,
    /// How far the first steps are done.
    pub onboarding: OnboardingState,
    /// Settings of the reader.
    pub reading: ReadingSettings,
    /// Time of the last change; 1970 if there was none.
    pub updated_at: Timestamp,
}

/// The settings of the reader.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadingSettings {
    /// Type: a face with a size, a line height and a width.
    pub preset: ReadingPreset,
    /// Size of the text in thousandths of a rem; null for that of the preset.
    pub size: Option<i32>,
    /// Line height in hundredths of the size; null for that of the preset.
    pub leading: Option<i32>,
    /// Width of the column in em; null for that of the preset.
    pub measure: Option<i32>,
    /// Ground.
    pub paper: ReadingPaper,
    /// Whether the text is justified.
    pub justified: bool,
    /// Whether pages of PDFs are inverted on a dark ground.
    pub inverts_pages: bool,
    /// Words that the user reads in a minute.
    pub words_per_minute: i32,
}

impl From<account_setting::Model> for SettingsResponse {
    fn from(row: account_setting::Model) -> Self {
        Self {
            language: row.language,
            time_zone: row.time_zone,
            theme: row.theme,
            pictures: row.pictures,
            single_keys: row.single_keys,
            onboarding: row.onboarding,
            reading: ReadingSettings {
                preset: row.reading_preset,
                size: row.reading_size,
                leading: row.reading_leading,
                measure: row.reading_measure,
                paper: row.reading_paper,
                justified: row.reading_justified,
                inverts_pages: row.reading_inverts_pages,
                words_per_minute: row.words_per_minute,
            },
            updated_at: row.updated_at,
        }
    }
}

/// Shows the settings of the user.
#[derive(Debug)]
pub struct ShowSettings;

impl FromRequest for ShowSettings {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for ShowSettings {
    type Reply = SettingsResponse;
    const SCOPES: &'static [Scope] = &[];
    // A response of a few fixed fields needs no slot.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SettingsResponse, Error> {
        Ok(find_settings(ctx.core.db.read(), caller.user).await?.into())
    }
}

/// Changes the given settings of the user.
#[derive(Debug)]
pub struct ChangeSettings(ChangeSettingsRequest);

request! {
    /// The settings to change. An absent one stays as it is.
    pub struct ChangeSettingsRequest {
        /// Language of the pages; null for that of the browser.
        pub language~: Choice<AppLanguage>,
        /// IANA name of a time zone, such as `Europe/Berlin`; null for UTC.
        pub time_zone~: Words<1, 64>,
        /// Colour theme.
        pub theme?: Choice<AppTheme>,
        /// How pictures of saved pages are shown.
        pub pictures?: Choice<PictureMode>,
        /// Whether single keys without a modifier are commands.
        pub single_keys?: Flag,
        /// How far the first steps are done.
        pub onboarding?: Choice<OnboardingState>,
        /// Type of the reader.
        pub preset?: Choice<ReadingPreset>,
        /// Size of the text in thousandths of a rem; null for that of the preset.
        pub size~: Integer<1000, 1750>,
        /// Line height in hundredths of the size; null for that of the preset.
        pub leading~: Integer<135, 195>,
        /// Width of the column in em; null for that of the preset.
        pub measure~: Integer<24, 44>,
        /// Ground of the reader.
        pub paper?: Choice<ReadingPaper>,
        /// Whether the text is justified.
        pub justified?: Flag,
        /// Whether pages of PDFs are inverted on a dark ground.
        pub inverts_pages?: Flag,
        /// Words that the user reads in a minute.
        pub words_per_minute?: Integer<50, 1500>,
    }
}

impl FromRequest for ChangeSettings {
    type Request = ChangeSettingsRequest;

    fn from_request(_: &Target, request: ChangeSettingsRequest) -> Result<Self, Error> {
        if let validation::Patch::Value(name) = &request.time_zone
            && !is_time_zone(name.as_str())
        {
            return Err(Error::invalid("timeZone", "must be the IANA name of a time zone"));
        }
        Ok(Self(request))
    }
}

impl Operation for ChangeSettings {
    type Reply = SettingsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SettingsResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let before = find_settings(&txn, caller.user).await?;
        let row = changed(before, self.0, now);
        save_settings(&txn, row.clone()).await?;
        txn.commit().await?;
        Ok(row.into())
    }
}

/// Keeps the time zone of the browser in which an account was created. An unknown name is ignored.
pub async fn adopt_time_zone(core: &CoreContext, user: UserId, name: &str) -> Result<(), Error> {
    if !is_time_zone(name) {
        return Ok(());
    }
    let txn = begin_owned(&core.db, user).await?;
    let mut row = find_settings(&txn, user).await?;
    row.time_zone = Some(name.to_owned());
    row.updated_at = core.clock.now();
    save_settings(&txn, row).await?;
    Ok(txn.commit().await?)
}

/// Returns whether this is the IANA name of a time zone.
pub fn is_time_zone(name: &str) -> bool {
    jiff::tz::db().get(name).is_ok()
}

/// Returns the settings of a user; the defaults if the user has changed none.
pub(crate) async fn find_settings(
    db: &impl ConnectionTrait,
    user: UserId,
) -> Result<account_setting::Model, DbErr> {
    let row = account_setting::Entity::owned_by(user).one(db).await?;
    Ok(row.unwrap_or_else(|| account_setting::Model::default_of(user)))
}

/// Returns the settings with the changes of a request.
fn changed(
    mut row: account_setting::Model,
    request: ChangeSettingsRequest,
    now: Timestamp,
) -> account_setting::Model {
    if let Some(language) = request.language.into_change() {
        row.language = language.map(Choice::into_inner);
    }
    if let Some(zone) = request.time_zone.into_change() {
        row.time_zone = zone.map(Words::into_inner);
    }
    set(&mut row.theme, request.theme.map(Choice::into_inner));
    set(&mut row.pictures, request.pictures.map(Choice::into_inner));
    set(&mut row.single_keys, request.single_keys.map(Flag::into_inner));
    set(&mut row.onboarding, request.onboarding.map(Choice::into_inner));
    set(&mut row.reading_preset, request.preset.map(Choice::into_inner));
    if let Some(size) = request.size.into_change() {
        row.reading_size = size.and_then(Integer::convert);
    }
    if let Some(leading) = request.leading.into_change() {
        row.reading_leading = leading.and_then(Integer::convert);
    }
    if let Some(measure) = request.measure.into_change() {
        row.reading_measure = measure.and_then(Integer::convert);
    }
    set(&mut row.reading_paper, request.paper.map(Choice::into_inner));
    set(&mut row.reading_justified, request.justified.map(Flag::into_inner));
    set(&mut row.reading_inverts_pages, request.inverts_pages.map(Flag::into_inner));
    set(&mut row.words_per_minute, request.words_per_minute.and_then(Integer::convert));
    row.updated_at = now;
    row
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

async fn save_settings(db: &impl ConnectionTrait, row: account_setting::Model) -> Result<(), DbErr> {
    use account_setting::Column;

    let others = Column::iter().filter(|column| !matches!(column, Column::UserId));
    let replace = OnConflict::column(Column::UserId).update_columns(others).to_owned();
    let insert = account_setting::Entity::insert(row.into_active_model()).on_conflict(replace);
    insert.exec_without_returning(db).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zone_is_known_by_its_iana_name() {
        assert!(is_time_zone("Europe/Berlin") && is_time_zone("UTC"));
        assert!(!is_time_zone("Mars/Olympus") && !is_time_zone("../etc/passwd"));
    }
}
