//! The engine of the index by itself: the baseline of search.py.
//!
//! `raw_search INDEX USER QUERIES CLIENTS [--corpus]` opens the folder INDEX, which must be a copy or belong to no running server, and
//! runs each line of the file QUERIES as the engine runs a search of the server: the 100 best passages of the user by their words, and,
//! if the index has vectors, the 100 nearest ones by an exact scan. The vector of a query is random, because an exact scan takes the
//! same time for each. With `--corpus` the frequencies of words are those of the user's passages alone, counted for each query.
//! Nothing of a passage is read but its id. The analysis of the query is not part of the time. The queries are repeated until they have
//! taken a second of CPU-time, because the kernel counts that in hundredths of a second.
//!
//! Prints one JSON object: searches, and milliseconds of one (median, 99th percentile, CPU).

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use qdrant_edge::{
    Condition, EdgeShard, FieldCondition, Filter, IdfCorpusParams, IdfParams, JsonPath, Match, MatchValue,
    NamedQuery, QueryBatchRequest, QueryEnum, QueryRequest, ScoringQuery, SearchParams, SparseVector,
    ValueVariants, VectorInternal, WithPayloadInterface,
};
use search::index::Language;
use search::lexical::{merge_terms, query_terms};
use serde_json::json;

const DEPTH: usize = 100;
const WARM_UP: usize = 50;
const MIN_CPU_SECONDS: f64 = 1.0;
/// The names of the vector of words and of the payload field of the owner in the index.
const WORDS: &str = "words2";
const OWNER: &str = "user";
/// Clock ticks of `/proc/self/stat` in a second; the kernel reports 100 on every machine.
const TICKS: f64 = 100.0;

type Failure = Box<dyn Error + Send + Sync>;

/// The requests of one query.
struct Requests<'a> {
    user: &'a str,
    has_corpus: bool,
    /// Name and length of each vector of the index.
    vectors: Vec<(String, usize)>,
}

impl Requests<'_> {
    fn owned(&self) -> Filter {
        let value = Match::Value(MatchValue { value: ValueVariants::String(self.user.to_owned()) });
        let path = JsonPath { first_key: OWNER.to_owned(), rest: Vec::new() };
        Filter::new_must(Condition::Field(FieldCondition::new_match(path, value)))
    }

    fn of(&self, query: &str, random: &mut Random) -> Vec<QueryRequest> {
        let words = merge_terms(&query_terms(query, &[Language::English]));
        let sparse = SparseVector { indices: words.indices, values: words.values };
        let idf = self.has_corpus.then(|| IdfParams::Corpus(IdfCorpusParams { corpus: self.owned() }));
        let lexical = SearchParams { idf, ..SearchParams::default() };
        let mut requests = vec![self.nearest(VectorInternal::Sparse(sparse), WORDS.to_owned(), lexical)];
        for (name, size) in &self.vectors {
            let exact = SearchParams { exact: true, ..SearchParams::default() };
            requests.push(self.nearest(VectorInternal::Dense(random.vector(*size)), name.clone(), exact));
        }
        requests
    }

    fn nearest(&self, vector: VectorInternal, name: String, params: SearchParams) -> QueryRequest {
        QueryRequest {
            query: Some(ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery::new(vector, name)))),
            filter: Some(self.owned()),
            params: Some(params),
            with_payload: WithPayloadInterface::Bool(false),
            ..QueryRequest::new(DEPTH)
        }
    }
}

/// Numbers that look random and are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn vector(&mut self, size: usize) -> Vec<f32> {
        (0..size).map(|_| self.number()).collect()
    }

    /// Returns a number from -1 to 1.
    fn number(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// Runs every `clients`-th query from this one on; returns the time of each.
fn run(
    shard: &EdgeShard,
    requests: &Requests<'_>,
    queries: &[&str],
    client: usize,
    clients: usize,
) -> Result<Vec<Duration>, Failure> {
    let mut random = Random(client as u64 + 1);
    let mut times = Vec::new();
    for query in queries.iter().skip(client).step_by(clients) {
        let batch = QueryBatchRequest::new(requests.of(query, &mut random));
        let began = Instant::now();
        shard.query_batch(batch)?;
        times.push(began.elapsed());
    }
    Ok(times)
}

/// Returns the CPU-seconds of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("an unknown form of /proc/self/stat")?;
    // After the name in brackets, the user and system times are the fields 11 and 12 from 0.
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: Result<Vec<f64>, _> = times.map(str::parse::<f64>).collect();
    Ok(ticks?.iter().sum::<f64>() / TICKS)
}

fn percentile(sorted: &[Duration], of_hundred: usize) -> f64 {
    let at = sorted.len().saturating_sub(1) * of_hundred / 100;
    sorted.get(at).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or("raw_search INDEX USER QUERIES CLIENTS [--corpus]");
    let (folder, user, file, clients) = (next()?, next()?, next()?, next()?.parse::<usize>()?);
    let has_corpus = words.next().as_deref() == Some("--corpus");
    let text = std::fs::read_to_string(file)?;
    let queries: Vec<&str> = text.lines().collect();
    let shard = EdgeShard::load(Path::new(&folder), None)?;
    let vectors = shard.config().vectors.iter().map(|(name, params)| (name.clone(), params.size)).collect();
    let requests = Requests { user: &user, has_corpus, vectors };

    let warm_up: Vec<&str> = queries.iter().copied().take(WARM_UP).collect();
    run(&shard, &requests, &warm_up, 0, 1)?;
    if queries.is_empty() {
        return Err("there are no queries".into());
    }
    let (shard, requests, queries) = (&shard, &requests, queries.as_slice());
    let (mut times, before) = (Vec::new(), cpu_seconds()?);
    let used_seconds = loop {
        let round: Result<Vec<Vec<Duration>>, Failure> = thread::scope(|scope| {
            let start = |client| scope.spawn(move || run(shard, requests, queries, client, clients));
            let threads: Vec<_> = (0..clients).map(start).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a client panicked")?).collect()
        });
        times.extend(round?.concat());
        let used_seconds = cpu_seconds()? - before;
        if used_seconds >= MIN_CPU_SECONDS {
            break used_seconds;
        }
    };
    let cpu_ms = used_seconds * 1000.0 / times.len().max(1) as f64;
    times.sort_unstable();
    let (p50, p99) = (percentile(&times, 50), percentile(&times, 99));
    let figures = json!({ "raw_searches": times.len(), "raw_ms_p50": p50, "raw_ms_p99": p99, "raw_cpu_ms_each": cpu_ms });
    writeln!(std::io::stdout(), "{figures}")?;
    Ok(())
}
