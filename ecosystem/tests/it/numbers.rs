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
    assert_eq!(treedef::leaves(&f16::ONE).unwrap(), [0x3c00u16.into()]);
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
    assert_eq!(treedef::leaves(&(Flags::A | Flags::B)).unwrap(), ["A | B".into()]);
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
    let compact = Flattener::new().human_readable(false);
    let (leaves, treedef) = compact.flatten(&value).unwrap();
    insta::assert_snapshot!(treedef, @"#[compact] (*, IpNet::V4((*; 5)), (*; 9), (*, *, *, *))");
    let parsed: treedef::TreeDef = treedef.to_string().parse().unwrap();
    assert_eq!(parsed, treedef);
    let rebuilt: (uuid::Uuid, ipnet::IpNet, time::OffsetDateTime, std::net::Ipv4Addr) =
        treedef::unflatten_strict(&treedef, leaves).unwrap();
    assert_eq!(rebuilt, value);
}
