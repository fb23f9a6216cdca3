//! What holds after crashes, kills, restarts and damage.

mod actor_crashes;
mod allocator;
mod blocked_log;
mod database_connections;
mod index_faults;
mod index_repair;
mod index_server;
mod kills;
mod operation_panics;
mod shutdown;
