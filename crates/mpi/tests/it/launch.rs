//! Runs a test on several ranks: the test starts `mpirun` with itself.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};

use mpi::topology::SimpleCommunicator;

/// Seconds after which `mpirun` ends ranks that wait for each other.
const TIMEOUT: &str = "60";

/// Each rank writes into a file of its own: `mpirun` would mix their output in the middle of a
/// line.
const INTO_A_FILE: &str = r#"exec "$@" >"$0/$OMPI_COMM_WORLD_RANK" 2>&1"#;

/// Held by the test whose ranks run. Otherwise the ranks of several tests would wait for each other's processors.
static TURN: Mutex<()> = Mutex::new(());

/// How a job ended.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) status: ExitStatus,
    /// The output of `mpirun` itself.
    pub(crate) launcher: String,
    /// The output of each rank.
    pub(crate) ranks: Vec<String>,
}

/// On a rank, runs the body and returns nothing. Elsewhere, runs the job.
pub(crate) fn run(count: usize, test: &str, body: fn(&SimpleCommunicator)) -> Option<Job> {
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_some() {
        let universe = mpi::initialize().expect("a test is a process of its own");
        body(&universe.world());
        return None;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, test) = test.split_once("::").expect("the path of a test starts with the crate");
    let outputs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test.replace("::", "-"));
    let _ = fs::remove_dir_all(&outputs); // of an earlier run
    fs::create_dir_all(&outputs).unwrap();

    let mut mpirun = Command::new("mpirun");
    // Without binding: several jobs would all be bound to the first cores.
    mpirun.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]);
    mpirun.args(["--timeout", TIMEOUT, "-np", &count.to_string()]);
    mpirun.args(["sh", "-c", INTO_A_FILE]).arg(&outputs).arg(std::env::current_exe().unwrap());
    mpirun.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let output = mpirun.output().expect("mpirun is installed: see the README");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Job {
        status: output.status,
        launcher: text(&output.stdout) + &text(&output.stderr),
        ranks: (0..count)
            .map(|rank| text(&fs::read(outputs.join(rank.to_string())).unwrap_or_default()))
            .collect(),
    })
}

/// Runs the body on all ranks and checks that it passes on each.
pub(crate) fn pass(count: usize, test: &str, body: fn(&SimpleCommunicator)) {
    let Some(job) = run(count, test, body) else { return };
    let all_passed = job.ranks.iter().all(|output| output.contains("1 passed"));
    assert!(job.status.success() && all_passed, "{job:#?}");
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
