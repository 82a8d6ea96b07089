//! The interface to a shell: completions, the man page, colours.

use std::process::Command;

use crate::{Folder, printed, recorded, treedef};

/// The names of all subcommands, as the help lists them.
fn subcommands() -> Vec<String> {
    let help = printed(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn completions_have_every_subcommand_and_are_scripts() {
    let subcommands = subcommands();
    assert_eq!(subcommands.len(), 12);
    // With the option by which a shell reads a script and does not run it.
    let shells = [
        ("bash", Some("-n")),
        ("zsh", Some("-n")),
        ("fish", Some("--no-execute")),
        ("elvish", None),
        ("powershell", None),
    ];
    let folder = Folder::new("completions");
    for (shell, check) in shells {
        let script = printed(&["completions", shell]);
        for name in &subcommands {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(script.contains("max-depth"), "{shell}");
        let json: serde_json::Value =
            serde_json::from_str(&printed(&["completions", shell, "--json"])).unwrap();
        assert_eq!(json["text"], script);
        let path = folder.path(json["file"].as_str().unwrap());
        std::fs::write(&path, &script).unwrap();
        // A shell that is not installed cannot check a script.
        let Some(check) = check else { continue };
        if let Ok(output) = Command::new(shell).args([check, &path]).output() {
            assert!(output.status.success(), "{shell}: {output:?}");
        }
    }
}

#[test]
fn bash_completes_subcommands_and_options() {
    let folder = Folder::new("bash");
    let path = folder.path("treedef.bash");
    std::fs::write(&path, printed(&["completions", "bash"])).unwrap();
    let completed = |words: &str| {
        let script = format!(
            "source {path}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _treedef treedef \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &script]).output().ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(subcommands) = completed("treedef s") else { return };
    assert_eq!(subcommands, "show summary shapes select\n");
    assert_eq!(completed("treedef shapes --fold-l").unwrap(), "--fold-lengths\n");
}

#[test]
fn the_man_page_has_every_subcommand() {
    let page = printed(&["man"]);
    for name in subcommands() {
        assert!(page.contains(&format!(".TH treedef-{name} 1")), "{name}");
        assert!(page.contains(&format!("treedef\\-{name}(1)")), "{name}");
    }
    let json: serde_json::Value = serde_json::from_str(&printed(&["man", "--json"])).unwrap();
    assert_eq!((json["file"].as_str(), json["text"].as_str()), (Some("treedef.1"), Some(&*page)));
}

#[test]
fn every_subcommand_prints_json() {
    for name in subcommands() {
        assert!(printed(&[&name, "--help"]).contains("--json"), "{name}");
    }
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    let path = recorded("numbers.json");
    let shown = |variables: &[(&str, &str)]| {
        let mut command = treedef(&["show", &path, "--fold-lengths"]);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        text.lines().nth(1).unwrap().to_owned()
    };
    let plain = r#"{"none": null, "steps": [u64; _], "weights": [[f64; _]; _]}"#;
    let coloured = plain.replace("\"none\"", "\x1b[34m\"none\"\x1b[0m");
    let coloured = coloured.replace("\"steps\"", "\x1b[34m\"steps\"\x1b[0m");
    let coloured = coloured.replace("\"weights\"", "\x1b[34m\"weights\"\x1b[0m");
    let coloured = coloured
        .replace("null", "\x1b[36mnull\x1b[0m")
        .replace("u64", "\x1b[36mu64\x1b[0m")
        .replace("f64", "\x1b[36mf64\x1b[0m");
    assert_eq!(shown(&[]), plain); // a pipe
    assert_eq!(shown(&[("TERM", "xterm")]), plain);
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("TERM", "xterm")]), coloured);
    assert_eq!(shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
}

#[test]
fn what_is_installed_with_the_wheel_is_what_is_printed() {
    let share = concat!(env!("CARGO_MANIFEST_DIR"), "/wheel/installed/data/share/");
    for (path, args) in [
        ("man/man1/treedef.1", &["man"][..]),
        ("bash-completion/completions/treedef", &["completions", "bash"]),
        ("zsh/site-functions/_treedef", &["completions", "zsh"]),
        ("fish/vendor_completions.d/treedef.fish", &["completions", "fish"]),
    ] {
        let file = std::fs::read_to_string(format!("{share}{path}")).unwrap();
        assert!(file == printed(args), "{path} is old: run crates/cli/wheel/write");
    }
}
