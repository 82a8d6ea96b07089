//! Decodes tables into structures. Everything is checked and goes through the builder that
//! flattening uses, so a file can only describe structures that a value can have.

use std::sync::Arc;

use crate::error::{Cause, Error, Result};
use crate::model::{
    Content, Insertion, Labels, Leaf, Limits, MAX_KEY_NESTING, Name, NodeData, NodeKind, Options,
    TreeDef, Value,
};
use crate::treedef::encoding::EncodingBuilder;

use super::encode::encode_part;
use super::orders::OrderReader;
use super::scalars::{FileLeaf, ScalarReader, ScalarRows};
use super::wire::{
    self, FixedWidth, NO_INDEX, NodeDataRow, NodeRow, ValueRow, form, node_kind, read_table,
    read_text, take_table,
};

/// The content of a part of a file.
pub(super) struct Decoded {
    pub(super) values: Vec<Value>,
    pub(super) structure: Option<TreeDef>,
    /// The number of rows of nodes in all structures.
    pub(super) nodes: usize,
}

/// A part of a file to decode.
pub(super) struct EncodedBytes<'a> {
    /// The name of the part in errors.
    pub(super) name: &'static str,
    pub(super) bytes: &'a [u8],
    /// The options of the structure at the end of the part. `None` if there is no structure.
    pub(super) structure: Option<Options>,
}

/// Decodes a part, and checks that encoding the result gives the same bytes.
pub(super) fn decode(
    part: &EncodedBytes<'_>,
    orders: &mut OrderReader,
    limits: Limits,
) -> Result<Decoded> {
    read(part, orders, limits).map_err(|error| error.in_part(part.name))
}

fn read(part: &EncodedBytes<'_>, orders: &mut OrderReader, limits: Limits) -> Result<Decoded> {
    let (mut bytes, name) = (part.bytes, part.name);
    let text = read_text(&mut bytes, name)?;
    let lengths = read_table(&mut bytes, name)?;
    let node_data: Vec<NodeDataRow> = read_table(&mut bytes, name)?;
    let labels = read_table(&mut bytes, name)?;
    let rows = take_table(&mut bytes, NodeRow::BYTES, name)?;
    let (nodes, after) = (rows.len() / NodeRow::BYTES, bytes);
    let (values, scalars) = if bytes.is_empty() {
        Default::default()
    } else {
        (read_table(&mut bytes, name)?, ScalarRows::read(&mut bytes, name)?)
    };
    let names = names(part, text, &lengths)?;
    expect_spelled(part, &names, &node_data, &labels, limits)?;
    let decoder = Decoder {
        part: name,
        names,
        node_data: node_data.into_iter(),
        labels: labels.into_iter(),
        nodes: rows,
        values: Vec::new(),
        orders,
        limits,
    };
    let decoded = decoder.run(values, ScalarReader::new(name, scalars, bytes), part, nodes)?;
    // One comparison checks every choice of an encoder. It does not cover the nodes, which are
    // the same in memory as in the file.
    let encoded = encode_part(decoded.values.iter(), decoded.structure.as_ref())?;
    if !part.bytes.starts_with(&encoded.before) || encoded.after != after {
        return Err(wire::invalid(part.name, "it is not in its canonical form"));
    }
    Ok(decoded)
}

fn names<'a>(part: &EncodedBytes<'_>, mut text: &'a str, lengths: &[u32]) -> Result<Vec<&'a str>> {
    let mut names = Vec::new();
    for &length in lengths {
        let split = text.split_at_checked(index(length)?).filter(|_| length > 0);
        let (name, rest) = split
            .ok_or_else(|| wire::invalid(part.name, "the lengths of the names do not add up"))?;
        names.push(name);
        text = rest;
    }
    Ok(names)
}

