//! Structures that no value has, in files that could be read.

use serde::Serialize;

use crate::layout::{NONE, header, kind, repair};

/// The tables of a structure, to be filled with content that no value has.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Tables {
    pub(crate) text: String,
    pub(crate) names: Vec<u32>,
    /// Name, variant, form, labels.
    pub(crate) node_data: Vec<(u32, u32, u8, u32)>,
    pub(crate) labels: Vec<u32>,
    /// Kind, data, span, repeat.
    pub(crate) nodes: Vec<(u8, u32, u32, u64)>,
}

/// The keys and statics of a structure.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Values {
    /// Nodes, node data, scalars.
    pub(crate) rows: Vec<(u32, u32, u32)>,
    /// Kind, count.
    pub(crate) runs: Vec<(u8, u64)>,
    pub(crate) lengths: Vec<u64>,
}

impl Tables {
    pub(crate) fn name(&mut self, name: &str) -> u32 {
        let number = self.names.len();
        self.text.push_str(name);
        self.names.push(name.len().try_into().unwrap());
        number.try_into().unwrap()
    }

    /// A file whose header and checksums fit.
    pub(crate) fn file(&self, values: Option<(&Values, &[u8])>, leaves: u64) -> Vec<u8> {
        let (counts, part) = ([self.nodes.len() as u64, leaves], self.part(values));
        let mut file = [header(false, 0, counts, [part.len() as u64, 0, 0, 0, 0]), part].concat();
        repair(&mut file);
        file
    }

    fn part(&self, values: Option<(&Values, &[u8])>) -> Vec<u8> {
        let mut part = encoded(self);
        if let Some((values, bits)) = values {
            part.extend(encoded(values));
            part.extend_from_slice(bits);
        }
        part
    }
}

/// A tree that is one leaf: the value that these tables describe, which has no scalars.
pub(crate) fn opaque_leaf(tables: &Tables) -> Vec<u8> {
    let nodes = u32::try_from(tables.nodes.len()).unwrap();
    let rows = Values { rows: vec![(nodes, 0, 0)], ..Values::default() };
    let values = tables.part(Some((&rows, &[])));
    let star = Tables { nodes: vec![(kind::LEAF, NONE, 1, 1)], ..Tables::default() };
    let structure = star.part(None);
    // One row of the kind of opaque leaves, and no lengths of texts.
    let kinds = encoded(&(vec![(17u8, 1u64)], Vec::<u64>::new()));
    let lengths = [structure.len(), 0, values.len(), kinds.len(), 1].map(|length| length as u64);
    let mut file = header(true, 0, [1, 1], lengths);
    for part in [structure, values, kinds, vec![0; 4], vec![0]] {
        file.extend(part);
    }
    repair(&mut file);
    file
}

fn encoded(tables: &impl Serialize) -> Vec<u8> {
    bincode::serde::encode_to_vec(tables, bincode::config::legacy()).unwrap()
}
