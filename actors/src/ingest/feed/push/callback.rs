//! What comes from hubs: the question whether a subscription was meant, and what is new.

use std::time::Duration;

use entity::feed_push::{Column, Entity, Model};
use entity::feed_source;
use entity::id::FeedSourceId;
use entity::kind::PushState;
use entity::time::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::subscribe::REFUSED;
use super::{APART, Push};
use crate::ingest::context::IngestContext;
use errors::Error;

/// Bounds of how long a subscription is taken to last, whatever a hub says.
const SHORTEST: Duration = Duration::from_secs(3600);
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);
/// What a hub says that says nothing.
const USUAL: Duration = Duration::from_secs(10 * 24 * 3600);

/// What a hub asks back (WebSub, section 5.3), or that it does not want to (5.2).
#[derive(Debug)]
pub struct Question {
    /// `hub.mode`.
    pub mode: String,
    /// `hub.topic`.
    pub topic: String,
    /// `hub.challenge`: said back, where it was meant.
    pub challenge: Option<String>,
    /// `hub.lease_seconds`.
    pub lease: Option<u64>,
}

/// The challenge, where this service asked for that subscription.
///
/// # Errors
/// [`Error::NotFound`] where it did not.
pub async fn confirm(ctx: &IngestContext, at: &Place, asked: Question) -> Result<String, Error> {
    let (row, _) = listening(ctx, at).await?;
    if row.topic != asked.topic {
        return Err(Error::not_found());
    }
    let now = ctx.core.clock.now();
    match (asked.mode.as_str(), row.state, asked.challenge) {
        ("subscribe", PushState::Requested | PushState::Active | PushState::Offered, Some(challenge)) => {
            let lease = asked.lease.map_or(USUAL, Duration::from_secs).clamp(SHORTEST, LONGEST);
            let (ends_at, renew_at) = (Some(now + lease), now + lease * 3 / 4);
            change(ctx, &row, PushState::Active, ends_at, renew_at).await?;
            Ok(challenge)
        }
        ("denied", _, _) => {
            change(ctx, &row, PushState::Refused, None, now + REFUSED).await?;
            Ok(String::new())
        }
        (_, _, _) => Err(Error::not_found()),
    }
}

async fn change(
    ctx: &IngestContext,
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

/// An address that a hub was told: the source, and what nobody else knows.
#[derive(Debug)]
pub struct Place {
    /// The source.
    pub source: FeedSourceId,
    /// The last part of the address.
    pub told: String,
}

/// Whether somebody listens there: to be asked before the body of what a hub says is read.
///
/// # Errors
/// [`Error::NotFound`] where nobody is subscribed: a hub stops then.
pub async fn expects(ctx: &IngestContext, at: &Place) -> Result<(), Error> {
    active(ctx, at).await.map(drop)
}

async fn active<'a>(app: &'a IngestContext, at: &Place) -> Result<(Model, &'a Push), Error> {
    let (row, push) = listening(ctx, at).await?;
    let active = row.state == PushState::Active && row.ends_at.is_some_and(|end| ctx.core.clock.now() < end);
    if active { Ok((row, push)) } else { Err(Error::not_found()) }
}

async fn listening<'a>(app: &'a IngestContext, at: &Place) -> Result<(Model, &'a Push), Error> {
    let row = Entity::find_by_id(at.source).one(ctx.core.db.read()).await?;
    let found = row.zip(ctx.push.as_ref());
    found.filter(|(row, push)| push.is_place(row.source_id, &row.hub, &at.told)).ok_or(Error::not_found())
}

/// Something new came: where the hub signed it the feed is fetched as soon as its server allows, once a minute at most. What is
/// not signed, or wrongly, changes nothing, and nobody learns that (WebSub, section 7.1).
///
/// # Errors
/// As [`expects`].
pub async fn knock(ctx: &IngestContext, at: &Place, signature: Option<&str>, body: &[u8]) -> Result<(), Error> {
    let (now, (row, push)) = (ctx.core.clock.now(), active(ctx, at).await?);
    if !signature.is_some_and(|signature| is_signed(push, &row, signature, body)) {
        return Ok(());
    }
    let Some(source) = feed_source::Entity::find_by_id(at.source).one(ctx.core.db.read()).await? else {
        return Err(Error::not_found());
    };
    let soonest = Ord::max(source.fetched_at.map_or(now, |fetched| fetched + APART), now);
    feed_source::Entity::update_many()
        .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(soonest)))
        .filter(feed_source::Column::Id.eq(at.source))
        .filter(feed_source::Column::NextFetchAt.gt(soonest))
        .filter(
            Condition::any()
                .add(feed_source::Column::WaitUntil.is_null())
                .add(Expr::col(feed_source::Column::WaitUntil).lte(now)),
        )
        .exec(ctx.core.db.write())
        .await?;
    Ok(())
}

/// `X-Hub-Signature: METHOD=HEX`; compared in constant time.
fn is_signed(push: &Push, row: &Model, signature: &str, body: &[u8]) -> bool {
    let secret = push.secret(row.source_id, &row.hub);
    let Some((method, tag)) = signature.trim().split_once('=') else { return false };
    let Some(tag) = bytes(tag) else { return false };
    match method.to_ascii_lowercase().as_str() {
        "sha1" => fits::<Hmac<Sha1>>(&secret, body, &tag),
        "sha256" => fits::<Hmac<Sha256>>(&secret, body, &tag),
        "sha384" => fits::<Hmac<Sha384>>(&secret, body, &tag),
        "sha512" => fits::<Hmac<Sha512>>(&secret, body, &tag),
        _ => false,
    }
}

fn fits<M: Mac + KeyInit>(secret: &str, body: &[u8], tag: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(body);
    mac.verify_slice(tag).is_ok()
}

/// Two digits a byte.
fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    if !hexadecimal.len().is_multiple_of(2) || !hexadecimal.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..hexadecimal.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(hexadecimal.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_by_the_secret_of_source_and_hub() {
        let push = Push::new("https://carrel.example", [7; 32]);
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
            format!("sha1={}", text::hexadecimal(&mac.finalize().into_bytes()))
        };
        let own = push.secret(row.source_id, &row.hub);

        assert!(is_signed(&push, &row, &signed(&own, b"<feed/>"), b"<feed/>"));
        let elsewhere = push.secret(row.source_id, "https://other.example/");
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
            assert!(!is_signed(&push, &row, &signature, b"<feed/>"), "{signature}");
        }
    }
}
