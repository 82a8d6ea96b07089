//! The words of a [script](crate::model::Script).

use std::hash::{Hash, Hasher};

use crate::bug::OrBug;
use crate::model::{LeafKind, NodeKind, Word};
use crate::treedef::encoding::empty;

/// The meaning of a word. The kinds of nodes come first, in their order.
pub(super) type Tag = u8;

/// The name of the next field.
pub(super) const FIELD: Tag = 32;
/// The name of a variant. The node comes next.
pub(super) const VARIANT: Tag = 33;
/// The end of a compound that has any number of children.
pub(super) const CLOSE: Tag = 34;
/// Counts the leaves where no other word follows that could: at the end of an element, and before a label.
pub(super) const LEAVES: Tag = 35;
/// An opaque leaf, and one whose value is `None` or a unit.
pub(super) const OPAQUE: Tag = 36;
pub(super) const OPAQUE_NOTHING: Tag = 37;
/// The last element of the sequence occurs `n` times in all. Words with a tag from here on have a number instead of a
/// count of leaves.
pub(super) const REPEAT: Tag = 48;
/// The key of the next entry, by its number among the labels.
pub(super) const KEY: Tag = 49;
/// A static, by its number among the labels.
pub(super) const STATIC: Tag = 50;
/// An element has the words of an earlier one of its sequence, which begin `n` words before.
pub(super) const BACK_REFERENCE: Tag = 51;

/// The maximum number of words of a structure that a thread remembers: 24 KiB.
pub(super) const MOST_SCRIPT_WORDS: usize = 1_024;

/// How far back a walk looks for an equal element. Instructions a leaf of elements that have one of so many forms at
/// random:
///
/// ```text
///       4 forms   12    20      40      `people` (16)
///  8    454       901   1,017   1,093   956
/// 16    454       415     723   1,058   652
/// 32    454       415     517     650   652
/// ```
pub(super) const MOST_FORMS: usize = 32;

/// A set of kinds of scalars, a bit for each.
pub(super) type KindSet = u32;

pub(super) const ALL_KINDS: KindSet = KindSet::MAX;

pub(super) const fn bit(kind: LeafKind) -> KindSet {
    1 << kind as KindSet // there are fewer than 32
}

const KINDS: [NodeKind; 16] = {
    use NodeKind as Is;
    [
        Is::Leaf,
        Is::None,
        Is::Some,
        Is::Unit,
        Is::UnitStruct,
        Is::NewtypeStruct,
        Is::Seq,
        Is::Tuple,
        Is::TupleStruct,
        Is::Map,
        Is::Struct,
        Is::UnitVariant,
        Is::NewtypeVariant,
        Is::TupleVariant,
        Is::StructVariant,
        Is::Static,
    ]
};

// The tag of a node is its kind.
const _: () = {
    let mut tag = 0;
    while tag < KINDS.len() {
        assert!(KINDS[tag] as usize == tag);
        tag += 1;
    }
    assert!(tag == NodeKind::Static as usize + 1);
};

/// Words that never have a name and are followed without one, a bit for each tag. The others without a name have
/// the empty one.
const NAMELESS: u64 = {
    use NodeKind as Is;
    let tags = [Is::None, Is::Some, Is::Unit, Is::Seq, Is::Tuple, Is::Map];
    let [none, some, unit, seq, tuple, map] = tags;
    1 << none as Tag
        | 1 << some as Tag
        | 1 << unit as Tag
        | 1 << seq as Tag
        | 1 << tuple as Tag
        | 1 << map as Tag
        | 1 << CLOSE
        | 1 << LEAVES
};

/// Whether words of this tag have a name. It may be empty.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) const fn has_name(tag: Tag) -> bool {
    NAMELESS >> tag & 1 == 0 // there are fewer than 64 tags
}

impl Word {
    /// A word after `leaves` leaves, or with a number.
    #[inline(always)]
    pub(super) const fn new(tag: Tag, name: &'static str, count: u64) -> Self {
        Word { name, code: count << 8 | tag as u64 } // counts stay below 2⁵⁶
    }

