//! The losses and gradients of several ranks. `.ci/run models` runs it.

#[path = "../../mpi/tests/it/launch.rs"]
#[allow(dead_code, reason = "other tests look at how a job ends")]
mod launch;

use candle_core::{DType, Device, Tensor};
use launch::on_ranks;
use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};
use treedef_candle::mpi::AllReduce;

#[derive(Clone, Serialize, Deserialize)]
struct Model {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object")]
    steps: Tensor,
}

fn model(shape: (usize, usize), number: f64, dtype: DType) -> Model {
    let w = Tensor::full(number, shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap();
    Model { w, steps: Tensor::new(7u32, &Device::Cpu).unwrap() }
}

fn numbers(model: &Model) -> Vec<f64> {
    model.w.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

on_ranks! {
    fn sums_and_means(world: 3) {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
            let own = || (f64::from(world.rank()), model((2, 3), f64::from(world.rank()) + 0.5, dtype));
            let mut all_reduce = AllReduce::new(world, &own().1).unwrap();
            let (loss, gradient) = all_reduce.mean(own()).unwrap();
            assert_eq!((loss, numbers(&gradient)), (1.0, vec![1.5; 6]));
            let (loss, gradient) = all_reduce.sum(own()).unwrap();
            assert_eq!((loss, numbers(&gradient)), (3.0, vec![4.5; 6]));
            assert_eq!((gradient.w.dtype(), gradient.w.dims()), (dtype, [2, 3].as_slice()));
            assert_eq!(gradient.steps.to_scalar::<u32>().unwrap(), 7);
        }
    }

    fn another_model(world: 3) {
        let shape = if world.rank() == 2 { (3, 2) } else { (2, 3) };
        let error = AllReduce::new(world, &model(shape, 0.0, DType::F32)).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the ranks have different structures: at `.tensors[0].tensor` ranks 0-1 expected \
             `static \"w: f32[2, 3]\"`, rank 2 found `static \"w: f32[3, 2]\"`"
        );
    }

    fn another_gradient(world: 3) {
        let good = model((2, 3), 1.0, DType::F32);
        let mut all_reduce = AllReduce::new(world, &good).unwrap();
        let wrong = match world.rank() {
            1 => model((3, 2), 1.0, DType::F32),
            _ => good.clone(),
        };
        let error = all_reduce.sum((0.0, wrong)).err().unwrap();
        assert_eq!(error.to_string(), "rank 1: expected `w: f32[2, 3]`, found `w: f32[3, 2]`");
        // The next one is as if nothing had been.
        assert_eq!(numbers(&all_reduce.sum((0.0, good)).unwrap().1), [3.0; 6]);
    }

    fn a_rank_that_leaves(world: 2) {
        let good = model((2, 3), 1.0, DType::F32);
        let mut all_reduce = AllReduce::new(world, &good).unwrap();
        if world.rank() == 0 {
            let error = all_reduce.mean((0.0, good)).err().unwrap();
            assert_eq!(error.to_string(), "rank 1 left the collective: look there for the first error");
        }
    }
}
