//! Registered applications: who may register, who proves to be which, and who is forgotten (RFC 7591; spec.md: States).

use database::Db;
use entity::id::ClientId;
use entity::kind::{ClientAuth, GrantState};
use entity::oauth_client::{self, RedirectUris};
use entity::oauth_grant;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use subtle::ConstantTimeEq;
use text::one_line;

use super::redirect::{RedirectRules, shown_host};
use errors::Error;
use crate::auth::secret::{Secret, SecretHash};

/// What a client's secret begins with.
pub const SECRET_PREFIX: &str = "cl_";
const MOST_ADDRESSES: usize = 20;
const LONGEST_NAME: usize = 200;
const LONGEST_URI: usize = 2048;
/// A client that only looks at the sign-in page is noted as used no more often than this.
const TOUCHED_EVERY: std::time::Duration = std::time::Duration::from_secs(3600);

/// What an application says of itself when it registers.
#[derive(Clone, Debug, Default)]
pub struct ClientMetadata {
    /// What it calls itself.
    pub name: Option<String>,
    /// Its home page.
    pub uri: Option<String>,
    /// Where people may be sent back to.
    pub redirect_uris: Vec<String>,
    /// How it will prove to be itself; none is by a secret in the header (RFC 7591, section 2).
    pub auth: Option<ClientAuth>,
}

/// What is wrong with the metadata of a client (RFC 7591, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClientMetadata {
    /// One of the redirect URIs.
    #[error("{0}")]
    RedirectUri(&'static str),
    /// Anything else.
    #[error("{0}")]
    Other(&'static str),
}

/// What a client shows to prove to be itself.
#[derive(Debug)]
pub enum ClientCredentials {
    /// Nothing but its name.
    Nothing,
    /// A secret in the body.
    Post(String),
    /// A secret in the header.
    Basic(String),
}

impl ClientMetadata {
    /// The row of the new client.
    ///
    /// # Errors
    /// The first thing that is wrong; redirect addresses come first.
    pub fn accept(
        self,
        rules: &RedirectRules,
        now: Timestamp,
    ) -> Result<oauth_client::Model, InvalidClientMetadata> {
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MOST_ADDRESSES {
            return Err(InvalidClientMetadata::RedirectUri("redirect_uris must have 1 to 20 items"));
        }
        if !self.redirect_uris.iter().all(|uri| rules.allow(uri)) {
            return Err(InvalidClientMetadata::RedirectUri(
                "each of redirect_uris must be an https URL, or an http URL on 127.0.0.1, localhost or [::1], without a fragment",
            ));
        }
        let name = self.name.map(|name| one_line(&name)).filter(|name| !name.is_empty());
        if name.as_ref().is_some_and(|name| name.chars().count() > LONGEST_NAME) {
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
            document: None,
            document_read_at: None,
            created_at: now,
            last_used_at: now,
        })
    }
}

