//! What is one string to serde.

use crate::laws::{holds, holds_flattened};

#[test]
fn url() {
    use url::{Host, Url};

    holds(Url::parse("https://user@example.org:8080/a/b?c=d#e").unwrap());
    holds(Url::parse("data:text/plain,%20").unwrap());
    holds_flattened(Host::Domain("example.org".to_owned()));
    holds_flattened(Host::<String>::Ipv6(std::net::Ipv6Addr::LOCALHOST));

    let (_, treedef) = treedef::flatten(&["a:b"]).unwrap();
    let error = treedef::unflatten::<[Url; 1]>(&treedef, ["no url".to_owned()]).unwrap_err();
    insta::assert_snapshot!(error, @r#"relative URL without a base: "no url" at `.0`"#);
}

#[test]
fn semver() {
    use semver::{Comparator, Version, VersionReq};

    holds(Version::parse("1.2.3-rc.1+build.5").unwrap());
    holds(VersionReq::parse(">=1.2, <2").unwrap());
    holds(Comparator::parse("~1.2").unwrap());
}

#[test]
fn smol_str() {
    holds(smol_str::SmolStr::new("short"));
    holds(smol_str::SmolStr::new("long enough to leave the twenty-three bytes"));
}

#[test]
fn compact_str() {
    holds(compact_str::CompactString::new("short"));
    holds(compact_str::CompactString::new("long enough to leave the twenty-four bytes"));
}

#[test]
fn camino() {
    holds(camino::Utf8PathBuf::from("a/ä.txt"));
}
