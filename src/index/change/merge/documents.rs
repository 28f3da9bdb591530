//! Names, lengths and texts of the documents of several indexes.

use super::super::moved::{GONE, each_name};
use super::input::Input;
use crate::base::in_order::in_order;
use crate::base::means::Means;
use crate::index::format::texts::{FRAME, SAMPLE};
use crate::index::read::texts::TextTable;
use crate::index::{DocTable, DocTableWriter, InputCut, TextWriter};
use crate::{Error, Result};
use std::ops::ControlFlow;

/// The lengths of all documents.
pub(super) fn lengths(inputs: &[Input<'_>]) -> DocTable {
    let mut lens = Vec::with_capacity(inputs.iter().map(|input| input.documents as usize).sum());
    for input in inputs {
        let own = input.index.lens();
        match &input.moved {
            None => lens.extend_from_slice(own),
            Some(moved) => lens.extend(moved.old_of_new.iter().map(|&doc| own[doc as usize])),
        }
    }
    let total_len = lens.iter().map(|&len| u64::from(len)).sum();
    DocTable { lens, total_len, duplicates: 0 }
}

/// Writes names and lengths.
pub(super) fn names(inputs: &[Input<'_>], mut out: DocTableWriter, means: &Means) -> Result<DocTable> {
    for input in inputs {
        let (names, lens) = (&input.index.names, input.index.lens());
        if let Some(moved) = &input.moved {
            each_name(input.index, &moved.new_of_old, &moved.old_of_new, means, |name, doc| {
                out.push(&name.id, &name.url, &name.title, lens[doc as usize])
            })?;
            continue;
        }
        let read = |frame: usize| Ok((frame, names.records(frame)?));
        in_order::<_, Error>(names.frames(), means, read, |(frame, records)| {
            let docs = names.frame_docs(frame)?;
            out.frame(&records, &lens[docs.start as usize..docs.end as usize], names.packed(frame)?)
        })?;
    }
    out.finish()
}

/// Writes texts, which every input has.
pub(super) fn texts(inputs: &[Input<'_>], mut out: TextWriter, means: &Means) -> Result<()> {
    // The dictionary of the frames so far, if it is that of an input.
    let (mut dictionary, mut fresh): (Option<&[u8]>, bool) = (None, true);
    // The file of the last text goes on.
    let mut open = false;
    for input in inputs.iter().filter(|input| input.documents > 0) {
        let Some(texts) = &input.index.texts else { return Err(input.index.no_texts()) };
        let cut = cut_of(input);
        if input.lacks_some() {
            out.end_frame()?;
            some_texts(input, texts, &mut out)?;
        } else {
            let frames = texts.frames();
            // Its dictionary is trained on the first texts of the union, and on no others.
            let unfinished = if cut.goes_on { texts.frame(frames - 1)?.inflated as u64 } else { 0 };
            let closed = texts.text_bytes().saturating_sub(unfinished);
            if fresh && closed >= SAMPLE as u64 {
                dictionary = Some(texts.dictionary());
                out.adopt(texts.dictionary())?;
            }
            let copied = dictionary == Some(texts.dictionary());
            let first = if open { continued(texts, cut, &mut out)? } else { 0 };
            let read = |i: usize| {
                let frame = texts.frame(first + i)?;
                let copied = copied && !(cut.goes_on && first + i + 1 == frames);
                let bytes = if copied { None } else { Some(texts.inflate(first + i, &frame)?) };
                Ok((first + i, frame, bytes))
            };
            in_order::<_, Error>(frames - first, means, read, |(i, frame, bytes)| {
                let documents = frame.begun.len() as u32;
                match bytes {
                    None => out.copy(texts.packed(i, &frame)?, frame.inflated, documents, frame.goes_on),
                    Some(bytes) if cut.goes_on && i + 1 == frames => out.open_frame(bytes, documents, frame.goes_on),
                    Some(bytes) => out.frame(bytes, documents, frame.goes_on),
                }
            })?;
        }
        open = cut.goes_on;
        fresh = false;
    }
    out.finish().map(drop)
}

/// Where the files of an input are cut. Nobody knows if it lacks some of its documents.
fn cut_of(input: &Input<'_>) -> InputCut {
    input.index.manifest().input_cut.filter(|_| !input.lacks_some()).unwrap_or_default()
}

/// Where the files of the union are cut.
pub(super) fn cut(inputs: &[Input<'_>]) -> InputCut {
    let mut of_union = InputCut { continued: 0, goes_on: true };
    // All documents so far are from one file, which began before the union.
    let mut one_file = true;
    for input in inputs.iter().filter(|input| input.documents > 0) {
        let cut = cut_of(input);
        one_file &= of_union.goes_on;
        if one_file {
            of_union.continued += cut.continued;
            one_file = cut.continued == u64::from(input.documents);
        }
        of_union.goes_on = cut.goes_on;
    }
    of_union.goes_on &= inputs.iter().any(|input| input.documents > 0);
    of_union
}

/// Adds the texts of the file that the input before began, and returns the first frame behind them.
fn continued(texts: &TextTable, cut: InputCut, out: &mut TextWriter) -> Result<usize> {
    let mut text = String::new();
    for place in 0..cut.continued as u32 {
        text.clear();
        texts.each_part(place, |part| {
            text.push_str(part);
            ControlFlow::Continue(())
        })?;
        out.push(&text)?;
    }
    let mut first = 0;
    while first < texts.frames() {
        let frame = texts.frame(first)?;
        let begun = u64::from(frame.begun.start);
        if begun > cut.continued || begun == cut.continued && !frame.goes_on {
            break;
        }
        first += 1;
    }
    if first < texts.frames() || !cut.goes_on {
        out.end_frame()?
    }
    Ok(first)
}

/// The texts of an input that does not keep all its documents. A frame that is not full ends where a file of the input
/// ended.
fn some_texts(input: &Input<'_>, texts: &TextTable, out: &mut TextWriter) -> Result<()> {
    let places = input.index.input_places();
    let mut gone = vec![false; input.index.statistics().documents as usize];
    for (doc, &new) in input.moved.iter().flat_map(|moved| moved.new_of_old.iter().enumerate()) {
        gone[places.map_or(doc, |places| places[doc] as usize)] = new == GONE;
    }
    let mut text = String::new();
    for i in 0..texts.frames() {
        let frame = texts.frame(i)?;
        for place in frame.begun.clone().filter(|&place| !gone[place as usize]) {
            text.clear();
            texts.each_part(place, |part| {
                text.push_str(part);
                ControlFlow::Continue(())
            })?;
            out.push(&text)?;
        }
        if frame.inflated < FRAME {
            out.end_frame()?;
        }
    }
    // The last one, too, though it may have been full before some of its texts went.
    out.end_frame()
}
