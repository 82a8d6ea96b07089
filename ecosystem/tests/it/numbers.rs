//! Numbers.

use crate::laws::{holds, holds_flattened};

#[test]
fn half() {
    use half::{bf16, f16};

    // Their bits are an integer to serde, so these are no floats here.
    holds(f16::from_f32(1.5));
    holds(bf16::from_f32(-0.0));
    holds(vec![f16::INFINITY; 10]);
    insta::assert_snapshot!(treedef::structure(&f16::ONE).unwrap(), @"f16(*)");
    assert_eq!(treedef::flatten(&f16::ONE).unwrap().0, [0x3c00u16.into()]);
}

#[test]
fn half_as_floats() {
    use half::{bf16, f16};
    use serde::{Deserialize, Serialize};
    use treedef::{ArrayRule, Flattener, LeafKind};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Mixed {
        w: Vec<f16>,
        b: Option<bf16>,
        lr: f64,
        steps: u16,
    }
    let floats = Flattener::new().leaves_where(LeafKind::is_float).array_rule(ArrayRule::Half);
    let w = vec![f16::from_f32(1.5), f16::from_bits(0x7c01), f16::NEG_ZERO];
    let model = Mixed { w, b: Some(bf16::from_f32(-2.0)), lr: 0.1, steps: 3 };
    let (leaves, treedef) = floats.flatten(&model).unwrap();
    insta::assert_snapshot!(treedef, @"Mixed { w: [*, *, *], b: Some(*), lr: *, steps: static 3u16 }");
    assert_eq!(leaves[0], 1.5f32.into());
    let bits = |model: &Mixed| model.w.iter().map(|w| w.to_bits()).collect::<Vec<_>>();
    let rebuilt: Mixed = treedef::unflatten(&treedef, leaves).unwrap();
    assert_eq!((bits(&rebuilt), rebuilt.b), (bits(&model), model.b));
    let (leaves, _) = floats.flatten_as::<f64>(&model).unwrap();
    assert_eq!(bits(&treedef::unflatten(&treedef, &leaves).unwrap()), bits(&model));
    let mut again = Vec::new();
    floats.flatten_like(&treedef, &rebuilt, &mut again).unwrap();
    assert_eq!(
        again.iter().map(|x: &f64| x.to_bits()).collect::<Vec<_>>(),
        leaves.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    );

    let error = treedef::unflatten::<Mixed>(&treedef, [1e5, 0.0, 0.0, 0.0, 0.0]).unwrap_err();
    insta::assert_snapshot!(error, @"invalid value: floating point `100000.0`, expected f16 at `.w[0]`");
    // Without the rules they are integers, but come back from a float all the same.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Marked(#[serde(serialize_with = "f16::serialize_as_f32")] f16, u8);
    let (leaves, treedef) = treedef::flatten(&Marked(f16::MIN, 1)).unwrap();
    assert_eq!(leaves[0], (-65504f32).into());
    assert_eq!(treedef::unflatten::<Marked>(&treedef, leaves).unwrap(), Marked(f16::MIN, 1));
    // serde's buffers hold the float, and `half` does not know it there.
    #[derive(Debug, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Mixed,
    }
    let (leaves, treedef) = floats.flatten(&Outer { inner: model }).unwrap();
    let error = treedef::unflatten::<Outer>(&treedef, leaves).unwrap_err();
    assert!(error.to_string().contains("expected u16"), "{error}");
    // A type that only has the name.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename = "bf16")]
    struct Other(f64);
    let (leaves, treedef) = floats.flatten(&vec![Other(1e300)]).unwrap();
    assert_eq!(treedef.to_string(), "[*]");
    assert_eq!(treedef::unflatten::<Vec<Other>>(&treedef, leaves).unwrap(), [Other(1e300)]);
}

