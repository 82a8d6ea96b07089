//! `shapes`: the distinct structures of many documents, counted.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use treedef::__private::OrBug;
use treedef::{Change, ChangeKind, Leaf, NodeKind, Tree, TreeDef};
use treedef_structures::{Structure, StructureCount, Structures};

use crate::args::{DuplicateKeys, Folds, Shapes};
use crate::color::{counted, grouped, paint, paint_change, width, with_null};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::duplicate_keys;
use crate::formats::json::{BAD, BadLines, TWICE};
use crate::formats::json_limits::in_json;
use crate::formats::json_lines::LineReader;
use crate::numbers::exact;
use crate::paths::{part_at, readable};
use crate::reading::documents::{DocumentPlace, Documents};
use crate::reading::input::{self, Input, STDIN};
use crate::reading::parallel_lines::{CountOptions, LineCounter, Tally, count_line};
use crate::tensors::trees::{HalfFormat, numbers};

use super::changes;
use super::counts::{self, CountedFile, CountedFiles, Indices};
use super::print::{print, print_json};

/// With more differences, a structure is shown as a whole.
const FEW: usize = 8;

pub(super) fn shapes(args: &Shapes) -> Result<bool> {
    if let Some(wanted) = WantedShapes::of(args)? {
        return wanted.list(args);
    }
    let counted = CountedFiles::of(args)?;
    let all = counted.tally.structures.by_count()?;
    if let Some(path) = &args.save {
        counts::save(&counted, args, path)?;
        return counted.report_bad_lines(&all, args);
    }
    if let Some(message) = counted.not_in_json.as_ref().filter(|_| args.schema) {
        return Err(Failure::new(message));
    }
    if args.schema {
        print_json(&counted.tally.structures.to_json_schema()?)?;
    } else if args.json.json {
        print_json(&counted.json(&all))?;
    } else {
        print(&counted.text(&all, args))?;
    }
    counted.report_bad_lines(&all, args)
}

/// The structures whose documents are listed. A second pass finds the documents, because there may
/// be any number of them.
struct WantedShapes {
    counted: CountedFiles,
    /// The rank of each wanted structure, by the index of its first document.
    ranks: HashMap<u64, usize>,
}

impl WantedShapes {
    fn of(args: &Shapes) -> Result<Option<Self>> {
        let is_wanted = |rank: usize, it: &StructureCount| match (args.list, args.rare) {
            (Some(wanted), _) => rank == wanted,
            (None, Some(most)) => it.count <= most,
            (None, None) => false,
        };
        if args.list.or(args.rare.map(|_| 0)).is_none() {
            return Ok(None);
        }
        for file in &args.files {
            let is_stdin = file.as_os_str() == "-";
            let data = std::fs::metadata(file);
            if is_stdin || data.is_ok_and(|data| !data.is_file() && !data.is_dir()) {
                let name = if is_stdin { STDIN.into() } else { file.to_string_lossy() };
                let message = "it is read twice to list its documents: write it to a file first";
                return Err(Failure::at(name, message));
            }
        }
        let mut counted = CountedFiles::of(args)?;
        let all = counted.tally.structures.by_count()?;
        if let Some(rank) = args.list.filter(|rank| !(1..=all.len()).contains(rank)) {
            let many = counted_structures(all.len());
            return Err(Failure::new(format!("there is no structure {rank}, only {many}")));
        }
        counted.tally.structures.settle()?;
        let ranks = (1..).zip(&all).filter(|(rank, it)| is_wanted(*rank, it));
        let ranks = ranks.map(|(rank, it)| (it.first, rank)).collect();
        Ok(Some(WantedShapes { counted, ranks }))
    }

    fn list(self, args: &Shapes) -> Result<bool> {
        let mut out = BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
        let mut structures = self.counted.tally.structures.clone();
        for (file, at) in args.files.iter().zip(0..) {
            let input = input::open(file, args.reading, Format::Jsonl)?;
            let name = input.name.clone();
            let mut index = self.counted.files.get(at).map_or(0, |file: &CountedFile| file.first);
            if input.format == Format::Jsonl && args.elements.is_none() {
                let mut lines = LineReader::of(input.reader);
                while lines.advance(args.reading.limits).map_err(|it| it.in_file(&name))? {
                    let line = (&*lines.line, index);
                    // Unreadable lines were reported by the first pass.
                    let options = CountOptions { folds_keys: false, decimals: args.decimals };
                    if count_line(&mut structures, line, args.reading, options).is_ok() {
                        self.write(&mut out, args, index, structures.first_alike())?;
                    }
                    index += 1;
                }
                continue;
            }
            let mut documents = documents(input, args)?;
            while let Some((_, tree)) = documents.next()? {
                for document in elements(numbers(tree, HalfFormat::Exact)?, args)? {
                    structures.set_next_index(index);
                    structures.add(&document)?;
                    self.write(&mut out, args, index, structures.first_alike())?;
                    index += 1;
                }
            }
        }
        out.flush()?;
        drop(out);
        let all = self.counted.tally.structures.by_count()?;
        self.counted.report_bad_lines(&all, args)
    }

