//! The maintenance tasks: what each of them does, and how much free space it needs.

use disk::SpaceLevel;
use errors::Error;
use library::stored_files;

use super::clean_up;
use super::context::WorkerContext;
use super::title_merge;
use crate::ingest::{feed, metadata_task, metadata_vectors, repair};

/// A task that runs at an interval or when it is due. Of each kind one runs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MaintenanceTask {
    /// Gives queue positions to deferred jobs that are due, and puts back crashed jobs of unknown kinds: a claim leaves them, and each blocks
    /// the other jobs of its subject as long as it counts as running.
    PromoteDueJobs,
    /// Removes the passages of removed accounts from the index.
    PurgeRemovedUsers,
    /// Enqueues feeds that are due, and subscriptions to renew.
    EnqueueDueFeeds,
    /// Removes what has been kept long enough.
    CleanUp,
    /// Merges the index of titles on SQLite, which removes the texts of deleted bookmarks from the file.
    MergeTitleIndex,
    /// Removes stored files that nothing refers to.
    DeleteUnusedFiles,
    /// Puts changes of titles, tags, highlights and other metadata into the index.
    IndexMetadata,
    /// Adds vectors to the metadata of pages without a text.
    EmbedMetadata,
    /// Packs the index, when no job runs.
    PackIndex,
    /// Frees the memory of the index, when nothing uses it, or loads it again before its disk is full.
    UnloadIndex,
    /// Compares the index with the database, and restores what it has lost.
    RepairIndex,
    /// Checks that this server still maintains the index.
    CheckMaintainer,
}

impl MaintenanceTask {
    /// Returns whether the task may start with this much free space.
    pub fn may_start(self, level: SpaceLevel) -> bool {
        match self {
            // They add data. A merge writes pages before it frees others.
            Self::EnqueueDueFeeds
            | Self::IndexMetadata
            | Self::EmbedMetadata
            | Self::PackIndex
            | Self::MergeTitleIndex => level == SpaceLevel::AboveFloor,
            // The index writes through mapped files, where a full disk ends the process.
            Self::PurgeRemovedUsers => level != SpaceLevel::Full,
            // The index refuses what its disk has no space for.
            Self::UnloadIndex
            | Self::PromoteDueJobs
            | Self::CleanUp
            | Self::DeleteUnusedFiles
            | Self::RepairIndex
            | Self::CheckMaintainer => true,
        }
    }

    /// Runs the task to its end.
    ///
    /// # Errors
    /// What the components that it calls return. A clean-up logs its failures itself.
    pub async fn run(self, ctx: &WorkerContext) -> Result<(), Error> {
        match self {
            Self::PromoteDueJobs => {
                let now = ctx.core.clock.now();
                jobs::promote(&ctx.core.db, now).await?;
                jobs::requeue_unknown(&ctx.core.db, now).await?;
                Ok(())
            }
            Self::PurgeRemovedUsers => repair::purge_removed_users(&ctx.repair).await,
            Self::EnqueueDueFeeds => {
                feed::due::enqueue_due(&ctx.feeds).await?;
                feed::websub::subscribe::enqueue_due(&ctx.feeds).await
            }
            Self::CleanUp => {
                clean_up::run(ctx).await;
                Ok(())
            }
            Self::MergeTitleIndex => title_merge::run(ctx).await,
            Self::DeleteUnusedFiles => stored_files::sweep(&ctx.core, &*ctx.uploads.store).await,
            Self::IndexMetadata => metadata_task::run(&ctx.repair).await,
            Self::EmbedMetadata => metadata_vectors::run(&ctx.repair).await,
            Self::PackIndex => ctx.retrieval.maintain().await.map(drop),
            Self::UnloadIndex => ctx.retrieval.unload_unused().await.map(drop),
            Self::RepairIndex => repair::check_index(&ctx.repair).await,
            Self::CheckMaintainer => repair::check_maintainer(&ctx.repair).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_unloaded_at_every_space_level() {
        for level in [SpaceLevel::Full, SpaceLevel::BelowFloor, SpaceLevel::AboveFloor] {
            assert!(MaintenanceTask::UnloadIndex.may_start(level), "{level:?}");
        }
    }
}
