//! What the surfaces share of HTTP.

pub mod answer_turns;
pub mod body;
pub mod budget;
pub mod cache;
pub mod compression;
pub mod cors;
pub mod credential;
pub mod disk_floor;
pub mod files;
pub mod head;
pub mod health;
pub mod host;
pub mod log;
pub mod methods;
pub mod pace;
pub mod peer;
pub mod push;
pub mod table;
