//! The differences between the tensors and a type.

use std::fmt;

/// How the tensors of a file differ from the tensors that a type reads. Shapes are in JAX's notation; `_`
/// is any length.
///
/// It prints as one line with the first few of each kind, and is empty if there is no difference. An error has
/// a line for each (see [`ErrorKind::Load`](crate::ErrorKind::Load)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// The type reads them, and the file does not have them, or not in that form. Their values come from
    /// [`Loader::fill_from`](crate::Loader::fill_from), or are unchanged.
    pub filled: Vec<String>,
    /// The file has them and the type does not read them, or not all of their numbers: the name, and
    /// the type and shape of the tensor.
    pub dropped: Vec<(String, String)>,
    /// A tensor of the file that the type does not read, and the only one that it misses of that
    /// shape: perhaps they are the same (see [`Loader::rename`](crate::Loader::rename)).
    pub renamed: Vec<(String, String)>,
    /// The tensors of another shape or type: the name, the expected one, and the found one.
    pub changed: Vec<(String, String, String)>,
    /// The type reads them, and neither the file nor the value to fill from has them: the name, and the
    /// expected type.
    pub missing: Vec<(String, String)>,
    /// The reason why the type stopped reading, and the place. Its further requests are unknown, so nothing
    /// is [`dropped`](Self::dropped) then.
    pub stopped: Option<String>,
}

impl LoadReport {
    /// Whether the file has exactly the tensors that the type reads, except tensors that it was asked to fill.
    pub fn is_exact(&self) -> bool {
        let LoadReport { filled: _, dropped, renamed, changed, missing, stopped } = self;
        missing.is_empty()
            && dropped.is_empty()
            && renamed.is_empty()
            && changed.is_empty()
            && stopped.is_none()
    }

    /// A line for each difference.
    pub(crate) fn lines(&self) -> String {
        const SHOWN: usize = 100;
        let changed = self.changed.iter();
        let renamed = self.renamed.iter();
        let stopped = self.stopped.iter().map(|error| format!("stopped: {error}"));
        let lines = stopped
            .chain(changed.map(|(name, expected, found)| {
                format!("`{name}` is {found}, expected {expected}{}", hint(found, expected))
            }))
            .chain(renamed.map(|(from, to)| {
                format!("missing `{to}`: perhaps it is `{from}`, which is unused")
            }))
            .chain(self.missing.iter().map(|(name, asked)| format!("missing `{name}`: {asked}")))
            .chain(self.dropped.iter().map(|(name, found)| format!("unused `{name}`: {found}")))
            .chain(self.filled.iter().map(|name| format!("filled `{name}`")));
        let mut lines: Vec<String> = lines.map(cut).collect();
        if lines.len() > SHOWN {
            let more = format!("and {} more", lines.len() - SHOWN);
            lines.truncate(SHOWN);
            lines.push(more);
        }
        lines.join("\n")
    }
}

/// A hint for two descriptions that differ, such as `f64[2]` and `f32[_]`. Floats of eight bits and less can be widened,
/// but nothing can be narrowed to them.
fn hint(found: &str, expected: &str) -> &'static str {
    fn parts(text: &str) -> Option<(&str, &str)> {
        text.split_at_checked(text.find('[')?)
    }
    let is_wide = |dtype: &str| matches!(dtype, "f16" | "bf16" | "f32" | "f64");
    let is_small = |dtype: &str| ["f8_", "f6_", "f4"].iter().any(|small| dtype.starts_with(small));
    let (Some((from, dims)), Some((to, others))) = (parts(found), parts(expected)) else {
        return "";
    };
    if from != to && dims == others && is_wide(to) && (is_wide(from) || is_small(from)) {
        " (see `Loader::convert_floats`)"
    } else if from == to && dims != others && turned(dims).as_deref() == Some(others) {
        " (see `Loader::transpose`)"
    } else {
        ""
    }
}

/// The dimensions of a matrix, such as `[3, 2]`, turned.
fn turned(dims: &str) -> Option<String> {
    let (rows, columns) = dims.strip_prefix('[')?.strip_suffix(']')?.split_once(", ")?;
    (!columns.contains(',')).then(|| format!("[{columns}, {rows}]"))
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_shape = |(name, shape): &(String, String)| format!("`{name}` ({shape})");
        let clauses = [
            self.stopped.as_ref().map(|error| format!("stopped: {error}")),
            clause("filled", &self.filled, |name| format!("`{name}`")),
            clause("dropped", &self.dropped, with_shape),
            clause("renamed", &self.renamed, |(from, to)| format!("`{from}` to `{to}`")),
            clause("refused", &self.changed, |(name, expected, found)| {
                format!("`{name}` ({found}, expected {expected})")
            }),
            clause("missing", &self.missing, with_shape),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().map(cut).collect();
        f.write_str(&clauses.join("; "))
    }
}

/// A line with the names of a file, which may be of any length.
fn cut(mut line: String) -> String {
    const LONGEST: usize = 1_000;
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// A verb with the first few of its objects.
fn clause<T>(verb: &str, all: &[T], print: impl Fn(&T) -> String) -> Option<String> {
    const SHOWN: usize = 3;
    let shown: Vec<String> = all.iter().take(SHOWN).map(print).collect();
    let more = Some(all.len()).filter(|count| *count > SHOWN);
    let more = more.map_or(String::new(), |count| format!(" and {} more", count - SHOWN));
    (!all.is_empty()).then(|| format!("{verb} {}{more}", shown.join(", ")))
}
