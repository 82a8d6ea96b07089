//! `diff --rename`: maps names of the old file to names of the new one, and suggests such pairs.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use treedef::Tree;

use crate::args::Renaming;
use crate::comparing::tensor_file::{TensorFile, TensorSlot};
use crate::failure::{Failure, Result};
use crate::reading::input::read_beside;
use crate::reading::parse::text;
use crate::tensors::names::NameTree;
use crate::tensors::trees::TensorLeaf;

use super::print::{print, print_json};

/// The maximum number of pairs of names with the same shapes that are all compared, and the minimum for one
/// name.
const MOST_PAIRS: usize = 1 << 20;
const LEAST_NEAR: usize = 32;

/// Patterns of old names, with their replacements.
pub(super) struct Renames(Vec<(String, String)>);

impl Renames {
    /// The pairs of `--rename`, and then the pairs of the file.
    pub(super) fn read(renaming: &Renaming) -> Result<Self> {
        let mut all = Vec::new();
        for pair in renaming.rename.chunks(2) {
            if let [from, to] = pair {
                all.push((from.clone(), to.clone()));
            }
        }
        if let Some(path) = &renaming.renames {
            let name = path.display().to_string();
            let bytes = read_beside(path)?;
            let names = text(&bytes).map_err(|failure| failure.in_file(&name))?;
            for (number, line) in (1..).zip(names.lines()) {
                match patterns(line.trim().trim_start_matches("--rename ")).as_slice() {
                    [] => {}
                    [from, to] => all.push((from.clone(), to.clone())),
                    _ => {
                        let place = format!("{name}:{number}");
                        let message = "expected two patterns: an old name and a new one";
                        return Err(Failure::at(place, message));
                    }
                }
            }
        }
        for (from, to) in &all {
            // Faults of the patterns are reported with their names.
            treedef_tensors::__renamed(from, to, ".", "")?;
        }
        Ok(Renames(all))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The old file with its tensors under new names.
    pub(super) fn apply(&self, stored: TensorFile) -> Result<TensorFile> {
        let mut matched = vec![false; self.0.len()];
        // With their old names.
        let mut renamed: BTreeMap<String, (&str, TensorSlot)> = BTreeMap::new();
        for slot in stored.tree.leaves() {
            let mut name = slot.name.clone();
            for ((from, to), matched) in self.0.iter().zip(&mut matched) {
                if let Some(new) = treedef_tensors::__renamed(from, to, ".", &name)? {
                    (name, *matched) = (new, true);
                    break;
                }
            }
            let new = (slot.name.as_str(), TensorSlot { name: name.clone(), ..slot.clone() });
            if let Some((other, _)) = renamed.insert(name.clone(), new) {
                let message = format!("`{other}` and `{}` are both renamed to `{name}`", slot.name);
                return Err(Failure::at(stored.name, message));
            }
        }
        if let Some(((from, _), _)) = self.0.iter().zip(matched).find(|(_, matched)| !matched) {
            let message = format!("`--rename {from}` matches no tensor");
            return Err(Failure::at(stored.name, message));
        }
        let renamed = renamed.into_iter().map(|(name, (_, slot))| (name, slot));
        let tree = NameTree::of(renamed).into_tree()?;
        Ok(stored.with_tree(tree))
    }
}

/// The patterns in a line. Quotes are of a shell, and a name in backquotes stands for itself.
fn patterns(line: &str) -> Vec<String> {
    let (mut all, mut last, mut is_quoted) = (Vec::new(), String::new(), false);
    for char in line.chars() {
        is_quoted ^= char == '`';
        match char {
            _ if is_quoted => last.push(char),
            '#' => break,
            '\'' | '"' => {}
            _ if !char.is_whitespace() => last.push(char),
            _ if last.is_empty() => {}
            _ => all.push(std::mem::take(&mut last)),
        }
    }
    all.extend(Some(last).filter(|last| !last.is_empty()));
    all
}

/// A part of a name as `--renames` reads it. `None` if no line can have it.
fn part_of_line(part: &str) -> Option<Cow<'_, str>> {
    let is_refused = |c: char| c == '`' || c.is_control() || treedef::__private::is_invisible(c);
    if part.contains(is_refused) {
        return None;
    }
    let is_special = |c: char| c.is_whitespace() || "#'\"*{},[]".contains(c);
    let is_plain = !part.is_empty() && !part.starts_with("--") && !part.contains(is_special);
    Some(if is_plain { part.into() } else { format!("`{part}`").into() })
}

