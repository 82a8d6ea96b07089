//! BLAKE3 in its mode with a context, after the [specification](https://github.com/BLAKE3-team/BLAKE3-specs).
//!
//! The crate `blake3` is faster, but builds a C toolchain's driver and eight more crates for the one
//! hash of a [fingerprint](super::fingerprint). A test compares both.
//!
//! The input is cut into *chunks* of 1,024 bytes, and a chunk into *blocks* of 64. Chunks are the
//! leaves of a binary tree; the stack has a finished left subtree for each bit of the number of
//! chunks that came.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "each index is a constant below the size of its array, or said to be; a counter is cut into its halves"
)]

const BLOCK: usize = 64;
const CHUNK: u64 = 1024;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 1 << 1;
const PARENT: u32 = 1 << 2;
const ROOT: u32 = 1 << 3;
const DERIVE_KEY_CONTEXT: u32 = 1 << 5;
const DERIVE_KEY_MATERIAL: u32 = 1 << 6;

type Words = [u32; 8];

const IV: Words = [
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
];

/// The words of a block in the order of the next round.
const ORDER: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// The input of a compression, so that the root can be told apart at the end.
#[derive(Clone, Copy)]
struct Compression {
    from: Words,
    block: [u32; 16],
    counter: u64,
    len: u32,
    flags: u32,
}

impl Compression {
    fn parent(left: Words, right: Words, key: Words, mode: u32) -> Self {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&left);
        block[8..].copy_from_slice(&right);
        Compression { from: key, block, counter: 0, len: BLOCK as u32, flags: mode | PARENT }
    }

    fn compress(&self) -> Words {
        let [c0, c1, c2, c3, c4, c5, c6, c7] = self.from;
        let (low, high) = (self.counter as u32, (self.counter >> 32) as u32); // both halves
        let mut v = [
            c0, c1, c2, c3, c4, c5, c6, c7, IV[0], IV[1], IV[2], IV[3], low, high, self.len,
            self.flags,
        ];
        let mut m = self.block;
        for round in 0..7 {
            if round > 0 {
                m = ORDER.map(|at| m[at]);
            }
            mix(&mut v, [0, 4, 8, 12], m[0], m[1]);
            mix(&mut v, [1, 5, 9, 13], m[2], m[3]);
            mix(&mut v, [2, 6, 10, 14], m[4], m[5]);
            mix(&mut v, [3, 7, 11, 15], m[6], m[7]);
            mix(&mut v, [0, 5, 10, 15], m[8], m[9]);
            mix(&mut v, [1, 6, 11, 12], m[10], m[11]);
            mix(&mut v, [2, 7, 8, 13], m[12], m[13]);
            mix(&mut v, [3, 4, 9, 14], m[14], m[15]);
        }
        std::array::from_fn(|at| v[at] ^ v[at + 8])
    }
}

#[inline(always)]
fn mix(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

pub(super) struct Hasher {
    key: Words,
    mode: u32,
    /// The finished left subtrees, the largest first.
    stack: Vec<Words>,
    /// The number of finished chunks.
    chunks: u64,
    /// What the blocks of the current chunk were compressed to, and how many bytes they had.
    chunk: Words,
    chunk_len: u64,
    block: [u8; BLOCK],
    block_len: usize,
}

impl Hasher {
    /// A hasher whose hashes differ from those of all other contexts.
    pub(super) fn of_context(context: &str) -> Self {
        let mut hasher = Hasher::new(IV, DERIVE_KEY_CONTEXT);
        hasher.update(context.as_bytes());
        Hasher::new(hasher.finish(), DERIVE_KEY_MATERIAL)
    }

    fn new(key: Words, mode: u32) -> Self {
        let (stack, block) = (Vec::new(), [0; BLOCK]);
        Hasher { key, mode, stack, chunks: 0, chunk: key, chunk_len: 0, block, block_len: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A full block is compressed when more comes, because the last one has a flag.
            if self.block_len == BLOCK {
                let is_last = self.chunk_len == CHUNK - BLOCK as u64;
                let node = self.last_block(if is_last { CHUNK_END } else { 0 });
                self.chunk = node.compress();
                self.chunk_len += BLOCK as u64;
                (self.block, self.block_len) = ([0; BLOCK], 0);
                if is_last {
                    self.end_chunk();
                }
            }
            let room = &mut self.block[self.block_len..]; // at most a block came
            let taken = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(taken);
            room[..taken].copy_from_slice(now); // it is not longer
            self.block_len += taken;
            bytes = later;
        }
    }

    /// The current block.
    fn last_block(&self, flags: u32) -> Compression {
        let start = if self.chunk_len == 0 { CHUNK_START } else { 0 };
        let word = |at: usize| {
            let bytes = self.block.iter().skip(4 * at).take(4);
            bytes.rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        Compression {
            from: self.chunk,
            block: std::array::from_fn(word),
            counter: self.chunks,
            len: self.block_len as u32, // at most 64
            flags: self.mode | start | flags,
        }
    }

    /// Joins the chunk with the subtrees of its size that are complete.
    fn end_chunk(&mut self) {
        self.chunks += 1;
        let mut right = self.chunk;
        for _ in 0..self.chunks.trailing_zeros() {
            let Some(left) = self.stack.pop() else { break }; // there is one for each bit
            right = Compression::parent(left, right, self.key, self.mode).compress();
        }
        self.stack.push(right);
        (self.chunk, self.chunk_len) = (self.key, 0);
    }

    /// The first 32 bytes of the hash, as words.
    pub(super) fn finish(self) -> Words {
        let mut node = self.last_block(CHUNK_END);
        for left in self.stack.iter().rev() {
            node = Compression::parent(*left, node.compress(), self.key, self.mode);
        }
        node.flags |= ROOT;
        node.counter = 0;
        node.compress()
    }
}

#[cfg(test)]
mod tests {
    use treedef_testing::cases::cases;

    use super::*;

    fn both(context: &str, parts: &[&[u8]]) -> ([u8; 32], [u8; 32]) {
        let (mut ours, mut theirs) =
            (Hasher::of_context(context), blake3::Hasher::new_derive_key(context));
        for part in parts {
            ours.update(part);
            theirs.update(part);
        }
        let mut bytes = [0; 32];
        for (to, word) in bytes.chunks_exact_mut(4).zip(ours.finish()) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        (bytes, *theirs.finalize().as_bytes())
    }

    #[test]
    fn hashes_are_those_of_the_crate() {
        let mut random = fastrand::Rng::with_seed(3);
        let all: Vec<u8> = (0..70_000).map(|_| random.u8(..)).collect();
        // Around the ends of blocks, chunks and subtrees.
        let ends = [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 3072, 4095, 4096, 8192, 31744, 65536];
        let lens: Vec<usize> =
            ends.into_iter().chain((0..cases(500)).map(|_| random.usize(..all.len()))).collect();
        for len in lens {
            let (a, b) = all[..len].split_at(random.usize(..=len));
            let (b, c) = b.split_at(random.usize(..=b.len()));
            let (ours, theirs) = both("a context", &[a, b, c]);
            assert_eq!(ours, theirs, "{len} bytes");
        }
        let long = "c".repeat(3_000);
        let (ours, theirs) = both(&long, &[b"x"]);
        assert_eq!(ours, theirs);
    }
}
