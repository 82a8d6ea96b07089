//! Random plain nodes, and others that differ little.

use super::{Constant, Head, LEAF, Node, Shape, Total, Width};
use crate::tape::Tape;

/// The number of nodes after which a node gets no more children.
const MANY: usize = 40;

const FIELDS: [&str; 6] = ["a", "b", "c", "None", "a b", ""];

impl Constant {
    pub fn draw(tape: &mut Tape) -> Constant {
        match tape.below(10) {
            0 => Constant::Some(Box::new(Constant::scalar(tape))),
            1 => Constant::Tuple((0..tape.below(3)).map(|_| Constant::scalar(tape)).collect()),
            2 => Constant::Seq((0..tape.below(3)).map(|_| Constant::scalar(tape)).collect()),
            _ => Constant::scalar(tape),
        }
    }

    fn scalar(tape: &mut Tape) -> Constant {
        let number = tape.below(4) as i64;
        match tape.below(10) {
            0 | 1 => Constant::Integer(number - 1, Width::I32),
            2 => Constant::Integer(number - 1, Width::I8),
            3 => Constant::Integer(number, Width::U8),
            4 => Constant::Integer(number - 1, Width::I64),
            5 => Constant::Float(Total([0.0, -0.0, 1.5, f64::INFINITY][number as usize])),
            6 => Constant::Bool(number > 1),
            7 => Constant::Char(['a', 'b', '"', 'é'][number as usize]),
            8 if number > 2 => Constant::None,
            8 if number > 1 => Constant::Unit,
            _ => Constant::Text(["a", "b", "", "a b"][number as usize]),
        }
    }
}

impl Head {
    fn draw(tape: &mut Tape) -> Head {
        match tape.below(16) {
            0 | 1 => Head::Seq,
            2 => Head::Tuple,
            3 => Head::Struct(tape.name(), Vec::new()),
            4 => Head::Map(Vec::new()),
            5 => Head::Some,
            6 => Head::None,
            7 => Head::NewtypeStruct(tape.name()),
            8 => Head::TupleStruct(tape.name()),
            9 => Head::NewtypeVariant(tape.name(), tape.name()),
            10 => Head::TupleVariant(tape.name(), tape.name()),
            11 => Head::StructVariant(tape.name(), tape.name(), Vec::new()),
            12 => Head::UnitVariant(tape.name(), tape.name()),
            13 => Head::Unit,
            14 => Head::UnitStruct(tape.name()),
            _ => Head::Static(Constant::draw(tape)),
        }
    }

    /// Inserts a label before the labels from a position on. Seldom, the label is already
    /// there.
    fn insert_label(&mut self, at: usize, tape: &mut Tape) {
        let twins = tape.one_in(12);
        match self {
            Head::Map(keys) => {
                let mut key = Constant::draw(tape);
                while !twins && keys.contains(&key) {
                    key = Constant::Seq(vec![key]);
                }
                keys.insert(at, key);
            }
            Head::Struct(_, fields) | Head::StructVariant(_, _, fields) => {
                let from = tape.below(FIELDS.len());
                let names = (0..FIELDS.len()).map(|at| FIELDS[(from + at) % FIELDS.len()]);
                let name = names.clone().find(|name| twins || !fields.contains(name));
                fields.insert(at, name.unwrap_or(FIELDS[from]));
            }
            _ => {}
        }
    }

    /// Changes a name or a label, if there is one.
    fn rename(&mut self, tape: &mut Tape) {
        match self {
            Head::UnitStruct(name) | Head::NewtypeStruct(name) | Head::TupleStruct(name) => {
                *name = tape.name();
            }
            Head::UnitVariant(name, variant)
            | Head::NewtypeVariant(name, variant)
            | Head::TupleVariant(name, variant) => {
                *[name, variant][tape.below(2)] = tape.name();
            }
            Head::Struct(name, fields) if fields.is_empty() || tape.one_in(2) => {
                *name = tape.name();
            }
            Head::StructVariant(name, variant, fields) if fields.is_empty() || tape.one_in(2) => {
                *[name, variant][tape.below(2)] = tape.name();
            }
            Head::Struct(_, fields) | Head::StructVariant(_, _, fields) => {
                let at = tape.below(fields.len());
                fields.remove(at);
                self.insert_label(at, tape);
            }
            Head::Map(keys) if !keys.is_empty() => {
                let at = tape.below(keys.len());
                keys.remove(at);
                self.insert_label(at, tape);
            }
            Head::Static(constant) => *constant = Constant::draw(tape),
            _ => {}
        }
    }
}

