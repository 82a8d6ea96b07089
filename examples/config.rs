//! A configuration tool: defaults, a file, and `--set path=text`, all on one typed struct.
//!
//! ```sh
//! cargo run --example config -- --set server.port=443 --set server.tls.name=example.org
//! ```

use std::error::Error;

use serde::{Deserialize, Serialize};
use treedef::Tree;

#[derive(Debug, Serialize, Deserialize)]
struct Config {
    server: Server,
    workers: usize,
    log: Level,
}

#[derive(Debug, Serialize, Deserialize)]
struct Server {
    host: String,
    #[serde(alias = "socket")]
    port: u16,
    tls: Option<Tls>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Tls {
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
enum Level {
    Info,
    Debug,
}

/// What was written before `socket` was called `port`, and `color` was dropped.
const OLD_FILE: &str = r#"{
    "server": {"host": "localhost", "socket": 8080, "tls": {"name": "localhost"}},
    "workers": 4, "color": true, "log": "Info"
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    // Any document is a tree, without a type.
    let file: Tree<treedef::Leaf> = serde_json::from_str(OLD_FILE)?;
    let (config, migration) = file.migrate::<Config>()?;
    println!("the file is of an older version: {migration}");

    let mut tree = Tree::of(&config)?;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let setting = arguments.next().filter(|_| argument == "--set");
        let setting = setting.ok_or("usage: config [--set path=text]…")?;
        let (path, text) = setting.split_once('=').ok_or("expected path=text")?;
        tree.set_text(path, text)?;
    }
    println!("{tree:#}");
    let config: Config = tree.into_typed()?;
    println!("{} workers at {}:{}", config.workers, config.server.host, config.server.port);
    Ok(())
}
