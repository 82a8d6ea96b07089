//! Makes the nodes of a structure from recorded words.
//!
//! A word opens a node, closes one, or says something about the next or the last one. `vec![(1.0, 2.0), (3.0, 4.0)]`:
//!
//! ```text
//! words read                       nodes                           leaves so far
//! Seq   Tuple                      Seq   Tuple                     0
//! CLOSE, after 2                   Seq   Tuple ×1   Leaf ×2        2
//! REPEAT 2                         Seq   Tuple ×2   Leaf ×2        4
//! CLOSE                            Seq ×1   Tuple ×2   Leaf ×2     4
//! ```
//!
//! The entries of a map are sorted when it is closed. The swaps that do the same to the leaves are noted.

use std::mem;
use std::ops::Range;

use crate::bug::{OrBug, bug};
use crate::error::Result;
use crate::model::{
    Limits, Node, NodeData, NodeHead, NodeKind, Options, Swap, TreeDef, Value, Word,
};
use crate::treedef::encoding::{EncodingBuilder, LabelsRef, NodeDataRef, empty};
use crate::treedef::insertion::MapOrders;

use super::known_keys::KnownKeys;
use super::labels::LabelTable;
use super::word::{self, Forms, SeqForms, Tag, begins_with};

/// A structure, and the swaps that bring the leaves of a walk into its order.
pub(super) struct NewStructure {
    pub(super) treedef: TreeDef,
    /// Leaves to swap, one after the other.
    pub(super) swaps: Vec<Swap>,
}

/// Reads words and makes nodes. It lives as long as the recorder of a thread: what a structure fills is
/// taken out or cleared at its end.
#[derive(Default)]
pub(super) struct WordReader {
    builder: EncodingBuilder,
    /// The open compounds.
    open: Vec<Open>,
    names: Names,
    options: Options,
    /// The nodes so far.
    so_far: Count,
    /// Leaves to swap, one after the other: the entries of a map were sorted.
    swaps: Vec<Swap>,
    known_keys: KnownKeys,
    /// The elements of sequences to which a back reference may refer.
    forms: Forms<ElementNode>,
}

/// The names and keys that were read, for the open compounds and the next one.
#[derive(Default)]
struct Names {
    fields: Vec<&'static str>,
    /// The numbers of the keys.
    keys: Vec<usize>,
    variant: &'static str,
}

/// An element of a sequence: its node, the counts where it began, and the number of swaps where it ended.
#[derive(Clone, Copy)]
struct ElementNode {
    node: usize,
    begin: Count,
    swaps: usize,
}

impl ElementNode {
    /// Copies the orders of the maps in this element, which has these numbers of leaves and maps, and the swaps of its
    /// leaves, for each of `count` elements.
    #[inline(never)]
    fn copy_orders(
        &self,
        orders: &mut MapOrders,
        swaps: &mut Vec<Swap>,
        so_far: &mut Count,
        count: usize,
        has: Count,
    ) {
        let (begin, Count { leaf, map, .. }) = (self.begin, *so_far);
        orders.copy(begin.map..begin.map + has.map, map);
        orders.repeat(map, has.map, count);
        let behind = leaf - begin.leaf; // it came before
        for sibling in 0..if begin.swap < self.swaps { count } else { 0 } {
            repeat_swaps(swaps, begin.swap..self.swaps, behind + sibling * has.leaf);
        }
        so_far.swap = swaps.len();
    }
}

/// The same leaves are swapped again, `leaves` leaves further on.
fn repeat_swaps(swaps: &mut Vec<Swap>, range: Range<usize>, leaves: usize) {
    for index in range {
        swaps.push(swaps[index].moved(0, leaves)); // in range
    }
}

/// The numbers of words, leaves, maps and swaps before a place.
#[derive(Clone, Copy, Default)]
struct Count {
    word: usize,
    leaf: usize,
    map: usize,
    swap: usize,
}

/// An open compound.
#[derive(Clone, Copy)]
struct Open {
    head: NodeHead<'static>,
    /// The index of the node. `None` if the only child takes its place.
    node: Option<usize>,
    /// The first node of the next child.
    next: usize,
    /// The last run of children.
    last: Option<usize>,
    children: usize,
    first_label: usize,
    /// Where the node began, and its last child.
    begin: Count,
    child: Count,
    /// Its elements, if it is a sequence.
    forms: SeqForms,
}

impl Open {
    fn has_one_child(&self) -> bool {
        self.node.is_none() || self.head.kind.has_one_child()
    }

