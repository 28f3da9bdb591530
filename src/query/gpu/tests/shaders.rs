//! Every kernel for every codec, with and without subgroups, over one buffer and over several: a compiler takes it, and
//! it uses all that it was given.

use super::super::candidates::kernels as candidates;
use super::super::kernels::Parts;
use super::super::ranges::kernels::{BY_RANGE, Ranges, TABLES, texts};
use super::*;
use crate::gpu::testing::{check, check_all_is_used};
use crate::query::and::{AND, GpuAnd};
use crate::query::topk::{GpuTopKWay, TOPK};

/// Memories over one buffer, or over three.
fn memories(several: bool) -> [Memory; 3] {
    [Memory::ONE, TABLES, BY_RANGE].map(|one| if several { Memory { segments: 3, bits: 25, ..one } } else { one })
}

#[test]
fn test_kernels_are_valid() {
    let more = ["pfor-recursive:levels=1", "parapfor:exceptions=0", "parapfor:segment=256", "lrc:exceptions=0.2"];
    let specs = crate::codec::FAMILIES.iter().map(|family| family.name).chain(more);
    let mut all = Vec::new();
    for (spec, subgroups) in specs.flat_map(|spec| [(spec, false), (spec, true)]) {
        let codec = crate::codec::codec(spec).unwrap();
        let shader = codec.shader();
        all.push(shader.decode_kernel(codec.block_len(), subgroups).unwrap());
        all.extend(shader.docid_at_kernel(codec.block_len(), subgroups).unwrap());
        all.extend(shader.gaps_kernel(codec.block_len(), subgroups).unwrap());
        for scores in [Scores::Bm25, Scores::Impacts] {
            let [lists, tables, by_range] = memories(subgroups);
            let parts = Parts { codec: codec.as_ref(), lists, documents: 1_000_000, scores, subgroups };
            let (ranges, accumulators) = texts(&parts, [tables, by_range], Ranges::of(1_000_000, None)).unwrap();
            let assembler = candidates::assembler(&parts, subgroups.then_some(7));
            all.extend(ranges.into_iter().chain(accumulators).chain(candidates::texts(&assembler).unwrap()));
            for method in AND.rows {
                let Some(GpuAnd::Candidates(gpu)) = &method.gpu else { continue };
                // some are for some codecs only
                let Ok(recipe) = gpu.recipe(method.name, "", codec.as_ref()) else { continue };
                all.extend(candidates::of_method(&assembler, &recipe).unwrap());
            }
        }
        all.iter().filter(|kernel| !kernel.source.is_empty()).for_each(check);
        all.iter_mut().for_each(|kernel| kernel.source.clear());
    }
    check_all_is_used(&all);
}

#[test]
fn test_kernels_of_the_top_k_are_valid() {
    for method in TOPK.rows {
        let Some(GpuTopKWay::Kernels(kernels)) = &method.gpu else { continue };
        for stored in [false, true] {
            let kernels = kernels.texts(method.name, 25, stored).unwrap();
            check_all_is_used(&kernels);
            kernels.iter().for_each(check);
        }
    }
}
