//! Requests of hubs: the verification of a subscription, and notifications about new entries.

use std::time::Duration;

use entity::feed_push::{Column, Entity, Model};
use entity::feed_source;
use errors::Error;
use hmac::{Hmac, KeyInit, Mac};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use values::id::FeedSourceId;
use values::kind::PushState;
use values::time::Timestamp;

use super::REFUSED_RETRY_DELAY;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::feed::websub_secrets::{MIN_PUSH_INTERVAL, WebSubSecrets};

// Bounds of the lifetime of a subscription, whatever the hub says.
const MIN_LEASE: Duration = Duration::from_secs(3600);
const MAX_LEASE: Duration = Duration::from_secs(90 * 24 * 3600);
/// Lifetime of a subscription if the hub names none.
const DEFAULT_LEASE: Duration = Duration::from_secs(10 * 24 * 3600);

/// The callback URL to which a hub sent a request.
#[derive(Debug)]
pub struct CallbackUrl {
    /// The source whose hub calls, as the URL names it.
    pub source: FeedSourceId,
    /// The last part of the URL, which only the hub knows.
    pub token: String,
}

/// A hub's verification of a subscription (WebSub, section 5.3), or its denial (section 5.2).
#[derive(Debug)]
pub struct VerificationRequest {
    /// `hub.mode`: `subscribe` or `denied`; other modes are refused.
    pub mode: String,
    /// `hub.topic`: the URL that was subscribed to.
    pub topic: String,
    /// `hub.challenge`: returned to confirm the subscription.
    pub challenge: Option<String>,
    /// `hub.lease_seconds`: the lifetime that the hub grants; `None` if it names none.
    pub lease_seconds: Option<u64>,
}

/// Confirms a subscription that this server requested, and returns the challenge. A denial is recorded; its response is empty.
///
/// # Errors
/// [`Error::NotFound`] when this server did not request the subscription.
pub async fn confirm_subscription(
    ctx: &FeedContext,
    callback: &CallbackUrl,
    request: VerificationRequest,
) -> Result<String, Error> {
    let (row, _) = find_subscription(ctx, callback).await?;
    if row.topic != request.topic {
        return Err(Error::not_found());
    }
    let now = ctx.core.clock.now();
    match (request.mode.as_str(), row.state, request.challenge) {
        ("subscribe", PushState::Requested | PushState::Active | PushState::Offered, Some(challenge)) => {
            let lease = request.lease_seconds.map_or(DEFAULT_LEASE, Duration::from_secs);
            let lease = lease.clamp(MIN_LEASE, MAX_LEASE);
            // Renewed in the last quarter of the lifetime, which leaves time for retries.
            let (ends_at, renew_at) = (Some(now + lease), now + lease * 3 / 4);
            set_state(ctx, &row, PushState::Active, ends_at, renew_at).await?;
            Ok(challenge)
        }
        ("denied", _, _) => {
            set_state(ctx, &row, PushState::Refused, None, now + REFUSED_RETRY_DELAY).await?;
            Ok(String::new())
        }
        (_, _, _) => Err(Error::not_found()),
    }
}

async fn set_state(
    ctx: &FeedContext,
    row: &Model,
    state: PushState,
    ends_at: Option<Timestamp>,
    renew_at: Timestamp,
) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(state))
        .col_expr(Column::EndsAt, Expr::value(ends_at))
        .col_expr(Column::RenewAt, Expr::value(renew_at))
        .filter(Column::SourceId.eq(row.source_id))
        .filter(Column::Hub.eq(&row.hub))
        .filter(Column::Topic.eq(&row.topic))
        .exec(ctx.core.db.write())
        .await?;
    Ok(())
}

/// Checks that the callback URL is that of an active subscription. Called before the body of a notification is read.
///
/// # Errors
/// [`Error::NotFound`] when it is not: the hub then stops sending.
pub async fn ensure_subscribed(ctx: &FeedContext, callback: &CallbackUrl) -> Result<(), Error> {
    find_active_subscription(ctx, callback).await.map(drop)
}

async fn find_active_subscription<'a>(
    ctx: &'a FeedContext,
    callback: &CallbackUrl,
) -> Result<(Model, &'a WebSubSecrets), Error> {
    let (row, secrets) = find_subscription(ctx, callback).await?;
    let active = row.state == PushState::Active && row.ends_at.is_some_and(|end| ctx.core.clock.now() < end);
    if active { Ok((row, secrets)) } else { Err(Error::not_found()) }
}

