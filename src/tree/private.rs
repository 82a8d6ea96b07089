//! Values of formats outside of serde's data model: dates of TOML, numbers of any length, tags of
//! CBOR.
//!
//! A format passes such a value to serde under a private name, and recognises the name when it writes. For
//! all other formats the name has no meaning. The key of a map is never such a name, because the author of
//! a document chooses keys.

use serde::ser::{Serialize, SerializeStruct, SerializeTupleVariant, Serializer};

use crate::flatten::{CBOR_TAG, JSON_NUMBER, TOML_DATE};
use crate::leaf::decimal::Decimal;
use crate::model::NodeKind;
use crate::treedef::node_ref::NodeRef;
use crate::type_names::crate_of;

use super::raw::{is_json, is_one_ron};

/// How serde sees the value.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A text, as the only field of a struct.
    Text { field: &'static str },
    /// A number, as the only field of a struct.
    Number { field: &'static str },
    /// The content of a newtype.
    Newtype,
    /// A number beside a value, in the only variant of an enum.
    Tag { variant: &'static str },
}

/// A private name.
pub(crate) struct Private {
    name: &'static str,
    pub(crate) form: Form,
    /// The crates that use the name.
    owners: &'static [&'static str],
    /// Whether a text may be written verbatim. In a file of the library, it may be any text.
    is_written: fn(&str) -> bool,
}

const fn newtype(name: &'static str, owners: &'static [&'static str]) -> Private {
    Private { name, form: Form::Newtype, owners, is_written: |_| true }
}

const RAW_JSON: &str = "$serde_json::private::RawValue";

const ALL: [Private; 9] = [
    Private {
        name: TOML_DATE[0],
        form: Form::Text { field: TOML_DATE[1] },
        owners: &["toml", "toml_edit"],
        // The format checks it.
        is_written: |_| true,
    },
    Private {
        name: JSON_NUMBER[0],
        form: Form::Number { field: JSON_NUMBER[1] },
        owners: &["serde_json"],
        is_written: |text| is_json(text) && text.ends_with(|c: char| c.is_ascii_digit()),
    },
    Private {
        name: RAW_JSON,
        form: Form::Text { field: RAW_JSON },
        owners: &["serde_json"],
        is_written: is_json,
    },
    Private {
        name: CBOR_TAG[0],
        form: Form::Tag { variant: CBOR_TAG[1] },
        owners: &["ciborium"],
        is_written: |_| true,
    },
    Private { is_written: is_one_ron, ..newtype("$ron::private::RawValue", &["ron"]) },
    newtype("_ExtStruct", &["rmp_serde", "rmpv"]),
    newtype("PLIST-DATE", &["plist"]),
    newtype("PLIST-UID", &["plist"]),
    newtype(
        "$__private__serde__identifier__for__cid",
        &["ipld_core", "serde_ipld_dagcbor", "serde_ipld_dagjson"],
    ),
];

impl Private {
    /// The private name of a node, with the value below it.
    pub(crate) fn of(node: NodeRef<'_>) -> Option<&'static Private> {
        let is = |private: &&Private| match private.form {
            Form::Text { field } | Form::Number { field } => {
                node.fields().iter().any(|name| name.as_ref() == field)
            }
            Form::Newtype => node.kind() == NodeKind::NewtypeStruct,
            Form::Tag { variant } => node.variant() == Some(variant),
        };
        let may_be = match node.kind() {
            NodeKind::Struct | NodeKind::NewtypeStruct => node.num_children() == 1,
            NodeKind::TupleVariant => node.num_children() == 2,
            _ => false,
        };
        let name = node.name().filter(|_| may_be)?;
        ALL.iter().filter(|private| private.name == name).find(is)
    }

    /// Whether a text may be written verbatim.
    pub(crate) fn is_written(&self, text: &str) -> bool {
        (self.is_written)(text)
    }

    /// Whether a serializer is one of a format that knows the name.
    pub(crate) fn is_known_to<S>(&self) -> bool {
        self.owners.contains(&crate_of::<S>())
    }

    /// Writes a text for a format that knows the name.
    pub(crate) fn known<S: Serializer>(
        &self,
        value: &impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self.form {
            Form::Text { field } | Form::Number { field } => {
                let mut value_of = serializer.serialize_struct(self.name, 1)?;
                value_of.serialize_field(field, value)?;
                value_of.end()
            }
            Form::Newtype | Form::Tag { .. } => {
                serializer.serialize_newtype_struct(self.name, value)
            }
        }
    }

    /// Writes a tag and the tagged value for a format that knows the name.
    pub(crate) fn tag<S: Serializer>(
        &self,
        tag: &impl Serialize,
        value: &impl Serialize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut tagged = serializer.serialize_tuple_variant(self.name, 0, CBOR_TAG[1], 2)?;
        tagged.serialize_field(tag)?;
        tagged.serialize_field(value)?;
        tagged.end()
    }
}

/// How `serde_json` writes a value with a private name.
pub enum PrivateJson {
    /// If it is a text.
    Text,
    /// A number if that loses nothing, otherwise a text.
    Number,
    /// Any JSON.
    Any,
    /// The second child.
    Tagged,
}

/// How `serde_json` writes a node with a private name. `None` for all others, and newtypes.
pub fn private_json(node: NodeRef<'_>) -> Option<PrivateJson> {
    let private = Private::of(node)?;
    match private.form {
        Form::Text { field: RAW_JSON } => Some(PrivateJson::Any),
        Form::Text { .. } => Some(PrivateJson::Text),
        Form::Number { .. } => Some(PrivateJson::Number),
        Form::Tag { .. } => Some(PrivateJson::Tagged),
        Form::Newtype => None,
    }
}

/// Whether a serializer is one of ours, which records every name.
pub(crate) fn is_ours<S>() -> bool {
    crate_of::<S>() == env!("CARGO_CRATE_NAME")
}

/// Writes the text of a number as a number if that loses nothing, otherwise as a text.
pub(crate) fn serialize_number<S: Serializer>(
    text: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if let Some(number) = text.parse().ok().filter(|number: &u64| number.to_string() == text) {
        return serializer.serialize_u64(number);
    }
    if let Some(number) = text.parse().ok().filter(|number: &i64| number.to_string() == text) {
        return serializer.serialize_i64(number);
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite());
    match float.filter(|float| Decimal::of(&format!("{float:e}")) == Decimal::of(text)) {
        Some(float) => serializer.serialize_f64(float),
        None => serializer.serialize_str(text),
    }
}
