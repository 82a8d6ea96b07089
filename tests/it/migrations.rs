//! Older trees as newer types: every leaf is carried over, dropped or filled, and the report lists
//! them.

mod leafless;
mod losses;
mod opaque;
mod oracle;
mod report;
mod schema;
mod statics;

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
    assert_snapshot!(migrated::<Wrapped>(&old()), @r#"changed u16 to u64 at `.server["socket"]`, u32 to u64 at `.seed`"#);
}

#[test]
fn a_sequence_that_becomes_a_tuple_is_a_change_and_its_elements_are_compared() {
    #[derive(Serialize, Deserialize)]
    struct New {
        w: [f32; 2],
        server: Server,
        seed: u32,
    }
    assert_snapshot!(migrated::<New>(&old()), @"changed `[*, *]` to `(*, *)` at `.w`, f64 to f32 at `.w`");
    assert_snapshot!(migrated::<(f64, f64)>(&vec![0.5, 1.5]), @"changed `[*, *]` to `(*, *)` at the root");
    assert_snapshot!(migrated::<Vec<f64>>(&[0.5, 1.5]), @"changed `(*, *)` to `[*, *]` at the root");
    assert_snapshot!(migrated::<Vec<[u8; 1]>>(&vec![vec![1u8], vec![2]]), @"changed `[*]` to `(*,)` at `[*]` (×2)");
    // Under another name, too.
    #[derive(Serialize, Deserialize)]
    struct Renamed {
        #[serde(alias = "w")]
        weights: [f64; 2],
        server: Server,
        seed: u32,
    }
    assert_snapshot!(migrated::<Renamed>(&old()), @"renamed `.w` to `.weights`; changed `[*, *]` to `(*, *)` at `.weights`");
    #[derive(Serialize)]
    struct Rows {
        rows: Vec<Vec<f64>>,
    }
    #[derive(Serialize, Deserialize)]
    struct Points {
        #[serde(alias = "rows")]
        points: Vec<(f64, f64)>,
    }
    assert_snapshot!(migrated::<Points>(&Rows { rows: vec![vec![1.0, 2.0]; 2] }), @"renamed `.rows` to `.points`; changed `[*, *]` to `(*, *)` at `.points[*]` (×2)");
    // The content is followed.
    #[derive(Serialize)]
    struct Before {
        w: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "w")]
        weight: f64,
    }
    assert_snapshot!(migrated::<[After; 1]>(&vec![Before { w: 0.5 }]), @"renamed `[0].w` to `.0.weight`; changed `[Before { w: * }]` to `(After { weight: * },)` at the root");
}

