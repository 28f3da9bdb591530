//! Files that commands write beside what they print.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// Such a file, for clap; it is not called `-`, which is the standard output elsewhere.
pub(crate) fn named_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => Err("- is the standard output elsewhere and no file here; give a name, or ./- for a file of that name"),
        false => Ok(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn test_a_file_beside_the_results_is_not_called_as_they_are() {
        let command = Command::new("x").arg(Arg::new("csv").long("csv").value_parser(named_file()));
        let given = |text: &str| command.clone().try_get_matches_from(["x", "--csv", text]);
        assert!(given("-").is_err_and(|error| error.to_string().contains("./-")));
        assert_eq!(given("./-").expect("a file").get_one::<PathBuf>("csv"), Some(&PathBuf::from("./-")));
    }
}
