//! A process that is killed while it saves leaves the old checkpoint or the new one.

use std::collections::HashSet;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use treedef_tensors::{Dtype, Tensor, Tensors, safetensors};

use crate::Folder;

const FOLDER: &str = "SHARDS_TO_KILL";
const ROUND: &str = "SHARDS_ROUND";

/// All numbers of a checkpoint are from the same round.
fn checkpoint(round: u8) -> Tensors<'static> {
    let tensors = (0..6).map(|number| {
        let tensor = Tensor::new(Dtype::U8, vec![30_000], vec![round; 30_000]).unwrap();
        (number.to_string(), tensor)
    });
    Tensors::new(tensors).unwrap()
}

/// The process that is killed: it saves in one number of files after the other.
#[test]
fn save_for_ever() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let first: u8 = env::var(ROUND).unwrap().parse().unwrap();
    for round in (0..=255).cycle().skip(first.into()) {
        let max_bytes = [1, 70_000, 1 << 30][usize::from(round) % 3];
        safetensors::save_sharded(&checkpoint(round), &folder, max_bytes).unwrap();
    }
}

/// Lets a process save for some time.
fn kill(folder: &Folder, first: usize, micros: u64) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kills::save_for_ever"])
        .env(FOLDER, folder.path())
        .env(ROUND, (first % 256).to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_micros(micros));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `SHARDS_KILLS=1000` kills more.
#[test]
fn a_killed_save_leaves_a_whole_checkpoint() {
    let kills: usize = env::var("SHARDS_KILLS").map_or(40, |text| text.parse().unwrap());
    let folder = Folder::new();
    let mut rng = fastrand::Rng::with_seed(39);
    safetensors::save_sharded(&checkpoint(0), folder.path(), 1).unwrap();
    let mut rounds = HashSet::new();
    for number in 1.. {
        kill(&folder, number, rng.u64(3_000..60_000));
        let source = safetensors::open(folder.path()).unwrap();
        let read = source.read().unwrap();
        let round = read.get("0").unwrap().bytes()[0];
        assert_eq!(read, checkpoint(round));
        rounds.insert(round);
        // A slow machine may have saved nothing yet.
        if number >= kills && rounds.len() > 3 {
            break;
        }
    }
    // Nothing is left over after the next save.
    safetensors::save_sharded(&checkpoint(1), folder.path(), 70_000).unwrap();
    assert_eq!(safetensors::open(folder.path()).unwrap().read().unwrap(), checkpoint(1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn a_first_save_that_is_killed_is_no_checkpoint() {
    let mut rng = fastrand::Rng::with_seed(40);
    for number in 0..20 {
        let folder = Folder::new();
        kill(&folder, number, rng.u64(3_000..20_000));
        match safetensors::open(folder.path()) {
            Ok(source) => {
                let read = source.read().unwrap();
                assert_eq!(read, checkpoint(read.get("0").unwrap().bytes()[0]));
            }
            Err(_) => assert!(!folder.join("model.safetensors.index.json").exists()),
        }
    }
}
