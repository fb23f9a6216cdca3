//! What a feed says of its hub, and the row that remembers it.

use entity::feed_push::{Column, Entity, Model};
use entity::id::FeedSourceId;
use entity::kind::PushState;
use entity::time::Timestamp;
use parse::feed::Feed;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use web::PageUrl;

/// Takes what the answer's `Link` headers say of hub and topic: they go before the feed's own words (WebSub, section 4).
pub fn by_headers(feed: &mut Feed, links: &[String], from: &PageUrl) {
    let named = |rel: &str| {
        let all = links.iter().flat_map(|header| linked(header));
        let mut fit = all.filter(|(_, rels)| rels.iter().any(|other| other.eq_ignore_ascii_case(rel)));
        fit.find_map(|(target, _)| Some(from.join(&target).ok()?.as_str().to_owned()))
    };
    if let Some(hub) = named("hub") {
        feed.hub = Some(hub);
    }
    if let Some(own) = named("self") {
        feed.own = Some(own);
    }
}

/// The links of a header with their relations (RFC 8288, section 3). What is malformed is passed over.
fn linked(header: &str) -> Vec<(String, Vec<String>)> {
    let links = header.split(outside(','));
    links
        .filter_map(|link| {
            let mut parts = link.split(outside(';')).map(str::trim);
            let target = parts.next()?.strip_prefix('<')?.strip_suffix('>')?.trim();
            let rels = parts.find_map(|parameter| {
                let (name, value) = parameter.split_once('=')?;
                name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
            });
            let rels = rels.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
            Some((target.to_owned(), rels))
        })
        .collect()
}

/// Where that sign stands in neither an address nor quotes.
fn outside(sign: char) -> impl FnMut(char) -> bool {
    let mut until = None;
    move |c| {
        match (until, c) {
            (None, '<') => until = Some('>'),
            (None, '"') => until = Some('"'),
            (None, _) => return c == sign,
            (Some(end), _) if c == end => until = None,
            (Some(_), _) => {}
        }
        false
    }
}

/// Remembers what a feed says of its hub; a hub or topic that is new is asked soon, one that is named no more is forgotten.
///
/// # Errors
/// The database.
pub async fn keep(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    feed: &Feed,
    now: Timestamp,
) -> Result<(), DbErr> {
    let there = Entity::find_by_id(source).one(txn).await?;
    let (Some(hub), Some(topic)) = (&feed.hub, &feed.own) else {
        let gone = Entity::delete_many().filter(Column::SourceId.eq(source));
        return if there.is_some() { gone.exec(txn).await.map(drop) } else { Ok(()) };
    };
    if there.is_some_and(|there| there.hub == *hub && there.topic == *topic) {
        return Ok(());
    }
    Entity::delete_many().filter(Column::SourceId.eq(source)).exec(txn).await?;
    let row = Model {
        source_id: source,
        hub: hub.clone(),
        topic: topic.clone(),
        state: PushState::Offered,
        ends_at: None,
        renew_at: now,
    };
    Entity::insert(row.into_active_model()).exec_without_returning(txn).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(links: &[&str]) -> (Option<String>, Option<String>) {
        let mut feed = Feed { hub: Some("https://own.example/hub".to_owned()), ..Feed::default() };
        let from = PageUrl::parse("https://a.example/feeds/all").unwrap();
        let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
        by_headers(&mut feed, &links, &from);
        (feed.hub, feed.own)
    }

    #[test]
    fn headers_go_before_the_feed_itself() {
        let (hub, own) =
            (Some("https://h.example/".to_owned()), Some("https://a.example/feeds/x".to_owned()));
        for links in [
            &["<https://h.example/>; rel=\"hub\", <x>; rel=self"][..],
            &[
                "<https://h.example/>;title=\"a, <b>; rel=self\";REL=\"other HUB\"",
                "</feeds/x>; rel=\"self\"",
            ],
        ] {
            assert_eq!(read(links), (hub.clone(), own.clone()), "{links:?}");
        }
        for links in [&[][..], &["<https://h.example/>; rel=next"], &["<https://h.example/"], &["rel=hub"]] {
            assert_eq!(read(links), (Some("https://own.example/hub".to_owned()), None), "{links:?}");
        }
    }
}