#[test]
fn an_empty_report_is_of_the_same_value() {
    use std::collections::BTreeMap;

    fn is_empty<T: Serialize + DeserializeOwned>(old: &impl Serialize) -> bool {
        let old = Tree::of(old).unwrap();
        let (new, migration) = old.clone().migrate::<T>().unwrap();
        assert_ne!(Tree::of(&new).unwrap(), old);
        assert_eq!(migration.is_empty(), migration.to_string().is_empty());
        migration.is_empty()
    }
    // The name of the type, and the order of fields.
    #[derive(Serialize, Deserialize)]
    struct Host {
        socket: u16,
        host: String,
    }
    assert!(is_empty::<Host>(&old().server));
    // A struct and a map.
    assert!(is_empty::<Pair>(&BTreeMap::from([("a", 1u8), ("b", 2)])));
    assert!(is_empty::<BTreeMap<String, u8>>(&Pair { a: 1, b: 2 }));
    #[derive(Serialize, Deserialize)]
    struct Pair {
        a: u8,
        b: u8,
    }
    // A tuple and a tuple struct, a unit and a unit struct.
    #[derive(Serialize, Deserialize)]
    struct Point(f64, f64);
    assert!(is_empty::<Point>(&(1.0, 2.0)));
    #[derive(Serialize, Deserialize)]
    struct Nothing;
    assert!(is_empty::<(Nothing, u8)>(&((), 1u8)));
    // A `Some`, and a static.
    assert!(is_empty::<(Option<u8>, u8)>(&(1u8, 2u8)));
    #[derive(Serialize, Deserialize)]
    struct Marked {
        #[serde(with = "treedef::as_static")]
        a: u8,
        b: u8,
    }
    assert!(is_empty::<Marked>(&Pair { a: 1, b: 2 }));
    assert!(is_empty::<Pair>(&Marked { a: 1, b: 2 }));

    // Changes of a value: a variant, a newtype, a length, a kind of leaf.
    #[derive(Serialize, Deserialize)]
    enum Before {
        Fast(u8),
    }
    #[derive(Serialize, Deserialize)]
    enum After {
        #[serde(alias = "Fast")]
        Quick(u8),
    }
    #[derive(Serialize, Deserialize)]
    struct Meters(u8);
    assert!(!is_empty::<After>(&Before::Fast(1)));
    assert!(!is_empty::<(Meters, u8)>(&(1u8, 2u8)));
    assert!(!is_empty::<[u8; 2]>(&vec![1u8, 2]));
    assert!(!is_empty::<(u16, u8)>(&(1u8, 2u8)));
    #[derive(Serialize, Deserialize)]
    struct Other {
        #[serde(with = "treedef::as_static", alias = "a")]
        c: u8,
        b: u8,
    }
    assert!(!is_empty::<Other>(&Pair { a: 1, b: 2 }));
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
    // The numbers are equal, so they prove nothing.
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

#[test]
fn what_changed_inside_of_a_renamed_struct_is_reported() {
    #[derive(Serialize, Deserialize)]
    struct New {
        w: Vec<f64>,
        #[serde(alias = "server")]
        service: Service,
        seed: u32,
    }
    #[derive(Serialize, Deserialize)]
    struct Service {
        #[serde(alias = "socket")]
        port: u32,
        #[serde(default)]
        tls: bool,
    }
    assert_snapshot!(migrated::<New>(&old()), @"filled `.service.tls`; dropped `.server.host`; renamed `.server` to `.service`, `.server.socket` to `.service.port`; changed u16 to u32 at `.service.port`");
}

#[test]
fn what_moved_is_found_where_it_is() {
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Flat")]
    struct New {
        seed: u32,
        net: Net,
    }
    #[derive(Serialize, Deserialize)]
    struct Net {
        address: String,
        port: Option<u16>,
        tls: bool,
    }
    #[derive(Deserialize)]
    struct Flat {
        seed: u32,
        server: Server,
    }
    impl From<Flat> for New {
        fn from(Flat { seed, server: Server { host, socket } }: Flat) -> Self {
            New { seed, net: Net { address: host, port: Some(socket), tls: false } }
        }
    }
    assert_snapshot!(migrated::<New>(&old()), @"filled `.net.tls`; dropped `.w`; renamed `.server` to `.net`, `.server.host` to `.net.address`, `.server.socket` to `.net.port`");
}

#[test]
fn what_is_computed_is_not_called_renamed() {
    #[derive(Serialize)]
    struct Before {
        celsius: f64,
        w: f64,
        h: f64,
        all: [f64; 2],
        name: &'static str,
    }
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Read")]
    struct After {
        fahrenheit: f64,
        area: f64,
        sum: f64,
        id: u8,
    }
    #[derive(Deserialize)]
    struct Read {
        celsius: f64,
        w: f64,
        h: f64,
        all: [f64; 2],
    }
    impl From<Read> for After {
        fn from(Read { celsius, w, h, all }: Read) -> Self {
            After { fahrenheit: celsius * 1.8 + 32.0, area: w * h, sum: all[0] + all[1], id: 0 }
        }
    }
    let before = Before { celsius: 37.0, w: 2.0, h: 3.0, all: [1.0, 2.0], name: "n" };
    let (_, migration) = Tree::of(&before).unwrap().migrate::<After>().unwrap();
    assert_snapshot!(migration, @"filled `.fahrenheit`, `.area`, `.sum` and 1 more; dropped `.celsius`, `.w`, `.h` and 2 more");
}

#[test]
fn a_renamed_variant_is_looked_into() {
    #[derive(Serialize)]
    enum Before {
        Adam { lr: f64, beta: f64, eps: f64 },
    }
    #[derive(Serialize, Deserialize)]
    enum After {
        #[serde(alias = "Adam")]
        Lion {
            lr: f64,
            #[serde(alias = "beta")]
            momentum: f64,
            #[serde(default)]
            decay: f64,
        },
    }
    let before = Before::Adam { lr: 0.5, beta: 0.25, eps: 0.125 };
    assert_snapshot!(migrated::<After>(&before), @"filled `::Lion.decay`; dropped `::Adam.eps`; renamed `::Adam.beta` to `::Lion.momentum`; changed `Before::Adam { lr: *, beta: *, eps: * }` to `After::Lion { lr: *, momentum: *, decay: * }` at the root");
}

#[test]
fn a_renamed_f32_that_was_flattened_as_f64_is_the_same() {
    #[derive(Serialize)]
    struct Before {
        w: [f32; 2],
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "w")]
        weights: [f32; 2],
    }
    let tree = Tree::<f64>::of_as(&Before { w: [0.1, 0.2] }).unwrap();
    let (_, migration) = tree.migrate::<After>().unwrap();
    assert_snapshot!(migration, @"renamed `.w` to `.weights`");
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Scheme(bool);

impl TryFrom<String> for Scheme {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "dark" => Ok(Scheme(true)),
            "light" => Ok(Scheme(false)),
            _ => Err(text),
        }
    }
}

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> String {
        if scheme.0 { "dark" } else { "light" }.to_owned()
    }
}

