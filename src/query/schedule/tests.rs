use super::*;
use proptest::prelude::*;

fn batches(spec: &str, shortest: &[u32]) -> Vec<Vec<usize>> {
    let schedule = Schedule::parse(spec).unwrap();
    (schedule.method.pack)(shortest, schedule.parameter)
}

#[test]
fn test_order_takes_queries_as_they_come() {
    assert_eq!(batches("order:size=2", &[9, 0, 5, 7, 1]), [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(batches("order", &[0; 1025]).len(), 2);
    assert!(batches("order:size=18446744073G", &[1, 2]).len() == 1);
}

#[test]
fn test_para_collects_until_the_threshold_is_reached() {
    assert_eq!(batches("para:c=10", &[3, 6, 1, 20, 0, 9]), [vec![0, 1, 2], vec![3], vec![4, 5]]);
    assert_eq!(batches("para:c=1", &[1, 1]), [[0], [1]]);
    assert_eq!(batches("para", &[u32::MAX, 999_999, 0, 1, 5]), [vec![0], vec![1, 2, 3], vec![4]], "c is a million");
}

#[test]
fn test_buckets_have_queries_of_like_size() {
    let shortest = [0, 999, 1000, 9_999, 10_000, 19_999, 20_000, 99_999, 100_000, u32::MAX, 500];
    let expected: [&[usize]; 7] = [&[0, 1, 10], &[2], &[3], &[4, 5], &[6], &[7], &[8, 9]];
    assert_eq!(batches("buckets", &shortest), expected);
    assert_eq!(batches("buckets:size=2", &shortest)[..2], [vec![0, 1], vec![10]]);
    let all: Vec<u32> = (0..110).map(|thousands| thousands * 1000).collect();
    assert_eq!(batches("buckets", &all).len(), 20, "as in the paper");
}

proptest! {
    #[test]
    fn test_every_query_is_in_one_batch(
        shortest in proptest::collection::vec(prop_oneof![0u32..2_000, 0u32..200_000, any::<u32>()], 0..300),
        parameter in prop_oneof![1u64..50, 1u64..1_000_000, Just(u64::MAX)],
    ) {
        for method in BATCHING {
            let batches = (method.pack)(&shortest, parameter);
            prop_assert!(batches.iter().all(|batch| !batch.is_empty()), "{}", method.name);
            let mut queries = batches.concat();
            queries.sort_unstable();
            prop_assert_eq!(queries, (0..shortest.len()).collect::<Vec<_>>(), "{}", method.name);
        }
    }
}

#[test]
fn test_names_and_values() {
    for method in BATCHING {
        let (parameter, _, default) = method.parameter;
        assert_eq!(Schedule::parse(method.name).unwrap().parameter, default);
        assert_eq!(Schedule::parse(&format!("{}:{parameter}=128K", method.name)).unwrap().parameter, 128_000);
    }
    assert_eq!(format!("{:?}", Schedule::parse("para:c=2M").unwrap()), "para:c=2000000");
    let error = |text: &str| Schedule::parse(text).unwrap_err().to_string();
    assert!(error("fifo").contains("there are: order, para, buckets"));
    assert!(error("para:size=3").contains("there are: c"));
    for bad in ["para:c=0", "para:c=", "para:c", "para:c=-1", "para:c=1T", "order:size=x", "buckets:size=99999999999G"]
    {
        assert!(error(bad).contains("a count from 1 on"), "{bad}");
    }
}
