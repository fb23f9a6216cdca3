//! `carrel eval`: judges search, and answers, by a set of texts and queries. It has a library of its own in a temporary folder, or on servers
//! that are named, and asks the operations that serve clients.

mod answers;
mod evaluation_library;
mod figures;
mod minimum;
mod place;
mod report;
mod searches;
mod set;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use actors::ai;
use actors::context::OperationContext;
use actors::retrieval::Completeness;
use clap::Args;
use tempfile::TempDir;

use self::answers::AnswerCounts;
use self::evaluation_library::EvaluationLibrary;
use self::minimum::FigureMinimum;
use self::place::PlaceArgs;
use self::report::{EvaluationReport, SearchReport};
use self::searches::SearchedSet;
use self::set::EvaluationSet;
use super::failure::Failure;
use super::output::CommandOutput;
use crate::data_dir::private_folder;
use crate::server::{self, OfflineService};
use crate::settings::Settings;

/// The set, and what is measured of it.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Folder of the set: corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv, as in BEIR
    set: PathBuf,
    /// Measure only the queries of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Search by words only; needs no model
    #[arg(long)]
    lexical: bool,
    /// Also ask the questions of answers.jsonl; the answers quote the library
    #[arg(long)]
    answers: bool,
    /// Write what the score of each result is computed from to this file, as JSON lines
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Fail if a figure is lower, such as title.mrr=0.9; may be repeated
    ///
    /// The figures are KIND.ndcg (or KIND alone), KIND.recall and KIND.mrr of a kind of queries or of `all`, `corrections`,
    /// `answers.right` and `answers.declined`. They are those of the hybrid search or, with --lexical, of the lexical one; with its name
    /// and a colon before them, such as `database:all.recall`, they are those of another search.
    #[arg(long = "min", value_name = "FIGURE=VALUE", value_parser = FigureMinimum::parse)]
    minimums: Vec<FigureMinimum>,
    /// Keep the library in this folder, which must be empty or not exist
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Measures the set, and reports the figures. Blocks.
pub fn run(args: &EvalArgs, settings: Settings) -> Result<CommandOutput, Failure> {
    let set = EvaluationSet::read(&args.set, args.kind.as_deref(), args.answers)?;
    let folder = DataFolder::create(args.keep.as_deref())?;
    let settings = isolated(settings, folder.path().to_owned(), &args.place);
    place::require_empty_database(&settings)?;
    let collection = place::new_collection(&settings)?;
    let measured = server::run_offline(&settings, async |service| measure(service, args, &set).await);
    if let Some(collection) = collection.filter(|_| args.keep.is_none()) {
        // Also after a failure. It belongs to this library alone, so no other one could use it.
        place::delete_collection(&collection)?;
    }
    let Measurements { mut report, features } = measured.map_err(Failure::Service)??;
    if let Some(file) = &args.features {
        let fault = |cause| Failure::Path { what: "write", path: file.clone(), cause };
        fs::write(file, features).map_err(fault)?;
    }
    let unmet = args.minimums.iter().filter_map(|minimum| minimum.check(&report));
    report.unmet = unmet.map(|unmet| unmet.to_string()).collect();
    Ok(CommandOutput::of(&report)?.with_success(report.unmet.is_empty()))
}

/// The data folder of the library.
enum DataFolder {
    /// It is removed with this value.
    Temporary(TempDir),
    Kept(PathBuf),
}

