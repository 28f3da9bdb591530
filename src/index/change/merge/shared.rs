//! Lists of a union that several processes encode: each of the others writes a file, and the merge takes it.

use super::super::stage;
use super::duplicates::{self, OnDuplicate};
use super::lists::Lists;
use super::share::{self, Share, Shares, Task};
use super::spool::{Header, Reader, Writer};
use super::terms::Numbers;
use super::{Merge, Sound, documents, imported, input, opened, parts, sound};
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::index::format;
use crate::index::read::reader::Index;
use crate::index::write::unfinished::Unfinished;
use crate::index::{EncodedLists, ListEncoder, in_no_index};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::Xxh3;

/// What [`encode_lists`] did.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Which share it was.
    pub share: Share,
    /// Terms of the share.
    pub terms: u64,
    /// Postings of the share.
    pub postings: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Parts of a crawl that are missing among the inputs, as in [`super::Merged`].
    pub missing_parts: Vec<String>,
    /// Seconds of comparing the inputs with their checksums.
    pub check_seconds: f64,
    /// Seconds of merging dictionaries.
    pub terms_seconds: f64,
    /// Seconds of encoding the lists.
    pub lists_seconds: f64,
}

/// Encodes a share of the lists of a union, and writes them to the file `change.output`: for a merge of the same inputs
/// by another process, with the same choice for duplicates. Order, impacts and tables of the union do not matter.
///
/// # Errors
/// Those of [`super::merge`]. Nothing is at `change.output` then but what was there before.
pub fn encode_lists(change: &Merge<'_>, share: Share) -> Result<Encoded> {
    check_target(change.output, change.force)?;
    if let Some(file) = change.inputs.iter().find(|path| path.is_file()) {
        let why = "is a file; shares of lists are made of indexes, so `gamut import` it before".to_owned();
        return Err(Error::Invalid { what: file.display().to_string(), why });
    }
    let indexes = opened(change.inputs)?;
    let missing_parts = parts::missing(&indexes, change.on_duplicate)?;
    input::common(&indexes, change)?;
    let done = encoded(&indexes, change, share);
    let done = done.map_err(|error| indexes.iter().find_map(|index| index.unchanged().err()).unwrap_or(error))?;
    Ok(Encoded { missing_parts, ..done })
}

/// Refuses a target that may not be written.
fn check_target(target: &Path, force: bool) -> Result<()> {
    match std::fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => in_no_index(target),
        Err(error) => Err(Error::io("look at", target)(error)),
        Ok(_) if !force => Err(Error::Exists { path: target.to_owned() }),
        // Nothing else is replaced.
        Ok(_) => Reader::open(target).map(drop),
    }
}

fn encoded(indexes: &[Index], change: &Merge<'_>, share: Share) -> Result<Encoded> {
    let means = &change.means;
    let all = change.on_duplicate != OnDuplicate::KeepAll;
    let is_read = |name: &str| if all { input::is_read(name) } else { input::is_read_for_lists(name) };
    let dropped = |_: &Merge<'_>| duplicates::find(indexes, change.on_duplicate, means);
    let Sound { dropped, check_seconds, .. } = sound(indexes, dropped, change, is_read)?;
    let inputs = input::inputs(indexes, &dropped)?;
    drop(dropped);
    let collection = imported::of_union(&inputs)?;
    input::affords(&inputs, means)?;

    let began = Instant::now();
    let dir = Unfinished::beside(change.output)?;
    let numbers = Numbers::new(&inputs, dir.path(), means)?;
    let terms_seconds = began.elapsed().as_secs_f64();
    let collection = collection.map(|found| imported::counted(found, &inputs, numbers.dfs.len() as u64));
    let lens = Arc::new(documents::lengths(&inputs));
    let documents = lens.lens.len() as u64;
    let codecs = indexes[0].codecs().map(|codec| codec.shared()).collect();
    let encoder = ListEncoder::new(codecs, lens, collection.as_ref());
    let lists = Lists::new(&inputs, &numbers);
    let tasks = lists.tasks();
    let tasks = &tasks[share::cut(&tasks, documents, share.of())[share.number() as usize - 1].clone()];
    let postings = tasks.iter().map(|task| task.postings).sum();
    let header = Header {
        identity: identity(indexes, change.on_duplicate),
        share,
        terms: terms_of(tasks),
        batches: tasks.len() as u64,
        postings,
    };
    means.progress.begin(stage::MERGE, postings);
    let path = dir.path().join("lists");
    let mut file = Writer::create(&path, &header)?;
    encode(&lists, tasks, &encoder, means, |lists| file.append(&lists))?;
    indexes.iter().try_for_each(|index| index.unchanged())?;
    check_target(change.output, change.force)?;
    std::fs::rename(&path, change.output).map_err(Error::io("rename", &path))?;
    Ok(Encoded {
        share,
        terms: (header.terms.end - header.terms.start).into(),
        postings,
        bytes: file.bytes,
        missing_parts: Vec::new(),
        check_seconds,
        terms_seconds,
        lists_seconds: began.elapsed().as_secs_f64() - terms_seconds,
    })
}

