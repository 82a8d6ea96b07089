//! The text of plain nodes.

use super::{Constant, Head, Node, Shape, Total, Width};

impl Shape {
    /// The text of a treedef, or the same without runs.
    pub fn text(&self, runs: bool) -> String {
        let Node::Inner(head, children) = self else { return "*".to_owned() };
        let inside = || children[0].text(runs);
        let items = || items(children, runs);
        let one_has_a_comma = || match children.len() {
            1 => format!("({},)", items()),
            _ => format!("({})", items()),
        };
        let fields = |fields: &[&str]| {
            let fields = fields.iter().zip(children);
            let fields: Vec<_> = fields
                .map(|(field, child)| format!("{}: {}", name(field), child.text(runs)))
                .collect();
            if fields.is_empty() {
                " {}".to_owned()
            } else {
                format!(" {{ {} }}", fields.join(", "))
            }
        };
        match head {
            Head::None => "None".to_owned(),
            Head::Some => format!("Some({})", inside()),
            Head::Unit => "()".to_owned(),
            Head::UnitStruct(of) => name(of),
            Head::NewtypeStruct(of) => format!("{}({})", name(of), inside()),
            Head::Seq => format!("[{}]", items()),
            Head::Tuple if children.is_empty() => "(,)".to_owned(),
            Head::Tuple => one_has_a_comma(),
            Head::TupleStruct(of) => name(of) + &one_has_a_comma(),
            Head::Map(keys) => {
                let entries = keys.iter().zip(children);
                let entries: Vec<_> = entries
                    .map(|(key, child)| format!("{}: {}", key.text(), child.text(runs)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
            Head::Struct(of, all) => name(of) + &fields(all),
            Head::UnitVariant(of, variant) => typed(of, variant),
            Head::NewtypeVariant(of, variant) => format!("{}({})", typed(of, variant), inside()),
            Head::TupleVariant(of, variant) => typed(of, variant) + &one_has_a_comma(),
            Head::StructVariant(of, variant, all) => typed(of, variant) + &fields(all),
            Head::Static(constant) => format!("static {}", constant.text()),
        }
    }
}

/// Writes equal neighbours once, with their number: five or more, or two with children.
fn items(children: &[Shape], runs: bool) -> String {
    let mut items = Vec::new();
    for run in children.chunk_by(PartialEq::eq) {
        let item = run[0].text(runs);
        match run.len() {
            n if runs && (n >= 5 || n >= 2 && !run[0].children().is_empty()) => {
                items.push(format!("{item}; {n}"));
            }
            n => items.extend(std::iter::repeat_n(item, n)),
        }
    }
    items.join(", ")
}

impl Constant {
    fn text(&self) -> String {
        let items = |children: &[Constant]| {
            children.iter().map(Constant::text).collect::<Vec<_>>().join(", ")
        };
        match self {
            Constant::Bool(value) => value.to_string(),
            Constant::Integer(value, Width::I8) => format!("{value}i8"),
            Constant::Integer(value, Width::U8) => format!("{value}u8"),
            Constant::Integer(value, Width::I32) => value.to_string(),
            Constant::Integer(value, Width::I64) => format!("{value}i64"),
            Constant::Float(Total(value)) => format!("{value:?}"),
            Constant::Char(value) => format!("'{value}'"),
            Constant::Text(value) => format!("\"{value}\""),
            Constant::None => "None".to_owned(),
            Constant::Some(inside) => format!("Some({})", inside.text()),
            Constant::Unit => "()".to_owned(),
            Constant::Seq(children) => format!("[{}]", items(children)),
            Constant::Tuple(children) if children.len() == 1 => format!("({},)", items(children)),
            Constant::Tuple(children) if children.is_empty() => "(,)".to_owned(),
            Constant::Tuple(children) => format!("({})", items(children)),
        }
    }
}

fn name(name: &str) -> String {
    match name {
        "None" | "a b" | "" => format!("`{name}`"),
        _ => name.to_owned(),
    }
}

fn typed(of: &str, variant: &str) -> String {
    format!("{}::{}", name(of), name(variant))
}
