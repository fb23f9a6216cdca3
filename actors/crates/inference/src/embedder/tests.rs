//! The model against vectors that were computed outside of this program (numpy, 64-bit floats, the same weights).
//!
//! The model is looked for in `CARREL_MODELS_DIR`, else in `~/.cache/carrel/models`. Without it these tests are
//! skipped with a word on stderr; in CI (`CI=true`) they fail.

use std::{
    env,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rten_gemm::GemmExecutor;

use super::*;

const MODEL: &str = "all-minilm-l6-v2";

/// A text, the tokens between its two frames, the first numbers of its vector, the sum of all, and the sum of all
/// weighed by -3, -2 .. 3 in turn.
struct Known {
    text: &'static str,
    tokens: usize,
    first: [f32; 8],
    sum: f32,
    weighed: f32,
}

const KNOWN: [Known; 3] = [
    Known {
        text: "The library opens at nine.",
        tokens: 6,
        first: [0.0279738, -0.0663882, -0.0401668, -0.0152312, 0.0259249, 0.0989331, -0.1009911, 0.0689938],
        sum: 0.5006323,
        weighed: -2.208_426,
    },
    Known {
        text: "Überraschung im Café: naïve façade",
        tokens: 9,
        first: [0.0314362, 0.0899294, 0.0466201, -0.0211523, 0.0549899, -0.0176531, 0.0359782, -0.0689693],
        sum: -0.1104038,
        weighed: 0.3247287,
    },
    Known {
        text: "Ants store seeds in dry chambers so that the colony can eat in winter, when nothing grows above the ground.",
        tokens: 22,
        first: [0.0154061, 0.0462329, -0.0581282, 0.053278, 0.0385318, -0.0020964, -0.0224559, -0.0878447],
        sum: 0.5286888,
        weighed: 0.930459,
    },
];

fn folder() -> Option<PathBuf> {
    let named = env::var_os("CARREL_MODELS_DIR").map(PathBuf::from);
    let usual = env::home_dir().map(|home| home.join(".cache/carrel/models"));
    let folder = named.or(usual)?.join(MODEL);
    folder.join("model.safetensors").is_file().then_some(folder)
}

fn open(precision: Precision, threads: usize) -> Option<MiniLm> {
    if let Some(folder) = folder() {
        return Some(MiniLm::open_with(&folder, Options { precision, threads }).unwrap());
    }
    let on_ci = env::var_os("CI").is_some_and(|said| !said.is_empty());
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

/// Passages of one to some two hundred tokens, all different.
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
fn exact_vectors_are_those_of_the_reference() {
    let Some(model) = open(Precision::Exact, 1) else { return };

    for known in KNOWN {
        let vector = model.embed_query(known.text).unwrap();

        assert_eq!(vector.len(), model.dimensions());
        assert!(vector.iter().zip(known.first).all(|(is, should)| near(*is, should)), "{:?}", &vector[..8]);
        assert!((vector.iter().sum::<f32>() - known.sum).abs() < 1e-4);
        let weighed: f32 = vector.iter().zip((-3i8..=3).cycle()).map(|(is, by)| is * f32::from(by)).sum();
        assert!((weighed - known.weighed).abs() < 1e-4);
    }
}

#[test]
fn fast_vectors_are_close_to_exact_ones() {
    let (Some(exact), Some(fast)) = (open(Precision::Exact, 2), open(Precision::Int8, 2)) else { return };
    let passages = passages(40);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();

    let pairs: Vec<f32> = exact
        .embed(&passages)
        .unwrap()
        .iter()
        .zip(fast.embed(&passages).unwrap())
        .map(|(exact, fast)| cosine(exact, &fast))
        .collect();

    assert!(pairs.iter().all(|cosine| *cosine > 0.99), "{pairs:?}");
    // Where products are added in 16 bits the input has a bit less.
    let mean = if GemmExecutor::<u8, i8, i32>::new().may_saturate() { 0.996 } else { 0.998 };
    assert!(pairs.iter().sum::<f32>() / pairs.len() as f32 > mean, "{pairs:?}");
    for known in KNOWN {
        let query = cosine(&exact.embed_query(known.text).unwrap(), &fast.embed_query(known.text).unwrap());
        assert!(query > 0.999, "{query}");
    }
}

#[test]
fn a_vector_does_not_depend_on_its_company() {
    let Some(model) = open(Precision::Int8, 2) else { return };
    let passages = passages(30);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();

    let together = model.embed(&passages).unwrap();

    assert_eq!(together.len(), passages.len());
    for (vector, passage) in together.iter().zip(&passages) {
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5);
        assert_eq!(model.embed(&[passage]).unwrap(), std::slice::from_ref(vector));
    }
    assert!(model.embed(&[]).unwrap().is_empty());
}

#[test]
fn a_text_that_is_too_long_is_read_from_its_beginning() {
    let Some(model) = open(Precision::Int8, 1) else { return };
    let beginning = "ants ".repeat(tokens::MAX_TOKENS - 2);
    let long = format!("{beginning}{}", "winter ".repeat(500));

    assert_eq!(model.count_tokens(&long), tokens::MAX_TOKENS - 2 + 500);
    assert_eq!(model.embed(&[&long]).unwrap(), model.embed(&[&beginning]).unwrap());
}

#[test]
fn tokens_are_counted_without_frames() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    assert_eq!(model.count_tokens(""), 0);
    for known in KNOWN {
        assert_eq!(model.count_tokens(known.text), known.tokens);
    }
}

#[test]
fn what_the_model_cannot_write_is_counted() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    for (query, all, unknown) in [
        ("ants", 1, 0),
        ("🚗", 1, 1),
        ("🚗🚗 🐜", 2, 2),
        ("ትምህርት ቤት", 2, 2),
        ("ants 🐜", 2, 1),
        ("a car 🚗🚗🚗🚗", 3, 1),
    ] {
        assert_eq!(model.pieces(query), Pieces { all, unknown }, "{query}");
    }
}

#[test]
fn a_query_does_not_wait_for_a_batch() {
    let Some(model) = open(Precision::Int8, 1) else { return };
    let passages = passages(400);
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));

    thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Ordering::Release);
            model.embed(&passages).unwrap();
            done.store(true, Ordering::Release);
        });
        while !begun.load(Ordering::Acquire) {
            thread::yield_now();
        }
        for known in KNOWN {
            model.embed_query(known.text).unwrap();
        }
        assert!(!done.load(Ordering::Acquire));
    });
}

#[test]
fn the_model_is_named_by_its_folder() {
    let Some(model) = open(Precision::Int8, 1) else { return };

    assert_eq!(model.model(), MODEL);
    assert_eq!(model.dimensions(), 384);
}

#[test]
fn a_folder_without_a_model_is_an_error() {
    let empty = env::temp_dir().join(format!("carrel-no-model-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();

    assert!(matches!(MiniLm::open(&empty), Err(OpenError::Config(_))));
}
