//! JSON Schema, draft 2020-12.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{Serialize, SerializeMap, Serializer};

use treedef::__private::{OrBug, PrivateJson, argument, broken, entry, later, private_json, under};
use treedef::{Flattener, Key, Leaf, LeafKind, Limits, NodeKind, NodeRef, Result, Tree, Value};

use crate::count::Structures;
use crate::recorder::DEEPEST_STRUCTURE;
use crate::structure::{Collection, Kinds, Structure, StructureLeaf};

/// A part of a schema.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Schema {
    Object(Vec<(String, Schema)>),
    List(Vec<Schema>),
    Text(String),
    Number(u64),
    False,
    Value(Value),
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Schema::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, it)| map.serialize_entry(key, it))?;
                map.end()
            }
            Schema::List(all) => serializer.collect_seq(all),
            Schema::Text(text) => serializer.serialize_str(text),
            Schema::Number(number) => serializer.serialize_u64(*number),
            Schema::False => serializer.serialize_bool(false),
            Schema::Value(value) => value.serialize(serializer),
        }
    }
}

impl Structures {
    /// A JSON Schema (draft 2020-12) of the documents, as a tree that is `Serialize`. All counted documents
    /// are valid, as serde_json writes them, if their floats are finite. For folded maps and sequences, it
    /// has the lengths and the kinds of the elements. A key that occurs twice in a folded map counts twice
    /// in its length, as do `1` and `"1"`, which JSON writes alike. An `opaque` leaf may be anything.
    ///
    /// # Errors
    ///
    /// Returns an error when a map that is not folded has a key that JSON does not support; the
    /// keys of folded maps are not known. Also when the schema would nest deeper than 256 levels:
    /// two or three for each level of a document.
    ///
    /// ```
    /// use treedef_structures::Structures;
    ///
    /// let mut structures = Structures::new().fold_lengths(true);
    /// structures.add(&serde_json::from_str(r#"{"id": 1, "tags": ["a", "b"]}"#)?)?;
    /// assert_eq!(
    ///     serde_json::to_value(structures.to_json_schema()?)?,
    ///     serde_json::json!({
    ///         "$schema": "https://json-schema.org/draft/2020-12/schema",
    ///         "type": "object",
    ///         "properties": {
    ///             "id": {"type": "integer", "minimum": 0},
    ///             "tags": {
    ///                 "type": "array", "items": {"type": "string"},
    ///                 "minItems": 2, "maxItems": 2,
    ///             },
    ///         },
    ///         "required": ["id", "tags"],
    ///         "additionalProperties": false,
    ///     })
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_json_schema(&self) -> Result<Tree<Leaf>> {
        let all = self.by_count()?;
        let schemas = all.iter().map(|it| schema(&it.structure)).collect::<Result<Vec<_>>>()?;
        let draft = Schema::Text("https://json-schema.org/draft/2020-12/schema".to_owned());
        let mut entries = vec![("$schema".to_owned(), draft)];
        entries.extend(match any_of(schemas) {
            Schema::Object(any) => any,
            _ => return Err(broken("a schema is no object")),
        });
        let limits = Limits { max_depth: DEEPEST_STRUCTURE, ..Limits::default() };
        Flattener::new().limits(limits).tree(&Schema::Object(entries))
    }
}

fn schema(structure: &Structure) -> Result<Schema> {
    of_node(structure.treedef().root(), structure.leaves())
}

