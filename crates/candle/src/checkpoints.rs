//! The last checkpoints of a training.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use treedef_tensors::{Error, Result};

use crate::files::save;

/// Writes a checkpoint as [`save`] does, `checkpoint_1200.safetensors` for step 1200, and then removes the
/// oldest ones until `keep` are left: flax's `save_checkpoint`. The folder is created if it does not exist;
/// other files and folders in it are not touched. Returns the path. A checkpoint of the same step is replaced.
///
/// If the program is killed at any moment, the last completed checkpoint is intact.
///
/// # Errors
///
/// Returns an error when `keep` is 0; when the folder has a checkpoint of a later step, from another
/// training or from one that went further; and as [`save`].
///
/// ```
/// use candle_core::Device;
/// use treedef_candle::nn::{Initialiser, Linear};
/// use treedef_candle::{latest_checkpoint, load, save_checkpoint};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("run");
/// let model = Linear::new(3, 2, &mut Initialiser::new(0))?;
/// assert_eq!(latest_checkpoint(&folder)?, None);
/// for step in [50, 100, 150, 200] {
///     save_checkpoint(&(step, &model), &folder, step, 2)?;
/// }
/// let latest = latest_checkpoint(&folder)?.unwrap();
/// assert!(latest.ends_with("checkpoint_200.safetensors"));
/// let (step, _): (u64, Linear) = load(&latest, &Device::Cpu)?;
/// assert_eq!((step, std::fs::read_dir(&folder)?.count()), (200, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_checkpoint<T: Serialize>(
    value: &T,
    folder: impl AsRef<Path>,
    step: u64,
    keep: usize,
) -> Result<PathBuf> {
    let folder = folder.as_ref();
    let refused = |why: String| {
        let name = folder.display().to_string();
        Error::from(io::Error::new(io::ErrorKind::InvalidInput, why)).in_file(Some(name.into()))
    };
    if keep == 0 {
        return Err(refused("expected 1 or more checkpoints to keep, found 0".to_owned()));
    }
    if let Some((last, _)) = checkpoints(folder)?.last().filter(|(last, _)| *last > step) {
        return Err(refused(format!(
            "there is a checkpoint of step {last}, which is later than {step} (remove it, or take another folder)"
        )));
    }
    fs::create_dir_all(folder).map_err(|error| about(folder, error))?;
    let path = folder.join(format!("{BEFORE}{step}{AFTER}"));
    save(value, &path)?;
    let all = checkpoints(folder)?;
    for (_, old) in all.iter().take(all.len().saturating_sub(keep)) {
        fs::remove_file(old).map_err(|error| about(old, error))?;
    }
    Ok(path)
}

/// The checkpoint of the last step in a folder, if there is one: flax's `latest_checkpoint`.
///
/// # Errors
///
/// Returns an error when the folder cannot be read. An empty or missing folder is not an error.
pub fn latest_checkpoint(folder: impl AsRef<Path>) -> Result<Option<PathBuf>> {
    Ok(checkpoints(folder.as_ref())?.pop().map(|(_, path)| path))
}

const BEFORE: &str = "checkpoint_";
const AFTER: &str = ".safetensors";

/// The checkpoints in a folder with their steps, in order.
fn checkpoints(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| about(folder, error))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| about(folder, error))?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(BEFORE)?.strip_suffix(AFTER));
        // Only names as written here: `checkpoint_+7` and `checkpoint_007` are not ours.
        let step = digits
            .and_then(|digits| digits.parse::<u64>().ok().filter(|it| it.to_string() == digits));
        let files = step.map(|step| (step, folder.join(&name))).filter(|(_, path)| path.is_file());
        found.extend(files);
    }
    found.sort();
    Ok(found)
}

fn about(path: &Path, error: io::Error) -> Error {
    Error::from(error).in_file(Some(path.display().to_string().into()))
}
