//! One layer of the encoder: attention, then the feed-forward block, each with a residual connection and normalisation.

use super::{
    EmbedError,
    attention::{AttentionScratch, Heads},
    config::Config,
    gemm::{Epilogue, GemmContext, QuantPasses, ROW_BLOCK},
    linear::Linear,
    norm::Norm,
    precision::Precision,
    weights::{Weights, WeightsError},
};

pub(super) struct Layer {
    heads: Heads,
    inner: usize,
    /// Queries, keys and values as one map, so that the rows are read and quantized once for the three.
    qkv_proj: Linear,
    out_proj: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    output_norm: Norm,
}

/// Scratch memory for the rows of a group between the steps of a layer.
pub(super) struct LayerScratch {
    context: GemmContext,
    attention: AttentionScratch,
    qkv: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
}

impl LayerScratch {
    pub(super) fn new(passes: QuantPasses) -> Self {
        Self {
            context: GemmContext::new(passes),
            attention: AttentionScratch::default(),
            qkv: Vec::new(),
            mixed: Vec::new(),
            inner: Vec::new(),
        }
    }
}

impl Layer {
    pub(super) fn read(
        weights: &mut Weights,
        number: usize,
        config: &Config,
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let (width, inner) = (config.width, config.inner);
        let tensor_name = |part: &str| format!("encoder.layer.{number}.{part}");
        let names = ["query", "key", "value"].map(|part| tensor_name(&format!("attention.self.{part}")));
        let names = names.each_ref().map(String::as_str);
        let out_proj = tensor_name("attention.output.dense");
        let (up, down) = (tensor_name("intermediate.dense"), tensor_name("output.dense"));
        Ok(Self {
            heads: Heads { count: config.heads, width: config.head_width() },
            inner,
            qkv_proj: Linear::read(weights, &names, [width, width], precision)?,
            out_proj: Linear::read(weights, &[&out_proj], [width, width], precision)?,
            attention_norm: Norm::read(
                weights,
                &tensor_name("attention.output.LayerNorm"),
                width,
                config.epsilon,
            )?,
            up: Linear::read(weights, &[&up], [inner, width], precision)?,
            down: Linear::read(weights, &[&down], [width, inner], precision)?,
            output_norm: Norm::read(weights, &tensor_name("output.LayerNorm"), width, config.epsilon)?,
        })
    }

    /// Runs the layer on texts whose rows are concatenated in `x`. `lengths` contains the number of rows of each text.
    pub(super) fn run(
        &self,
        scratch: &mut LayerScratch,
        lengths: &[usize],
        x: &mut [f32],
    ) -> Result<(), EmbedError> {
        let width = self.heads.count * self.heads.width;
        let LayerScratch { context, attention, qkv, mixed, inner } = scratch;
        qkv.resize(3 * x.len(), 0.0);
        mixed.resize(x.len(), 0.0);
        for (x, qkv) in x.chunks(ROW_BLOCK * width).zip(qkv.chunks_mut(3 * ROW_BLOCK * width)) {
            self.qkv_proj.run(context, x, qkv, Epilogue::Overwrite)?;
        }

        // Attention is the only step that looks at other rows, so it runs text by text, and every other step runs on blocks of rows.
        let (mut qkv, mut outputs) = (qkv.as_slice(), mixed.as_mut_slice());
        for length in lengths {
            let (rows, rest) = qkv.split_at(3 * length * width);
            let (output, others) = outputs.split_at_mut(length * width);
            self.heads.run(&context.floats, attention, rows, output)?;
            (qkv, outputs) = (rest, others);
        }

        for (x, mixed) in x.chunks_mut(ROW_BLOCK * width).zip(mixed.chunks(ROW_BLOCK * width)) {
            self.out_proj.run(context, mixed, x, Epilogue::Accumulate)?;
            self.attention_norm.apply(x);
            // Only one block at a time: this intermediate result is the widest of the layer.
            inner.resize(x.len() / width * self.inner, 0.0);
            self.up.run(context, x, inner, Epilogue::Gelu)?;
            self.down.run(context, inner, x, Epilogue::Accumulate)?;
            self.output_norm.apply(x);
        }
        Ok(())
    }
}
