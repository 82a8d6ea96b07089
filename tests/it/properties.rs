//! Laws over random values of the whole serde data model.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use treedef::{
    Flattener, MapOrder, Path, Tree, TreeDef, Value, flatten, unflatten, unflatten_borrowed,
    unflatten_strict,
};
use treedef_testing::cases::config;

use crate::data::{Data, Read, data};

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// All combinations of the options.
fn flatteners() -> impl Iterator<Item = Flattener> {
    (0..16).map(|bits| {
        let order = if bits & 1 == 0 { MapOrder::Canonical } else { MapOrder::Insertion };
        let flattener = Flattener::new().map_order(order).arrays(bits & 8 != 0);
        flattener.none_is_leaf(bits & 2 != 0).compact(bits & 4 != 0)
    })
}

/// The same value with the entries of every map in another order.
fn reordered(data: &Data) -> Data {
    let all = |children: &[Data]| children.iter().map(reordered).collect();
    let fields = |fields: &[(&'static str, Data)]| {
        fields.iter().map(|(name, field)| (*name, reordered(field))).collect()
    };
    match data {
        Data::Map(entries) => Data::Map(
            entries.iter().rev().map(|(key, value)| (reordered(key), reordered(value))).collect(),
        ),
        Data::Some(inside) => Data::Some(Box::new(reordered(inside))),
        Data::NewtypeStruct(name, inside) => Data::NewtypeStruct(name, Box::new(reordered(inside))),
        Data::NewtypeVariant(name, variant, inside) => {
            Data::NewtypeVariant(name, variant, Box::new(reordered(inside)))
        }
        Data::Seq(children) => Data::Seq(all(children)),
        Data::Tuple(children) => Data::Tuple(all(children)),
        Data::TupleStruct(name, children) => Data::TupleStruct(name, all(children)),
        Data::TupleVariant(name, variant, children) => {
            Data::TupleVariant(name, variant, all(children))
        }
        Data::Struct(name, inside) => Data::Struct(name, fields(inside)),
        Data::StructVariant(name, variant, inside) => {
            Data::StructVariant(name, variant, fields(inside))
        }
        atom => atom.clone(),
    }
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn a_value_comes_back_exactly(value in data()) {
        for flattener in flatteners() {
            let (leaves, treedef) = flattener.flatten(&value).unwrap();
            let rebuilt: Read = Read::like(&value, || unflatten(&treedef, &leaves)).unwrap();
            prop_assert_eq!(&rebuilt.0, &value);
            let (again, same) = flattener.flatten(&rebuilt).unwrap();
            prop_assert_eq!(hash(&same), hash(&treedef));
            prop_assert_eq!((again, same), (leaves, treedef));
        }
    }

    #[test]
    fn it_comes_back_strictly_borrowed_and_owned(value in data()) {
        let (leaves, treedef) = flatten(&value).unwrap();
        Read::like(&value, || {
            prop_assert_eq!(&unflatten_borrowed::<Read>(&treedef, &leaves).unwrap().0, &value);
            prop_assert_eq!(&unflatten_strict::<Read>(&treedef, &leaves).unwrap().0, &value);
            prop_assert_eq!(&unflatten::<Read>(&treedef, leaves).unwrap().0, &value);
            Ok(())
        })?;
    }

    #[test]
    fn texts_parse_back(value in data()) {
        for flattener in flatteners() {
            let (_, treedef) = flattener.flatten(&value).unwrap();
            prop_assert_eq!(&treedef.to_string().parse::<TreeDef>().unwrap(), &treedef, "{}", treedef);
            prop_assert_eq!(&format!("{treedef:#}").parse::<TreeDef>().unwrap(), &treedef, "{:#}", treedef);
        }
    }

    #[test]
    fn values_print_parse_order_and_come_back(a in data(), b in data()) {
        let (x, y) = (Value::of(&a).unwrap(), Value::of(&b).unwrap());
        prop_assert_eq!(&x.to_string().parse::<Value>().unwrap(), &x, "{}", x);
        prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
        prop_assert_eq!(x.cmp(&y).is_eq(), x == y, "{} {}", x, y);
        prop_assert!(x.cmp(&x.clone()).is_eq());
        let read: Read = Read::like(&a, || x.into_typed()).unwrap();
        prop_assert_eq!(read.0, a);
    }

    #[test]
    fn paths_lead_from_leaf_to_leaf(value in data()) {
        let tree = Tree::of(&value).unwrap();
        for (index, path) in tree.treedef().leaf_paths().enumerate() {
            prop_assert_eq!(&path.to_string().parse::<Path>().unwrap(), &path, "{}", path);
            prop_assert_eq!(tree.treedef().node(&path).unwrap().leaf_range(), index..index + 1, "{}", path);
        }
    }

    #[test]
    fn the_order_of_maps_is_remembered_but_no_part_of_the_structure(value in data()) {
        let other = reordered(&value);
        let (a, b) = (flatten(&value).unwrap(), flatten(&other).unwrap());
        prop_assert_eq!(hash(&a.1), hash(&b.1));
        prop_assert_eq!(&a, &b);
        let read: Read = Read::like(&other, || unflatten(&b.1, b.0)).unwrap();
        prop_assert_eq!(read.0, other);
    }
}
