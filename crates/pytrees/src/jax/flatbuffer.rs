//! `jax/_src/export/serialization.fbs`:
//!
//! ```text
//! enum PyTreeDefKind: byte { leaf, none, tuple, list, dict, custom }
//! table PyTreeDef {
//!   kind: PyTreeDefKind;
//!   children: [PyTreeDef];
//!   children_names: [string];
//!   custom_name: string;
//!   custom_auxdata: [byte];
//! }
//! ```

use std::collections::HashSet;
use std::iter::StepBy;
use std::ops::Range;

use crate::error::{Error, ErrorKind, Result, malformed};
use crate::py_key::{MAX_DEPTH, NameBytes, PyKey};
use crate::pytree::PyTree;

use super::string_key;

const LEAF: u8 = 0;
const NONE: u8 = 1;
const TUPLE: u8 = 2;
const LIST: u8 = 3;
const DICT: u8 = 4;
const CUSTOM: u8 = 5;

pub(super) fn write(tree: &PyTree) -> Result<Vec<u8>> {
    let mut writer = FlatbufferWriter(vec![0; 4]);
    let root = writer.table(tree)?;
    writer.link(0, root)?;
    Ok(writer.0)
}

/// Writes each table after the tables that refer to it, because offsets point forwards.
struct FlatbufferWriter(Vec<u8>);

impl FlatbufferWriter {
    /// A table and its position.
    fn table(&mut self, tree: &PyTree) -> Result<usize> {
        let (kind, children, keys): (u8, Vec<&PyTree>, Option<Vec<&str>>) = match tree {
            PyTree::Leaf(_) => (LEAF, Vec::new(), None),
            PyTree::None => (NONE, Vec::new(), None),
            PyTree::Tuple(children) => (TUPLE, children.iter().collect(), None),
            PyTree::List(children) => (LIST, children.iter().collect(), None),
            PyTree::Dict(entries) => {
                let keys = entries.iter().map(|(key, _)| string_key(key)).collect();
                (DICT, entries.iter().map(|(_, child)| child).collect(), Some(keys))
            }
            PyTree::Custom { inside, .. } => return self.table(inside),
        };
        // The fields that are present, after the offset of the vtable: vectors first, then the
        // kind.
        let has_children = !children.is_empty();
        let children_at = if has_children { 4 } else { 0 };
        let names_at = if keys.is_some() { 4 + children_at } else { 0 };
        let kind_at = if kind == LEAF { 0 } else { 4 + children_at.max(names_at) };
        let size = 4 + children_at.max(names_at) + if kind == LEAF { 0 } else { 4 };
        self.align();
        let vtable = self.0.len();
        for field in [10, size, kind_at, children_at, names_at] {
            self.0.extend_from_slice(&(field as u16).to_le_bytes()); // at most 16
        }
        self.align();
        let table = self.0.len();
        let back = i32::try_from(table - vtable).map_err(|_| too_large())?;
        self.0.extend_from_slice(&back.to_le_bytes());
        self.0.resize(table + size, 0);
        if let Some(slot) = self.0.get_mut(table + kind_at).filter(|_| kind != LEAF) {
            *slot = kind;
        }
        if has_children {
            let slots = self.vector(table + children_at, children.len())?;
            for (slot, child) in slots.into_iter().zip(children) {
                let child = self.table(child)?;
                self.link(slot, child)?;
            }
        }
        if let Some(keys) = keys {
            let slots = self.vector(table + names_at, keys.len())?;
            for (slot, key) in slots.into_iter().zip(keys) {
                let string = self.string(key)?;
                self.link(slot, string)?;
            }
        }
        Ok(table)
    }

    /// A vector of offsets for a slot, and the position of its elements.
    fn vector(&mut self, slot: usize, count: usize) -> Result<Vec<usize>> {
        self.align();
        let vector = self.0.len();
        self.link(slot, vector)?;
        self.0.extend_from_slice(&u32::try_from(count).map_err(|_| too_large())?.to_le_bytes());
        self.0.resize(vector + 4 + 4 * count, 0);
        Ok((0..count).map(|index| vector + 4 + 4 * index).collect())
    }

