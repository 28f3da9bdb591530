//! The `gamut` command: calls the library and maps its outcome to an exit code.

fn main() -> std::process::ExitCode {
    gamut::cli::main()
}
