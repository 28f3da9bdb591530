//! The commands that faults befall, and what they begin with.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::common::{gzip, put, records};
use super::{names, ok, run};

/// A command that makes or changes `target`, in a directory that was prepared. Faults are below `w`, where the inputs
/// are not: an input that cannot be read is a loss, and ends no build.
pub struct Case {
    pub name: &'static str,
    /// An index or a file in `w`.
    pub target: &'static str,
    /// `D` stands for the directory.
    pub args: &'static str,
}

impl Case {
    const fn new(name: &'static str, target: &'static str, args: &'static str) -> Self {
        Self { name, target, args }
    }

    /// A directory with what it needs.
    pub fn fresh(&self) -> tempfile::TempDir {
        let (dir, from) = (tempfile::tempdir().unwrap(), prepared());
        copy(&from.join("in"), &dir.path().join("in"));
        fs::copy(from.join("more.warc.gz"), dir.path().join("more.warc.gz")).unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        let given = self.args.split(' ').filter_map(|arg| arg.strip_prefix("D/w/")).map(str::to_owned);
        let left = names(from).into_iter().filter(|name| name.starts_with(&format!(".{}.", self.target)));
        for name in given.chain(left) {
            copy(&from.join("w").join(&name), &dir.path().join("w").join(&name));
        }
        dir
    }

    /// Operations that it cannot do without. An index is synced, and takes its name by a rename; a file that can be
    /// made again is not synced.
    pub fn operations(&self) -> &'static [&'static str] {
        match self.name {
            "share of a merge" => &["write", "open", "rename"],
            name if name.starts_with("export") => &["write", "open", "link"],
            _ => &["write", "open", "fsync", "rename"],
        }
    }
}

/// A build of which an earlier process left something.
const RESUMED: &str = "index D/in -o D/w/r --store --links --block-keys 4096 --resume";

pub const BUILD: &str = "--sorter cpu --memory 512MiB --threads 2 --quiet";

pub const CASES: [Case; 19] = [
    Case::new("index", "t", "index D/in -o D/w/t --store --links --impacts --tables --block-keys 4096"),
    Case::new("index over an old one", "old", "index D/in -o D/w/old --force --codec vbyte"),
    Case::new("resume", "t", "index D/in -o D/w/t --store --links --tables --block-keys 4096 --resume"),
    Case::new("resume in another order", "t", "index D/in -o D/w/t --order url --block-keys 4096 --resume"),
    Case::new("resume behind a kill", "r", RESUMED),
    Case::new("reencode", "old", "reencode D/w/old --codec pef"),
    Case::new("reorder", "old", "reorder D/w/old --order url"),
    Case::new("merge", "t", "merge D/w/a D/w/b -o D/w/t"),
    Case::new("merge over an old one", "old", "merge D/w/a D/w/b -o D/w/old --force"),
    Case::new("share of a merge", "t", "merge D/w/a D/w/b --lists 2/2 -o D/w/t"),
    Case::new("merge with lists", "t", "merge D/w/a D/w/b --with D/w/lists -o D/w/t"),
    Case::new("append", "old", "append D/w/old D/more.warc.gz"),
    Case::new("delete", "old", "delete D/w/old --match url=*1"),
    Case::new("purge", "gone", "delete D/w/gone --purge"),
    Case::new("import", "t", "import D/w/old.ciff -o D/w/t"),
    Case::new("import over an old one", "old", "import D/w/a.ciff -o D/w/old --force"),
    Case::new("import in another order", "t", "import D/w/old.ciff -o D/w/t --order random:3"),
    Case::new("export", "t", "export D/w/old -o D/w/t"),
    Case::new("export over an old one", "old.ciff", "export D/w/a -o D/w/old.ciff --force"),
];

/// What all cases begin with: inputs, an index, two halves of one and a share of the lists of both, an index with
/// deleted documents, and CIFF files.
pub fn prepared() -> &'static Path {
    static PREPARED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = PREPARED.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let members = |seed, documents| records(seed, documents).iter().flat_map(|r| gzip(r)).collect::<Vec<u8>>();
        fs::create_dir(dir.path().join("in")).unwrap();
        put(&dir.path().join("in"), "0.warc.gz", &members(1, 24));
        put(&dir.path().join("in"), "1.warc.gz", &gzip(&records(2, 16).concat()));
        put(&dir.path().join("in"), "2.warc", &records(3, 12).concat());
        put(dir.path(), "more.warc.gz", &members(4, 12));
        for (input, output) in [("in", "old"), ("in/0.warc.gz", "a"), ("in/2.warc", "b"), ("in/0.warc.gz", "gone")] {
            ok(&run(dir.path(), &format!("index D/{input} -o D/w/{output} --store {BUILD}"), &[]));
        }
        ok(&run(dir.path(), "delete D/w/gone --match url=*1 --quiet", &[]));
        ok(&run(dir.path(), "merge D/w/a D/w/b --lists 2/2 -o D/w/lists --quiet", &[]));
        for index in ["old", "a"] {
            ok(&run(dir.path(), &format!("export D/w/{index} -o D/w/{index}.ciff --quiet"), &[]));
        }
        leave(dir.path());
        dir
    });
    dir.path()
}

/// Leaves what [`RESUMED`] goes on with: it is killed as late as it may be to have a note.
fn leave(dir: &Path) {
    for call in (1..40).rev().map(|i| 10 * i) {
        run(dir, &format!("{RESUMED} {BUILD}"), &[("GAMUT_FAULT", format!("kill:calls:{call}"))]);
        let hidden = names(dir).into_iter().find(|name| name.starts_with(".r."));
        let left = hidden.map(|name| dir.join("w").join(name));
        match left {
            Some(left) if left.join("runs/mark").is_file() => return,
            Some(left) => fs::remove_dir_all(left).unwrap(),
            None => {}
        }
        if dir.join("w/r").exists() {
            // It was killed too late, or not at all.
            fs::remove_dir_all(dir.join("w/r")).unwrap();
        }
    }
    panic!("no kill left a note");
}

/// Copies a file or a directory, if it is there.
pub fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
    } else if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
}