/// The schema of a node. The recursion is as deep as a structure that was recorded.
fn of_node(node: NodeRef<'_>, leaves: &[StructureLeaf]) -> Result<Schema> {
    use NodeKind as Is;
    let inside = || of_node(entry(node, 0).1, leaves);
    let name = || node.variant().or_bug().to_owned();
    let variant = |inside| object(vec![(name(), inside)]);
    let text = || typed("string", []);
    match private_json(node) {
        Some(PrivateJson::Tagged) => return of_node(entry(node, 1).1, leaves),
        // Only of a text.
        Some(private) if inside()? == text() => {
            return Ok(match private {
                PrivateJson::Number => any_of(vec![typed("number", []), text()]),
                PrivateJson::Any => anything(),
                _ => text(),
            });
        }
        _ => {}
    }
    Ok(match node.kind() {
        Is::Leaf => {
            let leaf = leaves.get(node.leaf_range().start);
            of_leaf(leaf.ok_or_else(|| broken("a leaf is missing"))?)?
        }
        Is::None | Is::Unit | Is::UnitStruct => typed("null", []),
        Is::Some | Is::NewtypeStruct => inside()?,
        Is::Static => {
            let value = node.static_value().ok_or_else(|| broken("a static is missing"))?;
            Schema::Object(vec![("const".to_owned(), Schema::Value(value.clone()))])
        }
        Is::UnitVariant => Schema::Object(vec![("const".to_owned(), Schema::Text(name()))]),
        Is::NewtypeVariant => variant(inside()?),
        Is::TupleVariant => variant(array(node, leaves)?),
        Is::StructVariant => variant(object(entries(node, leaves)?)),
        Is::Seq | Is::Tuple | Is::TupleStruct => array(node, leaves)?,
        Is::Map if node.entry_keys().iter().any(is_float) => of_floats(node, leaves)?,
        Is::Map | Is::Struct => object(entries(node, leaves)?),
        _ => anything(),
    })
}

fn is_float(key: &Value) -> bool {
    key.as_leaf().is_some_and(|leaf| leaf.kind().is_float())
}

/// The schema of a map whose keys are floats, which are written in more than one way.
fn of_floats(map: NodeRef<'_>, leaves: &[StructureLeaf]) -> Result<Schema> {
    let mut distinct = BTreeSet::new();
    for child in map.children() {
        distinct.insert(of_node(child, leaves)?);
    }
    let most = map.num_children() as u64; // usize has at most 64 bits
    Ok(sized_map(distinct.into_iter().collect(), 1, most))
}

/// The schema of a map with any keys, with values of these schemas.
fn sized_map(all: Vec<Schema>, shortest: u64, longest: u64) -> Schema {
    let lengths = ["minProperties", "maxProperties"];
    sized("object", "additionalProperties", all, lengths, [shortest, longest])
}

fn of_leaf(leaf: &StructureLeaf) -> Result<Schema> {
    let all = |folded: &Collection| -> Result<Vec<Schema>> {
        folded.elements.iter().map(schema).collect()
    };
    Ok(match leaf {
        StructureLeaf::Scalar(kinds) => of_kinds(*kinds),
        StructureLeaf::Seq(folded) => {
            let lengths = [folded.shortest, folded.longest];
            sized("array", "items", all(folded)?, ["minItems", "maxItems"], lengths)
        }
        StructureLeaf::Map(folded) => sized_map(all(folded)?, folded.shortest, folded.longest),
    })
}

fn sized(
    kind: &str,
    of_elements: &str,
    all: Vec<Schema>,
    [least, most]: [&str; 2],
    [shortest, longest]: [u64; 2],
) -> Schema {
    let elements = (!all.is_empty()).then(|| (of_elements, any_of(all)));
    let lengths = [(least, Schema::Number(shortest)), (most, Schema::Number(longest))];
    typed(kind, elements.into_iter().chain(lengths))
}

fn of_kinds(kinds: Kinds) -> Schema {
    use LeafKind as Is;
    let natural = || typed("integer", [("minimum", Schema::Number(0))]);
    match kinds {
        Kinds::Integers => typed("integer", []),
        Kinds::Floats | Kinds::Numbers => typed("number", []),
        Kinds::One(kind) => match kind {
            Is::Bool => typed("boolean", []),
            Is::I8 | Is::I16 | Is::I32 | Is::I64 | Is::I128 => typed("integer", []),
            Is::U8 | Is::U16 | Is::U32 | Is::U64 | Is::U128 => natural(),
            Is::F32 | Is::F64 => typed("number", []),
            Is::Char | Is::Str => typed("string", []),
            Is::Bytes => typed("array", [("items", natural())]),
            Is::None => typed("null", []),
            _ => anything(),
        },
    }
}

