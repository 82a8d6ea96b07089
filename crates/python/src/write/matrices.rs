//! Matrices of `nalgebra` as arrays with a shape, inside of any value.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use treedef::Leaf;

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
    data: Vec<Leaf>,
}

impl RowMajorMatrix {
    /// `None` if its elements are no numbers, or it is none.
    fn of<T: Serialize + ?Sized>(shape: MatrixShape, value: &T) -> Option<Self> {
        let (mut leaves, treedef) = treedef::flatten(value).ok()?;
        let (rows, columns) = match shape {
            MatrixShape::Fixed(rows, columns) => (rows, columns),
            MatrixShape::Dynamic => {
                // The numbers, the rows and the columns. A size that the type has is a unit.
                let [_, rows, columns] = treedef.root().children().collect::<Vec<_>>()[..] else {
                    return None;
                };
                let mut size = |node: treedef::NodeRef<'_>| match node.num_leaves() {
                    0 => Some(1),
                    _ => leaves.pop()?.as_u64()?.try_into().ok(),
                };
                let columns = size(columns)?;
                (size(rows)?, columns)
            }
        };
        let elements = rows.checked_mul(columns)?;
        // A complex number has two parts.
        let parts = leaves.len().checked_div(elements).unwrap_or(1);
        if leaves.len() != elements.checked_mul(parts)? {
            return None;
        }
        let mut data = Vec::with_capacity(leaves.len());
        for row in 0..rows {
            for column in 0..columns {
                let start = (column * rows + row) * parts; // below the length
                data.extend_from_slice(leaves.get(start..start + parts)?);
            }
        }
        let is_column = match shape {
            MatrixShape::Fixed(_, columns) => columns == 1,
            MatrixShape::Dynamic => treedef.root().child(2)?.num_leaves() == 0,
        };
        let mut shape = if is_column { vec![rows] } else { vec![rows, columns] };
        shape.extend((parts > 1).then_some(parts));
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