impl DataFolder {
    /// Creates a temporary folder, or the one to keep.
    fn create(keep: Option<&Path>) -> Result<Self, Failure> {
        let Some(kept) = keep else {
            let fault =
                |cause| Failure::Path { what: "create a folder in", path: std::env::temp_dir(), cause };
            return Ok(Self::Temporary(tempfile::tempdir().map_err(fault)?));
        };
        let fault = |cause| Failure::Path { what: "use the folder", path: kept.to_owned(), cause };
        private_folder(kept).map_err(fault)?;
        // A library that is there already would be searched too.
        if fs::read_dir(kept).map_err(fault)?.next().is_some() {
            return Err(fault(io::Error::new(ErrorKind::DirectoryNotEmpty, "it is not empty")));
        }
        Ok(Self::Kept(kept.to_owned()))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// Returns the settings for a library in this place, and otherwise in this folder, which shares only the models with the library of the
/// server. It sends texts only to `ai.embedding.url`, if one is set.
fn isolated(settings: Settings, data_dir: PathBuf, place: &PlaceArgs) -> Settings {
    let mut own = place.apply(settings);
    own.models.dir = Some(own.models_folder());
    own.data_dir = data_dir;
    own.files.url = None;
    own.mail.url = None;
    own.ai.chat.url = None;
    own.ai.daily_tokens = 0;
    own
}

/// The result of a measurement.
struct Measurements {
    report: EvaluationReport,
    /// The measures of the results of the first search.
    features: String,
}

/// Fills the library, and measures what the arguments ask for.
async fn measure(
    service: &OfflineService,
    args: &EvalArgs,
    set: &EvaluationSet,
) -> Result<Measurements, Failure> {
    let ctx = &service.service().context;
    // Before the texts are indexed: without a model they get no vectors.
    if !args.lexical && !service.load_embedding_model().await {
        let reason = "no embedding model can be used: run `carrel models pull`, check ai.embedding.*, or pass --lexical";
        return Err(Failure::NotEvaluated(reason.to_owned()));
    }
    let library = EvaluationLibrary::fill(ctx, set).await?;
    let answers =
        if args.answers { Some(AnswerCounts::ask(ctx, &library, &set.questions).await?) } else { None };
    let searched = SearchedSet::search(ctx, &library, &set.queries).await?;
    let mut searches = if args.lexical {
        vec![SearchReport::of("lexical", &searched)]
    } else {
        if searched.degraded > 0 {
            let reason = format!("{} of the hybrid searches matched words only", searched.degraded);
            return Err(Failure::NotEvaluated(reason));
        }
        let by_words = search_by_words(ctx, &library, set).await?;
        vec![SearchReport::of("hybrid", &searched), SearchReport::of("lexical", &by_words)]
    };
    if args.place.can_lose_index() {
        let by_database = search_without_index(ctx, &library, set).await?;
        searches.push(SearchReport::of("database", &by_database));
    }
    let report = EvaluationReport {
        set: set.name.clone(),
        texts: set.texts.len(),
        searches,
        answers,
        unmet: Vec::new(),
    };
    Ok(Measurements { report, features: searched.features })
}

/// Searches a library with vectors by words only, as during a pause of the AI.
async fn search_by_words(
    ctx: &OperationContext,
    library: &EvaluationLibrary,
    set: &EvaluationSet,
) -> Result<SearchedSet, Failure> {
    let (db, engine) = (&ctx.core.db, ctx.retrieval.engine());
    ai::pause(db, ctx.core.clock.now()).await?;
    engine.refresh_pause(db).await?;
    let searched = SearchedSet::search(ctx, library, &set.queries).await;
    // Also for a library that is kept.
    ai::resume(db).await?;
    engine.refresh_pause(db).await?;
    searched
}

/// Searches a library on PostgreSQL as while its index may lack texts: the database searches them.
async fn search_without_index(
    ctx: &OperationContext,
    library: &EvaluationLibrary,
    set: &EvaluationSet,
) -> Result<SearchedSet, Failure> {
    let engine = ctx.retrieval.engine();
    let known = engine.completeness();
    engine.set_completeness(Completeness::Checking);
    let searched = SearchedSet::search(ctx, library, &set.queries).await;
    engine.set_completeness(known);
    searched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{CollectionName, HttpUrl};

    #[test]
    fn folder_to_keep_must_be_empty() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");

        assert_eq!(DataFolder::create(Some(&kept)).unwrap().path(), kept);
        fs::write(kept.join("carrel.db"), "").unwrap();

        let refused = DataFolder::create(Some(&kept)).err().unwrap();
        assert!(refused.to_string().contains("it is not empty"), "{refused}");
    }

    #[test]
    fn library_shares_only_the_models() {
        let server = [("CARREL__VECTORS__URL".to_owned(), "http://127.0.0.1:6334".to_owned())];
        let settings = Settings::load(None, server.into_iter()).unwrap();
        let models = settings.models_folder();

        let place = PlaceArgs {
            vectors_url: None,
            collection: CollectionName::parse("birds").unwrap(),
            database_url: None,
        };

        let own = isolated(settings.clone(), PathBuf::from("elsewhere"), &place);

        assert_eq!(own.models_folder(), models);
        assert_eq!(own.data_dir, PathBuf::from("elsewhere"));
        assert!(own.database_url().sqlite_file().unwrap().starts_with("elsewhere"));
        assert!(own.vectors.url.is_none());
        let url = HttpUrl::parse("http://127.0.0.1:7334").unwrap();
        let place = PlaceArgs { vectors_url: Some(url.clone()), ..place };
        let own = isolated(settings, PathBuf::from("elsewhere"), &place);
        assert_eq!((own.vectors.url, own.vectors.collection.as_str()), (Some(url), "birds"));
    }
}
