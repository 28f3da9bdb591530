//! Ao, Zhang, Wu, Stones, Wang, Liu, Liu, Lin: *Efficient parallel lists intersection and index compression algorithms
//! using graphics processing units*, PVLDB 4(8), 2011, doi:10.14778/2002974.2002975.

use super::ao_lists::{figure_7, figure_8, table_2};
use super::ao_queries::{HS16, figure_5, figure_6, figure_9a, figure_9b, table_3, table_7};
use super::ao_statistics::{figure_1, figure_3, table_1, table_4, table_5};
use super::exhibit::{Exhibit, Made, Paper};
use super::verdict::{Aspect, Claim};

const BATCH_AND_CODEC: &[Aspect] = &[Aspect::Batch, Aspect::Codec];
const CODEC: &[Aspect] = &[Aspect::Codec];
const BATCH: &[Aspect] = &[Aspect::Batch];

pub(super) static PAPER: Paper = Paper {
    name: "ao",
    title: "Ao et al., PVLDB 2011",
    exhibits: &[
        Exhibit::figure("1", "docIDs of some lists over their positions", &[], Made::By(figure_1)),
        Exhibit::table(
            "1",
            "contraction ratios of safe ranges, and determination of regression lines, by length of list",
            &[Claim::gain(
                "a random order narrows the search by a line, lists of 100 K docIDs and more",
                "table 1, 0.0375 over 0.0030",
                Some(0.0375 / 0.003),
            )],
            Made::By(table_1),
        ),
        Exhibit::figure("3", "how many hash buckets have how many docIDs", &[], Made::By(figure_3)),
        Exhibit::figure(
            "5",
            "queries a second over uncompressed lists, by computational threshold",
            &[
                Claim::gain("hash buckets of 16 beat binary search, threshold 1 M", "section 6.1, 60 %", Some(1.6)),
                Claim::gain(
                    "regression lines beat binary search, threshold 1 M",
                    "section 6.1, \"significantly\"",
                    None,
                ),
                Claim::gain(
                    "throughput of hash buckets of 16 still rises from 1 M to 2 M",
                    "section 6.1, \"obvious upward trend\"",
                    None,
                )
                .about(BATCH),
            ],
            Made::ByGpu(figure_5),
        ),
        Exhibit::figure(
            "6",
            "milliseconds that a query waits for its batch, by computational threshold",
            &[
                Claim::at_most(
                    "up to 128 K all algorithms respond alike: slowest over fastest",
                    "section 6.1, \"indistinguishable\", here 10 %",
                    1.1,
                    1.5,
                ),
                Claim::gain("a higher threshold prolongs the wait, 2 M over 128 K", "section 6.1", None).about(BATCH),
            ],
            Made::ByGpu(figure_6),
        ),
        Exhibit::figure(
            "7",
            "compression ratio by the greatest share of exceptions",
            &[
                Claim::gain("PFD, NewPFD and ParaPFD compress better than codecs by regression", "section 6.2", None)
                    .about(CODEC),
                Claim::at_most(
                    "without exceptions the ratio is close to the greatest: ParaPFD, best over none",
                    "section 6.2, here 10 %",
                    1.1,
                    1.2,
                ),
                Claim::gain("too many exceptions cost space: ParaPFD, best over 0.6", "section 6.2", None),
                Claim::at_most(
                    "LRC's ratio hardly depends on exceptions: greatest over least",
                    "section 6.2, \"practically unchanged\", here 5 %",
                    1.05,
                    1.1,
                ),
            ],
            Made::By(figure_7),
        ),
        Exhibit::figure(
            "8",
            "billions of docIDs decoded a second on the GPU, by the greatest share of exceptions",
            &[
                Claim::gain(
                    "the fastest codec by regression beats PFD, shares of 0.1",
                    "section 6.2, \"significantly faster\"",
                    None,
                )
                .about(CODEC),
                Claim::gain("PFD's speed depends on exceptions: fastest over slowest", "section 6.2", None),
                Claim::at_most(
                    "ParaPFD's does not: fastest over slowest",
                    "section 6.2, \"nearly constant\", here 10 %",
                    1.1,
                    1.5,
                ),
            ],
            Made::ByGpu(figure_8),
        ),
        Exhibit::table(
            "2",
            "compression ratio with the best share of exceptions, by order of the documents",
            &[
                Claim::gain("PFD compresses better than SegLRC, GOV", "table 2, 3.62 over 3.16", Some(3.62 / 3.16))
                    .about(CODEC),
                Claim::gain("LRC gains by a random order", "table 2, 2.62 over 2.09", Some(2.62 / 2.09)),
                Claim::gain("LRCSeg gains by it", "table 2, 3.26 over 3.00", Some(3.26 / 3.0)),
                Claim::gain("SegLRC gains by it", "table 2, 3.23 over 3.16", Some(3.23 / 3.16)),
            ],
            Made::By(table_2),
        ),
        Exhibit::table(
            "3",
            "queries a second over those of a skip list on one core",
            &[
                Claim::gain("binary search, uncompressed, GOV", "table 3", Some(14.59)).about(BATCH),
                Claim::gain("regression lines, uncompressed, GOV", "table 3", Some(16.22)).about(BATCH),
                Claim::gain("hash buckets of 16, uncompressed, GOV", "table 3", Some(23.29)).about(BATCH),
                Claim::gain("ParaPFD with exceptions, GOV", "table 3", Some(4.05)).about(BATCH_AND_CODEC),
                Claim::gain("SegLRC, GOV", "table 3", Some(12.07)).about(BATCH_AND_CODEC),
                Claim::gain("HS256_LRC, GOV", "table 3", Some(14.26)).about(BATCH_AND_CODEC),
            ],
            Made::ByGpu(table_3),
        ),
        Exhibit::figure(
            "9a",
            "speed-up of the kernels by number of multiprocessors, threshold 1 M",
            &[
                Claim::near(
                    "the speed-up is almost proportional, HS16: that of 8 times as many, over 8",
                    "section 6.3",
                    1.0,
                )
                .about(BATCH),
                Claim::near("the same for HS256_LRC", "section 6.3", 1.0).about(BATCH),
            ],
            Made::ByGpu(figure_9a),
        ),
        Exhibit::figure(
            "9b",
            "the kernels' share of the time, percent, by computational threshold",
            &[
                Claim::gain("the share grows with the threshold, HS16: 2 M over 8 K", "section 6.3", None).about(BATCH),
                Claim::at_most(
                    "transfers and the CPU always take over 20 %: the greatest share of kernels",
                    "section 6.3",
                    80.0,
                    1.1,
                ),
            ],
            Made::ByGpu(figure_9b),
        ),
        Exhibit::table(
            "4",
            "candidates from one intersection to the next",
            &[Claim::gain(
                "the share of candidates falls from list to list, 3 terms",
                "table 4, 23.1 over 0.97",
                Some(23.1 / 0.97),
            )],
            Made::By(table_4),
        ),
        Exhibit::table(
            "5",
            "bound of the bit width of LRC by appendix E, and average widths",
            &[Claim::at_most(
                "the bound is close to the average width: greatest difference in bits",
                "appendix E, table 5",
                2.0,
                1.5,
            )],
            Made::By(table_5),
        ),
        Exhibit::table(
            "7",
            "queries a second and milliseconds a batch over compressed lists, threshold 1 M",
            &[
                Claim::gain(
                    "compressed lists cost throughput: HS16 over HS256_LRC",
                    "section 6.1 and table 7",
                    Some(HS16 / 55_955.0),
                )
                .about(CODEC),
                Claim::gain("without exceptions ParaPFD is faster, GOV", "table 7", Some(22998.0 / 15879.0)),
                Claim::gain("SegLRC is faster than LRC, GOV", "table 7", Some(47335.0 / 42336.0)).about(CODEC),
                Claim::gain("HS256_LRC is faster than SegLRC, GOV", "table 7", Some(55955.0 / 47335.0)).about(CODEC),
            ],
            Made::ByGpu(table_7),
        ),
    ],
};
