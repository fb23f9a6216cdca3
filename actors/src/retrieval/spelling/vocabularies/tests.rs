//! Tests of the vocabularies of users.

use std::fs;

use database::insert_all;
use entity::{chunk, document};
use futures_util::future::join;
use library::clock::TestClock;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::spelling::nearest_word;
use tempfile::TempDir;
use tokio::time::sleep;
use uuid::Uuid;
use values::id::ChunkId;
use values::kind::ContentType;
use values::time::Timestamp;

use super::*;
use crate::retrieval::spelling::kept_vocabulary::{LibraryState, MAX_UNASKED_AGE};
use crate::retrieval::spelling::vocabulary_files::StoredVocabulary;
use crate::retrieval::test_library::{NOON, add_user, open_database};

/// A wait that no read of a test exceeds.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// Documents of ten kilobytes that make a library large.
const DOCUMENTS_OF_LARGE_LIBRARY: usize = 150;

/// The library of a user, with its vocabularies.
struct TestedLibrary {
    _database_folder: TempDir,
    data_dir: TempDir,
    db: Db,
    owner: UserId,
    clock: Arc<TestClock>,
    vocabularies: Vocabularies,
}

impl TestedLibrary {
    async fn new() -> Self {
        let (database_folder, data_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let db = open_database(&database_folder).await;
        let (owner, clock) = (add_user(&db).await, Arc::new(TestClock::at(NOON)));
        let vocabularies = new_vocabularies(&db, &clock, &data_dir);
        Self { _database_folder: database_folder, data_dir, db, owner, clock, vocabularies }
    }

    /// Returns one whose oldest document has the word "heron", the newest "egret", and which is large.
    async fn large() -> Self {
        let library = Self::new().await;
        let middle = std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY);
        library.add_texts(0, std::iter::once("heron").chain(middle).chain(["egret"])).await;
        library
    }

    /// Forgets what is in memory, as a restart does.
    fn restart(&mut self) {
        self.vocabularies = new_vocabularies(&self.db, &self.clock, &self.data_dir);
    }

    /// Adds a document of ten kilobytes for each word, the last one being the newest, and returns them.
    async fn add_texts<'a>(&self, first: i64, words: impl Iterator<Item = &'a str>) -> Vec<DocumentId> {
        let (mut documents, mut chunks) = (Vec::new(), Vec::new());
        for (number, word) in (first..).zip(words) {
            let now = Timestamp::from_millis(NOON.millis() + number);
            let mut document = document::Model::pending(self.owner, ContentType::Article, String::new(), now);
            document.total_chars = 10_000;
            chunks.push(passage(&document, 0, format!("{word} {}", "water ".repeat(1_800))));
            documents.push(document);
        }
        let ids = documents.iter().map(|document| document.id).collect();
        insert_all::<document::Entity>(self.db.write(), documents, None).await.unwrap();
        insert_all::<chunk::Entity>(self.db.write(), chunks, None).await.unwrap();
        ids
    }

    /// Hides a document, as the deletion of its bookmark does.
    async fn hide(&self, id: DocumentId) {
        let update = document::Entity::update_owned(self.owner)
            .col_expr(document::Column::HiddenAt, Expr::value(Some(NOON)))
            .filter(document::Column::Id.eq(id));
        update.exec(self.db.write()).await.unwrap();
    }

    /// Returns the nearest words of the vocabularies of the user.
    async fn nearest(&self, words: &[&str]) -> Vec<Option<String>> {
        let found = self.vocabularies.of_user(self.owner).await.unwrap().vocabularies;
        let nearest =
            |word: &&str| nearest_word(found.iter().map(Arc::as_ref), word, |_| true).map(str::to_owned);
        words.iter().map(nearest).collect()
    }

    fn file(&self) -> Option<StoredVocabulary> {
        self.vocabularies.updates.store.files().read(self.owner)
    }

    async fn update(&self, cause: UpdateCause) {
        self.vocabularies.updates.update(self.owner, cause).await.unwrap();
        self.vocabularies.updates.reread_if_due(self.owner, cause).await.unwrap();
    }
}

