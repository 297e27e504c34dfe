//! The description of a pattern: plain data, made by a test or a job file, checked when built.

use super::{BlockSizes, Zone};

/// Where the next block lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// One after the other from the start of the span; reads, writes and trims each keep a place of their own, as
    /// in fio, unless they share one ([`Pattern::one_place`]). At the end of the span it starts again.
    Sequential,
    Random(Distribution),
}

/// How random blocks are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Every block equally likely, with replacement (fio's `norandommap`).
    Uniform,
    /// Every block exactly once in random order, then again in another order (fio's default). Needs one block
    /// size.
    EachBlockOnce,
    /// fio's `zipf:theta`: the k-th most popular block is chosen in proportion to `1/k^theta`. Popular blocks are
    /// scattered over the span; `center` (0 to 1, share of the span) says where the most popular one lies; see
    /// [`super::Zipf`].
    Zipf { theta: f64, center: Option<f64> },
    /// fio's `pareto:h`, `0 < h < 1`; see [`super::Pareto`].
    Pareto { h: f64, center: Option<f64> },
    /// fio's `zoned`: shares of the accesses go to shares of the span, uniformly inside each. For reads, writes
    /// and trims in this order.
    Zoned([Vec<Zone>; 3]),
}

/// Reads, writes or trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    Read,
    Write,
    Trim,
    /// Each command is a read with this probability in per cent, else a write.
    ReadWrite {
        read_percent: u32,
    },
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// When a pattern is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Endless,
    /// So many times over the span: in sequence, each block once per pass; where blocks may repeat, as many
    /// bytes as the span holds.
    Passes(u64),
    /// When at least so many bytes have been asked for.
    Bytes(u64),
}

/// What a host asks for, before it is checked against anything.
///
/// ```
/// use ssdlab_core::{Op, Rng};
/// use ssdlab_workload::{Pattern, Source};
/// // Fill 1 MB in sequence, once, including a last block that is shorter than the others.
/// let mut fill = Pattern::sequential_write(1_000_448, 131_072).passes(1).build(&Rng::new(1))?;
/// let mut bytes = 0;
/// while let Some(c) = fill.next() {
///     assert_eq!((c.op, c.offset_bytes), (Op::Write, bytes));
///     bytes += c.length_bytes;
/// }
/// assert_eq!(bytes, 1_000_448);
/// # Ok::<(), ssdlab_workload::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// First byte of the span. A multiple of 512.
    pub start_bytes: u64,
    /// Length of the span. A multiple of 512.
    pub span_bytes: u64,
    pub order: Order,
    pub mix: Mix,
    /// Sizes of reads, writes and trims, in this order. Only those that [`Pattern::mix`] uses are looked at.
    pub sizes: [BlockSizes; 3],
    /// Random offsets are multiples of this from the start of the span; by default the smallest block size of the
    /// operation. For reads, writes and trims.
    pub align_bytes: [Option<u64>; 3],
    /// Shifts every offset, e.g. by 512 bytes for a partition that begins at sector 63. The span loses as much at
    /// its end.
    pub align_offset_bytes: u64,
    pub extent: Extent,
    /// In sequence: whether the last block of the span may be shorter than the others, so that every byte is
    /// covered (fio would leave the remainder out).
    pub short_tail: bool,
    /// In sequence: whether reads and writes go on from one common place, so that each address is either read or
    /// written in a pass (as Iometer does), and not each from a place of its own.
    pub one_place: bool,
    /// Whether each pass over the span is the first one again: the same blocks of the same sizes in the same order (as of
    /// fio, unless `randrepeat=0`). Of no meaning where there are no passes: where
    /// random blocks may come twice, or reads and writes go on in sequence each from a place of its own.
    pub repeats: bool,
    pub fua: bool,
}

impl Pattern {
    /// A pattern over the bytes `0..span_bytes`, endless, with one block size.
    #[must_use]
    pub fn new(order: Order, mix: Mix, span_bytes: u64, block_bytes: u64) -> Self {
        Pattern {
            start_bytes: 0,
            span_bytes,
            order,
            mix,
            sizes: std::array::from_fn(|_| BlockSizes::Fixed(block_bytes)),
            align_bytes: [None; 3],
            align_offset_bytes: 0,
            extent: Extent::Endless,
            short_tail: true,
            one_place: false,
            repeats: false,
            fua: false,
        }
    }

    /// Uniformly random, with replacement.
    #[must_use]
    pub fn random(mix: Mix, span_bytes: u64, block_bytes: u64) -> Self {
        Self::new(Order::Random(Distribution::Uniform), mix, span_bytes, block_bytes)
    }

    #[must_use]
    pub fn random_read(span_bytes: u64, block_bytes: u64) -> Self {
        Self::random(Mix::Read, span_bytes, block_bytes)
    }

    #[must_use]
    pub fn random_write(span_bytes: u64, block_bytes: u64) -> Self {
        Self::random(Mix::Write, span_bytes, block_bytes)
    }

    #[must_use]
    pub fn sequential(mix: Mix, span_bytes: u64, block_bytes: u64) -> Self {
        Self::new(Order::Sequential, mix, span_bytes, block_bytes)
    }

    /// Reads and writes in sequence go on from one common place.
    #[must_use]
    pub fn at_one_place(mut self) -> Self {
        self.one_place = true;
        self
    }

    #[must_use]
    pub fn sequential_read(span_bytes: u64, block_bytes: u64) -> Self {
        Self::sequential(Mix::Read, span_bytes, block_bytes)
    }

    #[must_use]
    pub fn sequential_write(span_bytes: u64, block_bytes: u64) -> Self {
        Self::sequential(Mix::Write, span_bytes, block_bytes)
    }

    /// Moves the span so that it begins at this byte.
    #[must_use]
    pub fn starting_at(mut self, start_bytes: u64) -> Self {
        self.start_bytes = start_bytes;
        self
    }

    /// Shifts every offset by this many bytes.
    #[must_use]
    pub fn misaligned_by(mut self, offset_bytes: u64) -> Self {
        self.align_offset_bytes = offset_bytes;
        self
    }

    #[must_use]
    pub fn passes(mut self, passes: u64) -> Self {
        self.extent = Extent::Passes(passes);
        self
    }

    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.extent = Extent::Bytes(bytes);
        self
    }

    #[must_use]
    pub fn distribution(mut self, distribution: Distribution) -> Self {
        self.order = Order::Random(distribution);
        self
    }

    /// The same sizes for every operation.
    #[must_use]
    pub fn block_sizes(mut self, sizes: BlockSizes) -> Self {
        self.sizes = std::array::from_fn(|_| sizes.clone());
        self
    }

    #[must_use]
    pub fn fua(mut self, fua: bool) -> Self {
        self.fua = fua;
        self
    }
}
