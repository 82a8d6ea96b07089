//! `shapes`: the distinct structures of many documents, counted.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use treedef::{
    Change, ChangeKind, Leaf, NodeKind, Structure, StructureCount, Structures, Tree, TreeDef,
};

use crate::args::{Folds, Shapes};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Bad};
use crate::lines::LineCounter;
use crate::paint::{counted, grouped, paint, paint_change, width};
use crate::tensors::{Halves, numbers};

use super::{diff, print, print_json};

/// Differences beyond which a structure is shown as a whole.
const FEW: usize = 8;

pub(super) fn shapes(args: &Shapes) -> Result<bool> {
    let counted = Counted::of(args)?;
    let all = counted.structures.by_count()?;
    if args.schema {
        print_json(&counted.structures.to_json_schema()?)?;
    } else if args.json.json {
        print_json(&counted.json(&all))?;
    } else {
        print(&counted.text(&all, args))?;
    }
    counted.bad.tell(|index| counted.place(index));
    Ok(counted.bad.count == 0 || args.reading.skip_bad)
}

struct Counted {
    structures: Structures,
    bad: Bad,
    /// Each file with the index of its first line.
    files: Vec<(String, u64)>,
}

fn folded(args: &Shapes) -> Structures {
    let Folds { fold_lengths, fold_widths, fold_numbers } = args.folds;
    let structures = Structures::new()
        .fold_lengths(fold_lengths)
        .fold_widths(fold_widths)
        .fold_numbers(fold_numbers)
        .max_structures(args.max_structures)
        .limits(args.reading.limits.of_trees());
    match args.fold_keys {
        Some(more_than) => structures.fold_keys(more_than),
        None => structures,
    }
}

impl Counted {
    fn of(args: &Shapes) -> Result<Self> {
        let bar = progress(&args.files);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut counter = LineCounter {
            structures: folded(args),
            bad: Bad::default(),
            lines: 0,
            threads: args.threads.unwrap_or(cores).clamp(1, 256),
            strict: args.strict,
            progress: &|bytes| bar.inc(u64::try_from(bytes).unwrap_or(0)),
        };
        let mut files = Vec::new();
        for file in &args.files {
            let mut input = input::open(file, args.reading, Format::Jsonl)?;
            let name = input.name.clone();
            files.push((name.clone(), counter.lines));
            if input.format == Format::Jsonl && args.elements.is_none() {
                let counted = counter.count(&mut input.reader);
                counted.map_err(|failure| failure.in_file(&name))?;
            } else {
                for tree in input.trees()? {
                    let counted =
                        add(&mut counter, numbers(tree, Halves::Exact)?, args.elements.as_deref());
                    counted.map_err(|failure| failure.in_file(&name))?;
                }
            }
            if args.strict && counter.bad.count > 0 {
                break;
            }
        }
        bar.finish_and_clear();
        let LineCounter { structures, bad, .. } = counter;
        let counted = Counted { structures, bad, files };
        match counted.bad.first.first() {
            Some((index, column, message)) if args.strict => {
                Err(Failure::at(format!("{}:{column}", counted.place(*index)), message))
            }
            _ => Ok(counted),
        }
    }

    /// A file and a line, by the index of the document.
    fn place(&self, index: u64) -> String {
        let file = self.files.iter().rev().find(|(_, first)| *first <= index);
        file.map_or_else(String::new, |(name, first)| format!("{name}:{}", index - first + 1))
    }

