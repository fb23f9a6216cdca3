//! # Search
//!
//! The index of passages, and the plain functions around it: which words a text or a query consists of, how the results of the
//! lexical and the dense search become one ranking, and what of a passage is shown or cited.
//!
//! | To | Call |
//! |---|---|
//! | open the embedded index, or replace a damaged one | [`index::IndexFolder::open`] |
//! | open the index in its folder or on a Qdrant server | [`index::IndexStore::open`] |
//! | copy an index from one place to another | [`index::copy_passages`] |
//! | add, remove and search passages, and update their labels | [`index::PassageIndex`] |
//! | decide whether an index must be compared with the database | [`index::Marker`], [`index::IndexFolder::examine`] |
//! | weigh the words of a passage, or of the metadata of a document | [`lexical::analyze_passage`], [`lexical::analyze_metadata`] |
//! | weigh the words of a query | [`lexical::query_terms`], [`lexical::merge_terms`] |
//! | read the phrases and exclusions of a query | [`query_syntax::ParsedQuery`] |
//! | decide whether a text contains a phrase | [`lexical::WordSequence`] |
//! | read the words of a URL | [`lexical::url_words`] |
//! | find the word of a library that is spelt almost like another | [`spelling::nearest_word`] |
//! | rank what the lexical and the dense search found | [`fusion::fuse`], [`fusion::limit_per_document`] |
//! | score a result comparably between queries | [`calibration::Relevance`], [`title_match::TitleMatch`] |
//! | show the part of a passage that matches | [`snippet::SnippetTerms`], [`snippet::SnippetMatcher`] |
//! | compare the words of two texts as sets | [`similarity::jaccard`] |
//! | check the citations of an answer | [`citation::cite`] |
//!
//! A search has two parts, a lexical and a dense one: BM25 over the words of the user's own passages, and cosine similarity of vectors.
//! [`index::EdgeIndex`] is a qdrant-edge shard in a folder, which one process at a time may open; [`index::ServerIndex`] is a collection
//! of a Qdrant server, which several nodes may share. Every query and every change names a [`index::Tenant`], one user; the comparison
//! with the database alone works on bare ids. Text never enters the index.
//!
//! Another implementation of [`index::PassageIndex`] must pass the tests in `index/contract.rs`.
//!
//! Methods of an index block: run them on threads for blocking work. The embedded index refuses to write when its disk has
//! less than 16 MiB left (8 MiB to delete), because the engine would end the process. Everything outside of [`index`] performs no
//! I/O, keeps no state, and takes any text; a snippet has at most 320 characters.
//!
//! This crate depends on no rows, actors or settings. It computes no vectors (crate `inference` does), and no error or log line
//! holds any text.

pub mod calibration;
pub mod citation;
mod counts;
pub mod fusion;
pub mod index;
pub mod lexical;
pub mod query_syntax;
pub mod similarity;
pub mod snippet;
pub mod spelling;
pub mod title_match;
