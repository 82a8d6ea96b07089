//! Nodes without leaves, and nodes without leaves in one of two values.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;

use super::migrated;

/// A node without leaves cannot be followed by a leaf: it is compared where its parent is now.
#[test]
fn what_has_no_leaves_in_a_renamed_struct_is_mentioned() {
    #[derive(Serialize)]
    struct Before<T> {
        eta: T,
    }
    #[derive(Serialize, Deserialize)]
    struct After<T> {
        #[serde(alias = "eta")]
        kappa: T,
    }
    #[derive(Serialize, Deserialize, Default)]
    struct Full {
        beta: f64,
        #[serde(default)]
        eps: Vec<f64>,
        #[serde(default)]
        n: Option<u8>,
        #[serde(default)]
        unit: (),
    }
    #[derive(Serialize, Deserialize)]
    struct Lean {
        beta: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct Other {
        beta: f64,
        #[serde(alias = "eps")]
        epsilons: Vec<f64>,
    }
    let full = || Full { beta: 1.0, ..Full::default() };
    assert_snapshot!(migrated::<After<Lean>>(&Before { eta: full() }), @"dropped `.eta.eps`, `.eta.n`, `.eta.unit`; renamed `.eta` to `.kappa`");
    assert_snapshot!(migrated::<After<Full>>(&Before { eta: Lean { beta: 1.0 } }), @"filled `.kappa.eps`, `.kappa.n`, `.kappa.unit`; renamed `.eta` to `.kappa`");
    assert_snapshot!(migrated::<After<Other>>(&Before { eta: full() }), @"filled `.kappa.epsilons`; dropped `.eta.eps`, `.eta.n`, `.eta.unit`; renamed `.eta` to `.kappa`");
    assert_snapshot!(migrated::<After<Full>>(&Before { eta: full() }), @"renamed `.eta` to `.kappa`");
    assert_snapshot!(migrated::<After<Vec<Lean>>>(&Before { eta: [full(), full()] }), @"dropped `.eta.0.eps`, `.eta.0.n`, `.eta.0.unit` and 3 more; renamed `.eta` to `.kappa`; changed `(Full { beta: *, eps: [], n: None, unit: () }; 2)` to `[Lean { beta: * }; 2]` at `.kappa`");
    assert_snapshot!(migrated::<After<(Lean,)>>(&Before { eta: [full()] }), @"dropped `.eta.0.eps`, `.eta.0.n`, `.eta.0.unit`; renamed `.eta` to `.kappa`");
    assert_snapshot!(migrated::<Vec<After<Lean>>>(&[Before { eta: full() }, Before { eta: full() }]), @"dropped `.0.eta.eps`, `.0.eta.n`, `.0.eta.unit` and 3 more; renamed `.0.eta` to `[0].kappa`, `.1.eta` to `[1].kappa`; changed `(Before { eta: Full { beta: *, eps: [], n: None, unit: () } …` to `[After { kappa: Lean { beta: * } }; 2]` at the root");
    // A level that is renamed below a level that is renamed.
    assert_snapshot!(migrated::<After<After<Lean>>>(&Before { eta: Before { eta: full() } }), @"dropped `.eta.eta.eps`, `.eta.eta.n`, `.eta.eta.unit`; renamed `.eta` to `.kappa`, `.eta.eta` to `.kappa.kappa`");
    // The only leaf has another name, too.
    #[derive(Serialize, Deserialize)]
    struct Renamed {
        #[serde(alias = "beta")]
        momentum: f64,
        #[serde(default)]
        seed: Option<u8>,
    }
    assert_snapshot!(migrated::<After<Renamed>>(&Before { eta: full() }), @"filled `.kappa.seed`; dropped `.eta.eps`, `.eta.n`, `.eta.unit`; renamed `.eta` to `.kappa`, `.eta.beta` to `.kappa.momentum`");
    #[derive(Serialize)]
    enum Rule {
        Adam { beta: f64, eps: Vec<f64> },
    }
    assert_snapshot!(migrated::<Kind>(&Rule::Adam { beta: 1.0, eps: vec![] }), @"dropped `::Adam.eps`; changed `Rule::Adam { beta: *, eps: [] }` to `Rule::Adamax { beta: * }` at the root");
    #[derive(Serialize, Deserialize)]
    #[serde(rename = "Rule")]
    enum Kind {
        #[serde(alias = "Adam")]
        Adamax { beta: f64 },
    }
}

/// In each element of a list the same is found as in the first.
#[test]
fn what_has_no_leaves_is_renamed_in_each_element() {
    #[derive(Serialize)]
    struct Before {
        eta: Inner,
    }
    #[derive(Serialize)]
    struct Inner {
        beta: f64,
        eps: Vec<f64>,
        n: Option<u8>,
    }
    #[derive(Serialize, Deserialize)]
    struct After {
        #[serde(alias = "eta")]
        kappa: Other,
    }
    #[derive(Serialize, Deserialize)]
    struct Other {
        beta: f64,
        #[serde(alias = "eps")]
        epsilons: Vec<f64>,
    }
    let each = |_| Before { eta: Inner { beta: 1.0, eps: vec![], n: None } };
    let old: Vec<Before> = (0..100).map(each).collect();
    let (_, migration) = Tree::of(&old).unwrap().migrate::<Vec<After>>().unwrap();
    assert_snapshot!(migration, @"filled `[*].kappa.epsilons` (×100); dropped `[*].eta.eps` (×100), `[*].eta.n` (×100); renamed `[*].eta` to `[*].kappa` (×100)");
    assert_eq!(migration.renamed.len(), 100);
}

/// A node that has no leaves on one side was renamed as a whole, and differences inside are reported
/// separately.
#[test]
fn what_is_inside_of_a_renamed_node_without_leaves_is_mentioned() {
    #[derive(Clone, Serialize)]
    struct Before<T> {
        w: T,
    }
    #[derive(Serialize, Deserialize)]
    struct After<T> {
        #[serde(alias = "w")]
        s: T,
    }
    fn seven() -> f64 {
        7.0
    }
    #[derive(Clone, Serialize, Deserialize)]
    struct Full {
        d: Vec<u8>,
        z: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Lean {
        d: Vec<u8>,
    }
    #[derive(Serialize, Deserialize)]
    struct WithRate {
        d: Vec<u8>,
        #[serde(default = "seven")]
        lr: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct Rate {
        #[serde(default = "seven")]
        lr: f64,
    }
    #[derive(Serialize, Deserialize)]
    struct Renamed {
        #[serde(alias = "d")]
        x: Vec<u8>,
    }
    #[derive(Serialize)]
    struct Nothing {
        d: Option<u8>,
        k: (),
    }
    assert_snapshot!(migrated::<After<WithRate>>(&Before { w: Lean { d: vec![1] } }), @"filled `.s.lr`; renamed `.w` to `.s`");
    assert_snapshot!(migrated::<After<WithRate>>(&Before { w: Lean { d: vec![] } }), @"filled `.s`; dropped `.w`");
    assert_snapshot!(migrated::<After<Rate>>(&Before { w: Nothing { d: None, k: () } }), @"filled `.s`; dropped `.w`");
    assert_snapshot!(migrated::<After<Lean>>(&Before { w: Full { d: vec![9], z: 1 } }), @"dropped `.w.z`; renamed `.w` to `.s`");
    assert_snapshot!(migrated::<After<Lean>>(&Before { w: Full { d: vec![], z: 1 } }), @"filled `.s`; dropped `.w`");
    assert_snapshot!(migrated::<After<Renamed>>(&Before { w: Full { d: vec![9], z: 1 } }), @"dropped `.w.z`; renamed `.w` to `.s`, `.w.d` to `.s.x`");
    assert_snapshot!(migrated::<After<Renamed>>(&Before { w: Full { d: vec![], z: 1 } }), @"filled `.s`; dropped `.w`");
    assert_snapshot!(migrated::<After<Option<u8>>>(&Before { w: () }), @"filled `.s`; dropped `.w`");
    assert_snapshot!(migrated::<Vec<After<Lean>>>(&vec![Before { w: Full { d: vec![], z: 1 } }; 3]), @"filled `[*].s` (×3); dropped `[*].w` (×3)");
}
