//! The questions that the web app keeps, with their answers.

use crate::sql_migration::SqlMigration;

/// Creates the tables of threads and of their questions.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0021_ask_threads", &[ASK_THREAD, ASK_QUESTION])
}

/// `ask_thread_user` lists the threads of a user, the last asked first, and finds those beyond the number that is kept.
const ASK_THREAD: &str = r#"
CREATE TABLE ask_thread (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    asked_at BIGINT NOT NULL
);
CREATE INDEX ask_thread_user ON ask_thread (user_id, asked_at, id)
"#;

/// The citations are within `answer`: they are read with it alone, and keep what the sources said when the question was answered.
const ASK_QUESTION: &str = "
CREATE TABLE ask_question (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL,
    thread_id UUID NOT NULL REFERENCES ask_thread (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL,
    answer TEXT,
    error TEXT,
    asked_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE UNIQUE INDEX ask_question_thread ON ask_question (thread_id, number)
";
