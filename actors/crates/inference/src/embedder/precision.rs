//! The precision that a model is run in.

/// The number format of the products of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats. Less than half as fast as [`Precision::Int8`], with almost three times its memory.
    Exact,
    /// Products in 8-bit integers: vectors at a cosine of about 0.999 to the exact ones (0.992 at the least, for
    /// passages of a word or two), and the same ranking of passages.
    #[default]
    Int8,
}
