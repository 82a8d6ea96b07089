//! Values that hold handles: a tensor on a device, an open file, a row of a database.
//!
//! A handle has no content for serde to copy. Its leaf is its id, and on the way back the id is exchanged for a handle
//! that waits in a table. Each is taken exactly once: two handles with one id would free the same memory twice.
//!
//! `cargo run -p examples --bin handles`

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use treedef::{Error, Result, TreeDef, flatten_as, unflatten};

use device::Tensor;

/// What a library for a GPU offers: ids, functions of ids, and memory that has to be freed once.
mod device {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    thread_local! {
        static MEMORY: RefCell<BTreeMap<u64, Vec<f32>>> = const { RefCell::new(BTreeMap::new()) };
        static NEXT: Cell<u64> = const { Cell::new(1) };
    }

    /// Owns memory of the device. It is not `Clone`, and frees the memory when it is dropped.
    #[derive(Debug)]
    pub(crate) struct Tensor {
        pub(crate) id: u64,
    }

    impl Tensor {
        pub(crate) fn new(numbers: Vec<f32>) -> Tensor {
            let id = NEXT.replace(NEXT.get() + 1);
            MEMORY.with_borrow_mut(|memory| memory.insert(id, numbers));
            Tensor { id }
        }
    }

    impl Drop for Tensor {
        fn drop(&mut self) {
            let freed = MEMORY.with_borrow_mut(|memory| memory.remove(&self.id));
            assert!(freed.is_some(), "tensor {} is freed a second time", self.id);
        }
    }

    pub(crate) fn read(id: u64) -> Vec<f32> {
        MEMORY.with_borrow(|memory| memory[&id].clone())
    }

    pub(crate) fn scaled(id: u64, factor: f32) -> Tensor {
        Tensor::new(read(id).iter().map(|x| x * factor).collect())
    }

    pub(crate) fn tensors_in_use() -> usize {
        MEMORY.with_borrow(BTreeMap::len)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Layer {
    w: Tensor,
    b: Option<Tensor>,
    #[serde(serialize_with = "treedef::as_static")]
    activation: String,
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.id)
    }
}

thread_local! {
    /// The handles that wait for their leaf, and `None` for those that were taken. serde shows `deserialize` nothing but
    /// the leaf, so they cannot come as an argument.
    static WAITING: RefCell<BTreeMap<u64, Option<Tensor>>> = const { RefCell::new(BTreeMap::new()) };
}

impl<'de> Deserialize<'de> for Tensor {
    /// An error gets its path from `unflatten`. In an enum that is `untagged`, the variants are tried one after another:
    /// a handle that one of them took is gone for the next.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u64::deserialize(deserializer)?;
        WAITING.with_borrow_mut(|waiting| match waiting.get_mut(&id) {
            Some(tensor) => tensor
                .take()
                .ok_or_else(|| D::Error::custom(format!("tensor {id} was taken before"))),
            None => Err(D::Error::custom(format!("there is no tensor {id}"))),
        })
    }
}

/// Rebuilds a value. Each leaf is the id of one of the tensors, and takes it.
fn rebuild<T: DeserializeOwned>(treedef: &TreeDef, ids: &[u64], tensors: Vec<Tensor>) -> Result<T> {
    let table = tensors.into_iter().map(|tensor| (tensor.id, Some(tensor))).collect();
    // What waits around this call, in a `deserialize` that rebuilds something itself, waits again after it.
    let outer = WAITING.replace(table);
    let rebuilt = unflatten(treedef, ids);
    let table = WAITING.replace(outer);
    let left: Vec<u64> = table.into_values().flatten().map(|tensor| tensor.id).collect();
    match (rebuilt, left.is_empty()) {
        (Ok(_), false) => Err(Error::custom(format!("no leaf took the tensors {left:?}"))),
        (rebuilt, _) => rebuilt,
    }
}

fn main() -> Result<()> {
    let layer = |has_b: bool| {
        let w = Tensor::new(vec![1.0, 2.0]);
        Layer { w, b: has_b.then(|| Tensor::new(vec![4.0])), activation: "relu".to_owned() }
    };
    let model = vec![layer(true), layer(false)];

    // The handles as one flat vector, and all else in the treedef.
    let (ids, treedef) = flatten_as::<u64>(&model)?;
    assert_eq!(ids, [1, 2, 3]);
    println!("{treedef:#}\nholds the tensors {ids:?}");

    // A function of the device knows only ids. What it makes becomes a model of the same structure.
    let halves: Vec<Tensor> = ids.iter().map(|id| device::scaled(*id, 0.5)).collect();
    let half: Vec<Layer> = rebuild(&treedef, &[4, 5, 6], halves)?;
    assert_eq!(device::read(half[0].w.id), [0.5, 1.0]);
    assert_eq!(half[0].b.as_ref().map(|b| device::read(b.id)), Some(vec![2.0]));
    assert_eq!(half[1].activation, "relu");
    drop(model);
    assert_eq!(device::tensors_in_use(), 3);

    // An unknown id, an id that occurs twice, a tensor that no leaf takes: each is an error, and nothing leaks.
    let three = || (0..3).map(|_| Tensor::new(vec![0.0])).collect();
    let unknown = rebuild::<Vec<Layer>>(&treedef, &[7, 70, 9], three()).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no tensor 70 at `[0].b?`");
    let twice = rebuild::<Vec<Layer>>(&treedef, &[10, 11, 10], three()).unwrap_err();
    assert_eq!(twice.to_string(), "tensor 10 was taken before at `[1].w`");
    let left = rebuild::<Tensor>(&TreeDef::leaf(), &[14], three()).unwrap_err();
    assert_eq!(left.to_string(), "no leaf took the tensors [13, 15] at the root");
    assert_eq!(device::tensors_in_use(), 3);
    println!("{unknown}\n{twice}\n{left}");
    Ok(())
}