/// Each name is stored once in a file, but copied for each use in memory.
fn expect_spelled(
    part: &EncodedBytes<'_>,
    names: &[&str],
    node_data: &[NodeDataRow],
    labels: &[u32],
    limits: Limits,
) -> Result<()> {
    let length = |number: u32| {
        let name = usize::try_from(number).ok().and_then(|number| names.get(number));
        name.map_or(0, |name| name.len())
    };
    let (mut spelled, mut labels) = (0usize, labels.iter());
    for data in node_data {
        let labels = labels.by_ref().take(usize::try_from(data.labels).unwrap_or(usize::MAX));
        let fields = labels.filter(|_| data.form == form::FIELDS).copied();
        for number in [data.name, data.variant].into_iter().chain(fields) {
            spelled = spelled.saturating_add(length(number));
        }
    }
    limits.expect_names(spelled, part.bytes.len())
}

struct Decoder<'a, 'o> {
    part: &'static str,
    names: Vec<&'a str>,
    node_data: std::vec::IntoIter<NodeDataRow>,
    labels: std::vec::IntoIter<u32>,
    /// The rows of nodes.
    nodes: &'a [u8],
    /// Each value stays here until node data takes it, which happens once.
    values: Vec<DecodedValue>,
    orders: &'o mut OrderReader,
    limits: Limits,
}

struct DecodedValue {
    value: Option<Value>,
    /// The nesting depth of values in keys.
    nesting: usize,
}

/// A node whose children are still being read.
struct OpenRow {
    at: usize,
    end: usize,
    kind: NodeKind,
    data: usize,
    repeat: usize,
    /// The last run of children.
    last: Option<usize>,
}

/// The rows of a structure in the tables, its options, and whether it is part of a value.
#[derive(Clone, Copy)]
struct Extent {
    nodes: usize,
    node_data: usize,
    options: Options,
    is_value: bool,
}

impl Decoder<'_, '_> {
    fn run(
        mut self,
        rows: Vec<ValueRow>,
        mut scalars: ScalarReader<'_>,
        part: &EncodedBytes<'_>,
        nodes: usize,
    ) -> Result<Decoded> {
        for row in rows {
            let decoded = self.value(row, &mut scalars)?;
            self.values.push(decoded);
        }
        scalars.finish()?;
        let structure = match part.structure {
            Some(options) => {
                let node_data = self.node_data.len();
                let extent = Extent { nodes: self.left(), node_data, options, is_value: false };
                Some(self.structure(extent)?.0)
            }
            None => None,
        };
        let rest = self.left() + self.node_data.len() + self.labels.len();
        self.check(rest == 0, "a table has rows that are not used")?;
        let values: Vec<Value> =
            self.values.into_iter().filter_map(|decoded| decoded.value).collect();
        if part.structure.is_some() && !values.is_empty() {
            return Err(wire::invalid(part.name, "a value is not used"));
        }
        Ok(Decoded { values, structure, nodes })
    }

    /// The number of rows of nodes that come.
    fn left(&self) -> usize {
        self.nodes.len() / NodeRow::BYTES
    }

    fn value(&mut self, row: ValueRow, scalars: &mut ScalarReader<'_>) -> Result<DecodedValue> {
        let (nodes, node_data) = (index(row.nodes)?, index(row.node_data)?);
        let places = index(row.scalars)?;
        if nodes == 0 {
            self.check(node_data == 0 && places == 1, "a value without nodes is not a scalar")?;
            self.orders.skip_structure();
            let leaf = self.scalar(scalars)?;
            return Ok(DecodedValue { value: Some(Value(Content::Scalar(leaf))), nesting: 1 });
        }
        let extent = Extent { nodes, node_data, options: Options::default(), is_value: true };
        let (treedef, nesting) = self.structure(extent)?;
        let root = treedef.root();
        self.check(root.kind() != NodeKind::Leaf, "a scalar has a node")?;
        self.check(root.num_leaves() == places, "a value has another number of scalars")?;
        let mut leaves = Vec::with_capacity(places.min(scalars.at_most()));
        for _ in 0..places {
            leaves.push(self.scalar(scalars)?);
        }
        let value = Some(Value::compound(treedef.into(), leaves.into()));
        Ok(DecodedValue { value, nesting: nesting + 1 })
    }