async fn find_subscription<'a>(
    ctx: &'a FeedContext,
    callback: &CallbackUrl,
) -> Result<(Model, &'a WebSubSecrets), Error> {
    let row = Entity::find_by_id(callback.source).one(ctx.core.db.read()).await?;
    let found = row.zip(ctx.websub_secrets.as_ref());
    let own =
        found.filter(|(row, secrets)| secrets.is_callback_token(row.source_id, &row.hub, &callback.token));
    own.ok_or(Error::not_found())
}

/// Makes the next fetch of the source due, at most once a minute and not before its server allows. A notification without a
/// valid signature changes nothing, and the sender does not learn that (WebSub, section 7.1).
///
/// # Errors
/// The same errors as [`ensure_subscribed`].
pub async fn handle_notification(
    ctx: &FeedContext,
    callback: &CallbackUrl,
    signature: Option<&str>,
    body: &[u8],
) -> Result<(), Error> {
    let (now, (row, secrets)) = (ctx.core.clock.now(), find_active_subscription(ctx, callback).await?);
    // Answered like a valid notification, so that a sender cannot try signatures.
    if !signature.is_some_and(|signature| is_signed(secrets, &row, signature, body)) {
        return Ok(());
    }
    let source = feed_source::Entity::find_by_id(callback.source).one(ctx.core.db.read()).await?;
    let Some(source) = source else { return Err(Error::not_found()) };
    let earliest = Ord::max(source.fetched_at.map_or(now, |fetched| fetched + MIN_PUSH_INTERVAL), now);
    feed_source::Entity::update_many()
        .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(earliest)))
        .filter(feed_source::Column::Id.eq(callback.source))
        // Only ever earlier: a notification must not postpone a fetch that is due before.
        .filter(feed_source::Column::NextFetchAt.gt(earliest))
        .filter(
            Condition::any()
                .add(feed_source::Column::WaitUntil.is_null())
                .add(Expr::col(feed_source::Column::WaitUntil).lte(now)),
        )
        .exec(ctx.core.db.write())
        .await?;
    Ok(())
}

/// Verifies `X-Hub-Signature: METHOD=HEX` in constant time.
fn is_signed(secrets: &WebSubSecrets, row: &Model, signature: &str, body: &[u8]) -> bool {
    let secret = secrets.secret(row.source_id, &row.hub);
    let Some((method, tag)) = signature.trim().split_once('=') else { return false };
    let Ok(tag) = base16ct::mixed::decode_vec(tag) else { return false };
    // The methods of WebSub, section 8, of which the hub chooses one.
    match method.to_ascii_lowercase().as_str() {
        "sha1" => is_tag_of::<Hmac<Sha1>>(&secret, body, &tag),
        "sha256" => is_tag_of::<Hmac<Sha256>>(&secret, body, &tag),
        "sha384" => is_tag_of::<Hmac<Sha384>>(&secret, body, &tag),
        "sha512" => is_tag_of::<Hmac<Sha512>>(&secret, body, &tag),
        _ => false,
    }
}

fn is_tag_of<M: Mac + KeyInit>(secret: &str, body: &[u8], tag: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(body);
    // In constant time, so that a sender cannot find a signature byte by byte.
    mac.verify_slice(tag).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_is_valid_only_with_the_secret_of_source_and_hub() {
        let secrets = WebSubSecrets::new("https://carrel.example", [7; 32]);
        let row = Model {
            source_id: FeedSourceId::new(Timestamp::from_millis(0)),
            hub: "https://h.example/".to_owned(),
            topic: "https://a.example/feed".to_owned(),
            state: PushState::Active,
            ends_at: None,
            renew_at: Timestamp::from_millis(0),
        };
        let signed = |secret: &str, body: &[u8]| {
            let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).unwrap();
            mac.update(body);
            format!("sha1={}", base16ct::lower::encode_string(&mac.finalize().into_bytes()))
        };
        let own = secrets.secret(row.source_id, &row.hub);

        assert!(is_signed(&secrets, &row, &signed(&own, b"<feed/>"), b"<feed/>"));
        let elsewhere = secrets.secret(row.source_id, "https://other.example/");
        for signature in [
            signed(&own, b"<feed>"),
            signed(&elsewhere, b"<feed/>"),
            signed(&own, b"<feed/>").replace("sha1", "sha256"),
            signed(&own, b"<feed/>").replace("sha1", "md5"),
            "sha1=".to_owned(),
            "sha1=0".to_owned(),
            "sha1=zz".to_owned(),
            String::new(),
        ] {
            assert!(!is_signed(&secrets, &row, &signature, b"<feed/>"), "{signature}");
        }
    }
}
