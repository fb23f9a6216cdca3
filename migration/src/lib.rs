//! # How the tables came to be
//!
//! One file a step: its name and its statements, written once and never changed after they have landed. The statements are
//! SQL that SQLite and PostgreSQL both read; [`statement`] puts in the few words that differ. Each step is one transaction, so a process
//! that dies within it leaves the tables as they were; on PostgreSQL an advisory lock lets one node migrate at a time.

mod m0001_accounts;
mod m0002_library;
mod m0003_work;
mod m0004_turns;
mod m0005_projects;
mod m0006_oauth;
mod m0007_uploads;
mod m0008_feeds;
mod m0009_transcripts;
mod m0010_answers;
mod m0011_bookmark_document;
mod m0012_under_way;
mod m0013_client_documents;
mod m0014_sign_in;
mod m0015_transfers;
mod m0016_oauth_states;
mod m0017_transfer_indexes;
mod m0018_feed_push;
mod m0019_document_facts;
mod m0020_work_under_way;
mod m0021_renditions;
mod m0022_imported_things;
mod m0023_import_rows_by_line;
mod m0024_deaths_and_shared_turns;
mod m0025_fetched_recordings;
mod m0026_recordings_elsewhere;
mod m0027_refused_windows;
mod m0028_stored_answer_owner;
pub mod m0029_library_usage;
mod m0030_import_faults;
mod m0031_lease_owners;
mod m0032_index_repair;
mod m0033_transfer_bytes;
mod m0034_import_file_name;
mod statement;

pub use sea_orm_migration::{MigratorTrait, SchemaManager};

/// All steps, in order.
pub struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn sea_orm_migration::MigrationTrait>> {
        vec![
            Box::new(m0001_accounts::STEP),
            Box::new(m0002_library::STEP),
            Box::new(m0003_work::STEP),
            Box::new(m0004_turns::STEP),
            Box::new(m0005_projects::STEP),
            Box::new(m0006_oauth::STEP),
            Box::new(m0007_uploads::STEP),
            Box::new(m0008_feeds::STEP),
            Box::new(m0009_transcripts::STEP),
            Box::new(m0010_answers::STEP),
            Box::new(m0011_bookmark_document::STEP),
            Box::new(m0012_under_way::STEP),
            Box::new(m0013_client_documents::STEP),
            Box::new(m0014_sign_in::STEP),
            Box::new(m0015_transfers::STEP),
            Box::new(m0016_oauth_states::STEP),
            Box::new(m0017_transfer_indexes::STEP),
            Box::new(m0018_feed_push::STEP),
            Box::new(m0019_document_facts::STEP),
            Box::new(m0020_work_under_way::STEP),
            Box::new(m0021_renditions::STEP),
            Box::new(m0022_imported_things::STEP),
            Box::new(m0023_import_rows_by_line::STEP),
            Box::new(m0024_deaths_and_shared_turns::STEP),
            Box::new(m0025_fetched_recordings::STEP),
            Box::new(m0026_recordings_elsewhere::STEP),
            Box::new(m0027_refused_windows::STEP),
            Box::new(m0028_stored_answer_owner::STEP),
            Box::new(m0029_library_usage::CountLibrary),
            Box::new(m0030_import_faults::STEP),
            Box::new(m0031_lease_owners::STEP),
            Box::new(m0032_index_repair::STEP),
            Box::new(m0033_transfer_bytes::STEP),
            Box::new(m0034_import_file_name::STEP),
        ]
    }
}