/// Every number of 16 bits, and the rounding of others, as the crate has them.
#[test]
fn half_has_the_same_numbers() {
    use half::{bf16, f16};
    use treedef::{ArrayRule, Flattener, unflatten};

    let floats = Flattener::new().array_rule(ArrayRule::Half);
    let all: Vec<(f16, bf16)> =
        (0..=u16::MAX).map(|bits| (f16::from_bits(bits), bf16::from_bits(bits))).collect();
    let (leaves, treedef) = floats.flatten_as::<f32>(&all).unwrap();
    for ((half, brain), leaves) in all.iter().zip(leaves.chunks(2)) {
        for (expected, is_nan, found) in
            [(half.to_f32(), half.is_nan(), leaves[0]), (brain.to_f32(), brain.is_nan(), leaves[1])]
        {
            assert!(expected == found || is_nan && found.is_nan(), "{half} {brain} {found}");
        }
    }
    let rebuilt: Vec<(f16, bf16)> = unflatten(&treedef, &leaves).unwrap();
    type Pair = (f16, bf16);
    let bits = |(half, brain): &Pair| (half.to_bits(), brain.to_bits());
    assert!(rebuilt.iter().map(bits).eq(all.iter().map(bits)));

    let one = floats.structure(&(f16::ONE, bf16::ONE)).unwrap();
    let mut state = 7u64;
    for round in 0..20_000u32 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = f32::from_bits((state >> 32) as u32);
        // Most are near the numbers of 16 bits, and half of these between two of them.
        let near = f16::from_bits((state >> 20) as u16).to_f32();
        let number = match round % 4 {
            0 => number,
            1 => near * 1.000_1,
            2 => (near + f16::from_bits((state >> 20) as u16 ^ 1).to_f32()) / 2.0,
            _ => bf16::from_bits((state >> 20) as u16).to_f32() * (1.0 + 1.0 / 256.0),
        };
        let wide = f64::from(number) * if round % 8 < 4 { 1.0 } else { 1.0 + 1e-12 };
        let pairs: [(Pair, treedef::Result<Pair>); 2] = [
            ((f16::from_f32(number), bf16::from_f32(number)), unflatten(&one, [number; 2])),
            // This ignores the lower half of the bits, so the wrong one may be the nearest there.
            ((f16::from_f64(wide), bf16::from_f64(wide)), unflatten(&one, [wide; 2])),
        ];
        for (way, (theirs, ours)) in pairs.into_iter().enumerate() {
            let far = |of: f64| (of - wide).abs();
            match ours {
                Ok(ours) if number.is_nan() => assert!(ours.0.is_nan() && ours.1.is_nan()),
                Ok(ours) if way == 0 => assert_eq!(bits(&ours), bits(&theirs), "{number}"),
                Ok(ours) => {
                    assert!(far(ours.0.to_f64()) <= far(theirs.0.to_f64()), "{wide}");
                    assert!(far(ours.1.to_f64()) <= far(theirs.1.to_f64()), "{wide}");
                }
                Err(error) => assert!(theirs.0.is_infinite() || theirs.1.is_infinite(), "{error}"),
            }
        }
    }
}

#[test]
fn num_complex() {
    use num_complex::{Complex32, Complex64};

    holds(Complex64::new(1.0, -2.0));
    holds(vec![Complex32::new(0.0, f32::MIN_POSITIVE); 7]);
}

#[test]
fn num_bigint() {
    use num_bigint::{BigInt, BigUint};

    holds("-123456789012345678901234567890".parse::<BigInt>().unwrap());
    holds(BigUint::from(u128::MAX));
    holds(BigInt::ZERO);
}

#[test]
fn ordered_float() {
    use ordered_float::{NotNan, OrderedFloat};

    holds(OrderedFloat(1.5f32));
    holds(OrderedFloat(f64::NAN));
    holds(std::collections::BTreeMap::from([(OrderedFloat(0.5), OrderedFloat(-0.0))]));
    holds(NotNan::new(2.5).unwrap());

    let treedef = treedef::structure(&[NotNan::new(2.5).unwrap()]).unwrap();
    let error = treedef::unflatten::<[NotNan<f64>; 1]>(&treedef, [f64::NAN]).unwrap_err();
    insta::assert_snapshot!(error, @"invalid value: floating point `NaN`, expected float (but not NaN) at `.0`");
}

#[test]
fn rust_decimal() {
    use rust_decimal::Decimal;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Price {
        net: Decimal,
        optional: Option<Decimal>,
    }

    holds(Decimal::new(-12345, 3));
    holds(Decimal::MAX);
    holds_flattened(Price { net: Decimal::new(100, 2), optional: Some(Decimal::ZERO) });
}

#[test]
fn bitflags() {
    bitflags::bitflags! {
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        struct Flags: u32 {
            const A = 1;
            const B = 2;
            const _ = !0;
        }
    }

    holds(Flags::A | Flags::B);
    holds(Flags::empty());
    holds(Flags::from_bits_retain(0x105));
    assert_eq!(treedef::flatten(&(Flags::A | Flags::B)).unwrap().0, ["A | B".into()]);
}

#[test]
fn ipnet() {
    use ipnet::IpNet;

    holds("10.1.0.0/16".parse::<IpNet>().unwrap());
    holds("fe80::/10".parse::<IpNet>().unwrap());
}

/// Types with two forms: the compact one is made of numbers.
#[test]
fn compact_forms() {
    use treedef::Flattener;

    let value = (
        uuid::Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
        "10.1.0.0/16".parse::<ipnet::IpNet>().unwrap(),
        time::macros::datetime!(2024-02-29 12:30:45.5 +2),
        std::net::Ipv4Addr::LOCALHOST,
    );
    let compact = Flattener::new().compact(true);
    let (leaves, treedef) = compact.flatten(&value).unwrap();
    insta::assert_snapshot!(treedef, @"#[compact] (*, IpNet::V4((*; 5)), (*; 9), (*, *, *, *))");
    let parsed: treedef::TreeDef = treedef.to_string().parse().unwrap();
    assert_eq!(parsed, treedef);
    let rebuilt: (uuid::Uuid, ipnet::IpNet, time::OffsetDateTime, std::net::Ipv4Addr) =
        treedef::unflatten_strict(&treedef, leaves).unwrap();
    assert_eq!(rebuilt, value);
}
