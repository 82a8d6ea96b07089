//! The instructions of pickles, protocols 0 to 5. They build descriptions of objects: no class is looked
//! up, and nothing is called.

use std::collections::HashMap;
use std::io::Read;

use crate::error::{Result, quoted};
use crate::formats::pytorch::literal;
use crate::formats::pytorch::object::{Call, Graph, Object, ObjectId};
use crate::formats::pytorch::pickle_input::PickleInput;

/// The maximum number of objects, and of entries of the stack and of the memo. Checkpoints of large
/// models have some hundred thousand objects.
const MAX_OBJECTS: usize = 1 << 24;

/// Reads one pickle: its objects, and the one that is its result.
pub(super) fn read<R: Read>(input: &mut PickleInput<R>) -> Result<(Graph, ObjectId)> {
    let (graph, stack, marks, memo) = (Graph::default(), Vec::new(), Vec::new(), HashMap::new());
    let mut unpickler = Unpickler { graph, input, stack, marks, memo };
    loop {
        let op = unpickler.input.instruction()?;
        if op == b'.' {
            let root = unpickler.pop()?;
            return Ok((unpickler.graph, root));
        }
        unpickler.step(op)?;
        unpickler.expect_room()?;
    }
}

struct Unpickler<'m, R> {
    graph: Graph,
    input: &'m mut PickleInput<R>,
    stack: Vec<ObjectId>,
    /// The height of the stack when an instruction marked it.
    marks: Vec<usize>,
    memo: HashMap<u64, ObjectId>,
}