    fn write(
        &self,
        out: &mut impl Write,
        args: &Shapes,
        index: u64,
        first_alike: Option<u64>,
    ) -> Result<()> {
        let Some(rank) = first_alike.and_then(|first| self.ranks.get(&first)) else {
            return Ok(());
        };
        let place = self.counted.place(index);
        if args.json.json {
            let object = serde_json::json!({"place": place, "structure": rank});
            return Ok(writeln!(out, "{object}")?);
        }
        match args.rare {
            Some(_) => writeln!(out, "{}: structure {rank}", place.escape_debug())?,
            None => writeln!(out, "{}", place.escape_debug())?,
        }
        Ok(())
    }
}

fn counted_structures(number: usize) -> String {
    counted(u64::try_from(number).unwrap_or(u64::MAX), "structure", "structures")
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

impl CountedFiles {
    fn of(args: &Shapes) -> Result<Self> {
        let bar = progress(&args.files);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let counter = LineCounter {
            nothing: folded(args),
            options: CountOptions { folds_keys: args.fold_keys.is_some(), decimals: args.decimals },
            reading: args.reading,
            threads: args.threads.unwrap_or(cores).clamp(1, 256),
            strict: args.reading.strict,
            progress: &|bytes| bar.inc(u64::try_from(bytes).unwrap_or(0)),
        };
        let (bad, twice) = (BadLines::default(), BadLines::default());
        let tally = Tally { structures: folded(args), bad, twice, lines: 0 };
        let mut counted = CountedFiles {
            tally,
            files: Vec::new(),
            has_null: true,
            folds_keys: args.fold_keys.is_some(),
            has_saved: false,
            not_in_json: None,
        };
        for file in counts::in_order(&args.files) {
            counted.add(file, args, &counter)?;
            if args.reading.strict && counted.tally.bad.count > 0 {
                break;
            }
        }
        bar.finish_and_clear();
        let first_bad = counted.tally.bad.listed(|index| counted.place(index)).next();
        first_bad.filter(|_| args.reading.strict).map_or(Ok(counted), Err)
    }

    /// Counts a file, or adds the counts in it.
    fn add(&mut self, file: &Path, args: &Shapes, counter: &LineCounter<'_>) -> Result<()> {
        let mut input = counts::open(file, args.reading)?;
        let name = input.name.clone();
        let of_file = |failure: Failure| failure.in_file(&name);
        if counts::is_one(&mut input)? {
            self.has_saved = true;
            return counts::add(self, input, args).map_err(of_file);
        }
        let (first, mut indices) = (self.tally.lines, Indices::One);
        self.has_null &= input.format.has_null() || input.format.is_of_tensors();
        if input.format == Format::Jsonl && args.elements.is_none() {
            indices = Indices::Lines;
            counter.count(&mut input.reader, &mut self.tally).map_err(of_file)?;
        } else {
            let mut documents = documents(input, args)?;
            while let Some((place, tree)) = documents.next()? {
                match &args.elements {
                    Some(path) => indices = Indices::Elements(path.clone()),
                    None if place != DocumentPlace::Whole => indices = Indices::Documents,
                    None => {}
                }
                for document in self.elements(tree, args, &name).map_err(of_file)? {
                    let structures = &mut self.tally.structures;
                    structures.set_next_index(self.tally.lines);
                    structures.add(&document).map_err(|it| of_file(it.into()))?;
                    self.tally.lines += 1;
                }
            }
        }
        let name = (file.as_os_str() != "-").then_some(name);
        self.files.push(CountedFile { name, first, indices });
        Ok(())
    }

    /// The document with its numbers, or the elements of the sequence at a path in it.
    fn elements(&mut self, tree: Tree<Leaf>, args: &Shapes, name: &str) -> Result<Vec<Tree<Leaf>>> {
        let tree = numbers(tree, HalfFormat::Exact)?;
        if self.not_in_json.is_none()
            && (args.schema || args.save.is_some())
            && let Some(it) = in_json(&tree, 1).first()
        {
            let place = readable(&it.path);
            let message =
                format!("no schema allows it, as JSON cannot hold it: {}, at `{place}`", it.what);
            if args.schema {
                return Err(Failure::new(message));
            }
            self.not_in_json = Some(format!("{name}: {message}"));
        }
        elements(tree, args)
    }

    fn with_null(&self, text: &str) -> String {
        if self.has_null { with_null(text) } else { text.to_owned() }
    }

    /// Lists lines that were skipped, and structures that have a key twice. Returns whether there
    /// are none, or whether they are allowed.
    fn report_bad_lines(&self, all: &[StructureCount], args: &Shapes) -> Result<bool> {
        let mut found = BadLines::default();
        // In other formats, each document was reported when it was read.
        let are_lines =
            |index| matches!(self.file(index), Some(CountedFile { indices: Indices::Lines, .. }));
        let all = all.iter().filter(|it| !self.folds_keys && are_lines(it.first));
        for it in all {
            if let Some((path, key)) = duplicate_keys::first(&it.structure) {
                let one = BadLines::with_message(it.first, &duplicate_keys::message(&path, &key));
                found.add(BadLines { count: it.count, ..one });
            }
        }
        let twice = if self.folds_keys { &self.tally.twice } else { &found };
        twice.warn(|index| self.place(index), TWICE);
        self.tally.bad.warn(|index| self.place(index), BAD);
        let may_be_twice = args.reading.duplicate_keys != DuplicateKeys::Error;
        Ok((self.tally.bad.count == 0 || args.reading.skip_bad)
            && (twice.count == 0 || may_be_twice))
    }

    fn text(&self, all: &[StructureCount], args: &Shapes) -> String {
        let bold = anstyle::Style::new().bold();
        let dim = anstyle::Style::new().dimmed();
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let documents = self.tally.structures.documents();
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
                    text += &format!(
                        "{}\n",
                        paint_change(&self.with_null(&format!(
                            "{:5}{}",
                            "",
                            changes::line(change)
                        )))
                    );
                }
            } else {
                text += &format!("{dim}first at {}{dim:#}\n", place.escape_debug());
                let width = width().saturating_sub(5);
                let structure = self.with_null(&format!("{:#width$}", it.structure));
                let structure = paint(&structure);
                for line in structure.lines() {
                    text += &format!("     {line}\n");
                }
            }
        }
        if all.len() > shown {
            let more = number(all.len() - shown);
            let cannot_fold = args.folds.fold_lengths || self.has_saved;
            let fewer = if cannot_fold { "" } else { ", `--fold-lengths` has fewer" };
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
                "structure": self.with_null(&it.structure.to_string()),
                "differences": changes(all, it).iter().map(|change| self.with_null(&changes::line(change))).collect::<Vec<_>>(),
            })
        };
        serde_json::json!({
            "documents": self.tally.structures.documents(),
            "bad": self.tally.bad.count,
            "bad_lines": self.tally.bad.listed(|index| self.place(index)).map(|failure| failure.to_json()).collect::<Vec<_>>(),
            "structures": all.iter().map(one).collect::<Vec<_>>(),
        })
    }
}

