//! The library that is searched: an account in an empty database with the texts of a set.

use std::collections::HashMap;

use actors::auth::accounts::{self, NewAccount};
use actors::auth::caller::Caller;
use actors::auth::secret::Secret;
use actors::auth::sessions;
use actors::context::OperationContext;
use actors::retrieval::Completeness;
use errors::Error;
use indicatif::ProgressBar;
use library::BATCH_ROWS;
use library::bookmarks::{NewBookmark, normalize_tags};
use library::documents::{PageContent, SuppliedContent};
use library::sample_saves::{SampleSave, count_unindexed, save_samples};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::{Duration, Instant, sleep};
use values::id::{BookmarkId, UserId};
use values::kind::SourceFormat;
use values::plan::Plan;
use values::time::Timestamp;

use super::set::{CorpusText, EvaluationSet};
use crate::cli::failure::Failure;
use crate::cli::progress;

/// The address of the account, which nobody can sign in to.
const EMAIL: &str = "reader@eval.example";
/// Interval of looks for texts that are not indexed yet.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time in which at least one text is indexed, a long one with its vectors too.
const MAX_STALL: Duration = Duration::from_secs(300);
/// What a segment of a URL contains as it is (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An account with the texts of a set, all of them indexed.
pub struct EvaluationLibrary {
    /// The owner of the library, with all rights.
    pub caller: Caller,
    /// The texts of the set, by their bookmarks.
    texts: HashMap<BookmarkId, String>,
}

impl EvaluationLibrary {
    /// Creates the account, saves the texts, and waits until they are indexed.
    ///
    /// # Errors
    /// [`Failure::NotEvaluated`] when a text has an invalid time, or when the texts are not indexed; [`Failure::Refused`] when one cannot
    /// be saved.
    pub async fn fill(ctx: &OperationContext, set: &EvaluationSet) -> Result<Self, Failure> {
        let caller = create_caller(ctx).await?;
        let mut texts = HashMap::with_capacity(set.texts.len());
        for batch in set.texts.chunks(BATCH_ROWS) {
            let samples =
                batch.iter().map(|text| sample_of(&set.name, text)).collect::<Result<Vec<_>, _>>()?;
            let saved = save_samples(&ctx.core.db, caller.user, samples, ctx.core.clock.now()).await?;
            ctx.job_signal.notify();
            texts.extend(saved.into_iter().zip(batch.iter().map(|text| text.id.clone())));
        }
        let bar = progress::count("texts to index:");
        wait_until_indexed(ctx, caller.user, &bar).await?;
        bar.finish_and_clear();
        Ok(Self { caller, texts })
    }

    /// Returns the id of the text that was saved as this bookmark.
    pub fn text_of(&self, bookmark: BookmarkId) -> Option<&str> {
        self.texts.get(&bookmark).map(String::as_str)
    }
}

/// Creates an account on the largest plan, and signs it in.
async fn create_caller(ctx: &OperationContext) -> Result<Caller, Error> {
    let password = Secret::new_token("").map_err(Error::internal)?.expose().to_owned();
    let new = NewAccount { email: EMAIL.to_owned(), name: None, password, plan: Plan::Research };
    let account = accounts::create(&ctx.core, new).await?;
    let session = sessions::open_session(&ctx.core, &account, None, None).await?;
    Ok(sessions::authenticate(&ctx.core, &ctx.auth.keys, &session).await?.0)
}

/// Returns a text of the set as it is saved.
fn sample_of(set: &str, text: &CorpusText) -> Result<SampleSave, Failure> {
    let metadata = text.metadata.clone().unwrap_or_default();
    let saved_at = metadata.saved_at.as_deref().map(|time| {
        let fault = || format!("the text {} has the invalid time {time}", text.id);
        Timestamp::parse(time).ok_or_else(|| Failure::NotEvaluated(fault()))
    });
    let id = utf8_percent_encode(&text.id, UNRESERVED);
    // A text without a title is shown by its id, and one without a text has at least its title.
    let title = first_not_blank([&text.title, &text.id]);
    let content = metadata.state.is_none().then(|| {
        let body = first_not_blank([&text.text, &title]);
        PageContent::Supplied(SuppliedContent { format: SourceFormat::Text, body, html: None, outline: None })
    });
    let page = NewBookmark {
        url: metadata.url.unwrap_or_else(|| format!("https://corpus.example/{set}/{id}")),
        title: Some(title),
        tags: normalize_tags(metadata.tags),
        notes: metadata.notes.filter(|notes| !notes.is_empty()),
        saved_at: saved_at.transpose()?,
        content,
        ..NewBookmark::default()
    };
    Ok(SampleSave {
        page,
        excerpt: metadata.excerpt,
        highlights: metadata.highlights,
        missing_text: metadata.state,
    })
}

/// Returns the first of these texts that is not blank, or the last.
fn first_not_blank(texts: [&str; 2]) -> String {
    let [first, last] = texts;
    if first.trim().is_empty() { last.to_owned() } else { first.to_owned() }
}

/// Waits until the index has all texts, and is known to be complete.
///
/// # Errors
/// [`Failure::NotEvaluated`] when nothing was indexed for a while.
async fn wait_until_indexed(ctx: &OperationContext, user: UserId, bar: &ProgressBar) -> Result<(), Failure> {
    let (mut last_left, mut changed_at) = (u64::MAX, Instant::now());
    loop {
        let left = count_unindexed(&ctx.core.db, user).await?;
        let engine = ctx.retrieval.engine();
        let is_changing_models = engine.has_model() && engine.model_names().next.is_some();
        if left == 0 && engine.completeness() == Completeness::Complete && !is_changing_models {
            return Ok(());
        }
        if left != last_left {
            (last_left, changed_at) = (left, Instant::now());
            bar.set_position(left);
        }
        if changed_at.elapsed() > MAX_STALL {
            let reason = format!("{left} texts are not indexed, and nothing was indexed in 5 minutes");
            return Err(Failure::NotEvaluated(reason));
        }
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use library::sample_saves::MissingTextReason;

    use super::*;

    fn read(line: &str) -> Result<SampleSave, Failure> {
        sample_of("birds", &serde_json::from_str(line).unwrap())
    }

    #[test]
    fn plain_text_gets_a_url_and_a_title() {
        let save = read(r#"{"_id": "a/1 b", "text": ""}"#).unwrap();

        assert_eq!(save.page.url, "https://corpus.example/birds/a%2F1%20b");
        assert_eq!(save.page.title.as_deref(), Some("a/1 b"));
        assert!(save.page.content.is_some_and(|content| content.bytes() == "a/1 b".len()));
        assert_eq!(save.missing_text, None);
    }

    #[test]
    fn page_in_a_state_has_no_content() {
        let line = r#"{"_id": "a", "title": "Herons", "metadata": {"state": "failed", "savedAt": "2024-05-06T07:08:09Z",
            "url": "https://birds.example/", "tags": ["birds", "birds"], "excerpt": "About herons"}}"#;

        let save = read(line).unwrap();

        assert!(save.page.content.is_none());
        assert_eq!(save.missing_text, Some(MissingTextReason::FetchFailed));
        assert_eq!(save.excerpt.as_deref(), Some("About herons"));
        assert_eq!(save.page.tags, ["birds"]);
        assert!(save.page.saved_at.is_some());
        let wrong = read(r#"{"_id": "a", "metadata": {"savedAt": "May"}}"#).unwrap_err();
        assert!(wrong.to_string().contains("the text a has the invalid time May"), "{wrong}");
    }
}