fn new_vocabularies(db: &Db, clock: &Arc<TestClock>, data_dir: &TempDir) -> Vocabularies {
    let files = VocabularyFiles::new(data_dir.path(), disk::DiskSpace::default());
    let vocabularies = Vocabularies::new(db.clone(), Workers::new(2), clock.clone(), files);
    Vocabularies { max_update_wait: LONG_WAIT, ..vocabularies }
}

fn passage(document: &document::Model, ordinal: i32, text: String) -> chunk::Model {
    chunk::Model {
        id: ChunkId::new(NOON),
        document_id: document.id,
        user_id: document.user_id,
        version: 1,
        ordinal,
        start_offset: 0,
        end_offset: 10_000,
        page: None,
        start_seconds: None,
        end_seconds: None,
        text,
    }
}

fn some(word: &str) -> Option<String> {
    Some(word.to_owned())
}

#[tokio::test]
async fn vocabulary_is_current_until_the_library_changes() {
    let library = TestedLibrary::new().await;
    let (vocabularies, user) = (&library.vocabularies, library.owner);
    let updates = &vocabularies.updates;
    let keep = |state| {
        let stored = updates.stored(Arc::default(), None, Duration::ZERO);
        updates.store.keep_in_memory(user, KeptVocabulary { stored, state, is_small: true });
    };
    let is_current = async || {
        let state = updates.state(user).await.unwrap();
        updates.store.in_memory(user).unwrap().is_current(&state)
    };

    let state = updates.state(user).await.unwrap();
    keep(state.clone());
    assert!(is_current().await);
    let other = LibraryState { newest: Some(DocumentId(Uuid::nil())), ..state };
    assert!(!updates.store.in_memory(user).unwrap().is_current(&other));
    vocabularies.note_change(user, []);
    assert!(!is_current().await);

    let state = updates.state(user).await.unwrap();
    vocabularies.note_change(user, []);
    keep(state);
    assert!(!is_current().await, "the change was during the read");
}

#[tokio::test]
async fn queries_that_waited_for_a_read_share_it() {
    let library = TestedLibrary::new().await;
    let words_of = |asked_at| library.vocabularies.find(library.owner, asked_at);
    let nearest = |found: UserVocabularies| {
        nearest_word(found.vocabularies.iter().map(Arc::as_ref), "hern", |_| true).map(str::to_owned)
    };
    let before_the_read = Instant::now();
    assert_eq!(nearest(words_of(before_the_read).await.unwrap()), None);

    library.add_texts(0, ["heron"].into_iter()).await;

    assert_eq!(nearest(words_of(before_the_read).await.unwrap()), None, "the words of its time are read");
    assert_eq!(nearest(words_of(Instant::now()).await.unwrap()), some("heron"));
}

#[tokio::test]
async fn first_query_of_a_large_library_has_all_words() {
    let library = TestedLibrary::large().await;

    assert_eq!(library.nearest(&["egrett", "herron"]).await, [some("egret"), some("heron")]);
}

#[tokio::test]
async fn first_query_waits_for_a_bounded_time() {
    let mut library = TestedLibrary::large().await;
    library.vocabularies.max_update_wait = Duration::ZERO;
    // The read of all texts waits for this.
    let held = library.vocabularies.updates.locks.lock(library.owner).await;

    assert_eq!(library.nearest(&["egrett", "herron"]).await, [some("egret"), None]);

    drop(held);
    while library.file().is_none() {
        sleep(Duration::from_millis(5)).await;
    }
    library.restart();
    assert_eq!(library.nearest(&["herron"]).await, [some("heron")]);
}

#[tokio::test]
async fn query_that_cannot_wait_knows_that_words_are_missing() {
    let mut library = TestedLibrary::large().await;
    library.vocabularies.max_update_wait = Duration::ZERO;
    let held = library.vocabularies.updates.locks.lock(library.owner).await;
    let is_whole = async || library.vocabularies.of_user(library.owner).await.unwrap().is_whole;
    assert!(!is_whole().await, "the oldest texts are not read");

    drop(held);
    library.update(UpdateCause::Asked).await;

    assert!(is_whole().await);
}

