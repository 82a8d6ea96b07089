//! `jaxlib/pytree.proto`: nodes in post-order, keys as numbers of interned strings.
//!
//! ```text
//! message DictKeysProto { repeated uint32 str_id = 1; }
//! message PyTreeNodeDefProto { uint32 arity = 1; PyTreeNodeType type = 2; DictKeysProto dict_keys = 3; }
//! message PyTreeDefProto { repeated PyTreeNodeDefProto nodes = 1; repeated string interned_strings = 2; }
//! ```

use std::collections::{HashMap, HashSet};

use crate::error::{Error, ErrorKind, Result, malformed};
use crate::py_key::{MAX_DEPTH, NameBytes, PyKey};
use crate::pytree::PyTree;

use super::string_key;

const LEAF: u64 = 1;
const LIST: u64 = 2;
const NONE: u64 = 3;
const TUPLE: u64 = 4;
const DICT: u64 = 5;

pub(super) fn write(tree: &PyTree) -> Result<Vec<u8>> {
    let mut writer = ProtoWriter { out: Vec::new(), strings: Vec::new(), ids: HashMap::new() };
    writer.node(tree)?;
    let ProtoWriter { mut out, strings, .. } = writer;
    for string in strings {
        put_bytes(&mut out, 2, string.as_bytes());
    }
    Ok(out)
}

struct ProtoWriter<'t> {
    out: Vec<u8>,
    strings: Vec<&'t str>,
    ids: HashMap<&'t str, u64>,
}

impl<'t> ProtoWriter<'t> {
    fn node(&mut self, tree: &'t PyTree) -> Result<()> {
        let (kind, arity, keys) = match tree {
            PyTree::Leaf(_) => (LEAF, 0, Vec::new()),
            PyTree::None => (NONE, 0, Vec::new()),
            PyTree::Tuple(children) => (TUPLE, self.children(children)?, Vec::new()),
            PyTree::List(children) => (LIST, self.children(children)?, Vec::new()),
            PyTree::Dict(entries) => {
                for (_, child) in entries {
                    self.node(child)?;
                }
                let keys = entries.iter().map(|(key, _)| self.id(string_key(key)));
                (DICT, entries.len(), keys.collect())
            }
            PyTree::Custom { inside, .. } => return self.node(inside),
        };
        let mut node = Vec::new();
        if arity > 0 {
            put_varint(&mut node, 1 << 3);
            put_varint(&mut node, wide(arity));
        }
        put_varint(&mut node, 2 << 3);
        put_varint(&mut node, kind);
        if !keys.is_empty() {
            let mut packed = Vec::new();
            keys.into_iter().for_each(|key| put_varint(&mut packed, key));
            let mut dict_keys = Vec::new();
            put_bytes(&mut dict_keys, 1, &packed);
            put_bytes(&mut node, 3, &dict_keys);
        }
        put_bytes(&mut self.out, 1, &node);
        Ok(())
    }

    fn children(&mut self, children: &'t [PyTree]) -> Result<usize> {
        children.iter().try_for_each(|child| self.node(child))?;
        Ok(children.len())
    }

    fn id(&mut self, string: &'t str) -> u64 {
        let next = wide(self.strings.len());
        *self.ids.entry(string).or_insert_with(|| {
            self.strings.push(string);
            next
        })
    }
}

fn wide(count: usize) -> u64 {
    count as u64 // never wider
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8); // less than 0x80
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, wide(bytes.len()));
    out.extend_from_slice(bytes);
}

/// The fields of a message, which is a part of all bytes.
#[derive(Clone, Copy)]
struct ProtoMessage<'b> {
    bytes: &'b [u8],
    at: usize,
    end: usize,
}

enum ProtoField<'b> {
    Number(u64),
    Bytes(ProtoMessage<'b>),
}

impl<'b> ProtoMessage<'b> {
    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.bytes.get(self.at).filter(|_| self.at < self.end) else {
                return Err(malformed(start, "a number that does not end"));
            };
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            value |= bits << shift;
            // Of the tenth byte, one bit is left.
            if bits << shift >> shift != bits {
                break;
            }
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed(start, "a number of more than 64 bits"))
    }

    /// The next field: its number and its position.
    fn next(&mut self) -> Result<Option<(u64, usize, ProtoField<'b>)>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        if tag >> 3 == 0 {
            return Err(malformed(start, "a field without a number"));
        }
        let field = match tag & 7 {
            0 => ProtoField::Number(self.varint()?),
            1 => ProtoField::Bytes(self.submessage(start, 8)?),
            2 => {
                let length = self.varint()?;
                ProtoField::Bytes(self.submessage(start, length)?)
            }
            5 => ProtoField::Bytes(self.submessage(start, 4)?),
            other => return Err(malformed(start, format!("wire type {other} is not known"))),
        };
        Ok(Some((tag >> 3, start, field)))
    }

    fn submessage(&mut self, start: usize, length: u64) -> Result<Self> {
        let left = self.end - self.at; // `at` does not pass `end`
        match usize::try_from(length).ok().filter(|length| *length <= left) {
            Some(length) => {
                self.at += length;
                Ok(ProtoMessage { at: self.at - length, end: self.at, ..*self })
            }
            None => Err(malformed(start, format!("{length} bytes, where {left} are left"))),
        }
    }

    fn text(self) -> Result<&'b str> {
        let bytes = self.bytes.get(self.at..self.end).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| malformed(self.at, "a string that is not UTF-8"))
    }
}

