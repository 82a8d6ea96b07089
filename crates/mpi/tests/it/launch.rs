//! Runs a test on several ranks: the test starts `mpirun` with itself.

use std::process::{Command, Output};

use mpi::topology::SimpleCommunicator;

/// Seconds after which `mpirun` ends ranks that wait for each other.
const TIMEOUT: &str = "60";

/// On a rank, runs the body and returns nothing. Elsewhere, starts the ranks and returns what they
/// put out.
pub(crate) fn run(count: usize, test: &str, body: fn(&SimpleCommunicator)) -> Option<Output> {
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_some() {
        let universe = mpi::initialize().expect("a test is a process of its own");
        body(&universe.world());
        return None;
    }
    let (_, test) = test.split_once("::").expect("the path of a test starts with the crate");
    let mut mpirun = Command::new("mpirun");
    // Without binding: several jobs would all be bound to the first cores.
    mpirun.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]);
    mpirun.args(["--timeout", TIMEOUT, "-np", &count.to_string()]);
    mpirun.arg(std::env::current_exe().unwrap());
    mpirun.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    Some(mpirun.output().expect("mpirun is installed: see the README"))
}

/// Runs the body on all ranks and checks that it passes on each.
pub(crate) fn pass(count: usize, test: &str, body: fn(&SimpleCommunicator)) {
    let Some(output) = run(count, test, body) else { return };
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout.matches("1 passed").count(), count, "{stdout}{stderr}");
}

pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Defines tests that run on a number of ranks, with the world of all of them.
macro_rules! on_ranks {
    ($($(#[$attribute:meta])* fn $name:ident($world:ident: $count:literal) $body:block)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let test = concat!(module_path!(), "::", stringify!($name));
            crate::launch::pass($count, test, |$world| $body);
        }
    )*};
}
pub(crate) use on_ranks;