#[tokio::test]
async fn damaged_file_is_made_again() {
    let mut library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    let path = library.data_dir.path().join("vocabularies").join(library.owner.to_string());
    fs::write(&path, "heron").unwrap();
    library.restart();
    assert_eq!(library.file(), None);

    assert_eq!(library.nearest(&["herron"]).await, [some("heron")]);

    assert!(library.file().is_some());
}

#[tokio::test]
async fn changes_are_noted_again_when_an_update_fails() {
    let library = TestedLibrary::new().await;
    let documents = library.add_texts(0, std::iter::once("heron")).await;
    assert_eq!(library.nearest(&["herron"]).await, [some("heron")]);
    let updates = &library.vocabularies.updates;
    updates.note_change(library.owner, documents);
    // A file of a small library is removed, which is not possible.
    let path = library.data_dir.path().join("vocabularies").join(library.owner.to_string());
    fs::create_dir_all(&path).unwrap();

    assert!(updates.update(library.owner, UpdateCause::Changed).await.is_err());

    assert!(updates.pending.has_before(library.owner, None));
    fs::remove_dir(&path).unwrap();
    updates.update(library.owner, UpdateCause::Changed).await.unwrap();
    assert!(!updates.pending.has_before(library.owner, None));
}

#[tokio::test]
async fn file_that_is_read_late_replaces_no_newer_words() {
    let mut library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    library.restart();
    let (updates, user) = (&library.vocabularies.updates, library.owner);
    let newer = updates.stored(Arc::default(), None, Duration::ZERO);
    let state = updates.state(user).await.unwrap();
    let kept = KeptVocabulary { stored: newer.clone(), state, is_small: true };

    let keep = async { updates.store.keep_in_memory(user, kept) };
    let (read, ()) = join(updates.kept_of(user, Lane::Background), keep).await;

    assert!(read.unwrap().is_some());
    assert_eq!(updates.store.in_memory(user).unwrap().stored, newer);
}

#[tokio::test]
async fn restart_keeps_the_words_of_a_large_library() {
    let mut library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    library.restart();
    // Nothing can be read but the newest texts.
    let _held = library.vocabularies.updates.locks.lock(library.owner).await;
    library.vocabularies.max_update_wait = Duration::ZERO;

    assert_eq!(library.nearest(&["herron"]).await, [some("heron")]);
}

#[tokio::test]
async fn former_words_are_used_until_new_ones_replace_them() {
    let library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    library.add_texts(1_000, ["avocet"].into_iter()).await;
    let held = library.vocabularies.updates.locks.lock(library.owner).await;

    assert_eq!(library.nearest(&["avocett", "herron"]).await, [some("avocet"), some("heron")]);

    drop(held);
    library.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(library.nearest(&["avocett", "herron"]).await, [some("avocet"), some("heron")]);
}

#[tokio::test]
async fn query_waits_for_changes_of_older_documents() {
    let library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    let added = library.add_texts(1_000, std::iter::once("avocet")).await;
    library.add_texts(1_001, std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY)).await;
    library.vocabularies.note_change(library.owner, added);
    // All texts are to be read again too, after the changes.
    library.clock.advance(MAX_UNASKED_AGE);

    assert_eq!(library.nearest(&["avocett", "herron"]).await, [some("avocet"), some("heron")]);
}

#[tokio::test]
async fn changes_of_documents_add_their_words() {
    let library = TestedLibrary::new().await;
    let documents = library.add_texts(0, std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY)).await;
    library.vocabularies.note_change(library.owner, documents.clone());
    library.update(UpdateCause::Changed).await;
    let nearest = |stored: Option<StoredVocabulary>, word: &str| {
        nearest_word([&*stored.unwrap().vocabulary], word, |_| true).map(str::to_owned)
    };
    assert_eq!(nearest(library.file(), "watter"), some("water"));

    // An old document gets another text, and a new one is added.
    let oldest = document::Entity::one_visible_to(library.owner, *documents.first().unwrap());
    let oldest = oldest.one(library.db.read()).await.unwrap().unwrap();
    let added = passage(&oldest, 1, "a heron".to_owned());
    insert_all::<chunk::Entity>(library.db.write(), [added], None).await.unwrap();
    library.add_texts(1_000, ["egret"].into_iter()).await;
    library.vocabularies.note_change(library.owner, [oldest.id]);
    library.update(UpdateCause::Changed).await;

    for (word, expected) in [("herron", "heron"), ("egrett", "egret"), ("watter", "water")] {
        assert_eq!(nearest(library.file(), word), some(expected), "{word}");
    }
}

