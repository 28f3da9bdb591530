//! Wu, Zhang, Ao, Wang, Liu, Wang: *A batched GPU algorithm for set intersection*, I-SPAN 2009.

use super::exhibit::{Exhibit, Made, Paper};
use super::verdict::{Aspect, Claim};
use super::wu_queries as made;

const BATCH: &[Aspect] = &[Aspect::Batch];

pub(super) static PAPER: Paper = Paper {
    name: "wu",
    title: "Wu et al., I-SPAN 2009",
    exhibits: &[
        Exhibit::figure("6", "queries by the length of their shortest list, percent", &[], Made::By(made::figure_6)),
        Exhibit::figure(
            "7",
            "milliseconds for all queries in the order of the log, one at a time and in batches",
            &[Claim::gain("batches are faster than one query at a time", "section IV, \"obviously superior\"", None)
                .about(BATCH)],
            Made::ByGpu(made::figure_7),
        ),
        Exhibit::table(
            "I",
            "milliseconds for all queries in the order of the log, GPU in batches and CPU",
            &[Claim::gain(
                "a core is faster than the GPU in batches",
                "table I, 3,016 over 1,569",
                Some(3016.0 / 1569.0),
            )
            .about(BATCH)],
            Made::ByGpu(made::table_i),
        ),
        Exhibit::figure(
            "8",
            "milliseconds for all queries in buckets of like size",
            &[
                Claim::gain(
                    "batches of like queries are faster than batches in the order of the log",
                    "section IV, 6 times",
                    Some(6.0),
                )
                .about(BATCH),
                Claim::gain("they are faster than a core", "section IV", Some(2.7)).about(BATCH),
                Claim::gain("they are faster than one query at a time on the GPU", "section IV", Some(5.2))
                    .about(BATCH),
            ],
            Made::ByGpu(made::figure_8),
        ),
        Exhibit::figure(
            "9",
            "milliseconds for 1,000 queries of a bucket, by queries a batch",
            &[Claim::gain(
                "in batches of 512 queries the GPU beats a core in every bucket: the least advantage",
                "section IV, figure 9",
                None,
            )
            .about(BATCH)],
            Made::ByGpu(made::figure_9),
        ),
        Exhibit::figure(
            "10",
            "milliseconds for all queries in buckets, by queries a batch",
            &[
                Claim::gain("only very small batches are slow: 32 queries against the best", "section IV", None)
                    .about(BATCH),
                Claim::at_most(
                    "more than 1,024 queries a batch gain nothing: the time with 1,024 over the least with more",
                    "section IV, peak at 1,024, here 5 %",
                    1.05,
                    1.2,
                )
                .about(BATCH),
            ],
            Made::ByGpu(made::figure_10),
        ),
        Exhibit::table(
            "II",
            "milliseconds to transfer all results, query by query and a batch at once",
            &[Claim::gain(
                "the results of a batch come faster at once than query by query",
                "table II, 461.6 over 155.1",
                Some(461.6 / 155.1),
            )
            .about(BATCH)],
            Made::ByGpu(made::table_ii),
        ),
        Exhibit::figure(
            "11",
            "milliseconds that a query waits for its batch, by queries a batch",
            &[Claim::at_most(
                "a batch of 1,024 or 2,048 queries is enough: the least that has 90 % of the best throughput",
                "section IV, figures 10 and 11",
                2048.0,
                2.0,
            )
            .about(BATCH)],
            Made::ByGpu(made::figure_11),
        ),
    ],
};