/// What lists of a union depend on: files of all indexes, which documents go, and what gamut makes of them.
pub(super) fn identity(indexes: &[Index], on_duplicate: OnDuplicate) -> u128 {
    let mut hash = Xxh3::new();
    for text in [env!("CARGO_PKG_VERSION"), &format::VERSION.to_string(), &on_duplicate.to_string()] {
        hash.update(text.as_bytes());
        hash.update(b"\n");
    }
    for index in indexes {
        hash.update(index.manifest().checksum.as_bytes());
        hash.update(b"\n");
    }
    hash.digest128()
}

/// TermIDs of some tasks.
fn terms_of(tasks: &[Task]) -> Range<u32> {
    match tasks {
        [] => 0..0,
        [first, .., last] => first.terms.start..last.terms.end,
        [one] => one.terms.clone(),
    }
}

/// The share that a file has.
///
/// # Errors
/// [`Error::Invalid`] if it is no such file, [`Error::Damaged`], [`Error::Io`].
pub fn share_of(file: &Path) -> Result<Share> {
    Ok(Reader::open(file)?.header.share)
}

/// Hands the lists of a union on in the order of termIDs: those of a share from its file, if there is one, and others
/// as they are encoded. Returns how many shares came from files; `began` is when the merge began.
pub(super) fn each(
    lists: &Lists<'_>,
    shares: Option<(Shares<'_>, u128)>,
    encoder: &ListEncoder,
    means: &Means,
    began: Instant,
    mut take: impl FnMut(EncodedLists) -> Result<()>,
) -> Result<u32> {
    let tasks = lists.tasks();
    means.progress.begin(stage::MERGE, tasks.iter().map(|task| task.postings).sum());
    let Some((shares, identity)) = shares else {
        encode(lists, &tasks, encoder, means, take)?;
        return Ok(0);
    };
    let mut taken = 0;
    for (number, tasks) in
        (1..).zip(share::cut(&tasks, encoder.documents(), shares.of).into_iter().map(|at| &tasks[at]))
    {
        let Some(file) = shares.wait(number, began, means)? else {
            encode(lists, tasks, encoder, means, &mut take)?;
            continue;
        };
        let mut file = Reader::open(&file).and_then(|file| of_this_union(file, identity))?;
        let fits = file.header.share == Share::new(number, shares.of)?
            && file.header.terms == terms_of(tasks)
            && file.header.batches == tasks.len() as u64;
        if !fits {
            return Err(file.bad());
        }
        for task in tasks {
            means.go_on()?;
            let terms = task.terms.len();
            let next = file.next()?.filter(|lists| lists.first_term == task.terms.start && lists.rows.len() == terms);
            let lists = next.filter(|lists| lists.codecs.len() == encoder.codecs()).ok_or_else(|| file.bad())?;
            take(lists)?;
            means.progress.advance(task.postings);
        }
        if file.next()?.is_some() {
            return Err(file.bad());
        }
        taken += 1;
    }
    Ok(taken)
}

/// Encodes the lists of some tasks.
fn encode(
    lists: &Lists<'_>,
    tasks: &[Task],
    encoder: &ListEncoder,
    means: &Means,
    mut take: impl FnMut(EncodedLists) -> Result<()>,
) -> Result<()> {
    let means = lists.afforded(tasks, encoder.codecs(), means)?;
    let encode = |task: usize| lists.encode(&tasks[task].terms, encoder.clone());
    in_order::<_, Error>(tasks.len(), &means, encode, |(encoded, postings)| {
        take(encoded)?;
        means.progress.advance(postings);
        Ok(())
    })
}

/// Refuses a file of other lists.
fn of_this_union(file: Reader, identity: u128) -> Result<Reader> {
    if file.header.identity == identity {
        return Ok(file);
    }
    let why = "has lists of other indexes, of these in another order or with other documents left out, or of another \
               version of gamut; make it again with `gamut merge --lists`, of the same inputs"
        .to_owned();
    Err(Error::Invalid { what: file.path().display().to_string(), why })
}
