//! `gamut completions`: prints a shell's completion script.

use clap_complete::Shell;

/// Print a shell completion script
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_enum)]
    pub shell: Shell,
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
