//! Structures that no value has, in files that could be read.

use serde::Serialize;

use crate::layout::{header, repair};

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
        let tables = |tables| bincode::serde::encode_to_vec(tables, bincode::config::legacy());
        let mut part = tables(self).unwrap();
        if let Some((values, bits)) = values {
            let values = bincode::serde::encode_to_vec(values, bincode::config::legacy());
            part.extend(values.unwrap());
            part.extend_from_slice(bits);
        }
        let (counts, length) = ([self.nodes.len() as u64, leaves], part.len() as u64);
        let mut file = [header(false, 0, counts, [length, 0, 0, 0, 0]), part].concat();
        repair(&mut file);
        file
    }
}
