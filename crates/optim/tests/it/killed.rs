//! Training in a process that is killed while it saves, and that begins again with what is in the file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use treedef::Tree;
use treedef_optim::transform::clip_by_global_norm;
use treedef_optim::{Optimiser, adamw, chain, schedules};

use crate::random::net;
use crate::state::Training;

const STEPS: u64 = 400;
const KILLS: usize = 12;
/// The file, for the process that trains.
const FILE: &str = "TREEDEF_OPTIM_TRAINING";

fn optimiser() -> impl Optimiser + treedef_optim::transform::Transform<f64> {
    let rate = schedules::warmup_cosine(0.0, 0.05, 10, STEPS, 0.001);
    chain!(clip_by_global_norm(1.0), adamw(rate).weight_decay(0.1).decay_only("**.w")).accumulate(3)
}

/// Trains to the end, and saves after each step if there is a file.
fn train(mut training: Training, file: Option<&Path>) -> Training {
    let optimiser = optimiser();
    while training.step < STEPS {
        let gradient = training.model.gradient(training.step);
        let state = &mut training.state;
        training.model = optimiser.step(training.model, gradient, state).unwrap();
        training.step += 1;
        if let Some(file) = file {
            Tree::of(&training).unwrap().save(file).unwrap();
        }
    }
    training
}

fn begin() -> Training {
    // Large enough that a kill often meets a file that is half written.
    let model = net(7, &[300, 200]);
    Training { state: optimiser().init(&model).unwrap(), model, step: 0 }
}

fn saved(file: &Path) -> Training {
    Tree::load(file).unwrap().into_typed().unwrap()
}

/// The process that is killed.
#[test]
#[ignore = "started by `training_that_is_killed_gives_the_same_bits`"]
fn the_training_of_another_process() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let file = Path::new(&file);
    let training = if file.exists() { saved(file) } else { begin() };
    train(training, Some(file));
}

#[test]
fn training_that_is_killed_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("training.tree");
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "killed::the_training_of_another_process"])
            .env(FILE, &file)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let (mut random, mut steps) = (fastrand::Rng::with_seed(1), vec![0]);
    for _ in 0..KILLS {
        let mut process = start();
        // It has saved something new, and is at any place of a step then.
        let before = *steps.last().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !(file.exists() && saved(&file).step > before) {
            assert!(Instant::now() < deadline, "no step after {before}");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.u64(0..5_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        steps.push(saved(&file).step);
    }
    assert!(
        steps.iter().any(|step| (1..STEPS).contains(step)),
        "never killed on the way: {steps:?}"
    );
    assert!(start().wait().unwrap().success());

    let (killed, at_once) = (saved(&file), train(begin(), None));
    assert_eq!((killed.step, killed.model.bits()), (STEPS, at_once.model.bits()), "{steps:?}");
    let [killed, at_once] = [killed, at_once].map(|training| Tree::of(&training.state).unwrap());
    assert_eq!(killed, at_once);
}
