//! Registered clients: their metadata, their authentication, and the removal of unused ones (RFC 7591; spec.md: States).

use std::time::Duration;

use database::Db;
use entity::oauth_client::{self, RedirectUris};
use entity::oauth_grant;
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, LockType, OnConflict, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use subtle::ConstantTimeEq;
use text::one_line;
use values::id::ClientId;
use values::kind::{ClientAuth, GrantState};
use values::time::Timestamp;

use super::redirect::{RedirectRules, shown_host};
use crate::auth::secret::{Secret, SecretHash};
use crate::service_state;

/// The prefix of a client's secret.
pub const SECRET_PREFIX: &str = "cl_";
const MAX_REDIRECT_URIS: usize = 20;
const MAX_NAME_CHARS: usize = 200;
const MAX_URI_CHARS: usize = 2048;
/// Uses of a client are recorded no more often than this. A client is removed only after a much longer time without use.
const USE_INTERVAL: Duration = Duration::from_secs(3600);

/// The metadata with which a client registers (RFC 7591, section 2).
#[derive(Clone, Debug, Default)]
pub struct ClientMetadata {
    /// The name that users see on the consent page, `client_name`.
    pub name: Option<String>,
    /// The URL of its home page, `client_uri`.
    pub uri: Option<String>,
    /// The URLs that users may be redirected to.
    pub redirect_uris: Vec<String>,
    /// The authentication method at the token endpoint; `None` is a secret in the header (RFC 7591, section 2).
    pub auth: Option<ClientAuth>,
}

/// The fault in the metadata of a client (RFC 7591, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClientMetadata {
    /// The redirect URIs are missing or too many, or one of them may not be registered. The error code is `invalid_redirect_uri`.
    #[error("{0}")]
    RedirectUri(&'static str),
    /// Another member is not valid. The error code is `invalid_client_metadata`.
    #[error("{0}")]
    Other(&'static str),
}

/// The credentials that a client presents at the token endpoint.
#[derive(Debug)]
pub enum ClientCredentials {
    /// The client id alone, as public clients send it.
    None,
    /// A secret in the body (`client_secret_post`).
    Post(String),
    /// A secret in the `Authorization` header (`client_secret_basic`).
    Basic(String),
}

impl ClientMetadata {
    /// Returns the row of the new client.
    ///
    /// # Errors
    /// The first fault as [`InvalidClientMetadata`]; redirect URIs are checked first.
    pub fn into_row(
        self,
        rules: &RedirectRules,
        now: Timestamp,
    ) -> Result<oauth_client::Model, InvalidClientMetadata> {
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MAX_REDIRECT_URIS {
            return Err(InvalidClientMetadata::RedirectUri("redirect_uris must have 1 to 20 items"));
        }
        if !self.redirect_uris.iter().all(|uri| rules.is_allowed(uri)) {
            return Err(InvalidClientMetadata::RedirectUri(
                "each of redirect_uris must be an https URL, or an http URL on 127.0.0.1, localhost or [::1], without a fragment",
            ));
        }
        let name = self.name.map(|name| one_line(&name)).filter(|name| !name.is_empty());
        if name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME_CHARS) {
            return Err(InvalidClientMetadata::Other("client_name must have at most 200 characters"));
        }
        let uri = self.uri.filter(|uri| !uri.is_empty());
        if uri.as_ref().is_some_and(|uri| !is_home_page(uri)) {
            return Err(InvalidClientMetadata::Other(
                "client_uri must be an http or https URL of at most 2048 characters without credentials",
            ));
        }
        Ok(oauth_client::Model {
            id: ClientId::new(now),
            name,
            uri,
            redirect_uris: RedirectUris(self.redirect_uris),
            auth: self.auth.unwrap_or(ClientAuth::Basic),
            secret_hash: None,
            metadata_url: None,
            metadata_read_at: None,
            created_at: now,
            last_used_at: now,
        })
    }
}

