//! Feeds and their entries: following, fetching, delivery, and WebSub notifications.

mod subscriptions;
mod websub;