    fn scalar(&self, scalars: &mut ScalarReader<'_>) -> Result<Leaf> {
        match scalars.next()? {
            FileLeaf::Scalar(scalar) if scalar != crate::leaf::Scalar::None => Ok(scalar.into()),
            _ => Err(wire::invalid(self.part, "a value holds a leaf that is not a scalar")),
        }
    }

    /// Decodes one structure from the next rows of the tables. Returns the nesting depth of its
    /// values.
    fn structure(&mut self, extent: Extent) -> Result<(TreeDef, usize)> {
        let mut builder = EncodingBuilder::default();
        let nesting = self.all_data(&mut builder, &extent)?;
        self.check(extent.nodes <= self.left(), "a table has too few rows")?;
        builder.reserve_exact(extent.nodes);
        let mut open: Vec<OpenRow> = Vec::new();
        let mut node_data = 0;
        for at in 0..extent.nodes {
            let row = NodeRow::read(&mut self.nodes).ok_or_else(|| self.short())?;
            let (kind, data, repeat) = self.row(&row, &extent)?;
            if data == node_data {
                node_data += 1;
            }
            self.check(
                data == NodeData::NONE || data < node_data,
                "node data is not in the order of its use",
            )?;
            let end = at.checked_add(index(row.span)?).filter(|end| at < *end);
            let within = open.last().map_or(extent.nodes, |parent| parent.end);
            let fits = end.filter(|end| *end <= within && (at > 0 || *end == extent.nodes));
            let end = fits.ok_or_else(|| wire::invalid(self.part, "a span does not fit"))?;
            self.check(at > 0 || repeat == 1, "the root is repeated")?;
            builder.open(kind, NodeData::NONE);
            open.push(OpenRow { at, end, kind, data, repeat, last: None });
            while let Some(node) = open.pop_if(|node| node.end == at + 1) {
                self.complete(&mut builder, &node)?;
                if let Some(parent) = open.last_mut() {
                    self.add(&mut builder, parent, &node)?;
                }
            }
            self.limits.expect_depth(open.len())?;
        }
        self.check(node_data == extent.node_data, "node data is not used")?;
        // A structure has one root, whose span is the whole structure.
        let depth = builder.node(0).ok_or_else(|| self.short())?.depth;
        self.limits.expect_depth(index(depth)?)?;
        let mut treedef = builder.finish_numbered(extent.options, self.limits);
        self.limits.expect_printed(&treedef.encoding)?;
        let insertions: Vec<Insertion> = self.orders.next_structure(treedef.root())?;
        treedef.insertions = (!insertions.is_empty()).then(|| Arc::from(insertions));
        Ok((treedef.checked(), nesting))
    }

    /// The node data of a structure. Returns the nesting depth of the values in it.
    fn all_data(&mut self, builder: &mut EncodingBuilder, extent: &Extent) -> Result<usize> {
        let mut nesting = 0;
        for number in 0..extent.node_data {
            let (data, nested) = self.data(extent.options)?;
            nesting = nesting.max(nested);
            self.check(builder.node_data.add(data) == number, "node data occurs twice")?;
        }
        let nested = nesting.saturating_add(usize::from(extent.is_value));
        self.check(nested <= MAX_KEY_NESTING, "values are nested too deeply")?;
        Ok(nesting)
    }

