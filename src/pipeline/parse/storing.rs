//! The stages behind the sequencer and the sorter: documents go into their stores, sorted blocks become runs.

use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::Result;
use crate::index::{DocTable, InputCut, TextSizes, TextWriter};
use crate::pipeline::batch::Batch;
use crate::pipeline::begin::Stores;
use crate::pipeline::links::{Spool, SpoolWriter};
use crate::pipeline::report::Lane;
use crate::pipeline::resume::Journal;
use crate::pipeline::run::{Run, RunWriter};
use crate::pipeline::sequence::Block;
use crate::pipeline::shared::{Shared, give_back};

/// A batch whose documents have their numbers.
pub(super) struct Numbered {
    pub(super) batch: Batch,
    /// The file of the input that it comes from.
    pub(super) file: usize,
    /// Kept until the texts are stored, if they are: so there are no more of them than the plan has room for.
    pub(super) _permit: Option<OwnedSemaphorePermit>,
}

/// What the stage of documents is told.
pub(super) enum ToStores {
    Batch(Box<Numbered>),
    /// What is stored so far belongs to a note.
    Mark,
}

/// Where runs go.
pub(super) struct Spill {
    pub(super) runs: Vec<Run>,
    pub(super) writer: RunWriter,
    pub(super) journal: Option<Journal>,
}

pub(super) fn spill(
    shared: &Shared,
    spill: Spill,
    mut sorted: mpsc::Receiver<Block>,
    empty: &mpsc::Sender<Block>,
) -> Result<Vec<Run>> {
    let Spill { mut runs, mut writer, mut journal } = spill;
    while let Some(mut block) = sorted.blocking_recv() {
        let from = Instant::now();
        let run = match &block.lists {
            Some(lists) => writer.write_lists(lists, block.first_doc)?,
            None => writer.write(&block.keys, block.first_doc)?,
        };
        if let Some(journal) = &mut journal {
            journal.run(&run, block.len())?;
            if let Some(taken) = block.mark.take() {
                shared.progress().safe(journal.commit(*taken, writer.bytes())?);
            }
        }
        runs.push(run);
        block.clear();
        shared.clock.record(Lane::Spill, from);
        // The sequencer may have ended already.
        let _ = empty.blocking_send(block);
    }
    Ok(runs)
}

/// What is left of the stores.
pub(super) struct StoredDocuments {
    pub(super) documents: DocTable,
    pub(super) links: Option<Spool>,
    pub(super) texts: Option<TextSizes>,
    pub(super) cut: Option<InputCut>,
}

pub(super) fn store_documents(
    shared: &Shared,
    mut stores: Stores,
    mut batches: mpsc::Receiver<ToStores>,
) -> Result<StoredDocuments> {
    while let Some(next) = batches.blocking_recv() {
        let from = Instant::now();
        let Numbered { batch, file, _permit } = match next {
            ToStores::Batch(numbered) => *numbered,
            ToStores::Mark => {
                stores.mark()?;
                continue;
            }
        };
        let Stores { table, texts, spool, last_file, cut, .. } = &mut stores;
        for (i, doc) in batch.docs.iter().enumerate() {
            let [id, url, title] = batch.name(i);
            table.push(id, url, title, doc.len)?;
        }
        if let Some(spool) = spool {
            spool.append(&batch.links)?;
        }
        cut.add(file, batch.docs.len());
        shared.clock.record(Lane::Documents, from);
        if std::mem::replace(last_file, file) != file
            && let Some(texts) = texts
        {
            texts.end_frame()?;
        }
        if let Some(texts) = texts {
            batch.texts().try_for_each(|text| texts.push(text))?;
        }
        give_back(shared, batch);
    }
    let Stores { table, texts, spool, cut, .. } = stores;
    let texts = texts.map(TextWriter::finish).transpose()?;
    let links = spool.map(SpoolWriter::finish).transpose()?;
    Ok(StoredDocuments { documents: table.finish()?, links, cut: texts.as_ref().map(|_| cut.found), texts })
}
