//! Random structures in all formats, one JSON object a line, for `python/check.py`: `-- COUNT SEED`.

use std::error::Error;
use std::io::{BufWriter, Write, stdout};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use fastrand::Rng;
use serde_json::json;
use treedef::Tree;
use treedef_pytrees::jax::{self, ShapeDtype};
use treedef_pytrees::{Lowering, python};
use treedef_testing::structures;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let seed = arguments.next().map_or(Ok(0), |seed| seed.parse())?;
    let (mut rng, mut out) = (Rng::with_seed(seed), BufWriter::new(stdout()));
    let mut made = 0;
    while made < count {
        let treedef = structures::structure(&mut rng, 4);
        // A static alone is nothing to Python.
        let Ok(literal) = python::literal(&treedef, &Lowering::new()) else { continue };
        let (proto, flatbuffer) =
            (jax::proto(&treedef, &Lowering::new())?, jax::flatbuffer(&treedef, &Lowering::new())?);
        let (text, keystrs) = (jax::text(&treedef)?, jax::keystrs(&treedef)?);
        let shapes = (0..treedef.num_leaves())
            .map(|leaf| ShapeDtype::Array { dtype: "float32".to_owned(), shape: vec![leaf, 2] });
        let shapes = jax::pytreedef_json(&Tree::new(treedef, shapes.collect())?)?;
        let line = json!({
            "literal": literal.data,
            "order": literal.order,
            "proto": BASE64.encode(&proto.data),
            "proto_order": proto.order,
            "flatbuffer": BASE64.encode(&flatbuffer.data),
            "pytreedef": shapes.data,
            "text": text.data,
            "keystrs": keystrs.data,
        });
        writeln!(out, "{line}")?;
        made += 1;
    }
    Ok(())
}
