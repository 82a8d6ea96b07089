//! The examples, each of which ends with an assertion, and their length.

use std::error::Error;

macro_rules! examples {
    ($($name:ident: $path:literal,)*) => {$(
        #[path = $path]
        mod $name;

        #[test]
        fn $name() -> Result<(), Box<dyn Error>> {
            let text = include_str!($path);
            // Not counted are imports, attributes, comments and empty lines.
            let starts = ["use ", "#[", "//"];
            let is_code = |line: &&str| {
                !line.trim().is_empty() && !starts.iter().any(|start| line.starts_with(start))
            };
            let lines = text.lines().filter(is_code).count();
            assert!(lines <= 30, "{lines} lines");
            $name::main().map_err(Into::into)
        }
    )*};
}

examples! {
    argmin_lbfgs: "../examples/argmin_lbfgs.rs",
    argmin_nelder_mead: "../examples/argmin_nelder_mead.rs",
    argmin_own_types: "../examples/argmin_own_types.rs",
    cmaes: "../examples/cmaes.rs",
    cobyla: "../examples/cobyla.rs",
    diffsol: "../examples/diffsol.rs",
    levenberg_marquardt: "../examples/levenberg_marquardt.rs",
    nuts: "../examples/nuts.rs",
}
