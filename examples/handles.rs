//! Values that hold handles: a tensor on a device, an open file, a row of a database.
//!
//! A handle has no content for serde to copy. So it is a leaf as it is: `flatten_objects` gives a vector of handles, and
//! `unflatten_objects` moves others into their places. Each is freed once.
//!
//! `cargo run --example handles`

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use treedef::{Result, flatten_objects, unflatten_objects};

use device::Memory;

/// What a library for a GPU offers: memory that has to be freed once, and functions of it.
mod device {
    use std::cell::Cell;

    thread_local! {
        static IN_USE: Cell<usize> = const { Cell::new(0) };
    }

    /// Memory of the device. It is not `Clone`, and is freed when it is dropped.
    #[derive(Debug)]
    pub(crate) struct Memory(Vec<f32>);

    impl Memory {
        pub(crate) fn new(numbers: Vec<f32>) -> Memory {
            IN_USE.set(IN_USE.get() + 1);
            Memory(numbers)
        }

        pub(crate) fn read(&self) -> &[f32] {
            &self.0
        }

        pub(crate) fn scaled(&self, factor: f32) -> Memory {
            Memory::new(self.0.iter().map(|x| x * factor).collect())
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            IN_USE.set(IN_USE.get() - 1);
        }
    }

    pub(crate) fn in_use() -> usize {
        IN_USE.get()
    }
}

/// Memory that several values share.
type Tensor = Rc<Memory>;

#[derive(Debug, Serialize, Deserialize)]
struct Layer {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object::option", default)]
    b: Option<Tensor>,
    activation: String,
}

fn main() -> Result<()> {
    let tensor = |numbers: &[f32]| Rc::new(Memory::new(numbers.to_vec()));
    let layer = |has_b: bool| {
        let b = has_b.then(|| tensor(&[4.0]));
        Layer { w: tensor(&[1.0, 2.0]), b, activation: "relu".to_owned() }
    };
    let model = vec![layer(true), layer(false)];

    // The handles as one flat vector, and all else in the treedef.
    let (tensors, treedef) = flatten_objects::<Tensor>(&model)?;
    println!("{treedef:#}\nholds {} tensors", tensors.len());

    // What a function of the device makes becomes a model of the same structure.
    let halves = tensors.iter().map(|tensor| Rc::new(tensor.scaled(0.5))).collect();
    let half: Vec<Layer> = unflatten_objects(&treedef, halves)?;
    assert_eq!(half[0].w.read(), [0.5, 1.0]);
    assert_eq!(half[0].b.as_deref().map(Memory::read), Some(&[2.0][..]));
    assert_eq!(half[1].activation, "relu");
    drop((model, tensors));
    assert_eq!(device::in_use(), 3);

    // A type that would lose a handle is an error, and nothing leaks.
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it only fails to be read")]
    struct WithoutBias {
        #[serde(with = "treedef::object")]
        w: Tensor,
    }
    let (tensors, treedef) = flatten_objects::<Tensor>(&half)?;
    let lost = unflatten_objects::<Vec<WithoutBias>, Tensor>(&treedef, tensors).unwrap_err();
    println!("{lost}");
    assert!(lost.to_string().starts_with("the type did not read this object at `[0].b?`"));
    assert_eq!(device::in_use(), 3);
    Ok(())
}