/// Up to this length, each position of a sequence has its own schema.
const POSITIONS: usize = 64;

fn array(node: NodeRef<'_>, leaves: &[StructureLeaf]) -> Result<Schema> {
    let length = node.num_children();
    let (mut all, mut distinct) = (Vec::new(), BTreeSet::new());
    for (first, repeat) in node.runs() {
        // For equal children without leaves, one schema suffices.
        let apart = if first.num_leaves() == 0 { 1 } else { repeat };
        for skip in 0..apart {
            distinct.insert(of_node(later(first, skip), leaves)?);
        }
    }
    if length <= POSITIONS && distinct.len() > 1 {
        for child in node.children() {
            all.push(of_node(child, leaves)?);
        }
    }
    let items = if !all.is_empty() {
        vec![("prefixItems", Schema::List(all)), ("items", Schema::False)]
    } else if !distinct.is_empty() {
        vec![("items", any_of(distinct.into_iter().collect()))]
    } else {
        Vec::new()
    };
    let length = length as u64; // usize has at most 64 bits
    let lengths = [("minItems", Schema::Number(length)), ("maxItems", Schema::Number(length))];
    Ok(typed("array", items.into_iter().chain(lengths)))
}

/// The fields or entries. A key that occurs twice is one property.
fn entries(node: NodeRef<'_>, leaves: &[StructureLeaf]) -> Result<Vec<(String, Schema)>> {
    let mut all: Vec<(String, Vec<Schema>)> = Vec::new();
    let mut places = BTreeMap::new();
    for (key, child) in treedef::__private::entries(node) {
        let name = match &key {
            Key::Entry(key) => property(key)?,
            Key::Field(name) | Key::VariantField(_, name) => name.as_ref().to_owned(),
            _ => return Err(broken("a child has no label")),
        };
        let below = of_node(child, leaves).map_err(|error| under(error, key))?;
        let place = *places.entry(name.clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, same)) => same.push(below),
            None => all.push((name, vec![below])),
        }
    }
    Ok(all.into_iter().map(|(name, same)| (name, any_of(same))).collect())
}

/// A key as JSON writes it.
fn property(key: &Value) -> Result<String> {
    let text = match key.as_leaf() {
        Some(Leaf::Str(text)) => Some(text.to_string()),
        Some(Leaf::Bool(bool)) => Some(bool.to_string()),
        Some(leaf) => {
            let natural = || leaf.as_u128().map(|number| number.to_string());
            leaf.as_i128().map(|number| number.to_string()).or_else(natural)
        }
        None => None,
    };
    let refused = || under(argument("JSON has no such keys"), Key::Entry(key.clone()));
    text.ok_or_else(refused)
}

fn object(properties: Vec<(String, Schema)>) -> Schema {
    let names = properties.iter().map(|(name, _)| Schema::Text(name.clone())).collect();
    typed(
        "object",
        [
            ("properties", Schema::Object(properties)),
            ("required", Schema::List(names)),
            ("additionalProperties", Schema::False),
        ],
    )
}

fn any_of(mut all: Vec<Schema>) -> Schema {
    match (all.len(), all.pop()) {
        (1, Some(one)) => one,
        (_, None) => anything(),
        (_, Some(last)) => {
            all.push(last);
            Schema::Object(vec![("anyOf".to_owned(), Schema::List(all))])
        }
    }
}

fn anything() -> Schema {
    Schema::Object(Vec::new())
}

fn typed<'k>(kind: &str, more: impl IntoIterator<Item = (&'k str, Schema)>) -> Schema {
    let kind = ("type".to_owned(), Schema::Text(kind.to_owned()));
    let more = more.into_iter().map(|(key, it)| (key.to_owned(), it));
    Schema::Object([kind].into_iter().chain(more).collect())
}
