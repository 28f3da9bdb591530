use super::super::testing::{check, check_gpu, from_gaps};
use super::decode::{Any, decode, decode_as, find_ones};
use super::*;
use proptest::prelude::*;

/// The least cost over all ways to cut `costs` into partitions, by trying every last partition.
fn slow(costs: &[[u32; WIDTHS]]) -> u32 {
    let mut best = vec![0u64];
    for end in 1..=costs.len() {
        let with_last = |start: usize| {
            let alone = (0..WIDTHS).map(|b| costs[start..end].iter().map(|cost| u64::from(cost[b])).sum::<u64>());
            best[start] + u64::from(if start > 0 { WIDTH_BITS * BIT } else { 0 }) + alone.min().unwrap()
        };
        best.push((0..end).map(with_last).min().unwrap());
    }
    let alone = (0..WIDTHS).map(|b| costs.iter().map(|cost| u64::from(cost[b])).sum::<u64>()).min().unwrap();
    (best[costs.len()] + (costs.len() as u64 - 1) * u64::from(BIT)).min(alone) as u32
}

fn cost(plan: &Plan, costs: &[[u32; WIDTHS]]) -> u32 {
    let cells = plan.partitions(costs.len() * CELL).map(|p| (p.start / CELL..p.end / CELL, p.width));
    let numbers: u32 = cells.flat_map(|(cells, b)| cells.map(move |cell| costs[cell][b as usize])).sum();
    let splits = if plan.starts == 0 { 0 } else { costs.len() as u32 - 1 + WIDTH_BITS * plan.starts.count_ones() };
    numbers + BIT * splits
}

/// Blocks with a partition for almost every stretch: runs, dense, sparse, of few cells and not at their edges.
#[test]
fn test_many_partitions() {
    let mut state = 1u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut lists = Vec::new();
    for longest in [5, 12, 20, 70, 300] {
        let mut gaps = Vec::new();
        while gaps.len() < 3000 {
            let scale = 1 << (random(5) * random(5));
            gaps.extend((0..=random(longest)).map(|_| 1 + random(scale)));
        }
        lists.push(from_gaps(random(1000), gaps));
    }
    for codec in [pef::PEF.codec("").unwrap(), best::BEST.codec("").unwrap(), best::BEST.codec("by=speed").unwrap()] {
        lists.iter().for_each(|list| check(codec.as_ref(), list));
        check_gpu(codec.as_ref(), &lists);
    }
}

proptest! {
    #[test]
    fn test_no_plan_is_cheaper(
        costs in proptest::collection::vec(
            (0u32..20, proptest::array::uniform32(prop_oneof![0u32..2000, Just(MAX_COST)])), 1..20,
        ),
    ) {
        // Each row a few times, or else partitions of several cells are rare.
        let costs: Vec<_> = costs.iter().flat_map(|&(n, cost)| std::iter::repeat_n(cost, 1 + n as usize / 5)).collect();
        let costs = &costs[..costs.len().min(CELLS)];
        let (plan, least) = cheapest(costs.len(), WIDTH_BITS, |cell, cost| *cost = costs[cell]);
        prop_assert_eq!(cost(&plan, costs), slow(costs));
        prop_assert_eq!(least, cost(&plan, costs).div_ceil(BIT) as usize);
    }

    #[test]
    fn test_plans_are_read_back(n in 2usize..=BLOCK, starts: u64, widths in proptest::collection::vec(0u8..32, CELLS), packed: bool) {
        let cells = n.div_ceil(CELL);
        let starts = starts & (!0 >> (CELLS - cells)) & !1;
        let mut plan = Plan { starts, widths: [0; CELLS], packed: packed && n > CELL };
        let parts = 1 + starts.count_ones() as usize;
        plan.widths[..parts].copy_from_slice(&widths[..parts]);
        let mut words = vec![0; 20];
        let mut packer = Packer::new(&mut words);
        plan.write::<true>(n, &mut packer);
        packer.finish();
        prop_assert_eq!(Plan::read::<true>(&words, n), Ok((plan.clone(), plan.head_bits::<true>(n))));
        let mut end = 1;
        for p in plan.partitions(n) {
            prop_assert!(p.start == end && p.end > p.start);
            end = p.end;
        }
        prop_assert_eq!(end, n);
    }

    #[test]
    fn test_ones_are_found(words in proptest::collection::vec(any::<u32>(), 1..40), at in 0usize..200) {
        let bit = |i: &usize| words[i / 32] >> (i % 32) & 1 == 1;
        let expected: Vec<u16> = (at..32 * words.len()).filter(bit).map(|i| (i - at + 1) as u16).collect();
        let mut ones = [0; BLOCK + 64];
        for count in [1, expected.len() / 2, expected.len()] {
            if count == 0 || count > expected.len() || count >= BLOCK {
                continue;
            }
            prop_assert_eq!(find_ones(Any, &words, at, count, &mut ones), Ok(expected[count - 1].into()));
            prop_assert_eq!(&ones[..count], &expected[..count]);
        }
        if expected.len() + 1 < BLOCK {
            prop_assert_eq!(find_ones(Any, &words, at, expected.len() + 1, &mut ones), Err(CodecError::Truncated));
        }
    }

    /// The processor's own decoder and the one for any processor agree, also on words that no encoder wrote.
    #[test]
    fn test_levels_agree(
        words in proptest::collection::vec(prop_oneof![any::<u32>(), 0u32..0x4000, Just(u32::MAX)], 1..600),
        n in 2usize..=BLOCK, first: u32,
    ) {
        for (fast, slow) in [
            (decode::<false> as fn(&[u32], u32, &mut [u32]) -> _, (|words, first, out| decode_as::<false, _>(Any, words, first, out)) as fn(&[u32], u32, &mut [u32]) -> _),
            (decode::<true>, |words, first, out| decode_as::<true, _>(Any, words, first, out)),
        ] {
            let (mut by_fast, mut by_slow) = (vec![0; n], vec![0; n]);
            let used = fast(&words, first, &mut by_fast);
            prop_assert_eq!(used, slow(&words, first, &mut by_slow));
            if used.is_ok() {
                prop_assert_eq!(by_fast, by_slow);
            }
        }
    }
}