/// Whether something stands before the host, be it empty.
fn has_userinfo(uri: &str) -> bool {
    let after = uri.split_once(':').map_or(uri, |(_, after)| after).trim_start_matches(['/', '\\']);
    after.split(['/', '\\', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

fn is_home_page(uri: &str) -> bool {
    let web = |parsed: url::Url| {
        // Shown to people, who would take what stands before an @ for the host.
        matches!(parsed.scheme(), "http" | "https") && !has_userinfo(uri)
    };
    uri.len() <= LONGEST_URI
        && uri.chars().all(|c| c.is_ascii_graphic())
        && url::Url::parse(uri).is_ok_and(web)
}

/// What a person is shown for a client: its name, or where it sends people back to.
pub fn shown_name(client: &oauth_client::Model) -> String {
    let host = || client.redirect_uris.0.first().map_or_else(String::new, |uri| shown_host(uri));
    client.name.clone().unwrap_or_else(host)
}

/// Keeps a new client; its secret, where it has one, is never to be had again.
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

/// The client of this name: an id of ours, or the address of its document.
pub async fn find(db: &impl ConnectionTrait, name: &str) -> Result<Option<oauth_client::Model>, DbErr> {
    match name.parse::<ClientId>() {
        Ok(id) => oauth_client::Entity::find_by_id(id).one(db).await,
        Err(_) => oauth_client::Entity::by_document(name).one(db).await,
    }
}

/// Keeps what the document at this address says now.
pub async fn keep_document(
    db: &Db,
    address: &str,
    said: oauth_client::Model,
) -> Result<oauth_client::Model, Error> {
    use oauth_client::Column;
    let row = oauth_client::Model {
        document: Some(address.to_owned()),
        document_read_at: Some(said.created_at),
        ..said
    };
    let anew = OnConflict::column(Column::Document)
        .update_columns([Column::Name, Column::Uri, Column::RedirectUris, Column::DocumentReadAt])
        .to_owned();
    oauth_client::Entity::insert(row.into_active_model())
        .on_conflict(anew)
        .exec_without_returning(db.write())
        .await?;
    find(db.write(), address).await?.ok_or(Error::internal("a client was forgotten while it was kept"))
}

/// Whether the client has proved to be itself, by the one way that it registered.
pub fn is_proved(client: &oauth_client::Model, proof: &ClientCredentials) -> bool {
    let sent = match (client.auth, proof) {
        (ClientAuth::None, ClientCredentials::None) => return true,
        (ClientAuth::Post, ClientCredentials::Post(secret)) | (ClientAuth::Basic, ClientCredentials::Basic(secret)) => secret,
        (ClientAuth::None | ClientAuth::Post | ClientAuth::Basic, _) => return false,
    };
    let kept = client.secret_hash.as_deref().and_then(|bytes| bytes.try_into().ok()).map(SecretHash::new);
    let sent = Secret::parse_token(SECRET_PREFIX, sent).map(|secret| secret.hash());
    kept.zip(sent).is_some_and(|(kept, sent)| kept.ct_eq(&sent).into())
}

/// Notes that a client asked for something; `false` where it is not there any more. Within a transaction it holds the
/// client until the end, so that nothing forgets it meanwhile.
pub async fn touch(db: &impl ConnectionTrait, id: ClientId, now: Timestamp) -> Result<bool, DbErr> {
    let done = used(id, now).exec(db).await?;
    Ok(done.rows_affected == 1)
}

/// As [`touch`], for whoever only looks at a page: seldom, since anybody may.
pub async fn glance(db: &Db, client: &oauth_client::Model, now: Timestamp) -> Result<(), DbErr> {
    if now.since(client.last_used_at) >= TOUCHED_EVERY {
        used(client.id, now).exec(db.write()).await?;
    }
    Ok(())
}

fn used(id: ClientId, now: Timestamp) -> sea_orm::UpdateMany<oauth_client::Entity> {
    let update = oauth_client::Entity::update_many().filter(oauth_client::Column::Id.eq(id));
    update.col_expr(oauth_client::Column::LastUsedAt, Expr::value(now))
}

/// Forgets clients that were last used before `until`, unless somebody is connected.
pub async fn forget_unused(db: &impl ConnectionTrait, until: Timestamp) -> Result<u64, DbErr> {
    let connected = Query::select()
        .column(oauth_grant::Column::ClientId)
        .from(oauth_grant::Entity)
        .and_where(oauth_grant::Column::State.eq(GrantState::Connected))
        .take();
    let unused = oauth_client::Entity::delete_many()
        .filter(oauth_client::Column::LastUsedAt.lt(until))
        .filter(Expr::col(oauth_client::Column::Id).not_in_subquery(connected));
    Ok(unused.exec(db).await?.rows_affected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn metadata() -> ClientMetadata {
        ClientMetadata { redirect_uris: vec!["https://a.example/cb".to_owned()], ..ClientMetadata::default() }
    }

    fn accepted(metadata: ClientMetadata) -> Result<oauth_client::Model, InvalidClientMetadata> {
        metadata.accept(&RedirectRules::default(), NOW)
    }

    #[test]
    fn a_client_without_a_name_is_shown_as_its_host_and_has_a_secret_for_the_header() {
        let client = accepted(metadata()).unwrap();

        assert_eq!((shown_name(&client).as_str(), client.auth), ("a.example", ClientAuth::Basic));
    }

    /// Of the threat table (row X6).
    #[test]
    fn a_name_is_one_line_without_what_could_deceive() {
        let name = Some("  Good\u{202e}\u{0007}\n  App ".to_owned());
        let client = accepted(ClientMetadata { name, ..metadata() }).unwrap();

        assert_eq!(client.name.as_deref(), Some("Good App"));
        let long = Some("x".repeat(201));
        assert!(matches!(
            accepted(ClientMetadata { name: long, ..metadata() }),
            Err(InvalidClientMetadata::Other(_))
        ));
    }

    #[test]
    fn one_bad_address_spoils_all() {
        let redirect_uris = vec!["https://a.example/cb".to_owned(), "http://a.example/cb".to_owned()];
        assert!(matches!(
            accepted(ClientMetadata { redirect_uris, ..metadata() }),
            Err(InvalidClientMetadata::RedirectUri(_))
        ));
        let script = Some("javascript:alert(1)".to_owned());
        assert!(matches!(
            accepted(ClientMetadata { uri: script, ..metadata() }),
            Err(InvalidClientMetadata::Other(_))
        ));
    }

    #[test]
    fn a_home_page_has_nothing_before_its_host() {
        for good in ["https://a.example/@me", "http://a.example?x=@", "https://a.example/#@"] {
            let said = ClientMetadata { uri: Some(good.to_owned()), ..metadata() };
            assert!(accepted(said).is_ok(), "{good}");
        }
        for bad in [
            "https://me@a.example/",
            "https://a.example@evil.example",
            "https://@evil.example",
            "https:/a.example@evil.example/",
            "https:\\\\a.example@evil.example",
            "https:a.example@evil.example",
        ] {
            let said = ClientMetadata { uri: Some(bad.to_owned()), ..metadata() };
            assert!(matches!(accepted(said), Err(InvalidClientMetadata::Other(_))), "{bad}");
        }
    }

    #[test]
    fn a_client_proves_itself_by_the_way_that_it_registered_alone() {
        let secret = Secret::new_token(SECRET_PREFIX).unwrap();
        let right = || secret.expose().to_owned();
        let mut client = accepted(metadata()).unwrap();
        client.secret_hash = Some(secret.hash().bytes().to_vec());

        assert!(is_proved(&client, &ClientCredentials::Basic(right())));
        for wrong in [ClientCredentials::None, ClientCredentials::Post(right()), ClientCredentials::Basic("wrong".to_owned())] {
            assert!(!is_proved(&client, &wrong));
        }
        (client.auth, client.secret_hash) = (ClientAuth::None, None);
        assert!(is_proved(&client, &ClientCredentials::None));
        assert!(
            !is_proved(&client, &ClientCredentials::Basic(right())) && !is_proved(&client, &ClientCredentials::Post(String::new()))
        );
    }
}