#[test]
fn texts_that_are_checked_are_followed() {
    use std::net::IpAddr;

    #[derive(Serialize)]
    struct Before {
        address: IpAddr,
        mode: &'static str,
        empty: Vec<u8>,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "address")]
        ip: IpAddr,
        #[serde(alias = "mode", default)]
        scheme: Scheme,
        #[serde(alias = "empty")]
        blob: Vec<u8>,
    }
    let said = |mode| {
        let address = IpAddr::from([127, 0, 0, 1]);
        migrated::<After>(&Before { address, mode, empty: Vec::new() })
    };
    assert_snapshot!(said("dark"), @"filled `.ip`, `.scheme`, `.blob`; dropped `.address`, `.mode`, `.empty`");
    // It equals the default.
    assert_eq!(said("light"), said("dark"));
}

#[test]
fn checked_texts_that_move_to_fields_of_one_name_are_told_apart() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Panel {
        width: u16,
        scheme: Scheme,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Window {
        height: u16,
        scheme: Scheme,
        panel: Panel,
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Before {
        window: Option<Window>,
    }
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Before")]
    struct After {
        panel: Option<Panel>,
        frame: Option<Frame>,
    }
    #[derive(Serialize, Deserialize)]
    struct Frame {
        height: u16,
        scheme: Scheme,
    }
    impl From<Before> for After {
        fn from(Before { window }: Before) -> Self {
            let (panel, frame) = window
                .map(|Window { height, scheme, panel }| (panel, Frame { height, scheme }))
                .unzip();
            After { panel, frame }
        }
    }
    let panel = Panel { width: 3, scheme: Scheme(true) };
    let window = Some(Window { height: 2, scheme: Scheme(false), panel });
    assert_snapshot!(migrated::<After>(&Before { window }), @"renamed `.window` to `.frame`, `.window?.panel` to `.panel`");
}

#[test]
fn a_checked_text_is_not_taken_for_another_one_that_moved() {
    #[derive(Serialize, Deserialize)]
    struct Before<T> {
        a: Pair<T>,
        b: Pair<Scheme>,
    }
    #[derive(Serialize, Deserialize)]
    struct Pair<T> {
        it: T,
        size: u16,
    }
    #[derive(Serialize, Deserialize)]
    struct Name {
        text: String,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(from = "Before<Name>")]
    struct NameMoves {
        b: Size,
        n: New<Scheme, Name>,
    }
    #[derive(Serialize, Deserialize)]
    struct Size {
        size: u16,
    }
    #[derive(Serialize, Deserialize)]
    struct New<T, U> {
        it: T,
        other: U,
        len: u16,
    }
    impl From<Before<Name>> for NameMoves {
        fn from(Before { a, b }: Before<Name>) -> Self {
            let n = New { it: b.it, other: a.it, len: a.size };
            NameMoves { b: Size { size: b.size }, n }
        }
    }
    let b = || Pair { it: Scheme(true), size: 4 };
    let name = Name { text: "dark or not".to_owned() };
    let a_name = Before { a: Pair { it: name, size: 2 }, b: b() };
    assert_snapshot!(migrated::<NameMoves>(&a_name), @"filled `.n.it`, `.n.other`; dropped `.a.it`, `.b.it`; renamed `.a` to `.n`, `.a.size` to `.n.len`");

    #[derive(Serialize, Deserialize)]
    #[serde(from = "Before<[String; 2]>")]
    struct NamesMove {
        n: New<[String; 2], Pair<Scheme>>,
    }
    impl From<Before<[String; 2]>> for NamesMove {
        fn from(Before { a, b }: Before<[String; 2]>) -> Self {
            let other = Pair { it: b.it, size: a.size };
            NamesMove { n: New { it: a.it, other, len: b.size } }
        }
    }
    let names = Pair { it: ["a", "b"].map(str::to_owned), size: 2 };
    assert_snapshot!(migrated::<NamesMove>(&Before { a: names, b: b() }), @"filled `.n.it`, `.n.other.it`; dropped `.a.it`, `.b.it`; renamed `.a` to `.n.other`, `.b.size` to `.n.len`");
}

#[test]
fn a_long_vector_is_one_item() {
    #[derive(Serialize)]
    struct Before {
        w: Vec<f64>,
        b: Vec<f64>,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "w")]
        weights: Vec<f32>,
        #[serde(alias = "b")]
        bias: Vec<f64>,
    }
    let w: Vec<f64> = (0..20_000).map(f64::from).collect();
    let old = Before { w: w.clone(), b: w };
    assert_snapshot!(migrated::<After>(&old), @"renamed `.w` to `.weights`, `.b` to `.bias`; changed f64 to f32 at `.weights`");
}