    /// Whether any number of leaves may come at once.
    fn takes_leaves(&self) -> bool {
        matches!(
            self.head.kind,
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct | NodeKind::TupleVariant
        ) && self.node.is_some()
    }
}

impl WordReader {
    /// Makes the structure of a whole value.
    pub(super) fn structure_of(
        &mut self,
        words: &[Word],
        labels: &mut LabelTable,
        options: Options,
    ) -> Result<NewStructure> {
        self.options = options;
        let new = self.read(words, labels).map(|()| {
            let treedef = self.builder.finish(options, Limits::default());
            NewStructure { treedef, swaps: mem::take(&mut self.swaps) }
        });
        self.clear();
        new
    }

    /// Makes room for a number of nodes in all.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.builder.reserve_exact(nodes.saturating_sub(self.builder.len()));
    }

    pub(super) fn clear(&mut self) {
        self.builder.clear();
        empty(&mut self.open);
        empty(&mut self.names.fields);
        empty(&mut self.names.keys);
        self.known_keys.clear();
        self.forms.clear();
        (self.swaps, self.so_far) = Default::default();
    }

    fn read(&mut self, words: &[Word], labels: &mut LabelTable) -> Result<()> {
        self.so_far.word = 0;
        while let Some(word) = words.get(self.so_far.word) {
            let leaves = word.leaves();
            if leaves > 0 {
                self.leaves(leaves)?;
            }
            self.so_far.word += 1; // it is in range
            match word.tag() {
                word::LEAVES => {}
                word::FIELD => self.names.fields.push(word.name),
                word::VARIANT => self.names.variant = word.name,
                word::KEY => {
                    self.names.keys.push(word.number());
                    self.count_if_equal(words)?;
                }
                word::BACK_REFERENCE => self.back_references(words)?,
                word::REPEAT => self.repeat(word.number())?,
                word::CLOSE => self.close(labels)?,
                word::STATIC => match labels.value(word.number()) {
                    Some(value) => self.put_static(value)?,
                    None => return Err(bug!("a static has no label")),
                },
                word::OPAQUE | word::OPAQUE_NOTHING => self.leaf()?,
                _ => self.node(*word, words, labels)?,
            }
        }
        Ok(())
    }

    /// Reads the words of complete elements and of the compounds around them. The words are not needed any more.
    pub(super) fn read_part(
        &mut self,
        words: &[Word],
        labels: &mut LabelTable,
        options: Options,
    ) -> Result<()> {
        self.options = options;
        self.read(words, labels)?;
        self.forms.clear();
        for open in &mut self.open {
            // No value can be found by its words any more.
            (open.child.word, open.forms) = (usize::MAX, self.forms.open());
        }
        Ok(())
    }

    fn node(&mut self, word: Word, words: &[Word], labels: &LabelTable) -> Result<()> {
        let Some(kind) = word.kind() else { return Err(bug!("a word is of no kind")) };
        let variant = if kind.is_variant() { self.names.variant } else { "" };
        let after = words.get(self.so_far.word..).or_bug();
        let head = NodeHead { kind, name: word.name, variant };
        self.begin_child(1 + usize::from(kind.is_variant()));
        let none_is_leaf = self.options.none_is_leaf;
        match kind {
            NodeKind::None if none_is_leaf => self.put_leaf(),
            NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct | NodeKind::UnitVariant => {
                let data = self.unlabelled(head);
                self.builder.open(kind, data);
                self.complete()
            }
            NodeKind::Some if none_is_leaf && !is_around_nothing(after, labels) => {
                self.push(head, None);
                Ok(())
            }
            _ => {
                let node = self.builder.open(kind, NodeData::NONE);
                self.push(head, Some(node));
                self.so_far.map += usize::from(kind == NodeKind::Map);
                Ok(())
            }
        }
    }

    fn push(&mut self, head: NodeHead<'static>, node: Option<usize>) {
        let is_map = head.kind == NodeKind::Map;
        self.open.push(Open {
            head,
            node,
            next: self.builder.len(),
            last: None,
            children: 0,
            first_label: if is_map { self.names.keys.len() } else { self.names.fields.len() },
            begin: self.so_far,
            child: self.so_far,
            forms: self.forms.open(),
        });
    }

    /// An opaque leaf, which has a word of its own.
    fn leaf(&mut self) -> Result<()> {
        self.begin_child(1);
        self.put_leaf()
    }

    /// Leaves before a word.
    fn leaves(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            match self.open.last_mut() {
                Some(open) if open.takes_leaves() => {
                    let leaf = self.builder.open(NodeKind::Leaf, NodeData::NONE);
                    open.last = Some(self.builder.join(open.last, leaf, count)?);
                    open.next = self.builder.len();
                    open.children += count; // at most the calls
                    self.so_far.leaf += count; // as above
                    return Ok(());
                }
                _ => {
                    self.begin_child(0);
                    self.put_leaf()?;
                    count -= 1;
                }
            }
        }
        Ok(())
    }

    fn put_leaf(&mut self) -> Result<()> {
        self.builder.open(NodeKind::Leaf, NodeData::NONE);
        self.so_far.leaf += 1; // at most the calls
        self.complete()
    }

    fn put_static(&mut self, value: &Value) -> Result<()> {
        self.begin_child(1);
        let data = self.builder.node_data.intern(NodeDataRef::of_static(value));
        self.builder.open(NodeKind::Static, data);
        self.complete()
    }

    /// Called at each value that is no leaf of a sequence or a tuple, with the number of its own words that were read.
    fn begin_child(&mut self, words: usize) {
        if let Some(parent) = self.open.last_mut() {
            let word = self.so_far.word - words; // they were read
            parent.child = Count { word, ..self.so_far };
        }
    }

    /// The node data of a node without labels, which may have a name.
    fn unlabelled(&mut self, NodeHead { kind, name, variant }: NodeHead<'static>) -> usize {
        let data = NodeDataRef { name: &name, variant: &variant, labels: LabelsRef::None };
        if kind.is_named() { self.builder.node_data.intern(data) } else { NodeData::NONE }
    }

    /// Adds a complete child to its parent, and closes each parent that takes only one child.
    fn complete(&mut self) -> Result<()> {
        loop {
            let Some(open) = self.open.last_mut() else { return Ok(()) };
            if open.node.is_some() {
                let node = self.builder.join(open.last, open.next, 1)?;
                (open.last, open.next) = (Some(node), self.builder.len());
                if open.head.kind == NodeKind::Seq {
                    let form = ElementNode { node, begin: open.child, swaps: self.swaps.len() };
                    self.forms.add(&mut open.forms, form);
                }
            }
            open.children += 1; // at most the calls
            let Some(open) = self.open.last().filter(|open| open.has_one_child()) else {
                return Ok(());
            };
            if let Some(node) = open.node {
                let head = open.head;
                let data = self.unlabelled(head);
                self.builder.close(node, data)?;
            }
            self.open.pop();
        }
    }

    /// The last child of the sequence comes `count` times in all.
    fn repeat(&mut self, count: usize) -> Result<()> {
        let Some(open) = self.open.last_mut() else { return Err(bug!("no sequence is open")) };
        let more = count - 1; // at least two came
        let (before, after) = (open.child, self.so_far);
        if let Some(last) = open.last {
            self.builder.lengthen(last, more)?;
        }
        open.children += more; // at most the calls
        let (leaves, maps) = (after.leaf - before.leaf, after.map - before.map);
        self.builder.orders.repeat(before.map, maps, count);
        for sibling in 1..if before.swap < after.swap { count } else { 1 } {
            repeat_swaps(&mut self.swaps, before.swap..after.swap, sibling * leaves);
        }
        // At most the calls.
        self.so_far.leaf += more * leaves;
        self.so_far.map += more * maps;
        self.so_far.swap = self.swaps.len();
        Ok(())
    }

    /// A back reference was read: the next element has the words of an earlier one, and the number of such elements may
    /// follow. Elements that alternate have many of these words, one after the other.
    fn back_references(&mut self, words: &[Word]) -> Result<()> {
        let WordReader { builder, open, so_far, swaps, forms, .. } = self;
        let Some(open) = open.last_mut() else { return Err(bug!("no sequence is open")) };
        let forms = forms.of(open.forms);
        let mut place = so_far.word - 1; // it was read
        while let Some(word) = words.get(place)
            && word.tag() == word::BACK_REFERENCE
        {
            let is_meant = |form: &&ElementNode| form.begin.word + word.number() == place;
            let Some(form) = forms.iter().find(is_meant) else {
                return Err(bug!("an element is not there any more"));
            };
            let Some(&Node { leaves, maps, .. }) = builder.node(form.node) else {
                return Err(bug!("an element has no node"));
            };
            let count = match words.get(place + 1) {
                Some(word) if word.tag() == word::REPEAT => word.number(),
                _ => 1,
            };
            place += 1 + usize::from(count > 1); // in range
            open.last = Some(builder.join_copies(open.last, form.node, count)?);
            open.children += count; // at most the calls
            if maps > 0 {
                let has = Count { leaf: leaves, map: maps, ..Count::default() };
                form.copy_orders(&mut builder.orders, swaps, so_far, count, has);
                so_far.map += count * maps; // at most the calls
            }
            so_far.leaf += count * leaves; // at most the calls
        }
        (open.next, so_far.word) = (builder.len(), place);
        Ok(())
    }

    /// A key was read. If its value has the same words as the value before, this counts one more
    /// of that, and reads no words of it. Without this, the values of a table take twice as long.
    fn count_if_equal(&mut self, words: &[Word]) -> Result<()> {
        let (Some(open), begin) = (self.open.last_mut(), self.so_far.word) else { return Ok(()) };
        if let Some(last) = open.last
            && let Some(before) = words.get(open.child.word..begin - 1) // the key was read
            && begins_with(words.get(begin..).or_bug(), before)
            && self.builder.orders.count_from(open.child.map) == 0
            && let Some(Node { leaves, maps, .. }) = self.builder.node(last)
        {
            open.child = self.so_far;
            open.children += 1; // at most the calls
            self.so_far.word += before.len(); // in range
            self.so_far.leaf += leaves; // at most the calls
            self.so_far.map += maps; // as above
            self.builder.lengthen(last, 1)?;
        }
        Ok(())
    }

    /// Completes a node with any number of children.
    fn close(&mut self, labels: &mut LabelTable) -> Result<()> {
        let Some(open) = self.open.pop() else { return Err(bug!("an end has no beginning")) };
        self.forms.close(open.forms);
        let Some(node) = open.node else { return Err(bug!("an end is that of no node")) };
        let head = open.head;
        let data = match head.kind {
            NodeKind::Map => {
                let data = self.keys_of(node, &open, labels)?;
                self.names.keys.truncate(open.first_label);
                data
            }
            NodeKind::Struct | NodeKind::StructVariant => {
                let labels = LabelsRef::Fields(&self.names.fields[open.first_label..]); // as above
                let data = NodeDataRef { name: &head.name, variant: &head.variant, labels };
                let data = self.builder.node_data.intern(data);
                self.names.fields.truncate(open.first_label);
                data
            }
            _ => self.unlabelled(head),
        };
        self.builder.close(node, data)?;
        self.so_far.swap = self.swaps.len();
        self.complete()
    }

    /// The node data of the map at `node`. Sorts its entries if they did not come in order.
    fn keys_of(&mut self, node: usize, open: &Open, labels: &mut LabelTable) -> Result<usize> {
        let numbers = self.names.keys.get(open.first_label..).or_bug();
        let Count { leaf, map, .. } = open.begin;
        let sorts = !self.options.insertion;
        let new_key = self.known_keys.new_key(numbers);
        if new_key.is_none()
            && let Some(known) = self.known_keys.find(numbers, sorts)
        {
            if let Some(inserted) = known.inserted {
                self.builder.move_entries(node, map, &inserted, Some(leaf), &mut self.swaps);
            }
            return Ok(known.data);
        }
        let are_new = new_key.is_some_and(|key| labels.is_new(key));
        let mut keys: Vec<Value> = Vec::with_capacity(numbers.len());
        for number in numbers {
            let Some(key) = labels.take_value(*number) else {
                return Err(bug!("a key has no label"));
            };
            keys.push(key);
        }
        let inserted = if sorts {
            self.builder.sort_entries(node, map, &mut keys, Some(leaf), &mut self.swaps)
        } else {
            None
        };
        let data = self.builder.node_data.intern_keys(keys, are_new);
        self.known_keys.add(numbers, inserted, data, new_key);
        Ok(data)
    }
}

/// With the option `none_is_leaf`: whether a `Some` before these words gets a node, because its
/// inside is an option or reads as `None`.
fn is_around_nothing(after: &[Word], labels: &LabelTable) -> bool {
    if after.first().is_some_and(|word| word.tag() == NodeKind::Some as Tag && word.leaves() == 0) {
        return true;
    }
    let is_newtype =
        |word: &&Word| word.leaves() == 0 && word.tag() == NodeKind::NewtypeStruct as Tag;
    let inside = after.iter().find(|word| !is_newtype(word));
    let Some(inside) = inside.filter(|word| word.leaves() == 0) else { return false };
    match inside.tag() {
        word::STATIC => labels.is_nothing(inside.number()),
        word::OPAQUE_NOTHING => true,
        tag => {
            let nothing = [NodeKind::None, NodeKind::Unit, NodeKind::UnitStruct];
            nothing.map(|kind| kind as Tag).contains(&tag)
        }
    }
}
