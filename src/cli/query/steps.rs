//! Where the steps of a query ran that moves between processors, and what moving took.

use super::explain::{columns, duration};
use crate::pipeline::report::count as grouped;
use crate::query::engine::{Step, Trace};
use crate::query::migrate::StepCosts;
use std::io::{self, Write};

/// A line for each step, and what there is beside them.
///
/// # Errors
/// Of `out`.
pub fn write(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    if !trace.steps.is_empty() {
        let learned = trace.steps.iter().any(|step| step.expected.is_some());
        let mut head = vec!["step", "docIDs", "next list", "ratio"];
        head.extend(if learned { &["CPU", "GPU", "a move"][..] } else { &[] });
        head.extend(["on", "left", "time", "moved before it", "in"]);
        let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        rows.extend((1..).zip(&trace.steps).map(row));
        write!(out, "{}", columns(&rows))?;
        let moves = trace.steps.iter().filter_map(|step| step.moved);
        let (bytes, seconds) = moves.clone().fold((0, 0.0), |sum, moved| (sum.0 + moved.bytes, sum.1 + moved.seconds));
        let times = match moves.count() {
            0 => "never moved".to_owned(),
            1 => format!("moved once: {} bytes in {}", grouped(bytes), duration(seconds)),
            count => format!("moved {count} times: {} bytes in {}", grouped(bytes), duration(seconds)),
        };
        let results = match trace.results {
            0 => String::new(),
            bytes => format!("; {} bytes of results came with the last step", grouped(bytes)),
        };
        if learned {
            writeln!(out, "         CPU, GPU and a move to the other one: as expected by calibration")?;
        }
        writeln!(out, "work     {times}{results}; {} to rank", duration(trace.ranking))?;
    }
    if trace.steps.iter().any(|step| step.no_room) {
        writeln!(out, "         *: the rule asks for the GPU, which has no room for the step")?;
    }
    if trace.whole.is_some() {
        writeln!(out, "         the CPU answered the disjunction: only intersections move")?;
    }
    Ok(())
}

fn row((number, step): (usize, &Step)) -> Vec<String> {
    let on = format!("{}{}", step.on.name(), if step.no_room { "*" } else { "" });
    let mut row = vec![
        number.to_string(),
        grouped(step.candidates.into()),
        grouped(step.list.into()),
        format!("{:.1}", step.ratio()),
    ];
    if let Some(StepCosts { cpu, gpu, moving }) = step.expected {
        let moving = if number == 1 { "-".to_owned() } else { duration(moving) };
        row.extend([duration(cpu), duration(gpu), moving]);
    }
    row.extend([on, grouped(step.left.into()), duration(step.seconds)]);
    if let Some(moved) = step.moved {
        row.extend([format!("{} bytes", grouped(moved.bytes)), duration(moved.seconds)]);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::engine::Moved;
    use crate::query::migrate::Machine;

    #[test]
    fn test_steps_and_moves_are_told() {
        let step = |candidates, list, on, left, moved| {
            let (no_room, seconds, brought) = (list == 9000, 20e-6, 0);
            Step { candidates, list, on, no_room, left, seconds, brought, moved, expected: None }
        };
        let moved = Some(Moved { bytes: 1600, seconds: 30e-6 });
        let steps = vec![
            step(1000, 2500, Machine::Gpu, 200, None),
            step(200, 40_000, Machine::Cpu, 7, moved),
            step(7, 9000, Machine::Cpu, 7, None),
        ];
        let mut out = Vec::new();
        write(&mut out, &Trace { steps, ranking: 1e-6, ..Trace::default() }).unwrap();
        let expected = "\
step  docIDs  next list   ratio    on  left   time  moved before it     in
1      1,000      2,500     2.5   gpu   200  20 µs
2        200     40,000   200.0   cpu     7  20 µs      1,600 bytes  30 µs
3          7      9,000  1285.7  cpu*     7  20 µs
work     moved once: 1,600 bytes in 30 µs; 1 µs to rank
         *: the rule asks for the GPU, which has no room for the step
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let expected = |step: Step, cpu, moving| {
            let expected = Some(StepCosts { cpu, gpu: 150e-6, moving });
            Step { expected, ..step }
        };
        let steps = vec![
            expected(step(1000, 2500, Machine::Gpu, 200, None), 2e-3, 0.0),
            expected(step(200, 40_000, Machine::Cpu, 7, moved), 20e-6, 35e-6),
        ];
        let mut out = Vec::new();
        write(&mut out, &Trace { steps, ranking: 1e-6, ..Trace::default() }).unwrap();
        let expected = "\
step  docIDs  next list  ratio      CPU     GPU  a move   on  left   time  moved before it     in
1      1,000      2,500    2.5  2.00 ms  150 µs       -  gpu   200  20 µs
2        200     40,000  200.0    20 µs  150 µs   35 µs  cpu     7  20 µs      1,600 bytes  30 µs
         CPU, GPU and a move to the other one: as expected by calibration
work     moved once: 1,600 bytes in 30 µs; 1 µs to rank
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut none = Vec::new();
        write(&mut none, &Trace::default()).unwrap();
        assert!(none.is_empty(), "a query with an unknown term has no step");
    }
}
