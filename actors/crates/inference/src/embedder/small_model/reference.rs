//! A plain implementation of a BERT encoder with mean pooling, in 64-bit floats and loops: what the kernels must compute.

use super::{HEADS, LAYERS, SmallWeights, WIDTH};

const EPSILON: f64 = 1e-12;

/// Returns the vector of tokens, of length 1.
pub fn embed(weights: &SmallWeights, tokens: &[u32]) -> Vec<f64> {
    let words = weights.tensor("embeddings.word_embeddings.weight");
    let positions = weights.tensor("embeddings.position_embeddings.weight");
    let token_types = weights.tensor("embeddings.token_type_embeddings.weight");
    let embed_token = |(at, token): (usize, &u32)| -> Vec<f64> {
        let value = |column: usize| {
            words[*token as usize * WIDTH + column] + positions[at * WIDTH + column] + token_types[column]
        };
        (0..WIDTH).map(value).collect()
    };
    let mut rows: Vec<Vec<f64>> = tokens.iter().enumerate().map(embed_token).collect();
    rows.iter_mut().for_each(|row| normalize(weights, "embeddings.LayerNorm", row));
    for layer in 0..LAYERS {
        rows = run_layer(weights, &format!("encoder.layer.{layer}"), &rows);
    }
    let mean = (0..WIDTH).map(|column| rows.iter().map(|row| row[column]).sum::<f64>());
    let mean: Vec<f64> = mean.collect();
    let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    mean.iter().map(|value| value / length).collect()
}

fn run_layer(weights: &SmallWeights, layer: &str, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let project = |name: &str| -> Vec<Vec<f64>> {
        rows.iter().map(|row| linear(weights, &format!("{layer}.attention.self.{name}"), row)).collect()
    };
    let (queries, keys, values) = (project("query"), project("key"), project("value"));
    let width = WIDTH / HEADS;
    let attend = |query: &Vec<f64>| -> Vec<f64> {
        let of_head = |head: usize| -> Vec<f64> {
            let columns = head * width..(head + 1) * width;
            let score = |key: &Vec<f64>| {
                let product: f64 = columns.clone().map(|column| query[column] * key[column]).sum();
                (product / (width as f64).sqrt()).exp()
            };
            let scores: Vec<f64> = keys.iter().map(score).collect();
            let sum: f64 = scores.iter().sum();
            let mixed = |column: usize| {
                scores.iter().zip(&values).map(|(score, value)| score / sum * value[column]).sum::<f64>()
            };
            columns.clone().map(mixed).collect()
        };
        (0..HEADS).flat_map(of_head).collect()
    };
    let finish = |(row, query): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        let attended = linear(weights, &format!("{layer}.attention.output.dense"), &attend(query));
        let mut row: Vec<f64> = row.iter().zip(attended).map(|(a, b)| a + b).collect();
        normalize(weights, &format!("{layer}.attention.output.LayerNorm"), &mut row);
        let inner = linear(weights, &format!("{layer}.intermediate.dense"), &row);
        let inner: Vec<f64> = inner.into_iter().map(gelu).collect();
        let down = linear(weights, &format!("{layer}.output.dense"), &inner);
        let mut row: Vec<f64> = row.iter().zip(down).map(|(a, b)| a + b).collect();
        normalize(weights, &format!("{layer}.output.LayerNorm"), &mut row);
        row
    };
    rows.iter().zip(&queries).map(finish).collect()
}

fn linear(weights: &SmallWeights, name: &str, row: &[f64]) -> Vec<f64> {
    let matrix = weights.tensor(&format!("{name}.weight"));
    let bias = weights.tensor(&format!("{name}.bias"));
    let outputs = matrix.chunks_exact(row.len()).zip(bias);
    outputs.map(|(weights, bias)| weights.iter().zip(row).map(|(a, b)| a * b).sum::<f64>() + bias).collect()
}

fn normalize(weights: &SmallWeights, name: &str, row: &mut [f64]) {
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let scale = weights.tensor(&format!("{name}.weight"));
    let shift = weights.tensor(&format!("{name}.bias"));
    for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
        *value = (*value - mean) / (variance + EPSILON).sqrt() * scale + shift;
    }
}

/// The exact GELU, by the Taylor series of the error function, which converges fast for the small inputs of these weights.
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -z * z / n;
        sum += term / (2.0 * n + 1.0);
    }
    let erf = (sum * 2.0 / std::f64::consts::PI.sqrt()).clamp(-1.0, 1.0);
    0.5 * x * (1.0 + erf)
}