    fn text(&self, all: &[StructureCount], args: &Shapes) -> String {
        let bold = anstyle::Style::new().bold();
        let dim = anstyle::Style::new().dimmed();
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let documents = self.structures.documents();
        let mut text = format!(
            "{bold}{}, {}{bold:#}\n",
            counted(documents, "document", "documents"),
            counted(number(all.len()), "structure", "structures"),
        );
        let shown = if args.top == 0 { all.len() } else { args.top };
        let counts = all.first().map_or(0, |first| grouped(first.count).len());
        let ranks = shown.min(all.len()).to_string().len();
        for (rank, it) in (1..=shown).zip(all) {
            #[allow(clippy::cast_precision_loss, reason = "for one digit")]
            let percent = it.count as f64 * 100.0 / documents.max(1) as f64;
            let (count, place) = (grouped(it.count), self.place(it.first));
            let changes = changes(all, it);
            text += &format!("\n{bold}{rank:>ranks$}{bold:#}  {percent:5.1} %  {count:>counts$}  ");
            if rank > 1 && changes.len() <= FEW {
                let differences = counted(number(changes.len()), "difference", "differences");
                text += &format!(
                    "{dim}first at {}: 1 with {differences}{dim:#}\n",
                    place.escape_debug()
                );
                for change in &changes {
                    text +=
                        &format!("{}\n", paint_change(&format!("{:5}{}", "", diff::line(change))));
                }
            } else {
                text += &format!("{dim}first at {}{dim:#}\n", place.escape_debug());
                let width = width().saturating_sub(5);
                let structure = paint(&format!("{:#width$}", it.structure));
                for line in structure.lines() {
                    text += &format!("     {line}\n");
                }
            }
        }
        if all.len() > shown {
            let more = number(all.len() - shown);
            let fewer = if args.folds.fold_lengths { "" } else { ", `--fold-lengths` has fewer" };
            let more = grouped(more);
            text += &format!(
                "
{dim}… and {more} more: `--top 0` shows all{fewer}{dim:#}
"
            );
        }
        text
    }

    fn json(&self, all: &[StructureCount]) -> serde_json::Value {
        let one = |it: &StructureCount| {
            serde_json::json!({
                "count": it.count,
                "first": self.place(it.first),
                "last": self.place(it.last),
                "structure": it.structure.to_string(),
                "differences": changes(all, it).iter().map(diff::line).collect::<Vec<_>>(),
            })
        };
        serde_json::json!({
            "documents": self.structures.documents(),
            "bad": self.bad.count,
            "structures": all.iter().map(one).collect::<Vec<_>>(),
        })
    }
}

/// What is different in a structure than in the first of all.
fn changes(all: &[StructureCount], it: &StructureCount) -> Vec<Change<Structure>> {
    let first = all.first().map(|first| &first.structure);
    let diff = it.diff();
    let mut changes = diff::without_renames(&diff, |path| first?.subtree(path).ok());
    changes.retain(differs);
    changes
}

/// Whether a change is more than other lengths of what is folded.
fn differs(change: &Change<Structure>) -> bool {
    let ChangeKind::Replaced { old, new, .. } = &change.kind else { return true };
    without_lengths(&old.to_string()) != without_lengths(&new.to_string())
}

/// The text of a structure without `; 0–512` and the like.
fn without_lengths(text: &str) -> String {
    let mut parts = text.split("; ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '–');
    }
    rest
}

/// Counts a document, or the elements of the sequence at a path in it.
fn add(counter: &mut LineCounter<'_>, tree: Tree<Leaf>, elements: Option<&str>) -> Result<()> {
    let documents = match elements {
        None => vec![tree],
        Some(path) => {
            let sequence = if path.is_empty() { tree } else { tree.subtree(path)? };
            let root = sequence.treedef().root();
            if root.kind() != NodeKind::Seq {
                let message =
                    "`--elements` needs a sequence, pass the path of one: `--elements=items`";
                return Err(Failure::new(message));
            }
            let each = TreeDef::seq_of(&TreeDef::leaf(), root.num_children())?;
            sequence.flatten_up_to(&each)?.into_parts().1
        }
    };
    for document in documents {
        counter.structures.set_next_index(counter.lines);
        counter.structures.add(&document)?;
        counter.lines += 1;
    }
    Ok(())
}

/// A bar on standard error, if that is a terminal and the work is long.
fn progress(files: &[std::path::PathBuf]) -> ProgressBar {
    let size = |file: &std::path::PathBuf| -> Option<u64> {
        let plain = Path::new(file).extension().is_none_or(|end| end != "gz" && end != "zst");
        plain.then(|| std::fs::metadata(file).ok().map(|data| data.len())).flatten()
    };
    let total: Option<u64> = files.iter().map(size).sum();
    if total.is_some_and(|total| total < 64 << 20) {
        return ProgressBar::hidden();
    }
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = match total {
        Some(_) => "{wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta}",
        None => "{spinner} {bytes}, {binary_bytes_per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