    /// The next node data, and the nesting depth of its values.
    fn data(&mut self, options: Options) -> Result<(NodeData, usize)> {
        let row = self.node_data.next().ok_or_else(|| self.short())?;
        let labels = index(row.labels)?;
        self.check(labels <= self.labels.len(), "node data has too many labels")?;
        let (name, variant) = (self.name(row.name)?, self.name(row.variant)?);
        let mut nesting = 0;
        let mut take = |this: &mut Self| -> Result<Value> {
            let number = index(this.labels.next().unwrap_or(NO_INDEX))?;
            let taken = this.values.get_mut(number);
            let taken = taken.and_then(|decoded| Some((decoded.value.take()?, decoded.nesting)));
            let (value, nested) = taken
                .ok_or_else(|| wire::invalid(this.part, "a value is missing or taken twice"))?;
            nesting = nesting.max(nested);
            Ok(value)
        };
        let labels = match row.form {
            form::NONE if labels == 0 => Labels::None,
            form::FIELDS => {
                let mut fields = Vec::new();
                for _ in 0..labels {
                    let number = self.labels.next().unwrap_or(NO_INDEX);
                    fields.push(self.name(number)?);
                }
                Labels::Fields(fields.into())
            }
            form::KEYS => {
                let mut keys: Vec<Value> = Vec::new();
                for _ in 0..labels {
                    keys.push(take(self)?);
                }
                let in_order = options.insertion || keys.is_sorted();
                self.check(in_order, "the keys of a map are not in their order")?;
                Labels::Keys(keys.into())
            }
            form::STATIC if labels == 1 => Labels::Static(take(self)?),
            _ => return Err(wire::invalid(self.part, "node data has an unknown form")),
        };
        Ok((NodeData { name, variant, labels }, nesting))
    }

    fn name(&self, number: u32) -> Result<Name> {
        if number == NO_INDEX {
            return Ok(Name::default());
        }
        let name = self.names.get(index(number)?);
        let name = name.ok_or_else(|| wire::invalid(self.part, "a name is missing"))?;
        Ok(Name::Owned((*name).to_owned()))
    }

    fn row(&self, row: &NodeRow, extent: &Extent) -> Result<(NodeKind, usize, usize)> {
        let kind = node_kind(row.kind)
            .ok_or_else(|| wire::invalid(self.part, "a node is of an unknown kind"))?;
        self.check(kind != NodeKind::Static || !extent.is_value, "a value holds a static")?;
        let data = if row.data == NO_INDEX { NodeData::NONE } else { index(row.data)? };
        self.check(data == NodeData::NONE || data < extent.node_data, "node data is missing")?;
        let repeat = usize::try_from(row.repeat).map_err(|_| Cause::TooLarge)?;
        self.check(repeat > 0, "a node is repeated 0 times")?;
        Ok((kind, data, repeat))
    }

    /// Completes a node. All nodes after it are its descendants.
    fn complete(&self, builder: &mut EncodingBuilder, node: &OpenRow) -> Result<()> {
        if node.kind.is_atom() {
            self.check(node.end == node.at + 1, "an atom has children")?;
            builder.attach_data(node.at, node.data);
        } else {
            builder.close(node.at, node.data)?;
        }
        let made = builder.node(node.at).ok_or_else(|| self.short())?;
        let single = node.kind.has_one_child();
        self.check(
            !single || made.children == 1,
            "a node that needs one child has another number",
        )?;
        let fits = made.has_its_data(builder.node_data.get(node.data));
        self.check(fits, "a node has node data of another kind")
    }

    /// Adds a complete child to its parent.
    fn add(
        &self,
        builder: &mut EncodingBuilder,
        parent: &mut OpenRow,
        child: &OpenRow,
    ) -> Result<()> {
        let last = parent.last.replace(builder.join(parent.last, child.at, child.repeat)?);
        self.check(last != parent.last, "neighbouring runs are equal")
    }

    fn check(&self, holds: bool, otherwise: &'static str) -> Result<()> {
        if holds { Ok(()) } else { Err(wire::invalid(self.part, otherwise)) }
    }

    #[cold]
    fn short(&self) -> Error {
        wire::invalid(self.part, "a table has too few rows")
    }
}

fn index(number: u32) -> Result<usize> {
    usize::try_from(number).map_err(|_| Cause::TooLarge.into())
}
