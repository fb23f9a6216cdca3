//! Compares the model with vectors that were computed independently (numpy, 64-bit floats, the same weights).
//!
//! The model is expected in `CARREL_MODELS_DIR` or else in `~/.cache/carrel/models`. Without it these tests are skipped with a
//! message on stderr; in CI (`CI=true`) they fail.

use std::{
    env,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rten_gemm::GemmExecutor;

use super::query_weight::WordPieceCounts;
use super::*;
use crate::models::Catalogue;

const MODEL: &str = "all-minilm-l6-v2";

/// A text with the number of its tokens without the special tokens, the first numbers of its vector, their sum, and their sum
/// weighted by -3, -2 .. 3 in turn.
struct ReferenceVector {
    text: &'static str,
    tokens: usize,
    first: [f32; 8],
    sum: f32,
    weighted_sum: f32,
}

const REFERENCE_VECTORS: [ReferenceVector; 3] = [
    ReferenceVector {
        text: "The library opens at nine.",
        tokens: 6,
        first: [0.0279738, -0.0663882, -0.0401668, -0.0152312, 0.0259249, 0.0989331, -0.1009911, 0.0689938],
        sum: 0.5006323,
        weighted_sum: -2.208_426,
    },
    ReferenceVector {
        text: "Überraschung im Café: naïve façade",
        tokens: 9,
        first: [0.0314362, 0.0899294, 0.0466201, -0.0211523, 0.0549899, -0.0176531, 0.0359782, -0.0689693],
        sum: -0.1104038,
        weighted_sum: 0.3247287,
    },
    ReferenceVector {
        text: "Ants store seeds in dry chambers so that the colony can eat in winter, when nothing grows above the ground.",
        tokens: 22,
        first: [0.0154061, 0.0462329, -0.0581282, 0.053278, 0.0385318, -0.0020964, -0.0224559, -0.0878447],
        sum: 0.5286888,
        weighted_sum: 0.930459,
    },
];

fn folder() -> Option<PathBuf> {
    let configured = env::var_os("CARREL_MODELS_DIR").map(PathBuf::from);
    let default = env::home_dir().map(|home| home.join(".cache/carrel/models"));
    let folder = configured.or(default)?.join(MODEL);
    folder.join("model.safetensors").is_file().then_some(folder)
}

/// What the catalogue says of the model.
fn profile() -> EmbeddingProfile {
    Catalogue::built_in().get(MODEL).unwrap().embedding.clone().unwrap()
}

fn open(precision: Precision, threads: usize) -> Option<BertEmbedder> {
    if let Some(folder) = folder() {
        return Some(BertEmbedder::open_with(&folder, &profile(), Options { precision, threads }).unwrap());
    }
    let on_ci = env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!on_ci, "the model {MODEL} is missing in CI: carrel models pull");
    eprintln!("SKIPPED: the model {MODEL} is missing: set CARREL_MODELS_DIR, or run carrel models pull");
    None
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 2e-5
}

/// Returns different passages of one to about two hundred tokens.
fn passages(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| {
            let words =
                ["ants", "library", "winter", "chapter", "of", "seeds", "the", "colony", "reader", "grows"];
            (0..=number * 7 % 190)
                .map(|at| words[(at * at + number) % words.len()])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn exact_vectors_equal_the_reference() {
    let Some(model) = open(Precision::Exact, 1) else { return };

    for reference in REFERENCE_VECTORS {
        let vector = model.embed_query(reference.text).unwrap();

        assert_eq!(vector.len(), model.dimensions());
        assert!(
            vector.iter().zip(reference.first).all(|(value, expected)| near(*value, expected)),
            "{:?}",
            &vector[..8]
        );
        assert!((vector.iter().sum::<f32>() - reference.sum).abs() < 1e-4);
        let weighted: f32 =
            vector.iter().zip((-3i8..=3).cycle()).map(|(value, weight)| value * f32::from(weight)).sum();
        assert!((weighted - reference.weighted_sum).abs() < 1e-4);
    }
}

#[test]
fn int8_vectors_are_close_to_exact_ones() {
    let (Some(exact), Some(fast)) = (open(Precision::Exact, 2), open(Precision::Int8, 2)) else { return };
    let passages = passages(40);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();

    let pairs: Vec<f32> = exact
        .embed(&passages)
        .unwrap()
        .vectors
        .iter()
        .zip(fast.embed(&passages).unwrap().vectors)
        .map(|(exact, fast)| cosine(exact, &fast))
        .collect();

    assert!(pairs.iter().all(|cosine| *cosine > 0.99), "{pairs:?}");
    // If products are added in 16 bits, the input has one bit less.
    let mean = if GemmExecutor::<u8, i8, i32>::new().may_saturate() { 0.996 } else { 0.998 };
    assert!(pairs.iter().sum::<f32>() / pairs.len() as f32 > mean, "{pairs:?}");
    for reference in REFERENCE_VECTORS {
        let query =
            cosine(&exact.embed_query(reference.text).unwrap(), &fast.embed_query(reference.text).unwrap());
        assert!(query > 0.999, "{query}");
    }
}

#[test]
fn vector_does_not_depend_on_the_batch() {
    let Some(model) = open(Precision::Int8, 2) else { return };
    let passages = passages(30);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();

    let together = model.embed(&passages).unwrap().vectors;

    assert_eq!(together.len(), passages.len());
    for (vector, passage) in together.iter().zip(&passages) {
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5);
        assert_eq!(model.embed(&[passage]).unwrap().vectors, std::slice::from_ref(vector));
    }
    assert_eq!(model.embed(&[]).unwrap(), Embeddings::default());
}

#[test]
fn text_that_is_too_long_is_truncated() {
    let Some(model) = open(Precision::Int8, 1) else { return };
    let beginning = "ants ".repeat(tokenizer::MAX_TOKENS - 2);
    let long = format!("{beginning}{}", "winter ".repeat(500));

    let embedded = model.embed(&[&long]).unwrap();
    assert_eq!(embedded.tokens, tokenizer::MAX_TOKENS - tokenizer::SPECIAL_TOKENS);
    assert_eq!(embedded, model.embed(&[&beginning]).unwrap());
}

#[test]
fn tokens_are_counted_without_special_tokens() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    let count = |texts: &[&str]| model.embed(texts).unwrap().tokens;
    assert_eq!(count(&[""]), 0);
    for reference in REFERENCE_VECTORS {
        assert_eq!(count(&[reference.text]), reference.tokens);
    }
    assert_eq!(count(&REFERENCE_VECTORS.map(|reference| reference.text)), 6 + 9 + 22);
}

