//! Only results in the class of scores of the k-th best, or in higher ones, leave the device.

use super::{GpuTopKWay, TopKMethod};

/// `histogram`.
pub static HISTOGRAM: TopKMethod = TopKMethod {
    name: "histogram",
    short: "histogram",
    about: "counts hits in 1,024 classes of scores; those in the class of the k-th best and above go to the CPU, which selects the best k and sorts those",
    paper: "this project; counting as in Alabi, Blanchard, Gordon and Steinbach: Fast k-selection algorithms for graphics processing units \
            (JEA 17, 2012, doi:10.1145/2133803.2345676), one round",
    cpu: None,
    gpu: Some(GpuTopKWay::Histogram),
};