    pub(super) fn tag(self) -> Tag {
        (self.code & 0xff) as Tag // the lowest byte
    }

    /// The kind of the node that the word opens.
    pub(super) fn kind(self) -> Option<NodeKind> {
        KINDS.get(usize::from(self.tag())).copied()
    }

    pub(super) fn has_label(self) -> bool {
        matches!(self.tag(), KEY | STATIC)
    }

    fn has_number(self) -> bool {
        self.tag() >= REPEAT
    }

    /// How many leaves came since the word before.
    pub(super) fn leaves(self) -> usize {
        if self.has_number() { 0 } else { self.number() }
    }

    /// The number of a repeat, a back reference, a key or a static.
    pub(super) fn number(self) -> usize {
        (self.code >> 8) as usize // it was a `usize`
    }

    /// `count` more elements in a repeat.
    pub(super) fn repeated(self, count: usize) -> Self {
        Word { code: self.code + ((count as u64) << 8), ..self } // at most the elements
    }

    /// Whether two words are the same but for their names.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn has_code_of(self, other: Word) -> bool {
        self.code == other.code
    }

    /// Whether two words are the same. Names are compared by their addresses: a name at two
    /// addresses makes two different words, which mean the same.
    #[inline(always)]
    pub(super) fn is(&self, other: Word) -> bool {
        self.code == other.code
            && self.name.as_ptr() == other.name.as_ptr()
            && self.name.len() == other.name.len()
    }
}

/// The numbers of labels belong to one walk, so they are left out.
impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(if self.has_label() { self.tag().into() } else { self.code });
        state.write_usize(self.name.as_ptr().addr());
    }
}

/// For each open sequence, its last elements that were written out in full. `BACK_REFERENCE` refers to one of them, so the
/// node maker must remember at least the elements that the recorder remembers. Both add one at the same events, but
/// the recorder begins anew after a value diverged.
pub(super) struct Forms<T>(Vec<T>);

/// The forms of one open sequence: the index of the first, and their number.
#[derive(Clone, Copy, Default)]
pub(super) struct SeqForms {
    first: usize,
    count: usize,
}

impl<T> Default for Forms<T> {
    fn default() -> Self {
        Forms(Vec::new())
    }
}

impl<T> Forms<T> {
    /// A sequence begins inside the others.
    #[inline(always)]
    pub(super) fn open(&self) -> SeqForms {
        SeqForms { first: self.0.len(), count: 0 }
    }

    /// An element of the innermost sequence came.
    pub(super) fn add(&mut self, of: &mut SeqForms, form: T) {
        match self.0.get_mut(of.first + of.count % MOST_FORMS) {
            Some(oldest) => *oldest = form,
            None => {
                if self.0.len() == self.0.capacity() {
                    self.0.reserve(MOST_FORMS);
                }
                self.0.push(form);
            }
        }
        of.count += 1; // at most the calls
    }

    /// The forms of the innermost sequence.
    pub(super) fn of(&self, of: SeqForms) -> &[T] {
        self.0.get(of.first..).or_bug()
    }

    #[inline(always)]
    pub(super) fn close(&mut self, of: SeqForms) {
        self.0.truncate(of.first);
    }

    pub(super) fn clear(&mut self) {
        empty(&mut self.0);
    }
}

/// A hash of the words.
pub(super) fn hash_of(words: &[Word]) -> u64 {
    let mut hash = 0u64;
    for word in words {
        hash = hash.rotate_left(5) ^ word.code ^ word.name.as_ptr().addr() as u64;
    }
    hash
}

/// Whether words begin with others.
pub(super) fn begins_with(words: &[Word], first: &[Word]) -> bool {
    words.len() >= first.len() && words.iter().zip(first).all(|(a, b)| a.is(*b))
}

/// Whether words are the same as others.
pub(super) fn same(a: &[Word], b: &[Word]) -> bool {
    a.len() == b.len() && begins_with(a, b)
}