/// Returns whether a URL has user information before its host, even an empty one.
fn has_userinfo(uri: &str) -> bool {
    // In the text as it was sent, because the parser drops an empty one. Browsers take a backslash for a slash.
    let after = uri.split_once(':').map_or(uri, |(_, after)| after).trim_start_matches(['/', '\\']);
    after.split(['/', '\\', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

fn is_home_page(uri: &str) -> bool {
    let web = |parsed: url::Url| {
        // Users see the URL, and would take the part before an @ for the host.
        matches!(parsed.scheme(), "http" | "https") && !has_userinfo(uri)
    };
    uri.len() <= MAX_URI_CHARS
        && uri.chars().all(|c| c.is_ascii_graphic())
        && url::Url::parse(uri).is_ok_and(web)
}

/// Returns the name under which users see a client: its own, or else the host that it redirects to.
pub fn shown_name(client: &oauth_client::Model) -> String {
    name_or_host(client.name.clone(), &client.redirect_uris)
}

/// Returns [`shown_name`] of a client with this name and these redirect URIs.
pub(super) fn name_or_host(name: Option<String>, redirect_uris: &RedirectUris) -> String {
    name.unwrap_or_else(|| redirect_uris.0.first().map_or_else(String::new, |uri| shown_host(uri)))
}

/// Stores a new client. Its secret, if it has one, cannot be read again.
pub async fn register(
    db: &Db,
    mut client: oauth_client::Model,
) -> Result<(oauth_client::Model, Option<Secret>), Error> {
    let secret = match client.auth {
        ClientAuth::None => None,
        ClientAuth::Post | ClientAuth::Basic => {
            Some(Secret::new_token(SECRET_PREFIX).map_err(Error::internal)?)
        }
    };
    client.secret_hash = secret.as_ref().map(|secret| secret.hash().bytes().to_vec());
    let row = client.clone().into_active_model();
    oauth_client::Entity::insert(row).exec_without_returning(db.write()).await?;
    Ok((client, secret))
}

/// Returns the client with this id: an id of this server, or the URL of a client metadata document.
pub async fn find(db: &impl ConnectionTrait, id: &str) -> Result<Option<oauth_client::Model>, DbErr> {
    match id.parse::<ClientId>() {
        Ok(id) => oauth_client::Entity::find_by_id(id).one(db).await,
        Err(_) => oauth_client::Entity::by_metadata_url(id).one(db).await,
    }
}

/// Stores the current metadata of the document at this URL.
pub async fn store_document(
    db: &Db,
    url: &str,
    client: oauth_client::Model,
) -> Result<oauth_client::Model, Error> {
    use oauth_client::Column;
    let row = oauth_client::Model {
        metadata_url: Some(url.to_owned()),
        metadata_read_at: Some(client.created_at),
        ..client
    };
    // The id, the creation time and the last use of an existing row stay: its grants refer to the id.
    let update = OnConflict::column(Column::MetadataUrl)
        .update_columns([Column::Name, Column::Uri, Column::RedirectUris, Column::MetadataReadAt])
        .to_owned();
    oauth_client::Entity::insert(row.into_active_model())
        .on_conflict(update)
        .exec_without_returning(db.write())
        .await?;
    // Read again, because after a conflict the row has the id of its first insertion.
    find(db.write(), url).await?.ok_or(Error::internal("a client was removed while it was stored"))
}

/// Returns whether the credentials are those of the client, presented by the method that it registered.
pub fn is_authentic(client: &oauth_client::Model, credentials: &ClientCredentials) -> bool {
    let sent = match (client.auth, credentials) {
        (ClientAuth::None, ClientCredentials::None) => return true,
        (ClientAuth::Post, ClientCredentials::Post(secret))
        | (ClientAuth::Basic, ClientCredentials::Basic(secret)) => secret,
        (ClientAuth::None | ClientAuth::Post | ClientAuth::Basic, _) => return false,
    };
    // Both must exist: no secret authenticates a client without a stored hash.
    let stored = client.secret_hash.as_deref().and_then(|bytes| bytes.try_into().ok()).map(SecretHash::new);
    let sent = Secret::parse_token(SECRET_PREFIX, sent).map(|secret| secret.hash());
    stored.zip(sent).is_some_and(|(stored, sent)| stored.ct_eq(&sent).into())
}

/// Records that a client was used, and returns whether it still exists. Within a transaction this locks the row of the client, so
/// that it is not removed meanwhile.
pub async fn touch(db: &impl ConnectionTrait, id: ClientId, now: Timestamp) -> Result<bool, DbErr> {
    let update = last_use_update(id, now).exec(db).await?;
    Ok(update.rows_affected == 1)
}

/// Returns whether a use of a client is recorded: at most once in an hour, because each record is a write.
pub fn is_use_due(client: &oauth_client::Model, now: Timestamp) -> bool {
    now.since(client.last_used_at) >= USE_INTERVAL
}

/// Locks the row of a client until the transaction ends, so that it is not removed meanwhile, and records the use if that is due.
/// Returns whether the client still exists.
pub async fn lock_for_use(
    txn: &impl ConnectionTrait,
    client: &oauth_client::Model,
    now: Timestamp,
) -> Result<bool, DbErr> {
    if is_use_due(client, now) {
        return touch(txn, client.id, now).await;
    }
    // KEY SHARE conflicts with a removal alone.
    let locked = oauth_client::Entity::find_by_id(client.id).lock(LockType::KeyShare);
    let id = locked.select_only().column(oauth_client::Column::Id).into_tuple::<ClientId>();
    Ok(id.one(txn).await?.is_some())
}

/// Records that a page of a client was opened, if that is due: anyone can open a page.
pub async fn record_page_view(db: &Db, client: &oauth_client::Model, now: Timestamp) -> Result<(), DbErr> {
    if is_use_due(client, now) {
        last_use_update(client.id, now).exec(db.write()).await?;
    }
    Ok(())
}

fn last_use_update(id: ClientId, now: Timestamp) -> sea_orm::UpdateMany<oauth_client::Entity> {
    let update = oauth_client::Entity::update_many().filter(oauth_client::Column::Id.eq(id));
    update.col_expr(oauth_client::Column::LastUsedAt, Expr::value(now))
}

/// Removes a client with its grants and tokens.
pub async fn remove(db: &Db, id: ClientId) -> Result<(), Error> {
    let txn = db.begin().await?;
    oauth_client::Entity::delete_by_id(id).exec(&txn).await?;
    service_state::raise_generation(&txn).await?;
    Ok(txn.commit().await?)
}

/// Removes clients that were last used before `until` and have no grant. Returns their number.
pub async fn remove_unused(db: &impl ConnectionTrait, until: Timestamp) -> Result<u64, DbErr> {
    let client_of_grant = Expr::col((oauth_grant::Entity, oauth_grant::Column::ClientId));
    let connected = Query::select()
        .column(oauth_grant::Column::Id)
        .from(oauth_grant::Entity)
        .and_where(client_of_grant.equals((oauth_client::Entity, oauth_client::Column::Id)))
        .and_where(oauth_grant::Column::State.eq(GrantState::Connected))
        .take();
    let unused = oauth_client::Entity::delete_many()
        .filter(oauth_client::Column::LastUsedAt.lt(until))
        .filter(Expr::exists(connected).not());
    Ok(unused.exec(db).await?.rows_affected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn metadata() -> ClientMetadata {
        ClientMetadata { redirect_uris: vec!["https://a.example/cb".to_owned()], ..ClientMetadata::default() }
    }

    fn accept(metadata: ClientMetadata) -> Result<oauth_client::Model, InvalidClientMetadata> {
        metadata.into_row(&RedirectRules::default(), NOW)
    }

    #[test]
    fn client_without_a_name_is_shown_as_its_host() {
        let client = accept(metadata()).unwrap();

        assert_eq!((shown_name(&client).as_str(), client.auth), ("a.example", ClientAuth::Basic));
    }

    /// Covers the threat table (row X6).
    #[test]
    fn name_is_one_line_without_deceptive_characters() {
        let name = Some("  Good\u{202e}\u{0007}\n  App ".to_owned());
        let client = accept(ClientMetadata { name, ..metadata() }).unwrap();

        assert_eq!(client.name.as_deref(), Some("Good App"));
        let long = Some("x".repeat(201));
        assert!(matches!(
            accept(ClientMetadata { name: long, ..metadata() }),
            Err(InvalidClientMetadata::Other(_))
        ));
    }

    #[test]
    fn one_invalid_uri_invalidates_the_metadata() {
        let redirect_uris = vec!["https://a.example/cb".to_owned(), "http://a.example/cb".to_owned()];
        assert!(matches!(
            accept(ClientMetadata { redirect_uris, ..metadata() }),
            Err(InvalidClientMetadata::RedirectUri(_))
        ));
        let script = Some("javascript:alert(1)".to_owned());
        assert!(matches!(
            accept(ClientMetadata { uri: script, ..metadata() }),
            Err(InvalidClientMetadata::Other(_))
        ));
    }

    #[test]
    fn home_page_has_no_user_information() {
        for good in ["https://a.example/@me", "http://a.example?x=@", "https://a.example/#@"] {
            let metadata = ClientMetadata { uri: Some(good.to_owned()), ..metadata() };
            assert!(accept(metadata).is_ok(), "{good}");
        }
        for bad in [
            "https://me@a.example/",
            "https://a.example@evil.example",
            "https://@evil.example",
            "https:/a.example@evil.example/",
            "https:\\\\a.example@evil.example",
            "https:a.example@evil.example",
        ] {
            let metadata = ClientMetadata { uri: Some(bad.to_owned()), ..metadata() };
            assert!(matches!(accept(metadata), Err(InvalidClientMetadata::Other(_))), "{bad}");
        }
    }

    #[test]
    fn client_authenticates_only_by_its_registered_method() {
        let secret = Secret::new_token(SECRET_PREFIX).unwrap();
        let right = || secret.expose().to_owned();
        let mut client = accept(metadata()).unwrap();
        client.secret_hash = Some(secret.hash().bytes().to_vec());

        assert!(is_authentic(&client, &ClientCredentials::Basic(right())));
        for wrong in [
            ClientCredentials::None,
            ClientCredentials::Post(right()),
            ClientCredentials::Basic("wrong".to_owned()),
        ] {
            assert!(!is_authentic(&client, &wrong));
        }
        (client.auth, client.secret_hash) = (ClientAuth::None, None);
        assert!(is_authentic(&client, &ClientCredentials::None));
        assert!(
            !is_authentic(&client, &ClientCredentials::Basic(right()))
                && !is_authentic(&client, &ClientCredentials::Post(String::new()))
        );
    }
}
