//! Patterns over the parts of names.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};

/// A name with wildcards. Like every pattern, it also matches everything below.
#[derive(Clone, Debug)]
pub(crate) struct Glob<'a>(Vec<GlobToken<'a>>);

/// A token of a pattern, which matches a part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobToken<'a> {
    /// `name`, `[3]`, `["name"]`
    Name(&'a str),
    /// `*`, `[*]`
    Any,
    /// `**`
    AnyParts,
    /// `{a,b}`
    OneOf(Vec<&'a str>),
    /// `[2:5]`, `[2:]`, `[:5]`
    Indices(Range<usize>),
}

/// The parts of a name. The empty name, the name of the root, has none.
pub(crate) fn parts<'a>(name: &'a str, separator: &'a str) -> Vec<&'a str> {
    if name.is_empty() {
        Vec::new()
    } else if separator.is_empty() {
        vec![name]
    } else {
        name.split(separator).collect()
    }
}

/// The new name that a rule gives to a matching one, with the wildcards of the other pattern filled
/// in.
pub fn renamed(from: &str, to: &str, separator: &str, name: &str) -> Result<Option<String>> {
    let rename = RenameRule::new(from, to, separator)?;
    Ok(rename.apply(&parts(name, separator)).map(|name| name.join(separator)))
}

/// A renaming rule: a pattern and its replacement.
pub(crate) struct RenameRule<'a> {
    from: Glob<'a>,
    to: Glob<'a>,
}

/// Renaming rules, split into parts once for all names.
pub(crate) struct RenameRules<'a> {
    separator: &'a str,
    rules: Vec<RenameRule<'a>>,
}

impl<'a> RenameRules<'a> {
    pub(crate) fn new(
        rules: impl IntoIterator<Item = (&'a String, &'a String)>,
        separator: &'a str,
    ) -> Result<Self> {
        let rules = rules.into_iter().map(|(from, to)| RenameRule::new(from, to, separator));
        Ok(RenameRules { separator, rules: rules.collect::<Result<_>>()? })
    }

    /// The name after all rules. The function is called with the number of each rule that matches, and with
    /// the new name.
    pub(crate) fn rename(&self, name: &str, mut matched: impl FnMut(usize, &[&str])) -> String {
        let mut here = parts(name, self.separator);
        for (number, rule) in self.rules.iter().enumerate() {
            if let Some(new) = rule.apply(&here) {
                here = new;
                matched(number, &here);
            }
        }
        here.join(self.separator)
    }
}

impl<'a> RenameRule<'a> {
    /// The other pattern has the same wildcards in the same order.
    pub(crate) fn new(from: &'a str, to: &'a str, separator: &'a str) -> Result<Self> {
        let rename =
            RenameRule { from: Glob::new(from, separator)?, to: Glob::new(to, separator)? };
        if rename.from.wildcards().eq(rename.to.wildcards()) {
            return Ok(rename);
        }
        let what = format!("`{from}` and `{to}` do not have the same wildcards in the same order");
        Err(ErrorKind::Rule(what).into())
    }

    /// The name with the wildcards of the other pattern filled in, and with the parts below. `None`
    /// if it does not match.
    pub(crate) fn apply<'n>(&self, name: &[&'n str]) -> Option<Vec<&'n str>>
    where
        'a: 'n,
    {
        let (captures, end) = self.from.find(name)?;
        let mut captures = captures.into_iter();
        let mut renamed = Vec::new();
        for token in &self.to.0 {
            match token {
                GlobToken::Name(part) => renamed.push(*part),
                _ => renamed.extend(name.get(captures.next()?)?),
            }
        }
        renamed.extend(name.get(end..)?);
        // One empty part is the name of the root, which has none.
        Some(if renamed == [""] { Vec::new() } else { renamed })
    }
}

impl<'a> Glob<'a> {
    /// The dot before the first part is optional, as in any pattern.
    pub(crate) fn new(pattern: &'a str, separator: &'a str) -> Result<Self> {
        let first =
            if separator == "." && pattern.len() > 1 { pattern.strip_prefix('.') } else { None };
        Glob::of(parts(first.unwrap_or(pattern), separator))
    }

    /// The pattern of these parts.
    pub(crate) fn of(parts: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut tokens = Vec::new();
        for part in parts {
            add_tokens(part, &mut tokens).ok_or_else(|| no_wildcard(part))?;
        }
        Ok(Glob(tokens))
    }

