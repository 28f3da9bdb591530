//! One file per subcommand: arguments and `run`.

pub mod completions;
pub mod synth;

use std::process::ExitCode;

/// What `main` does: parse, run, map the outcome to an exit code.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