#[test]
fn unknown_word_pieces_are_counted() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    for (query, all, unknown) in [
        ("ants", 1, 0),
        ("🚗", 1, 1),
        ("🚗🚗 🐜", 2, 2),
        ("ትምህርት ቤት", 2, 2),
        ("ants 🐜", 2, 1),
        ("a car 🚗🚗🚗🚗", 3, 1),
    ] {
        assert_eq!(model.count_word_pieces(query), WordPieceCounts { all, unknown }, "{query}");
        let weight = QueryWeight::for_word_pieces(query, WordPieceCounts { all, unknown });
        assert_eq!(
            (model.query_weight(query), model.embed_weighted_query(query).0),
            (weight, weight),
            "{query}"
        );
    }
}

#[test]
fn query_is_embedded_alike_whether_weighted_or_not() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    for reference in REFERENCE_VECTORS {
        let (weight, vector) = model.embed_weighted_query(reference.text);

        assert_eq!(weight, model.query_weight(reference.text));
        assert_eq!(vector.map(Result::unwrap), Some(model.embed_query(reference.text).unwrap()));
    }
    assert!(model.embed_weighted_query("zebu3fa91c0d").1.is_none());
}

#[test]
fn measured_scale_is_near_the_one_of_the_catalogue() {
    let Some(model) = open(Precision::Int8, 2) else { return };
    assert_eq!(model.calibration(), Calibration::STANDARD);

    let measured = measurement::measure(
        |queries| model.embed_queries(queries),
        |passages| Ok(model.embed(passages)?.vectors),
    )
    .unwrap();

    // The queries are made-up words, for which the minimum of this model is higher by 0.3 (`search::calibration`). A measured model has no
    // other way to tell them from words that it knows.
    let known = Calibration::STANDARD;
    assert!((measured.min_cosine - (known.min_cosine + 0.3)).abs() < 0.1, "{measured:?}");
    assert!((measured.unrelated_cosine - known.unrelated_cosine).abs() < 0.1, "{measured:?}");
}

#[test]
fn query_does_not_wait_for_a_batch() {
    let Some(model) = open(Precision::Int8, 1) else { return };
    let passages = passages(400);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let (started, finished) = (AtomicBool::new(false), AtomicBool::new(false));

    thread::scope(|scope| {
        scope.spawn(|| {
            started.store(true, Ordering::Release);
            model.embed(&passages).unwrap();
            finished.store(true, Ordering::Release);
        });
        while !started.load(Ordering::Acquire) {
            thread::yield_now();
        }
        for reference in REFERENCE_VECTORS {
            model.embed_query(reference.text).unwrap();
        }
        assert!(!finished.load(Ordering::Acquire));
    });
}

#[test]
fn model_is_named_after_its_folder() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    assert_eq!(model.model(), MODEL);
    assert_eq!(model.dimensions(), 384);
}

#[test]
fn folder_without_a_model_is_an_error() {
    let empty = env::temp_dir().join(format!("carrel-no-model-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();

    assert!(matches!(BertEmbedder::open(&empty, &profile()), Err(OpenError::Config(_))));
}
