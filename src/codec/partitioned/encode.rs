//! Writing the words of a block whose plan is made.

use super::*;

/// Appends the `bits` bits of a block of two docIDs or more. With `GAPS` numbers are gaps less one; else they count
/// from the start of their partition.
pub(super) fn encode<const GAPS: bool>(block: &[u32], plan: &Plan, bits: usize, out: &mut Vec<u32>) {
    // Most lists are short; clearing a buffer for a whole block would cost more than encoding them.
    match block.len() {
        ..=16 => encode_with::<GAPS, 16>(block, plan, bits, out),
        17..=128 => encode_with::<GAPS, 128>(block, plan, bits, out),
        _ => encode_with::<GAPS, BLOCK>(block, plan, bits, out),
    }
}

fn encode_with<const GAPS: bool, const N: usize>(block: &[u32], plan: &Plan, bits: usize, out: &mut Vec<u32>) {
    let (n, words, start) = (block.len(), bits.div_ceil(32), out.len());
    out.resize(start + words + 2, 0);
    let mut packer = Packer::new(&mut out[start..]);
    plan.write::<GAPS>(n, &mut packer);
    let mut numbers = [0; N];
    let mut high = plan.head_bits::<GAPS>(n);
    for p in plan.partitions(n).filter(|p| p.width != RUN) {
        let numbers = &mut numbers[p.start..p.end];
        if GAPS {
            for (number, pair) in numbers.iter_mut().zip(block[p.start - 1..p.end].windows(2)) {
                *number = pair[1] - pair[0] - 1;
            }
        } else {
            let offset = block[p.start - 1].wrapping_add(1);
            for (number, (&doc, i)) in numbers.iter_mut().zip(block[p.start..p.end].iter().zip(0..)) {
                *number = doc - offset - i;
            }
        }
        packer.push_all(numbers, p.width);
        high += p.low_bits();
    }
    if !plan.packed {
        let mut high = high as u32;
        for p in plan.partitions(n).filter(|p| p.width != RUN) {
            let zeros = numbers[p.start..p.end].iter().map(|number| number >> p.width);
            let count = (p.end - p.start) as u32;
            if GAPS {
                let end = high + count + zeros.clone().sum::<u32>();
                let ones = zeros.scan(high, |at, zeros| {
                    let one = *at + zeros;
                    *at = one + 1;
                    Some(one)
                });
                packer.set_bits(ones, end);
                high = end;
            } else {
                let end = high + count + (numbers[p.end - 1] >> p.width);
                packer.set_bits(zeros.zip(high..).map(|(zeros, at)| at + zeros), end);
                high = end;
            }
        }
    }
    packer.finish();
    out.truncate(start + words);
}
