//! A small model of the same shape as multilingual-e5-small, with seeded weights and a Unigram tokenizer, compared with a plain
//! implementation.

mod reference;

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::query_weight::WordPieceCounts;
use super::*;

const WIDTH: usize = 32;
const INNER: usize = 64;
const HEADS: usize = 4;
const LAYERS: usize = 2;
/// Rows of the embedding table: more than the tokenizer has tokens, as in multilingual-e5-small.
const ROWS: usize = 60;

/// Pieces with their scores, after the special ones. The others are the letters.
const PIECES: [(&str, f64); 8] = [
    ("▁", -3.0),
    ("▁heron", -4.0),
    ("▁reed", -4.5),
    ("▁in", -3.5),
    ("▁the", -3.2),
    ("s", -4.0),
    ("▁query", -4.0),
    (":", -4.0),
];

/// The tensors of a model, by name.
pub struct SmallWeights(Vec<(String, Vec<usize>, Vec<f32>)>);

impl SmallWeights {
    /// Makes weights of the usual sizes, always the same.
    fn seeded(token_types: usize) -> Self {
        let mut state = 7_u64;
        // Between -1 and 1.
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        let mut tensors = Vec::new();
        let mut add = |name: String, shape: &[usize], base: f32, spread: f32| {
            let values = (0..shape.iter().product::<usize>()).map(|_| base + spread * next()).collect();
            tensors.push((name, shape.to_vec(), values));
        };
        add("embeddings.word_embeddings.weight".to_owned(), &[ROWS, WIDTH], 0.0, 1.0);
        add("embeddings.position_embeddings.weight".to_owned(), &[tokenizer::MAX_TOKENS, WIDTH], 0.0, 0.2);
        add("embeddings.token_type_embeddings.weight".to_owned(), &[token_types, WIDTH], 0.0, 0.2);
        add("embeddings.LayerNorm.weight".to_owned(), &[WIDTH], 1.0, 0.1);
        add("embeddings.LayerNorm.bias".to_owned(), &[WIDTH], 0.0, 0.1);
        for layer in 0..LAYERS {
            let square = [
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
                "attention.output.dense",
            ];
            let maps = square.map(|name| (name, [WIDTH, WIDTH])).into_iter();
            let maps = maps.chain([("intermediate.dense", [INNER, WIDTH]), ("output.dense", [WIDTH, INNER])]);
            for (name, [outputs, inputs]) in maps {
                add(format!("encoder.layer.{layer}.{name}.weight"), &[outputs, inputs], 0.0, 0.3);
                add(format!("encoder.layer.{layer}.{name}.bias"), &[outputs], 0.0, 0.1);
            }
            for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
                add(format!("encoder.layer.{layer}.{name}.weight"), &[WIDTH], 1.0, 0.1);
                add(format!("encoder.layer.{layer}.{name}.bias"), &[WIDTH], 0.0, 0.1);
            }
        }
        Self(tensors)
    }

    /// Returns the values of a tensor.
    pub fn tensor(&self, name: &str) -> Vec<f64> {
        let (_, _, values) = self.0.iter().find(|(known, _, _)| known == name).unwrap();
        values.iter().map(|value| f64::from(*value)).collect()
    }

    /// Returns a safetensors file: the length of the header, the header, the values.
    fn to_file(&self) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, shape, values) in &self.0 {
            let start = data.len();
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            let tensor = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] });
            header.insert(name.clone(), tensor);
        }
        let header = Value::Object(header).to_string().into_bytes();
        [&(header.len() as u64).to_le_bytes(), header.as_slice(), &data].concat()
    }
}

/// The pieces of the tokenizer: those of XLM-RoBERTa that are special, then the others.
fn vocabulary() -> Vec<(String, f64)> {
    let special = ["<s>", "<pad>", "</s>", "<unk>"].map(|piece| (piece.to_owned(), 0.0));
    let others = PIECES.map(|(piece, score)| (piece.to_owned(), score));
    let letters = ('a'..='z').filter(|letter| *letter != 's').map(|letter| (letter.to_string(), -6.0));
    special.into_iter().chain(others).chain(letters).collect()
}

fn tokenizer_json() -> Value {
    let special = |id: usize, content: &str| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true,
        })
    };
    let token = |content: &str| json!({ "SpecialToken": { "id": content, "type_id": 0 } });
    let text = |id: &str| json!({ "Sequence": { "id": id, "type_id": 0 } });
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [special(0, "<s>"), special(1, "<pad>"), special(2, "</s>"), special(3, "<unk>")],
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                { "type": "WhitespaceSplit" },
                { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true },
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token("<s>"), text("A"), token("</s>")],
            "pair": [token("<s>"), text("A"), token("</s>"), token("</s>"), text("B"), token("</s>")],
            "special_tokens": {
                "<s>": { "id": "<s>", "ids": [0], "tokens": ["<s>"] },
                "</s>": { "id": "</s>", "ids": [2], "tokens": ["</s>"] },
            },
        },
        "decoder": null,
        "model": { "type": "Unigram", "unk_id": 3, "vocab": vocabulary() },
    })
}

