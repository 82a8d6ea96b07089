//! The entries of a map, and what is read like one.

use serde::de::{DeserializeSeed, MapAccess};

use crate::error::{Error, Result};
use crate::model::NodeKind;
use crate::node::{Children, NodeRef};
use crate::path::Path;
use crate::stack;

use super::name::Text;
use super::place::{Place, under};
use super::source::{Context, Source};

/// The entries of a map, or the fields of a struct.
pub(super) struct Entries<'a, 'r, S> {
    node: NodeRef<'a>,
    order: Order<'a>,
    /// Entries whose key was handed out, and those whose value was, too.
    keys: usize,
    values: usize,
    /// The value of the last of these, with its position, until it was handed out.
    value: Option<(usize, NodeRef<'a>)>,
    context: Context<'a, 'r>,
    source: &'r mut S,
}

impl<'a, 'r, S> Entries<'a, 'r, S> {
    pub(super) fn of(
        node: NodeRef<'a>,
        kind: NodeKind,
        context: Context<'a, 'r>,
        source: &'r mut S,
    ) -> Result<Self> {
        let arrivals = context.shared.arrivals;
        let arrival = arrivals.binary_search_by_key(&node.first_map(), |arrival| arrival.map);
        let arrived =
            arrival.ok().filter(|_| kind == NodeKind::Map).and_then(|index| arrivals.get(index));
        let order = match arrived {
            None => Order::Canonical(node.children()),
            Some(arrival) => {
                Order::Arrival { order: &arrival.order, children: node.children().collect() }
            }
        };
        Ok(Entries {
            node,
            order,
            keys: 0,
            values: 0,
            value: None,
            context: context.deeper()?,
            source,
        })
    }

    /// Entries that were read to the end.
    pub(super) fn values(&self) -> usize {
        self.values
    }
}

enum Order<'a> {
    Canonical(Children<'a>),
    Arrival { order: &'a [usize], children: Vec<NodeRef<'a>> },
}

impl<'a, 'de, S: Source<'a, 'de>> MapAccess<'de> for &mut Entries<'a, '_, S> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let (position, child) = match &mut self.order {
            Order::Canonical(children) => (self.keys, children.next()),
            Order::Arrival { order, children } => match order.get(self.keys) {
                Some(&position) => (position, children.get(position).copied()),
                None => (self.keys, None),
            },
        };
        let Some(child) = child else { return Ok(None) };
        self.keys += 1;
        self.value = Some((position, child));
        if let Some(name) = self.node.fields().get(position) {
            return seed.deserialize(Text::<S>::new(name, self.context)).map(Some);
        }
        let Some(key) = self.node.keys().get(position) else {
            return Err(Error::protocol("a map without its keys"));
        };
        if let Some(text) = key.as_str() {
            let key = seed.deserialize(Text::<S>::new(text, self.context));
            return key.map(Some).map_err(|error| error.at(Path::root()));
        }
        let (mut kept, shared) = (S::kept(key.parts().1), self.context.shared_for(key));
        let mut place = Place::of_value(key, self.context.inside(&shared), &mut kept);
        // What leads on inside a key is no way inside the map.
        let key = stack::grow(|| seed.deserialize(place.lend()));
        key.map(Some).map_err(|error| error.at(Path::root()))
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some((position, child)) = self.value.take() else {
            return Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            ));
        };
        self.values += 1;
        let mut place = Place::new(child, self.context, &mut *self.source);
        stack::grow(|| seed.deserialize(place.lend()))
            .map_err(|error| under(error, self.node, position))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.node.num_children() - self.keys)
    }
}

/// A variant with its payload, as a map from its name: what serde's buffers understand.
pub(super) struct OneEntry<'a, 'r, S> {
    pub(super) name: Option<Text<'a, 'r, S>>,
    pub(super) payload: Option<Place<'a, 'r, S>>,
}

impl<'a, 'de, S: Source<'a, 'de>> MapAccess<'de> for OneEntry<'a, '_, S> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.name.take().map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        match (&self.name, self.payload.take()) {
            (None, Some(payload)) => {
                payload.with_payload(|mut payload| seed.deserialize(payload.lend()))
            }
            _ => Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            )),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(usize::from(self.name.is_some()))
    }
}