/// Names that differ only in their numbers.
struct Family {
    /// The names as they are.
    pattern: String,
    /// The pattern that `--renames` reads, if a line can have it.
    rule: Option<String>,
    /// The numbers in the name of each member, and its tensor.
    members: BTreeMap<Vec<usize>, TensorLeaf>,
    /// The position of the first member in the file.
    position: usize,
    words: BTreeSet<String>,
}

fn names(stored: &TensorFile) -> BTreeSet<&str> {
    stored.tree.leaves().iter().map(|slot| slot.name.as_str()).collect()
}

/// The families of names that the other file does not have.
fn families(stored: &Tree<TensorSlot>, other: &BTreeSet<&str>) -> Vec<Family> {
    let (mut all, mut positions) = (Vec::<Family>::new(), HashMap::new());
    for (position, slot) in stored.leaves().iter().enumerate() {
        if other.contains(slot.name.as_str()) {
            continue;
        }
        let mut numbers = Vec::new();
        let parts = slot.name.split('.').map(|part| match part.parse::<usize>() {
            Ok(number) if number.to_string() == part => {
                numbers.push(number);
                ("*", Some("*".into()))
            }
            _ => (part, part_of_line(part)),
        });
        let (parts, rules): (Vec<&str>, Vec<Option<Cow<'_, str>>>) = parts.unzip();
        let pattern = parts.join(".");
        let rule = rules.into_iter().collect::<Option<Vec<_>>>().map(|rules| rules.join("."));
        // The name of the root has no pattern.
        let rule = rule.filter(|_| !slot.name.is_empty());
        let at = *positions.entry((pattern.clone(), rule.clone())).or_insert(all.len());
        if at == all.len() {
            let words = words(&pattern);
            all.push(Family { pattern, rule, members: BTreeMap::new(), position, words });
        }
        if let Some(family) = all.get_mut(at) {
            family.members.insert(numbers, slot.leaf.clone());
        }
    }
    all
}

/// The numbers and the shape of each member. Only families where these are equal can correspond.
type Members<'f> = Vec<(&'f [usize], &'f [u64])>;

impl Family {
    /// The names for a terminal.
    fn shown(&self) -> String {
        self.rule.clone().unwrap_or_else(|| self.pattern.escape_debug().to_string())
    }

    fn shapes(&self) -> Members<'_> {
        self.members.iter().map(|(at, leaf)| (at.as_slice(), leaf.shape.as_slice())).collect()
    }
}

/// The families that may correspond: families with the same members. If there are very many, only
/// families at nearly the same position among them.
fn candidates<'f>(olds: &'f [Family], news: &'f [Family]) -> Vec<(&'f Family, &'f Family)> {
    let mut groups: HashMap<Members<'_>, (Vec<_>, Vec<_>)> = HashMap::new();
    for family in olds {
        groups.entry(family.shapes()).or_default().0.push(family);
    }
    for family in news {
        groups.entry(family.shapes()).or_default().1.push(family);
    }
    let mut pairs = Vec::new();
    for (olds, news) in groups.into_values() {
        let apart = (MOST_PAIRS / olds.len().max(1)).max(LEAST_NEAR);
        for (place, old) in olds.iter().enumerate() {
            let all = olds.len().saturating_mul(news.len()) <= MOST_PAIRS;
            let first = if all { 0 } else { place.saturating_sub(apart / 2) };
            let near = news.iter().skip(first).take(if all { news.len() } else { apart });
            pairs.extend(near.map(|new| (*old, *new)));
        }
    }
    pairs
}

