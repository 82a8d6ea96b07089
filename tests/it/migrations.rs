//! What a type made of an older tree: every leaf is carried over, dropped or filled, and the report says which.

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;

fn migrated<T: Serialize + DeserializeOwned>(old: &impl Serialize) -> String {
    Tree::of(old).unwrap().migrate::<T>().unwrap().1.to_string()
}

#[derive(Serialize, Deserialize)]
struct Old {
    w: Vec<f64>,
    server: Server,
    seed: u32,
}

#[derive(Serialize, Deserialize)]
struct Server {
    host: String,
    socket: u16,
}

fn old() -> Old {
    Old { w: vec![0.5, 1.5], server: Server { host: "h".to_owned(), socket: 80 }, seed: 7 }
}

#[test]
fn a_renamed_field_of_another_type_is_neither_dropped_nor_filled() {
    #[derive(Serialize, Deserialize)]
    struct New {
        #[serde(alias = "w")]
        weights: Vec<f32>,
        server: Server,
        seed: u32,
    }
    assert_snapshot!(migrated::<New>(&old()), @"renamed `.w` to `.weights`; changed f64 to f32 at `.weights`");
}

#[test]
fn a_renamed_field_with_a_default_is_followed() {
    #[derive(Serialize, Deserialize)]
    struct New {
        w: Vec<f64>,
        server: Inner,
        #[serde(default)]
        extra: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Inner {
        host: String,
        #[serde(alias = "socket", default)]
        port: u16,
    }
    assert_snapshot!(migrated::<New>(&old()), @"filled `.extra`; dropped `.seed`; renamed `.server.socket` to `.server.port`");
}

#[test]
fn a_flattened_struct_is_looked_into() {
    #[derive(Serialize, Deserialize)]
    struct Flat {
        w: Vec<f64>,
        #[serde(flatten)]
        server: Server,
        #[serde(default)]
        seed: u32,
    }
    #[derive(Serialize, Deserialize)]
    struct Plain {
        w: Vec<f64>,
        host: String,
        #[serde(alias = "socket")]
        port: u16,
    }
    let flat = Flat { w: vec![1.0], server: old().server, seed: 1 };
    assert_snapshot!(migrated::<Plain>(&flat), @r#"dropped `["seed"]`; renamed `["socket"]` to `.port`"#);
}

#[test]
fn what_is_the_same_is_not_mentioned() {
    #[derive(Serialize, Deserialize)]
    struct New {
        seed: Option<u32>,
        server: (String, u16),
        w: (f64, f64),
    }
    assert_snapshot!(migrated::<New>(&(7u32, ("h", 80u16), [0.5, 1.5])), @"changed `(*, (*, *); 2)` to `New { seed: Some(*), server: (*, *), w: (*, *) }` at the root");
    #[derive(Serialize, Deserialize)]
    struct Wrapped {
        w: Option<Vec<f64>>,
        server: std::collections::BTreeMap<String, serde_json::Value>,
        seed: u64,
    }
    assert_snapshot!(migrated::<Wrapped>(&old()), @"changed `80u16` to `80u64` at `.server.socket`, `7u32` to `7u64` at `.seed`");
}

#[test]
fn two_fields_that_change_places_are_told_apart() {
    #[derive(Serialize)]
    struct Before {
        a: f64,
        b: f64,
        gone: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "a")]
        first: f64,
        #[serde(alias = "b", default)]
        second: f64,
        #[serde(default)]
        new: f64,
    }
    // The numbers are equal, so they say nothing.
    assert_snapshot!(migrated::<After>(&Before { a: 1.0, b: 1.0, gone: 1 }), @"filled `.new`; dropped `.gone`; renamed `.a` to `.first`, `.b` to `.second`");
}

#[test]
fn what_equals_the_default_and_what_is_never_the_same() {
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNTER: AtomicU64 = AtomicU64::new(0);
    fn unique() -> u64 {
        COUNTER.fetch_add(1, Ordering::SeqCst)
    }
    #[derive(Serialize)]
    struct Before {
        w: f64,
        seed: u32,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "w", default)]
        weight: f64,
        #[serde(default = "unique")]
        id: u64,
    }
    let said = migrated::<After>(&Before { w: 0.0, seed: 7 });
    assert_eq!(said, "filled `.id`; dropped `.seed`; renamed `.w` to `.weight`");
}

#[test]
fn elements_that_are_renamed_alike_are_all_renamed() {
    #[derive(Serialize)]
    struct Before {
        w: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "w")]
        weight: f64,
    }
    let old: Vec<Before> = (0..1000).map(|w| Before { w: f64::from(w) }).collect();
    let (_, migration) = Tree::of(&old).unwrap().migrate::<Vec<After>>().unwrap();
    assert_eq!(migration.renamed.len(), 1000);
    assert!(migration.filled.is_empty() && migration.dropped.is_empty());
}
