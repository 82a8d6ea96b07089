//! Matrices of `nalgebra` as arrays with a shape, inside of any value.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use treedef::{Leaf, LeafKind, NodeKind, NodeRef};

use crate::matrix::MatrixShape;
use crate::read::NdArray;

/// A value whose matrices show their shape, and their numbers row by row.
pub(crate) struct WithShapes<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: Serialize + ?Sized> Serialize for WithShapes<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match MatrixShape::of_value::<T>().and_then(|shape| RowMajorMatrix::of(shape, self.0)) {
            Some(matrix) => matrix.serialize(serializer),
            None => self.0.serialize(ShapingSerializer(serializer)),
        }
    }
}

struct RowMajorMatrix {
    shape: Vec<usize>,
    data: Vec<MatrixNumber>,
}

/// A number, and the name of its type if that is a half float, whose bits it is.
#[derive(Clone)]
struct MatrixNumber(Option<&'static str>, Leaf);

impl MatrixNumber {
    /// The name for the numbers of an element. `None` if it has others, or numbers that no array has.
    fn name(element: NodeRef<'_>, leaves: &[Leaf]) -> Option<Option<&'static str>> {
        let inside = || MatrixNumber::name(element.child(0)?, leaves);
        let is_row = || {
            let mut runs = element.runs();
            runs.next().is_some_and(|(part, _)| is_number(part)) && runs.next().is_none()
        };
        match element.kind() {
            NodeKind::Leaf => {
                let kind = leaves.get(element.leaf_range().start)?.kind();
                let is_other = matches!(kind, LeafKind::I128 | LeafKind::U128)
                    || !(kind.is_number() || kind == LeafKind::Bool);
                (!is_other).then_some(None)
            }
            NodeKind::NewtypeStruct => match element.name() {
                Some("f16") => Some(Some("f16")),
                Some("bf16") => Some(Some("bf16")),
                _ => inside(),
            },
            NodeKind::Tuple if is_row() => inside(),
            NodeKind::Struct if is_row() && *element.fields() == ["re", "im"] => inside(),
            _ => None,
        }
    }
}

fn is_number(node: NodeRef<'_>) -> bool {
    node.inside_newtypes().is_leaf()
}

impl Serialize for MatrixNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MatrixNumber(Some(name), bits) => serializer.serialize_newtype_struct(name, bits),
            MatrixNumber(None, number) => number.serialize(serializer),
        }
    }
}

impl RowMajorMatrix {
    /// `None` if its elements are no numbers, or it is none.
    fn of<T: Serialize + ?Sized>(shape: MatrixShape, value: &T) -> Option<Self> {
        let (leaves, treedef) = treedef::flatten(value).ok()?;
        let (numbers, rows, columns) = match shape {
            MatrixShape::Fixed(rows, columns) => (treedef.root(), rows, columns),
            MatrixShape::Dynamic => {
                // The numbers, the rows and the columns. A size that the type has is a unit.
                let [numbers, rows, columns] = treedef.root().children().collect::<Vec<_>>()[..]
                else {
                    return None;
                };
                let size = |node: NodeRef<'_>| match node.num_leaves() {
                    0 => Some(1),
                    _ => leaves.get(node.leaf_range().start)?.as_u64()?.try_into().ok(),
                };
                (numbers, size(rows)?, size(columns)?)
            }
        };
        // Equal elements are one run.
        let (name, parts) = match numbers.runs().collect::<Vec<_>>()[..] {
            [] => (None, None),
            [(element, _)] => {
                let parts = (!is_number(element)).then_some(element.num_leaves());
                (MatrixNumber::name(element, &leaves)?, parts)
            }
            _ => return None,
        };
        let leaves = leaves.get(numbers.leaf_range())?;
        let kind = leaves.first().map(Leaf::kind);
        if numbers.num_children() != rows.checked_mul(columns)?
            || leaves.iter().any(|leaf| Some(leaf.kind()) != kind)
        {
            return None;
        }
        let step = parts.unwrap_or(1);
        let number = |leaf: &Leaf| MatrixNumber(name, leaf.clone());
        let mut data = Vec::with_capacity(leaves.len());
        for row in 0..rows {
            for column in 0..columns {
                let start = (column * rows + row) * step; // below the length
                data.extend(leaves.get(start..start + step)?.iter().map(number));
            }
        }
        let is_column = match shape {
            MatrixShape::Fixed(_, columns) => columns == 1,
            MatrixShape::Dynamic => treedef.root().child(2)?.num_leaves() == 0,
        };
        let mut shape = if is_column { vec![rows] } else { vec![rows, columns] };
        shape.extend(parts);
        Some(RowMajorMatrix { shape, data })
    }
}

impl Serialize for RowMajorMatrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.data.is_empty() {
            // An empty sequence does not show the type of its elements.
            let none = NdArray::new(self.shape.clone(), Vec::<f64>::new());
            debug_assert!(none.is_some(), "the shape of no numbers: {:?}", self.shape);
            return none.serialize(serializer);
        }
        let mut fields = serializer.serialize_struct("NdArray", 2)?;
        fields.serialize_field("shape", &self.shape)?;
        fields.serialize_field("data", &self.data)?;
        fields.end()
    }
}

/// Passes all on, and each value inside as one with shapes.
struct ShapingSerializer<S>(S);

macro_rules! forward {
    ($($serialize:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $serialize(self, $($argument: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$serialize($($argument),*)
        })*
    };
}

macro_rules! open {
    ($($serialize:ident($($argument:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(fn $serialize(self, $($argument: $type),*) -> Result<Self::$compound, S::Error> {
            self.0.$serialize($($argument),*).map(ShapingSerializer)
        })*
    };
}

impl<S: Serializer> Serializer for ShapingSerializer<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = ShapingSerializer<S::SerializeSeq>;
    type SerializeTuple = ShapingSerializer<S::SerializeTuple>;
    type SerializeTupleStruct = ShapingSerializer<S::SerializeTupleStruct>;
    type SerializeTupleVariant = ShapingSerializer<S::SerializeTupleVariant>;
    type SerializeMap = ShapingSerializer<S::SerializeMap>;
    type SerializeStruct = ShapingSerializer<S::SerializeStruct>;
    type SerializeStructVariant = ShapingSerializer<S::SerializeStructVariant>;

    forward! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_i128(value: i128);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_u128(value: u128);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    open! {
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&WithShapes(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &WithShapes(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &WithShapes(value))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! items {
    ($($compound:ident $serialize:ident;)*) => {
        $(impl<S: $compound> $compound for ShapingSerializer<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $serialize<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$serialize(&WithShapes(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })*
    };
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($compound:ident;)*) => {
        $(impl<S: $compound> $compound for ShapingSerializer<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(name, &WithShapes(value))
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(name)
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })*
    };
}

fields! {
    SerializeStruct;
    SerializeStructVariant;
}

impl<S: SerializeMap> SerializeMap for ShapingSerializer<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&WithShapes(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
