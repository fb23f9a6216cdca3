//! Limits of requests, connections, bytes and disk space.

pub mod connections;
mod daily_limit;
mod disk_floor;
mod hourly_limit;
mod library_quota;
mod request_bodies;
mod transfer_quota;
