//! Ranks that end: the others end with an error code, and none waits.

use std::time::{Duration, Instant};

use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use treedef_mpi::{Collective, Error};

use crate::launch::run;
use crate::model;

/// Runs steps until the third, in which rank 1 ends. Checks that the job fails, soon, with a text.
#[track_caller]
fn assert_ends(test: &str, body: fn(&SimpleCommunicator), text: &str) {
    let start = Instant::now();
    let Some(job) = run(4, test, body) else { return };
    assert!(!job.status.success(), "{job:#?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?} {job:#?}", start.elapsed());
    let mut outputs = job.ranks.iter().chain([&job.launcher]);
    assert!(outputs.any(|output| output.contains(text)), "{job:#?}");
}

fn steps(world: &SimpleCommunicator, end: impl Fn()) -> Result<(), Error> {
    let mut collective = Collective::new(world, &model(0))?;
    let mut value = model(world.rank());
    for step in 0..10 {
        if step == 3 && world.rank() == 1 {
            end();
        }
        collective.all_reduce_max(&mut value)?;
    }
    Ok(())
}

#[test]
fn a_killed_rank_ends_the_job() {
    assert_ends(
        "it::ends::a_killed_rank_ends_the_job",
        |world| {
            // SIGKILL, as from the kernel that runs out of memory.
            let kill = || {
                let id = std::process::id().to_string();
                std::process::Command::new("kill").args(["-9", &id]).status().unwrap();
            };
            steps(world, kill).unwrap();
        },
        "exited on signal 9 (Killed)",
    );
}

#[test]
fn a_rank_that_exits_ends_the_job() {
    assert_ends(
        "it::ends::a_rank_that_exits_ends_the_job",
        |world| steps(world, || std::process::exit(7)).unwrap(),
        "exited with non-zero status, thus causing",
    );
}

#[test]
fn a_rank_that_panics_ends_the_job() {
    assert_ends(
        "it::ends::a_rank_that_panics_ends_the_job",
        |world| {
            let result = steps(world, || panic!("out of ideas"));
            let error = result.unwrap_err().to_string();
            assert_eq!(error, "rank 1 left the collective: look there for the first error");
            panic!("all others know of rank 1");
        },
        "all others know of rank 1",
    );
}