    fn string(&mut self, text: &str) -> Result<usize> {
        self.align();
        let at = self.0.len();
        self.0
            .extend_from_slice(&u32::try_from(text.len()).map_err(|_| too_large())?.to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        Ok(at)
    }

    /// Lets the slot refer to a later position.
    fn link(&mut self, slot: usize, target: usize) -> Result<()> {
        let offset = u32::try_from(target - slot).map_err(|_| too_large())?;
        if let Some(bytes) = self.0.get_mut(slot..slot + 4) {
            bytes.copy_from_slice(&offset.to_le_bytes());
        }
        Ok(())
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

fn too_large() -> Error {
    ErrorKind::limit("bytes", "a flatbuffer of more than 4 GiB").into()
}

pub(super) fn read(bytes: &[u8]) -> Result<PyTree> {
    let mut reader =
        FlatbufferReader { bytes, leaves: 0, tables: 0, text_bytes: NameBytes::default() };
    let root = reader.target(0)?;
    reader.table(root, 0)
}

struct FlatbufferReader<'b> {
    bytes: &'b [u8],
    leaves: usize,
    /// The tables that were read. A hostile buffer can refer to one from many places.
    tables: usize,
    text_bytes: NameBytes,
}

impl<'b> FlatbufferReader<'b> {
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let bytes = at.checked_add(N).and_then(|end| self.bytes.get(at..end));
        let array = bytes.and_then(|bytes| bytes.try_into().ok());
        array.ok_or_else(|| malformed(at, format!("{N} bytes beyond the end")))
    }

    fn u16(&self, at: usize) -> Result<usize> {
        Ok(u16::from_le_bytes(self.array(at)?).into())
    }

    fn u32(&self, at: usize) -> Result<usize> {
        let value = u32::from_le_bytes(self.array(at)?);
        usize::try_from(value).map_err(|_| malformed(at, "an offset that is too large"))
    }

    /// The target of the offset at a position.
    fn target(&self, at: usize) -> Result<usize> {
        match self.u32(at)? {
            0 => Err(malformed(at, "an offset of zero")),
            offset => {
                at.checked_add(offset).ok_or_else(|| malformed(at, "an offset beyond the end"))
            }
        }
    }

    /// The position of a field of the table, if the table has the field.
    fn field(&self, table: usize, index: usize) -> Result<Option<usize>> {
        let back = i32::from_le_bytes(self.array(table)?);
        let vtable = isize::try_from(back)
            .ok()
            .and_then(|back| table.checked_add_signed(back.checked_neg()?));
        let vtable = vtable.ok_or_else(|| malformed(table, "a vtable outside the buffer"))?;
        let size = self.u16(vtable)?;
        let entry = 4 + 2 * index;
        if entry + 2 > size {
            return Ok(None);
        }
        match self.u16(vtable + entry)? {
            0 => Ok(None),
            field => Ok(Some(table + field)),
        }
    }

    /// The positions of the elements of a vector of offsets. They are not collected: many vectors may be in one
    /// place, and each may be as long as the buffer.
    fn vector(&self, table: usize, index: usize) -> Result<StepBy<Range<usize>>> {
        let Some(field) = self.field(table, index)? else { return Ok((0..0).step_by(4)) };
        let vector = self.target(field)?;
        let count = self.u32(vector)?;
        let first = vector + 4; // `u32` found them
        let end = count.checked_mul(4).and_then(|size| size.checked_add(first));
        match end.filter(|end| *end <= self.bytes.len()) {
            Some(end) => Ok((first..end).step_by(4)),
            None => Err(malformed(vector, format!("a vector of {count} beyond the end"))),
        }
    }

    fn text(&mut self, at: usize) -> Result<&'b str> {
        let string = self.target(at)?;
        let length = self.u32(string)?;
        let start = string + 4; // `u32` found them
        let bytes = start.checked_add(length).and_then(|end| self.bytes.get(start..end));
        let bytes = bytes.ok_or_else(|| malformed(string, "a string beyond the end"))?;
        self.text_bytes.spend(length, "names").map_err(|error| error.at_byte(string))?;
        std::str::from_utf8(bytes).map_err(|_| malformed(string, "a string that is not UTF-8"))
    }

