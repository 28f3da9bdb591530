//! A document at a time, all lists at once.

use super::{CpuIntersect, Intersector, Matches, On, Ranking};
use crate::Result;
use crate::index::{Cursor, END, List};

/// `daat`.
pub static DAAT: Intersector = Intersector {
    name: "daat",
    about: "asks all lists for the next document of the shortest; a query scores on the way and skips what cannot be among the best",
    paper: "Turtle, Flood: Query evaluation: strategies and optimizations (IP&M 31(6), 1995, doi:10.1016/0306-4573(95)00020-H); Ding, Suel: Faster top-k document retrieval using block-max indexes (SIGIR 2011, doi:10.1145/2009916.2010048)",
    on: On::Cpu(CpuIntersect { run, ranking: Ranking::ByBlocks }),
};

pub(super) fn run(lists: &[List<'_>], matches: &mut Matches) -> Result<()> {
    matches.open(lists.len());
    let mut cursors: Vec<(usize, Cursor<'_>)> = lists.iter().cloned().map(Cursor::new).enumerate().collect();
    cursors.sort_by_key(|(_, cursor)| cursor.df());
    let Some(((first, shortest), others)) = cursors.split_first_mut() else { return Ok(()) };
    let mut doc = shortest.doc();
    'candidates: while doc != END {
        for (_, other) in others.iter_mut() {
            let found = other.next_geq(doc);
            if found > doc {
                doc = shortest.next_geq(found);
                continue 'candidates;
            }
        }
        matches.docs.push(doc);
        if matches.with_positions {
            matches.positions[*first].push(shortest.position() as u32);
            for (list, position) in others.iter().map(|(list, cursor)| (*list, cursor.position())) {
                matches.positions[list].push(position as u32);
            }
        }
        doc = shortest.advance();
    }
    for (list, cursor) in &mut cursors {
        if let Some(damage) = cursor.damage() {
            return Err(damage);
        }
        matches.decoded[*list] = u64::from(cursor.blocks_decoded());
    }
    Ok(())
}
