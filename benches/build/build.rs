//! Writes the generated types: 40 structs and 20 enums that hold each other, as a schema compiler would.

use std::fmt::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut code = String::new();
    let derive =
        "#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]";
    let scalars = ["u64", "f64", "String", "bool", "Option<i32>", "Vec<f32>"];
    for number in 0..60 {
        // Each type contains some of the previous ones.
        let before = |step: usize| (number >= step).then(|| format!("T{}", number - step));
        let held = [before(1), before(3), before(7)].into_iter().flatten();
        if number % 3 == 2 {
            writeln!(code, "{derive}\npub enum T{number} {{\n    #[default]\n    Empty,")?;
            for (place, held) in held.enumerate() {
                writeln!(code, "    Holds{place}(Box<{held}>),")?;
            }
            writeln!(
                code,
                "    Named {{ at: {}, of: {} }},\n}}",
                scalars[number % 6],
                scalars[number / 2 % 6]
            )?;
            continue;
        }
        writeln!(code, "{derive}\npub struct T{number} {{")?;
        for place in 0..4 {
            writeln!(code, "    pub scalar_{place}: {},", scalars[(number + place) % 6])?;
        }
        for (place, held) in held.enumerate() {
            let wrapped = [
                format!("Option<Box<{held}>>"),
                format!("Vec<{held}>"),
                format!("std::collections::BTreeMap<String, {held}>"),
            ];
            writeln!(code, "    pub held_{place}: {},", wrapped[(number + place) % 3])?;
        }
        writeln!(code, "}}")?;
    }
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("generated.rs"), code)?;
    Ok(())
}