#[tokio::test]
async fn words_of_removed_documents_leave_the_file() {
    let library = TestedLibrary::new().await;
    let documents = library.add_texts(0, std::iter::once("heron")).await;
    library.add_texts(1, std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY)).await;
    library.update(UpdateCause::Asked).await;
    library.hide(*documents.first().unwrap()).await;
    let has_heron = || library.file().unwrap().vocabulary.words().any(|(word, _)| word == "heron");
    assert!(has_heron());

    library.vocabularies.note_change(library.owner, []);
    library.update(UpdateCause::Changed).await;
    assert!(has_heron(), "not all texts are read at each change");

    library.update(UpdateCause::Removed).await;
    assert!(!has_heron());
}

#[tokio::test]
async fn all_texts_are_read_again_a_day_later() {
    let library = TestedLibrary::new().await;
    let documents = library.add_texts(0, std::iter::once("heron")).await;
    library.add_texts(1, std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY)).await;
    library.update(UpdateCause::Asked).await;
    library.hide(*documents.first().unwrap()).await;

    library.clock.advance(MAX_UNASKED_AGE);
    library.vocabularies.note_change(library.owner, []);
    library.update(UpdateCause::Changed).await;

    let stored = library.file().unwrap();
    assert!(stored.read_at > NOON && stored.vocabulary.words().all(|(word, _)| word != "heron"));
}

#[tokio::test]
async fn small_library_that_was_large_has_no_file() {
    let library = TestedLibrary::new().await;
    let reed = std::iter::repeat_n("reed", DOCUMENTS_OF_LARGE_LIBRARY);
    let documents = library.add_texts(0, reed.chain(["heron"])).await;
    library.update(UpdateCause::Asked).await;
    for document in documents.iter().take(DOCUMENTS_OF_LARGE_LIBRARY) {
        library.hide(*document).await;
    }
    library.vocabularies.note_removal(library.owner);
    assert_eq!(library.nearest(&["herron", "reedd"]).await, [some("heron"), None]);

    library.update(UpdateCause::Removed).await;

    assert_eq!(library.file(), None);
}

#[tokio::test]
async fn words_of_a_small_library_are_not_written_down() {
    let library = TestedLibrary::new().await;
    let documents = library.add_texts(0, ["heron", "egret"].into_iter()).await;

    for _ in 0..2 {
        assert_eq!(library.nearest(&["herron"]).await, [some("heron")]);
        library.vocabularies.note_change(library.owner, documents.clone());
        library.update(UpdateCause::Changed).await;
        library.update(UpdateCause::Asked).await;
        assert!(library.file().is_none() && library.vocabularies.updates.running().is_empty());
    }
}

#[tokio::test]
async fn words_of_a_removed_user_are_removed() {
    let library = TestedLibrary::large().await;
    library.update(UpdateCause::Asked).await;
    // The account of this one was removed by another node.
    let other = UserId(Uuid::nil());
    library.vocabularies.updates.store.files().write(other, &library.file().unwrap()).unwrap();
    library.clock.advance(MAX_UNASKED_AGE);
    library.update(UpdateCause::Asked).await;
    assert_eq!(library.vocabularies.updates.store.files().users(), [library.owner]);

    library.vocabularies.delete_user(library.owner).await.unwrap();

    assert!(library.vocabularies.updates.store.files().users().is_empty());
    assert!(library.vocabularies.updates.store.in_memory(library.owner).is_none());
}
