//! What holds after crashes, kills, restarts and damage.

mod actor_crashes;
mod allocator;
mod blocked_log;
mod database_connections;
mod degraded_search;
mod incomplete_index;
mod index_faults;
mod index_moves;
mod index_repair;
mod index_server;
mod index_server_tls;
mod kills;
mod operation_panics;
mod shutdown;
