//! Runs every operation in a process of its own, with little memory and a deadline.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::table;

/// Says to a process that it was started from here.
pub(crate) const STARTED: &str = "TREEDEF_HOSTILE_STRUCTURES";

/// KiB of address space.
const MEMORY: &str = "4194304";

/// The number of cases of one operation that may take too long before the rest is skipped.
const EXPIRIES: usize = 2;

/// Runs all operations, and lists the failures.
pub(crate) fn all() -> Vec<String> {
    let only = std::env::var("TREEDEF_ONLY").unwrap_or_default();
    let names = table::names().into_iter().filter(|name| name.contains(&only)).enumerate();
    let waiting: Mutex<VecDeque<(usize, &str)>> = Mutex::new(names.collect());
    let failures = Mutex::new(Vec::new());
    let workers = thread::available_parallelism().map_or(1, |cores| cores.get().min(4));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut process = None;
                loop {
                    let Some((place, name)) = waiting.lock().unwrap().pop_front() else { break };
                    let begun = Instant::now();
                    let found = operation(&mut process, name);
                    if begun.elapsed() > Duration::from_secs(1) {
                        eprintln!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
                    }
                    failures.lock().unwrap().extend(found.into_iter().map(|text| (place, text)));
                }
                drop(process);
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort_by_key(|(place, _)| *place);
    failures.into_iter().map(|(_, text)| text).collect()
}

/// Runs one operation, in a new process after each that died.
fn operation(process: &mut Option<Process>, name: &str) -> Vec<String> {
    let seconds = std::env::var("TREEDEF_DEADLINE").ok().and_then(|seconds| seconds.parse().ok());
    let deadline = Duration::from_secs(seconds.unwrap_or(20));
    let (mut failures, mut done, mut expiries) = (Vec::new(), 0, 0);
    loop {
        let running = process.get_or_insert_with(Process::start);
        let end = running.run(name, done, deadline);
        done += end.cases;
        failures.extend(end.failed.iter().map(|said| format!("{name}: {said}")));
        let Some(death) = end.death else { return failures };
        *process = None;
        failures.push(format!("{name}: {}: {death}", end.last));
        if end.expired {
            expiries += 1;
        }
        if expiries == EXPIRIES || end.cases == 0 {
            failures.push(format!("{name}: the other cases were not tried"));
            return failures;
        }
    }
}

/// A process that waits for the names of operations.
struct Process {
    child: Child,
    orders: ChildStdin,
    lines: Receiver<String>,
}

/// The progress of a process with an operation.
#[derive(Default)]
struct End {
    /// That were begun.
    cases: usize,
    /// The case that was begun last.
    last: String,
    failed: Vec<String>,
    /// The reason why the process died, if it did.
    death: Option<String>,
    expired: bool,
}

impl Process {
    fn start() -> Self {
        let limited = format!("ulimit -v {MEMORY}; exec \"$@\" 2>&1");
        let mut child = Command::new("sh")
            .args(["-c", &limited, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "operations_that_are_asked_for", "--ignored", "--nocapture"])
            .env(STARTED, "yes")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in said.lines().map_while(|line| line.ok()) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Process { child, orders, lines }
    }

    fn run(&mut self, name: &str, first: usize, deadline: Duration) -> End {
        let mut end = End::default();
        // Its other output as it died.
        let (mut words, mut panicked) = (VecDeque::new(), String::new());
        let mut until = Instant::now() + deadline;
        let written = writeln!(self.orders, "{name}\t{first}");
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.split_once('\t').unwrap_or((&line, "")) {
                    ("@case", case) => {
                        if end.cases == 0 {
                            // The work before the first case has a deadline of its own.
                            until = Instant::now() + deadline;
                        }
                        end.cases += 1;
                        end.last = case.to_owned();
                        (words, panicked) = Default::default();
                    }
                    ("@failed", said) => end.failed.push(format!("{}: {said}", end.last)),
                    ("@panic", said) => panicked = format!(", {said}"),
                    ("@done", _) => return end,
                    _ if line.trim().is_empty() => {}
                    _ => {
                        words.push_back(line);
                        words.drain(..words.len().saturating_sub(2));
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    end.expired = true;
                    end.death = Some(format!("not done after {} s", deadline.as_secs()));
                    return end;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().unwrap();
                    let words = words.make_contiguous().join(" / ") + &panicked;
                    end.death = Some(match written {
                        Ok(()) => format!("{status}, {words}"),
                        Err(error) => format!("{status}, {words}, {error}"),
                    });
                    return end;
                }
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
