// Classes of scores, all of one width, by the two numbers that a query has for them. A score is below 2^24.

fn score_class(score: u32, times: u32, shift: u32, classes: u32) -> u32 {
    return min((score * times) >> shift, classes - 1u);
}

// The least score of a class.
fn class_edge(class_number: u32, times: u32, shift: u32) -> u32 {
    return ((class_number << shift) + times - 1u) / times;
}
