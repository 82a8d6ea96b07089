//! Encodes structures into tables. Equal structures have equal encodings.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::{Encoding, Insertion, Labels, Node, NodeData, TreeDef, Value};

use super::scalars::ScalarWriter;
use super::wire::{
    FixedWidth, NO_INDEX, NodeDataRow, NodeRow, ValueRow, count, form, node_code, wide,
    write_table, write_text,
};

#[derive(Default)]
struct Encoder<'a> {
    text: String,
    /// The index of each name.
    numbers: HashMap<&'a str, u32>,
    names: Vec<u32>,
    node_data: Vec<NodeDataRow>,
    labels: Vec<u32>,
    structures: Vec<&'a Encoding>,
    values: Vec<ValueRow>,
    scalars: ScalarWriter,
    orders: Vec<(usize, &'a [Insertion])>,
}

/// A part of a file, without the rows of nodes, which come between the two halves.
pub(super) struct EncodedPart<'a> {
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    structures: Vec<&'a Encoding>,
    /// The number of numbered structures: one for each value, and the one after them.
    pub(super) numbers: usize,
    /// The insertion orders of maps, by the number of their structure.
    pub(super) orders: Vec<(usize, &'a [Insertion])>,
}

/// Encodes values, and the structure after them if there is one.
pub(super) fn encode_part<'a>(
    values: impl Iterator<Item = &'a Value>,
    structure: Option<&'a TreeDef>,
) -> Result<EncodedPart<'a>> {
    let mut encoder = Encoder::default();
    for value in values {
        encoder.value(value)?;
    }
    if let Some(treedef) = structure {
        encoder.structure(&treedef.encoding)?;
        encoder.remember(treedef);
    }
    Ok(encoder.finish())
}

impl EncodedPart<'_> {
    /// The number of rows of nodes in all structures.
    pub(super) fn nodes(&self) -> usize {
        self.structures.iter().map(|structure| structure.nodes.len()).sum()
    }

    /// The whole part.
    pub(super) fn part(&self) -> Result<Vec<u8>> {
        let (nodes, around) = (self.nodes(), self.before.len() + self.after.len());
        let mut part = Vec::with_capacity(around + 8 + nodes * NodeRow::BYTES);
        part.extend_from_slice(&self.before);
        wide(nodes).write(&mut part);
        for node in self.structures.iter().flat_map(|structure| &structure.nodes) {
            row(node)?.write(&mut part);
        }
        part.extend_from_slice(&self.after);
        Ok(part)
    }
}

impl<'a> Encoder<'a> {
    /// Adds a value after the values that it contains, and returns its number. The recursion is as
    /// deep as the nesting of keys.
    fn value(&mut self, value: &'a Value) -> Result<u32> {
        let scalars = count(value.num_leaves())?;
        let row = match value.treedef() {
            None => ValueRow { nodes: 0, node_data: 0, scalars },
            Some(treedef) => {
                let encoding = &*treedef.encoding;
                self.structure(encoding)?;
                let (nodes, node_data) =
                    (count(encoding.nodes.len())?, count(encoding.node_data.len())?);
                ValueRow { nodes, node_data, scalars }
            }
        };
        for scalar in value.scalars() {
            self.scalars.push(scalar);
        }
        if let Some(treedef) = value.treedef() {
            self.remember(treedef);
        }
        let number = count(self.values.len())?;
        self.values.push(row);
        Ok(number)
    }

    /// Records the insertion orders of the maps in the next structure.
    fn remember(&mut self, treedef: &'a TreeDef) {
        if !treedef.insertions().is_empty() {
            self.orders.push((self.values.len(), treedef.insertions()));
        }
    }

    fn structure(&mut self, encoding: &'a Encoding) -> Result<()> {
        let mut values = Vec::new();
        for data in &encoding.node_data {
            for value in data.values() {
                values.push(self.value(value)?);
            }
        }
        let mut values = values.into_iter();
        for data in &encoding.node_data {
            self.data(data, &mut values)?;
        }
        self.structures.push(encoding);
        Ok(())
    }

    fn data(&mut self, data: &'a NodeData, values: &mut impl Iterator<Item = u32>) -> Result<()> {
        let (name, variant) = (self.name(&data.name)?, self.name(&data.variant)?);
        let (form, labels) = match &data.labels {
            Labels::None => (form::NONE, 0),
            Labels::Fields(fields) => {
                for field in fields {
                    let number = self.name(field)?;
                    self.labels.push(number);
                }
                (form::FIELDS, fields.len())
            }
            Labels::Keys(keys) => {
                self.labels.extend(values.take(keys.len()));
                (form::KEYS, keys.len())
            }
            Labels::Static(_) => {
                self.labels.extend(values.next());
                (form::STATIC, 1)
            }
        };
        self.node_data.push(NodeDataRow { name, variant, form, labels: count(labels)? });
        Ok(())
    }

    fn name(&mut self, name: &'a str) -> Result<u32> {
        if name.is_empty() {
            return Ok(NO_INDEX);
        }
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = count(self.names.len())?;
        self.names.push(count(name.len())?);
        self.text.push_str(name);
        self.numbers.insert(name, number);
        Ok(number)
    }

    fn finish(self) -> EncodedPart<'a> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        write_text(&self.text, &mut before);
        write_table(&self.names, &mut before);
        write_table(&self.node_data, &mut before);
        write_table(&self.labels, &mut before);
        if !self.values.is_empty() {
            write_table(&self.values, &mut after);
            self.scalars.rows.write(&mut after);
            after.extend_from_slice(&self.scalars.bits);
        }
        let (numbers, orders) = (self.values.len() + 1, self.orders);
        EncodedPart { before, after, structures: self.structures, numbers, orders }
    }
}

fn row(node: &Node) -> Result<NodeRow> {
    Ok(NodeRow {
        kind: node_code(node.kind),
        data: if node.data() == NodeData::NONE { NO_INDEX } else { count(node.data())? },
        span: count(node.span())?,
        repeat: wide(node.repeat),
    })
}