    fn table(&mut self, table: usize, depth: usize) -> Result<PyTree> {
        self.tables += 1;
        if depth > MAX_DEPTH || self.tables > self.bytes.len() {
            let limit = if depth > MAX_DEPTH {
                ErrorKind::limit("levels", format!("nested deeper than {MAX_DEPTH} levels"))
            } else {
                ErrorKind::limit("nodes of a file", "more nodes than bytes")
            };
            return Err(Error::from(limit).at_byte(table));
        }
        let kind = match self.field(table, 0)? {
            Some(field) => self.array::<1>(field)?[0],
            None => LEAF,
        };
        let mut children = Vec::new();
        for slot in self.vector(table, 1)? {
            let child = self.target(slot)?;
            children.push(self.table(child, depth + 1)?);
        }
        Ok(match kind {
            LEAF | NONE if !children.is_empty() => {
                return Err(malformed(table, "a leaf or None that has children"));
            }
            LEAF => {
                self.leaves += 1;
                PyTree::Leaf(self.leaves - 1)
            }
            NONE => PyTree::None,
            TUPLE => PyTree::Tuple(children),
            LIST => PyTree::List(children),
            DICT => {
                let names = self.vector(table, 2)?;
                if names.len() != children.len() {
                    let what = format!("{} names for {} children", names.len(), children.len());
                    return Err(malformed(table, what));
                }
                let names = names.map(|slot| self.text(slot).map(str::to_owned));
                PyTree::Dict(sorted_entries(table, names.collect::<Result<_>>()?, children)?)
            }
            CUSTOM => self.custom(table, children)?,
            other => return Err(malformed(table, format!("kind {other} is not known"))),
        })
    }

    /// A class that was registered with JAX: its name, and data that only the class understands.
    /// For an `OrderedDict`, the data are its keys.
    fn custom(&mut self, table: usize, children: Vec<PyTree>) -> Result<PyTree> {
        let field = self.field(table, 3)?;
        let field = field.ok_or_else(|| malformed(table, "a custom node without a name"))?;
        let class = self.text(field)?.to_owned();
        let inside = match class.as_str() {
            "collections.OrderedDict" => {
                let field = self.field(table, 4)?;
                let field = field.ok_or_else(|| malformed(table, "an OrderedDict without keys"))?;
                let names = self.text(field)?;
                let names: Vec<String> = serde_json::from_str(names).map_err(|_| {
                    // JAX writes no others.
                    malformed(table, "the keys of an OrderedDict are not a list of strings")
                })?;
                PyTree::Dict(entries(table, names, children)?)
            }
            _ => PyTree::Tuple(children),
        };
        Ok(PyTree::Custom { class, inside: Box::new(inside) })
    }
}

fn entries(
    table: usize,
    names: Vec<String>,
    children: Vec<PyTree>,
) -> Result<Vec<(PyKey, PyTree)>> {
    if names.len() != children.len() {
        let what = format!("{} names for {} children", names.len(), children.len());
        return Err(malformed(table, what));
    }
    let distinct: HashSet<&String> = names.iter().collect();
    if distinct.len() != names.len() {
        return Err(malformed(table, "a name occurs twice"));
    }
    Ok(names.into_iter().map(PyKey::Str).zip(children).collect())
}

/// The entries of a dict, which JAX writes and rebuilds in the order of their keys.
fn sorted_entries(
    table: usize,
    names: Vec<String>,
    children: Vec<PyTree>,
) -> Result<Vec<(PyKey, PyTree)>> {
    if !names.is_sorted() {
        return Err(malformed(table, "the names of a dict are not in order"));
    }
    entries(table, names, children)
}
