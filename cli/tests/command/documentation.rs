//! What `docs/cli.md` says.

use std::process::Command;

use sluice_testbed::tools;

/// One command of a transcript and what it prints.
struct Step {
    command: String,
    output: String,
}

/// The transcripts in the blocks that show output.
fn transcripts() -> Vec<Step> {
    let text = std::fs::read_to_string(tools::workspace().join("docs/cli.md")).unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step {
                    command: command.to_owned(),
                    output: String::new(),
                }),
                (None, Some(step)) => step.output.push_str(&format!("{line}\n")),
                (None, None) => panic!("{line} stands before any command"),
            },
        }
    }
    steps
}

/// Commands whose output is shown print it; three dots stand for lines that are left out.
#[test]
fn transcripts_are_what_the_commands_print() {
    let steps = transcripts();
    assert!(steps.len() >= 3);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_sluice"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for Step { command, output } in steps {
        let ended = Command::new("sh")
            .args(["-c", &command])
            .env("PATH", &path)
            .env_remove("FLUX_SYSTEM_NAMESPACE")
            .env_remove("KUBECONFIG")
            .current_dir(tools::workspace().join("examples/fleet"))
            .output()
            .unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        assert!(
            ended.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
        if !output.contains("…\n") {
            assert_eq!(printed, output, "{command}");
        }
        let mut rest = printed.as_str();
        for part in output.split("…\n") {
            let Some(at) = rest.find(part) else {
                panic!("{command} does not print\n{part}\nbut\n{printed}");
            };
            rest = &rest[at + part.len()..];
        }
    }
}