/// Writes a model into a new folder.
fn write_model(name: &str, token_types: usize) -> (PathBuf, SmallWeights) {
    let folder = env::temp_dir().join(format!("carrel-small-model-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let config = json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "vocab_size": ROWS,
        "max_position_embeddings": tokenizer::MAX_TOKENS, "type_vocab_size": token_types, "layer_norm_eps": 1e-12,
    });
    let weights = SmallWeights::seeded(token_types);
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer_json().to_string()).unwrap();
    fs::write(folder.join("model.safetensors"), weights.to_file()).unwrap();
    (folder, weights)
}

fn profile(calibration: Option<Calibration>) -> EmbeddingProfile {
    EmbeddingProfile {
        dimensions: WIDTH,
        query_prefix: "query: ".to_owned(),
        passage_prefix: "passage: ".to_owned(),
        calibration,
    }
}

fn open(folder: &std::path::Path, precision: Precision) -> BertEmbedder {
    let profile = profile(Some(Calibration::STANDARD));
    BertEmbedder::open_with(folder, &profile, Options { precision, threads: 1 }).unwrap()
}

fn cosine(vector: &[f32], expected: &[f64]) -> f64 {
    vector.iter().zip(expected).map(|(a, b)| f64::from(*a) * b).sum()
}

const TEXTS: [&str; 4] = ["heron in the reeds", "the", "a heron 鷺 reads", ""];

#[test]
fn unigram_model_equals_a_plain_implementation() {
    for token_types in [1, 2] {
        let (folder, weights) = write_model(&format!("plain-{token_types}"), token_types);
        let tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).unwrap();
        let expected =
            |text: String| reference::embed(&weights, tokenizer.encode(text, true).unwrap().get_ids());
        let (exact, int8) = (open(&folder, Precision::Exact), open(&folder, Precision::Int8));

        for text in TEXTS {
            let query = expected(format!("query: {text}"));
            let near = exact.embed_query(text).unwrap();
            assert!(near.iter().zip(&query).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4), "{text}");
            assert!(cosine(&int8.embed_query(text).unwrap(), &query) > 0.99, "{text}");
            let passage = expected(format!("passage: {text}"));
            let near = exact.embed(&[text]).unwrap().vectors.remove(0);
            assert!(near.iter().zip(&passage).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4), "{text}");
            assert!(cosine(&int8.embed(&[text]).unwrap().vectors[0], &passage) > 0.97, "{text}");
        }
    }
}

#[test]
fn pieces_with_the_best_scores_are_between_special_tokens() {
    let (folder, _) = write_model("pieces", 2);
    let tokenizer = tokenizer::ModelTokenizer::open(&folder.join("tokenizer.json")).unwrap();

    // <s> ▁heron ▁in ▁the ▁reed s </s>
    assert_eq!(tokenizer.encode("heron in the reeds").unwrap(), [0, 5, 7, 8, 6, 9, 2]);
    assert!(!tokenizer.has_word_pieces());
    assert_eq!(tokenizer.count_word_pieces("heron 鷺"), WordPieceCounts { all: 3, unknown: 1 });
}

#[test]
fn query_weighs_as_much_as_the_share_of_its_known_pieces() {
    let (folder, _) = write_model("weight", 2);
    let model = open(&folder, Precision::Int8);

    assert_eq!(model.query_weight("heron in the reeds"), QueryWeight::FULL);
    // Spelled out, but of known pieces: languages without spaces look the same.
    assert_eq!(model.query_weight("zebufaocd"), QueryWeight::FULL);
    let (weight, vector) = model.embed_weighted_query("heron 鷺");
    assert!((weight.get() - 2.0 / 3.0).abs() < 1e-6, "{weight:?}");
    assert_eq!(vector.unwrap().unwrap(), model.embed_query("heron 鷺").unwrap());
}

#[test]
fn long_passage_is_truncated_with_its_prefix() {
    let (folder, _) = write_model("long", 2);
    let model = open(&folder, Precision::Int8);

    let long = model.embed(&[&"heron ".repeat(2_000)]).unwrap();

    assert_eq!(long.tokens, tokenizer::MAX_TOKENS - tokenizer::SPECIAL_TOKENS);
    assert_eq!(long, model.embed(&[&"heron ".repeat(1_000)]).unwrap());
    assert_ne!(model.embed(&["heron"]).unwrap().vectors[0], model.embed_query("heron").unwrap());
}

#[test]
fn model_without_a_calibration_is_measured_when_it_is_opened() {
    let (folder, _) = write_model("measured", 2);
    let options = Options { precision: Precision::Int8, threads: 1 };

    let model = BertEmbedder::open_with(&folder, &profile(None), options).unwrap();

    let Calibration { unrelated_cosine, min_cosine } = model.calibration();
    assert!(unrelated_cosine < min_cosine && min_cosine.is_finite());
    assert_ne!(model.calibration(), Calibration::STANDARD);
}

#[test]
fn model_of_another_width_than_its_profile_is_refused() {
    let (folder, _) = write_model("width", 2);
    let profile = EmbeddingProfile { dimensions: 384, ..profile(None) };

    let refused = BertEmbedder::open(&folder, &profile).err();

    assert!(matches!(refused, Some(OpenError::Dimensions { expected: 384, found: WIDTH })), "{refused:?}");
}