/// The words of a name: `self_attn.q_proj` has four.
fn words(name: &str) -> BTreeSet<String> {
    let words = name.split(['.', '_']).filter(|word| !word.is_empty() && *word != "*");
    words.map(str::to_lowercase).collect()
}

/// The similarity of two names: the part of their words that both have, in thousandths.
fn likeness(old: &BTreeSet<String>, new: &BTreeSet<String>) -> usize {
    let both = old.intersection(new).count();
    let beginnings = old.iter().filter(|word| {
        new.iter().any(|other| other != *word && word.len() > 2 && other.starts_with(*word))
    });
    let half = beginnings.count();
    let all = old.union(new).count().max(1);
    (1000 * both + 500 * half) / all
}

/// Prints renames from one file to the other: by the shapes of all tensors whose names differ only in
/// numbers; among equal shapes by common words, and then by their order.
pub(super) fn suggest(old: &TensorFile, new: &TensorFile, json: bool) -> Result<bool> {
    let (olds, news) = (families(&old.tree, &names(new)), families(&new.tree, &names(old)));
    let mut pairs = candidates(&olds, &news);
    // The most similar first, and then the nearest.
    pairs.sort_by_cached_key(|(old, new)| {
        let apart = old.position.abs_diff(new.position);
        (Reverse(likeness(&old.words, &new.words)), apart, old.position, new.position)
    });
    let (mut taken, mut given) = (BTreeMap::new(), BTreeSet::new());
    for (old, new) in pairs {
        let rules = old.rule.as_deref().zip(new.rule.as_deref());
        let Some(rules) = rules.filter(|_| !taken.contains_key(&old.position)) else { continue };
        if given.insert(new.position) {
            taken.insert(old.position, rules);
        }
    }
    let found: Vec<(&str, &str)> = taken.values().copied().collect();
    if json {
        let object = |(from, to): &(&str, &str)| serde_json::json!({"from": from, "to": to});
        print_json(&found.iter().map(object).collect::<Vec<_>>())?;
    } else {
        let width = found.iter().map(|(from, _)| from.chars().count()).max().unwrap_or(0);
        let line = |(from, to): &(&str, &str)| format!("{from:width$} {to}\n");
        print(&found.iter().map(line).collect::<String>())?;
    }
    let left = olds.len().saturating_sub(found.len()) + news.len().saturating_sub(found.len());
    if left > 0 {
        let rest = olds.iter().filter(|family| !taken.contains_key(&family.position));
        let rest = rest.map(|family| format!("- {}", family.shown()));
        let also = news.iter().filter(|family| !given.contains(&family.position));
        let also = also.map(|family| format!("+ {}", family.shown()));
        let lines: Vec<String> = rest.chain(also).take(20).collect();
        let has_no_rule = |family: &Family| family.rule.is_none();
        let is_unwritable = olds.iter().chain(&news).any(has_no_rule);
        let or = if is_unwritable { ", or a name that no line can have" } else { "" };
        message!("treedef: no other name of the same shapes{or}:\n{}", lines.join("\n"));
    }
    Ok(!found.is_empty() || left == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_of_one_shape_are_compared_with_those_near_them() {
        let families = |count| -> Vec<Family> {
            let one = |position| Family {
                pattern: String::new(),
                rule: None,
                members: BTreeMap::new(),
                position,
                words: BTreeSet::new(),
            };
            (0..count).map(one).collect()
        };
        assert_eq!(candidates(&families(3), &families(2)).len(), 6);
        let many = families(1 << 13);
        let pairs = candidates(&many, &many);
        let has_itself = pairs.iter().any(|(old, new)| [old.position, new.position] == [8000; 2]);
        assert!(pairs.len() <= MOST_PAIRS && has_itself, "{}", pairs.len());
    }
}