impl Shape {
    /// A structure up to `depth` levels deep, whose siblings are often equal or nearly so.
    pub fn draw(tape: &mut Tape, depth: usize) -> Shape {
        if depth == 0 || tape.one_in(4) {
            return LEAF;
        }
        let mut head = Head::draw(tape);
        let count = match &head {
            Head::Some => 1,
            head if head.is_newtype() => 1,
            head if head.has_any_number() => tape.below(6),
            _ => 0,
        };
        let (mut children, mut nodes) = (Vec::<Shape>::new(), 0);
        for at in 0..count {
            if nodes > MANY {
                break;
            }
            let child = match children.last() {
                Some(last) if !tape.one_in(4) => {
                    let mut child = last.clone();
                    if tape.one_in(4) {
                        child.mutate(tape);
                    }
                    child
                }
                _ => Shape::draw(tape, depth - 1),
            };
            nodes += child.num_nodes();
            head.insert_label(at, tape);
            children.push(child);
        }
        Node::Inner(head, children)
    }

    /// Changes one node, at any depth, a little.
    pub fn mutate(&mut self, tape: &mut Tape) {
        let Node::Inner(head, children) = self else {
            *self =
                if tape.one_in(4) { Shape::draw(tape, 2) } else { Node::Inner(Head::None, vec![]) };
            return;
        };
        if !children.is_empty() && !tape.one_in(3) {
            let child = tape.below(children.len());
            return children[child].mutate(tape);
        }
        let any = head.has_any_number();
        match tape.below(9) {
            0 if any && !children.is_empty() => {
                let gone = tape.below(children.len());
                let stay: Vec<usize> = (0..children.len()).filter(|at| *at != gone).collect();
                *head = head.with_labels_at(&stay);
                children.remove(gone);
            }
            1 if any && !children.is_empty() => {
                let at = tape.below(children.len());
                head.insert_label(at, tape);
                children.insert(at, children[at].clone());
            }
            2 if any => {
                let at = tape.below(children.len() + 1);
                head.insert_label(at, tape);
                children.insert(at, Shape::draw(tape, 2));
            }
            3 if children.len() > 1 => {
                let (a, b) = (tape.below(children.len()), tape.below(children.len()));
                let mut places: Vec<usize> = (0..children.len()).collect();
                places.swap(a, b);
                *head = head.with_labels_at(&places);
                children.swap(a, b);
            }
            4 => *self = LEAF,
            5 => *self = Shape::draw(tape, 2),
            6 => *self = Node::Inner(Head::Some, vec![self.clone()]),
            _ => head.rename(tape),
        }
    }

    /// A related structure: a prefix, a structure that this is a prefix of, or one with a few changes.
    pub fn relative(&self, tape: &mut Tape) -> Shape {
        let mut other = self.clone();
        match tape.below(8) {
            0 => {}
            1 => other.cut_off(tape),
            2 => other = other.map(&mut |()| Shape::draw(tape, 2)).joined(),
            3 => {
                let inner = Shape::draw(tape, 2);
                other = other.map(&mut |()| inner.clone()).joined();
            }
            4 => (0..3).for_each(|_| other.mutate(tape)),
            5 => other = Shape::draw(tape, 4),
            _ => other.mutate(tape),
        }
        if other.num_nodes() > 10 * MANY { self.clone() } else { other }
    }

    /// Replaces some subtrees by leaves.
    fn cut_off(&mut self, tape: &mut Tape) {
        if tape.one_in(4) {
            *self = LEAF;
        } else if let Node::Inner(_, children) = self {
            children.iter_mut().for_each(|child| child.cut_off(tape));
        }
    }
}
