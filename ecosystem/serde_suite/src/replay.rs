//! A value that makes the serde calls that tokens stand for.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};
use serde_test::Token;

#[derive(Debug)]
pub(crate) enum Replay {
    Scalar(Token),
    Some(Box<Replay>),
    Newtype(&'static str, Box<Replay>),
    Variant(&'static str, &'static str, Payload),
    Seq(Vec<Replay>),
    Tuple(Vec<Replay>),
    TupleStruct(&'static str, Vec<Replay>),
    Map(Vec<(Replay, Replay)>),
    Struct(&'static str, Vec<(&'static str, Replay)>),
}

#[derive(Debug)]
pub(crate) enum Payload {
    Unit,
    Newtype(Box<Replay>),
    Tuple(Vec<Replay>),
    Struct(Vec<(&'static str, Replay)>),
}

/// The tokens that are left.
struct Tokens<'a>(&'a [Token]);

impl Replay {
    /// The value of these tokens, unless no serializer can be asked to write it.
    pub(crate) fn of(tokens: &[Token]) -> Option<Self> {
        let mut tokens = Tokens(tokens);
        let value = tokens.value()?;
        tokens.0.is_empty().then_some(value)
    }
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn until<T>(
        &mut self,
        end: Token,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut items = Vec::new();
        while *self.0.first()? != end {
            items.push(item(self)?);
        }
        self.next();
        Some(items)
    }

    fn values(&mut self, end: Token) -> Option<Vec<Replay>> {
        self.until(end, Self::value)
    }

    fn fields(&mut self, end: Token) -> Option<Vec<(&'static str, Replay)>> {
        self.until(end, |tokens| Some((tokens.name()?, tokens.value()?)))
    }

    /// The name of a field or a variant. serde has no other identifiers when it serializes.
    fn name(&mut self) -> Option<&'static str> {
        match self.next()? {
            Token::Str(name) | Token::BorrowedStr(name) | Token::String(name) => Some(name),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Replay> {
        Some(match self.next()? {
            Token::Some => Replay::Some(Box::new(self.value()?)),
            Token::NewtypeStruct { name } => Replay::Newtype(name, Box::new(self.value()?)),
            Token::UnitVariant { name, variant } => Replay::Variant(name, variant, Payload::Unit),
            Token::NewtypeVariant { name, variant } => {
                Replay::Variant(name, variant, Payload::Newtype(Box::new(self.value()?)))
            }
            Token::TupleVariant { name, variant, .. } => {
                Replay::Variant(name, variant, Payload::Tuple(self.values(Token::TupleVariantEnd)?))
            }
            Token::StructVariant { name, variant, .. } => Replay::Variant(
                name,
                variant,
                Payload::Struct(self.fields(Token::StructVariantEnd)?),
            ),
            Token::Enum { name } => {
                let variant = self.name()?;
                if self.0.first() == Some(&Token::Unit) {
                    self.next();
                    return Some(Replay::Variant(name, variant, Payload::Unit));
                }
                Replay::Variant(name, variant, Payload::Newtype(Box::new(self.value()?)))
            }
            Token::Seq { .. } => Replay::Seq(self.values(Token::SeqEnd)?),
            Token::Tuple { .. } => Replay::Tuple(self.values(Token::TupleEnd)?),
            Token::TupleStruct { name, .. } => {
                Replay::TupleStruct(name, self.values(Token::TupleStructEnd)?)
            }
            Token::Map { .. } => Replay::Map(
                self.until(Token::MapEnd, |tokens| Some((tokens.value()?, tokens.value()?)))?,
            ),
            Token::Struct { name, .. } => Replay::Struct(name, self.fields(Token::StructEnd)?),
            Token::SeqEnd
            | Token::TupleEnd
            | Token::TupleStructEnd
            | Token::MapEnd
            | Token::StructEnd
            | Token::TupleVariantEnd
            | Token::StructVariantEnd => return None,
            scalar => Replay::Scalar(scalar),
        })
    }
}

fn scalar<S: Serializer>(token: Token, serializer: S) -> Result<S::Ok, S::Error> {
    match token {
        Token::Bool(value) => value.serialize(serializer),
        Token::I8(value) => value.serialize(serializer),
        Token::I16(value) => value.serialize(serializer),
        Token::I32(value) => value.serialize(serializer),
        Token::I64(value) => value.serialize(serializer),
        Token::U8(value) => value.serialize(serializer),
        Token::U16(value) => value.serialize(serializer),
        Token::U32(value) => value.serialize(serializer),
        Token::U64(value) => value.serialize(serializer),
        Token::F32(value) => value.serialize(serializer),
        Token::F64(value) => value.serialize(serializer),
        Token::Char(value) => value.serialize(serializer),
        Token::Str(text) | Token::BorrowedStr(text) | Token::String(text) => {
            text.serialize(serializer)
        }
        Token::Bytes(bytes) | Token::BorrowedBytes(bytes) | Token::ByteBuf(bytes) => {
            serializer.serialize_bytes(bytes)
        }
        Token::None => serializer.serialize_none(),
        Token::Unit => serializer.serialize_unit(),
        Token::UnitStruct { name } => serializer.serialize_unit_struct(name),
        other => panic!("{other:?} is no scalar"),
    }
}

impl Serialize for Replay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Replay::Scalar(token) => scalar(*token, serializer),
            Replay::Some(inside) => serializer.serialize_some(inside),
            Replay::Newtype(name, inside) => serializer.serialize_newtype_struct(name, inside),
            Replay::Variant(name, variant, payload) => match payload {
                Payload::Unit => serializer.serialize_unit_variant(name, 0, variant),
                Payload::Newtype(inside) => {
                    serializer.serialize_newtype_variant(name, 0, variant, inside)
                }
                Payload::Tuple(values) => {
                    use serde::ser::SerializeTupleVariant;
                    let mut tuple =
                        serializer.serialize_tuple_variant(name, 0, variant, values.len())?;
                    values.iter().try_for_each(|value| tuple.serialize_field(value))?;
                    tuple.end()
                }
                Payload::Struct(fields) => {
                    use serde::ser::SerializeStructVariant;
                    let mut all =
                        serializer.serialize_struct_variant(name, 0, variant, fields.len())?;
                    fields.iter().try_for_each(|(name, value)| all.serialize_field(name, value))?;
                    all.end()
                }
            },
            Replay::Seq(values) => {
                let mut seq = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| seq.serialize_element(value))?;
                seq.end()
            }
            Replay::Tuple(values) => {
                let mut tuple = serializer.serialize_tuple(values.len())?;
                values.iter().try_for_each(|value| tuple.serialize_element(value))?;
                tuple.end()
            }
            Replay::TupleStruct(name, values) => {
                let mut tuple = serializer.serialize_tuple_struct(name, values.len())?;
                values.iter().try_for_each(|value| tuple.serialize_field(value))?;
                tuple.end()
            }
            Replay::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Replay::Struct(name, fields) => {
                let mut all = serializer.serialize_struct(name, fields.len())?;
                fields.iter().try_for_each(|(name, value)| all.serialize_field(name, value))?;
                all.end()
            }
        }
    }
}
