//! `gamut completions`: prints a shell's completion script.

use crate::base::json;
use clap_complete::Shell;

/// Print a shell completion script
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_enum)]
    pub shell: Shell,
    /// Print one JSON object instead of the script alone
    #[arg(long)]
    json: bool,
}

/// Writes the completion script of `command` to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &Args, command: &mut clap::Command) -> anyhow::Result<()> {
    use std::io::Write;
    // Into memory first: the generator itself panics when a pipe breaks.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "gamut", &mut script);
    if args.json {
        let script = String::from_utf8_lossy(&script);
        return Ok(json::print(&serde_json::json!({ "shell": args.shell.to_string(), "script": script }))?);
    }
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    #[test]
    fn every_shell_has_a_script_that_names_the_subcommands() {
        let mut command = clap::Command::new("gamut").subcommand(clap::Command::new("frobnicate"));
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, "gamut", &mut script);
            assert!(String::from_utf8(script).unwrap().contains("frobnicate"), "{shell}");
        }
    }
}