/// The differences between a structure and the first of all.
fn changes(all: &[StructureCount], it: &StructureCount) -> Vec<Change<Structure>> {
    let first = all.first().map(|first| &first.structure);
    let diff = it.diff();
    let mut changes = changes::without_renames(&diff, |path| part_at(first?, path));
    changes.retain(differs);
    changes
}

/// Whether a change is more than another length of a folded sequence.
fn differs(change: &Change<Structure>) -> bool {
    let ChangeKind::Replaced { old, new, .. } = &change.kind else { return true };
    without_lengths(&old.to_string()) != without_lengths(&new.to_string())
}

/// The text of a structure without `; 0–512` and similar ranges.
fn without_lengths(text: &str) -> String {
    let mut parts = text.split("; ");
    let mut rest = parts.next().or_bug().to_owned();
    for part in parts {
        rest += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '–');
    }
    rest
}

/// The documents of a file. If their elements are counted, several documents are one sequence.
fn documents(input: Input, args: &Shapes) -> Result<Documents> {
    if args.elements.is_none() {
        return input.documents();
    }
    let name = input.name.clone();
    Ok(Documents::of(name, input.tree()?))
}

/// The document, or the elements of the sequence at a path in it.
fn elements(tree: Tree<Leaf>, args: &Shapes) -> Result<Vec<Tree<Leaf>>> {
    let tree = exact::rounded_for_shapes(tree, args.decimals)?;
    let Some(path) = args.elements.as_deref() else { return Ok(vec![tree]) };
    let sequence = if path.is_empty() { tree } else { tree.subtree(path)? };
    let root = sequence.treedef().root();
    if root.kind() != NodeKind::Seq {
        let message = "`--elements` needs a sequence, pass the path of one: `--elements=items`";
        return Err(Failure::new(message));
    }
    let each = TreeDef::seq_of(&TreeDef::leaf(), root.num_children())?;
    Ok(sequence.flatten_up_to(&each)?.into_parts().1)
}

/// A progress bar on standard error, if that is a terminal and the work is long.
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
