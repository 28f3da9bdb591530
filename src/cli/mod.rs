//! One file per subcommand: arguments and `run`.

use std::process::ExitCode;

pub mod devices;

#[derive(clap::Parser)]
enum Command {
    Devices(devices::Args),
    BenchSort(crate::bench::sort::Args),
}

/// What `main` does: parse, run, map the outcome to an exit code.
#[allow(clippy::print_stderr, reason = "errors go to stderr")]
pub fn main() -> ExitCode {
    let outcome = match <Command as clap::Parser>::parse() {
        Command::Devices(args) => devices::run(&args),
        Command::BenchSort(args) => crate::bench::sort::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gamut: {error:#}");
            ExitCode::from(2)
        }
    }
}
