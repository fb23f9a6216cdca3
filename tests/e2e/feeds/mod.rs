//! Feeds and their entries.

mod subscriptions;
mod websub;