    fn wildcards(&self) -> impl Iterator<Item = &GlobToken<'a>> {
        self.0.iter().filter(|token| !matches!(token, GlobToken::Name(_)))
    }

    /// Whether it matches a name, or a name above it.
    pub(crate) fn covers(&self, name: &[&str]) -> bool {
        self.find(name).is_some()
    }

    /// Whether it matches exactly this name.
    pub(crate) fn matches(&self, name: &[&str]) -> bool {
        self.captures(name, false).is_some()
    }

    /// The content of each wildcard, and the position where the part below begins.
    fn find(&self, name: &[&str]) -> Option<(Vec<Range<usize>>, usize)> {
        self.captures(name, false).or_else(|| self.captures(name, true))
    }

    /// Greedy matching that only backtracks to the last `**`: the time is at most the product of the
    /// lengths.
    fn captures(&self, name: &[&str], below: bool) -> Option<(Vec<Range<usize>>, usize)> {
        let (mut captures, mut token, mut at) = (Vec::<Range<usize>>::new(), 0, 0);
        // The token after the last `**`, and the number of captures up to it.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(token), name.get(at)) {
                (None, found) if below || found.is_none() => return Some((captures, at)),
                (Some(GlobToken::AnyParts), _) => {
                    captures.push(at..at);
                    token += 1;
                    retry = Some((token, captures.len()));
                    continue;
                }
                (Some(expected), Some(found)) if expected.names(found) => {
                    if !matches!(expected, GlobToken::Name(_)) {
                        captures.push(at..at + 1);
                    }
                    (token, at) = (token + 1, at + 1);
                    continue;
                }
                _ => {}
            }
            let (from, count) = retry?;
            captures.truncate(count);
            let any = captures.last_mut().filter(|any| any.end < name.len())?;
            any.end += 1;
            (token, at) = (from, any.end);
        }
    }
}

impl GlobToken<'_> {
    fn names(&self, part: &str) -> bool {
        match self {
            GlobToken::Name(name) => *name == part,
            GlobToken::Any => true,
            GlobToken::AnyParts => false,
            GlobToken::OneOf(names) => names.contains(&part),
            GlobToken::Indices(range) => part.parse().is_ok_and(|index| range.contains(&index)),
        }
    }
}

/// Adds the meaning of a part of a pattern. `None` if it has none.
fn add_tokens<'a>(part: &'a str, tokens: &mut Vec<GlobToken<'a>>) -> Option<()> {
    let mut rest = match part.strip_prefix('`') {
        Some(quoted) => {
            let (name, rest) = quoted.split_once('`')?;
            tokens.push(GlobToken::Name(name));
            rest
        }
        None => {
            let (name, rest) = part.split_at_checked(part.find('[').unwrap_or(part.len()))?;
            if let Some(before) = name.strip_suffix("**").filter(|before| !before.is_empty()) {
                tokens.extend([named(before)?, GlobToken::AnyParts]);
            } else if !name.is_empty() || rest.is_empty() {
                tokens.push(named(name)?);
            }
            rest
        }
    };
    while let Some((key, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        tokens.push(entry(key)?);
        rest = behind;
    }
    match rest {
        "" => {}
        "**" => tokens.push(GlobToken::AnyParts),
        _ => return None,
    }
    Some(())
}

fn named(name: &str) -> Option<GlobToken<'_>> {
    let is_plain = |name: &str| !name.contains(['*', '{', '}', ',']);
    match name {
        "*" => Some(GlobToken::Any),
        "**" => Some(GlobToken::AnyParts),
        _ if is_plain(name) => Some(GlobToken::Name(name)),
        _ => {
            let names = name.strip_prefix('{')?.strip_suffix('}')?.split(',');
            let is_name = |name: &&str| !name.is_empty() && is_plain(name);
            names
                .map(|name| Some(name).filter(is_name))
                .collect::<Option<_>>()
                .map(GlobToken::OneOf)
        }
    }
}

/// The inside of brackets.
fn entry(key: &str) -> Option<GlobToken<'_>> {
    if key == "*" {
        return Some(GlobToken::Any);
    }
    if let Some(name) = key.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Some(GlobToken::Name(name));
    }
    let is_index = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((start, end)) = key.split_once(':') else {
        return is_index(key).then_some(GlobToken::Name(key));
    };
    let bound = |text: &str, default| match text {
        "" => Some(default),
        text => text.parse().ok().filter(|_| is_index(text)),
    };
    let range = bound(start, 0)?..bound(end, usize::MAX)?;
    (key != ":" && !range.is_empty()).then_some(GlobToken::Indices(range))
}

fn no_wildcard(part: &str) -> Error {
    let what = format!(
        "`{part}` cannot be part of a pattern of names: a whole part is a name, `*`, `**`, `[2:5]` or `{{w,bias}}`"
    );
    ErrorKind::Rule(what).into()
}