struct ProtoNode {
    offset: usize,
    arity: u64,
    kind: u64,
    keys: Vec<u64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<PyTree> {
    let (mut nodes, mut strings) = (Vec::new(), Vec::new());
    let mut message = ProtoMessage { bytes, at: 0, end: bytes.len() };
    while let Some((field, offset, content)) = message.next()? {
        match (field, content) {
            (1, ProtoField::Bytes(node)) => nodes.push(read_node(node, offset)?),
            (2, ProtoField::Bytes(string)) => strings.push(string.text()?),
            (1 | 2, _) => return Err(malformed(offset, "a number, where a message belongs")),
            _ => {} // a field of a later version
        }
    }
    let (mut leaves, mut key_bytes) = (0, NameBytes::default());
    // Complete subtrees with their depths.
    let mut stack: Vec<(PyTree, usize)> = Vec::new();
    for node in nodes {
        let ProtoNode { offset, arity, kind, keys } = node;
        let available = stack.len();
        let first = usize::try_from(arity).ok().and_then(|arity| available.checked_sub(arity));
        let first = first.ok_or_else(|| {
            let what = format!("a node of {arity} children, where {available} came before it");
            malformed(offset, what)
        })?;
        let below = stack.split_off(first);
        let depth = below.iter().map(|(_, depth)| depth + 1).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(Error::from(ErrorKind::limit("levels", what)).at_byte(offset));
        }
        let children: Vec<PyTree> = below.into_iter().map(|(child, _)| child).collect();
        if kind != DICT && !keys.is_empty() {
            return Err(malformed(offset, "keys of a node that is not a dict"));
        }
        let tree = match kind {
            LEAF | NONE if !children.is_empty() => {
                return Err(malformed(offset, "a leaf or None that has children"));
            }
            LEAF => {
                leaves += 1;
                PyTree::Leaf(leaves - 1)
            }
            NONE => PyTree::None,
            LIST => PyTree::List(children),
            TUPLE => PyTree::Tuple(children),
            DICT => {
                let entries = entries(offset, &keys, &strings, children)?;
                let bytes = entries.iter().map(|(key, _)| key.num_bytes()).sum();
                key_bytes.spend(bytes, "keys").map_err(|error| error.at_byte(offset))?;
                PyTree::Dict(entries)
            }
            other => return Err(malformed(offset, format!("node type {other} is not known"))),
        };
        stack.push((tree, depth));
    }
    match (stack.pop(), stack.len()) {
        (Some((tree, _)), 0) => Ok(tree),
        (Some(_), more) => Err(malformed(bytes.len(), format!("{} roots", more + 1))),
        (None, _) => Err(malformed(bytes.len(), "no root")),
    }
}

fn read_node(mut message: ProtoMessage<'_>, offset: usize) -> Result<ProtoNode> {
    let mut node = ProtoNode { offset, arity: 0, kind: 0, keys: Vec::new() };
    while let Some((field, offset, content)) = message.next()? {
        match (field, content) {
            (1, ProtoField::Number(arity)) => node.arity = arity,
            (2, ProtoField::Number(kind)) => node.kind = kind,
            (3, ProtoField::Bytes(mut keys)) => {
                while let Some((field, offset, content)) = keys.next()? {
                    match (field, content) {
                        (1, ProtoField::Number(key)) => node.keys.push(key),
                        (1, ProtoField::Bytes(mut packed)) => {
                            while packed.at < packed.end {
                                node.keys.push(packed.varint()?);
                            }
                        }
                        _ => return Err(malformed(offset, "a key that is not a number")),
                    }
                }
            }
            (1..=3, _) => return Err(malformed(offset, "a field of another type")),
            _ => {} // a field of a later version
        }
    }
    Ok(node)
}

fn entries(
    offset: usize,
    keys: &[u64],
    strings: &[&str],
    children: Vec<PyTree>,
) -> Result<Vec<(PyKey, PyTree)>> {
    if keys.len() != children.len() {
        let what = format!("{} keys for {} children", keys.len(), children.len());
        return Err(malformed(offset, what));
    }
    let mut seen = HashSet::new();
    let keyed = keys.iter().zip(children).map(|(id, child)| {
        let string = usize::try_from(*id).ok().and_then(|id| strings.get(id));
        let string = string.ok_or_else(|| {
            malformed(offset, format!("key {id}, where there are {} strings", strings.len()))
        })?;
        if seen.insert(*string) {
            Ok((PyKey::Str((*string).to_owned()), child))
        } else {
            Err(malformed(offset, format!("the key {string:?} occurs twice")))
        }
    });
    keyed.collect()
}
