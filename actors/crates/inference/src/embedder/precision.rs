//! The precision in which a model is run.

/// The number format of the products of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats. Less than half as fast as [`Precision::Int8`], with almost three times its memory.
    Exact,
    /// Products in 8-bit integers. The vectors have a cosine of about 0.999 to the exact ones (0.992 at least, for passages of one or
    /// two words), and rank passages the same.
    #[default]
    Int8,
}
