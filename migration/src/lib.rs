//! # Database schema
//!
//! One migration per domain, in the order of the foreign keys: accounts come before what they own. The statements are SQL that
//! SQLite and PostgreSQL both read; `sql_migration` inserts the type of raw bytes, which differs. Each migration is one
//! transaction, so a process that dies within it leaves the schema as it was. On PostgreSQL an advisory lock lets one process migrate
//! at a time.
//!
//! The row types in carrel-entity say what tables and columns mean; the comments here say what the database enforces. A `user_id`
//! that is not a foreign key repeats the owner of the row's parent, with which the row is deleted; triggers of `m0016_job_owner` delete
//! jobs. Times are milliseconds of the Unix epoch.
//!
//! A released migration is never changed: a later change of the schema is a new migration. A database records each migration under a
//! name that ends with a checksum of its SQL, so that a program with other SQL refuses the database rather than fail at its queries.
//!
//! An index is named after its table and the columns or the query that it serves. In a partial index the condition is spelled out, and
//! queries spell it out too: a bound parameter does not prove to the planners that the index contains all the rows.

pub mod counters;
pub mod library_usage;
mod m0001_accounts;
mod m0002_documents;
mod m0003_library;
mod m0004_jobs;
mod m0005_projects;
mod m0006_oauth;
mod m0007_feeds;
mod m0008_files;
mod m0009_requests;
mod m0010_activity;
mod m0011_service_state;
mod m0012_library_usage;
mod m0013_counters;
mod m0014_title_search;
mod m0015_text_search;
mod m0016_job_owner;
mod m0017_account_settings;
mod m0018_library_views;
mod m0019_reading;
mod m0020_upload_list;
mod m0021_ask_threads;
mod m0022_home_and_feeds;
mod m0023_control;
mod sql_migration;
mod title_search;

pub use sea_orm_migration::{MigratorTrait, SchemaManager};

/// The migrations in the order in which they run: a table comes after the tables to which its foreign keys refer.
pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn sea_orm_migration::MigrationTrait>> {
        vec![
            Box::new(m0001_accounts::migration()),
            Box::new(m0002_documents::migration()),
            Box::new(m0003_library::migration()),
            Box::new(m0004_jobs::migration()),
            Box::new(m0005_projects::migration()),
            Box::new(m0006_oauth::migration()),
            Box::new(m0007_feeds::migration()),
            Box::new(m0008_files::migration()),
            Box::new(m0009_requests::migration()),
            Box::new(m0010_activity::migration()),
            Box::new(m0011_service_state::migration()),
            Box::new(m0012_library_usage::migration()),
            Box::new(m0013_counters::migration()),
            Box::new(m0014_title_search::migration()),
            Box::new(m0015_text_search::migration()),
            Box::new(m0016_job_owner::migration()),
            Box::new(m0017_account_settings::migration()),
            Box::new(m0018_library_views::migration()),
            Box::new(m0019_reading::migration()),
            Box::new(m0020_upload_list::migration()),
            Box::new(m0021_ask_threads::migration()),
            Box::new(m0022_home_and_feeds::migration()),
            Box::new(m0023_control::migration()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use sea_orm_migration::sea_orm::DatabaseBackend::Postgres;

    use super::*;
    use crate::sql_migration::BY_INDEXES;

    #[test]
    fn functions_of_triggers_use_indexes_on_postgres() {
        let mut statements = counters::trigger_statements(Postgres);
        statements.extend(library_usage::trigger_statements(Postgres));
        statements.extend(m0016_job_owner::trigger_statements(Postgres));
        statements.extend(m0023_control::trigger_statements(Postgres));
        statements.extend(title_search::POSTGRES.iter().map(|statement| (*statement).to_owned()));
        let functions: Vec<&String> =
            statements.iter().filter(|statement| statement.starts_with("CREATE FUNCTION")).collect();

        assert!(functions.len() > 30, "{functions:#?}");
        for function in functions {
            assert!(function.contains(BY_INDEXES), "{function}");
        }
    }
}