impl<R: Read> Unpickler<'_, R> {
    fn expect_room(&self) -> Result<()> {
        let used = self.graph.len().max(self.stack.len()).max(self.memo.len());
        if used.max(self.marks.len()) <= MAX_OBJECTS {
            return Ok(());
        }
        Err(self.input.beyond("objects", format!("more than {MAX_OBJECTS} objects in a pickle")))
    }

    /// Executes one instruction. Python's `pickletools` has a table of them.
    fn step(&mut self, op: u8) -> Result<()> {
        match op {
            0x80 => match self.input.u8()? {
                0..=5 => Ok(()),
                other => {
                    Err(self.input.fail(format!("the protocol {other} of pickles, at most 5")))
                }
            },
            0x95 => self.input.u64().map(drop),
            b'N' | 0x88 | 0x89 | b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b | b'F' | b'G' => {
                self.number(op)
            }
            b'S' | b'T' | b'U' | b'V' | b'X' | 0x8c | 0x8d | b'B' | b'C' | 0x8e | 0x96 => {
                self.text(op)
            }
            b'(' | b'0' | b'1' | b'2' | b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => {
                self.arrange(op)
            }
            b')' | b't' | 0x85 | 0x86 | 0x87 | b']' | b'l' | b'}' | b'd' | 0x8f | 0x91 => {
                self.collection(op)
            }
            b'a' | b'e' | 0x90 | b's' | b'u' => self.fill(op),
            b'c' | 0x93 | b'R' | 0x81 | 0x92 | b'i' | b'o' | b'b' | b'P' | b'Q' => self.object(op),
            0x82..=0x84 => Err(self.input.fail("an extension of `copyreg`, which is not read")),
            0x97 | 0x98 => Err(self.input.fail("a buffer beside the pickle, which is not read")),
            _ => Err(self
                .input
                .fail(format!("the byte {op:#04x} is not an instruction of a pickle"))),
        }
    }

    fn push(&mut self, object: Object) {
        let id = self.graph.add(object);
        self.stack.push(id);
    }

    /// The floor of the stack: everything below a mark is out of reach.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<ObjectId> {
        let floor = self.floor();
        let top = if self.stack.len() > floor { self.stack.pop() } else { None };
        top.ok_or_else(|| self.input.fail("an instruction that needs a value, and there is none"))
    }

    fn top(&self) -> Result<ObjectId> {
        let top = self.stack.last().filter(|_| self.stack.len() > self.floor());
        let missing = || self.input.fail("an instruction that needs a value, and there is none");
        top.copied().ok_or_else(missing)
    }

    /// The values since the last mark.
    fn since_mark(&mut self) -> Result<Vec<ObjectId>> {
        let mark = self.marks.pop();
        let mark = mark.ok_or_else(|| self.input.fail("an instruction that needs a mark"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    /// The values since the last mark, as keys with values.
    fn pairs(&mut self) -> Result<Vec<(ObjectId, ObjectId)>> {
        let ids = self.since_mark()?;
        let (pairs, rest) = ids.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.input.fail("a key without a value"));
        }
        Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
    }

    /// `NONE`, `NEWTRUE`, …: integers and floats in text or binary.
    fn number(&mut self, op: u8) -> Result<()> {
        let object = match op {
            b'N' => Object::None,
            0x88 | 0x89 => Object::Bool(op == 0x88),
            b'J' => Object::Int(i32::from_le_bytes(self.input.array()?).into()),
            b'K' => Object::Int(self.input.u8()?.into()),
            b'M' => Object::Int(u16::from_le_bytes(self.input.array()?).into()),
            0x8a => literal::integer(self.input.counted(1)?),
            0x8b => literal::integer(self.input.counted(4)?),
            b'G' => Object::Float(f64::from_be_bytes(self.input.array()?)),
            b'F' => {
                let line = self.input.text_line()?;
                let float = literal::float(&line);
                float.ok_or_else(|| self.input.fail(format!("{} is not a float", quoted(&line))))?
            }
            _ => {
                let line = self.input.text_line()?;
                let number = literal::decimal(&line);
                number.ok_or_else(|| {
                    let line = quoted(&line);
                    self.input.fail(format!("{line} is not an integer of at most 128 bits"))
                })?
            }
        };
        self.push(object);
        Ok(())
    }

    fn text(&mut self, op: u8) -> Result<()> {
        let object = match op {
            b'S' => {
                let line = self.input.line()?;
                let bytes = literal::unquoted(&line);
                literal::text(bytes.ok_or_else(|| self.input.fail("a text without quotes"))?)
            }
            b'V' => literal::text(literal::unescaped_unicode(&self.input.line()?)),
            b'U' | 0x8c => literal::text(self.input.counted(1)?),
            b'T' | b'X' => literal::text(self.input.counted(4)?),
            0x8d => literal::text(self.input.counted(8)?),
            b'C' => Object::Bytes(self.input.counted(1)?.into()),
            b'B' => Object::Bytes(self.input.counted(4)?.into()),
            _ => Object::Bytes(self.input.counted(8)?.into()),
        };
        self.push(object);
        Ok(())
    }

    /// Marks, copies, and the memo.
    fn arrange(&mut self, op: u8) -> Result<()> {
        match op {
            b'(' => self.marks.push(self.stack.len()),
            b'0' if self.stack.len() == self.floor() && !self.marks.is_empty() => {
                self.marks.pop(); // Python's also takes a mark away
            }
            b'0' => drop(self.pop()?),
            b'1' => drop(self.since_mark()?),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'g' | b'h' | b'j' => {
                let key = self.memo_key(op == b'g', op == b'h')?;
                let found = self.memo.get(&key).copied();
                let missing = || self.input.fail(format!("nothing was remembered as {key}"));
                self.stack.push(found.ok_or_else(missing)?);
            }
            _ => {
                let key = match op {
                    0x94 => u64::try_from(self.memo.len()).unwrap_or(u64::MAX),
                    _ => self.memo_key(op == b'p', op == b'q')?,
                };
                let top = self.top()?;
                self.memo.insert(key, top);
            }
        }
        Ok(())
    }

    fn memo_key(&mut self, is_line: bool, is_short: bool) -> Result<u64> {
        if is_line {
            let line = self.input.text_line()?;
            let key = line.trim().parse().ok();
            return key.ok_or_else(|| {
                self.input.fail(format!("{} is not a place in the memo", quoted(&line)))
            });
        }
        Ok(if is_short { self.input.u8()?.into() } else { self.input.u32()?.into() })
    }

    fn collection(&mut self, op: u8) -> Result<()> {
        let object = match op {
            b')' => Object::Tuple(Box::default()),
            b't' => Object::Tuple(self.since_mark()?.into()),
            0x85..=0x87 => {
                let mut ids = Vec::new();
                for _ in 0x84..op {
                    ids.push(self.pop()?);
                }
                ids.reverse();
                Object::Tuple(ids.into())
            }
            b']' => Object::List(Vec::new()),
            b'l' => Object::List(self.since_mark()?),
            b'}' => Object::Dict(Vec::new()),
            b'd' => Object::Dict(self.pairs()?),
            0x8f => Object::Set(Vec::new()),
            _ => Object::Set(self.since_mark()?),
        };
        self.push(object);
        Ok(())
    }

    /// Puts values into the collection below them.
    fn fill(&mut self, op: u8) -> Result<()> {
        let (items, pairs) = match op {
            b'a' => (vec![self.pop()?], Vec::new()),
            b'e' | 0x90 => (self.since_mark()?, Vec::new()),
            b'u' => (Vec::new(), self.pairs()?),
            _ => {
                let value = self.pop()?;
                (Vec::new(), vec![(self.pop()?, value)])
            }
        };
        let target = self.top()?;
        match self.graph.get_mut(target) {
            Some(Object::List(list) | Object::Set(list)) if pairs.is_empty() => list.extend(items),
            Some(Object::Dict(dict)) if items.is_empty() => dict.extend(pairs),
            Some(Object::Call(call)) => {
                call.items.extend(items);
                call.entries.extend(pairs);
            }
            _ => {
                return Err(self
                    .input
                    .fail("values for an object that is not a list, set or dict"));
            }
        }
        Ok(())
    }

    fn object(&mut self, op: u8) -> Result<()> {
        let object = match op {
            b'c' => {
                let (module, name) = (self.input.text_line()?, self.input.text_line()?);
                Object::Global(format!("{module}.{name}").into())
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let name = self.graph.text(module).zip(self.graph.text(name));
                let name = name.map(|(module, name)| format!("{module}.{name}"));
                Object::Global(
                    name.ok_or_else(|| self.input.fail("a name that is not a string"))?.into(),
                )
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                call(self.pop()?, arguments, None)
            }
            0x92 => {
                let (named, arguments) = (self.pop()?, self.pop()?);
                call(self.pop()?, arguments, Some(named))
            }
            b'i' => {
                let (module, name) = (self.input.text_line()?, self.input.text_line()?);
                let arguments = self.since_mark()?;
                let arguments = self.graph.add(Object::Tuple(arguments.into()));
                let callee = self.graph.add(Object::Global(format!("{module}.{name}").into()));
                call(callee, arguments, None)
            }
            b'o' => {
                let ids = self.since_mark()?;
                let parts = ids.split_first();
                let (callee, arguments) =
                    parts.ok_or_else(|| self.input.fail("an object without a class"))?;
                let arguments = self.graph.add(Object::Tuple(arguments.into()));
                call(*callee, arguments, None)
            }
            b'P' => {
                let line = self.input.text_line()?;
                Object::Persistent(self.graph.add(Object::Text(line.into())))
            }
            b'Q' => Object::Persistent(self.pop()?),
            _ => return self.build(),
        };
        self.push(object);
        Ok(())
    }

    /// Sets the state of the object below it.
    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let target = self.top()?;
        match self.graph.get_mut(target) {
            Some(Object::Call(call)) => call.state = Some(state),
            Some(_) => {} // attributes of a dict, a list: they are no part of the tree
            None => return Err(self.input.fail("a state for nothing")),
        }
        Ok(())
    }
}

fn call(callee: ObjectId, arguments: ObjectId, named: Option<ObjectId>) -> Object {
    let (state, items, entries) = (None, Vec::new(), Vec::new());
    Object::Call(Box::new(Call { callee, arguments, named, state, items, entries }))
}
