// Where each query's results go, and how many they are: one workgroup. The results start with the counters and a word a query.

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) thread: u32,
    //TEAM_BUILTINS
) {
    //TEAM
    let own = number_of(me);
    var carry = 0u;
    for (var base = 0u; base < params.queries; base += THREADS) {
        let q = base + own;
        var count = 0u;
        if q < params.queries {
            count = count_of(q, last_round(query_of(q)));
            results[COUNTS + q] = count;
        }
        let before = scan(count, me);
        if q < params.queries {
            atomicStore(&state[COUNTS + 2u * params.queries + q], carry + before.x);
        }
        carry += before.y;
    }
    if own == 0u {
        results[0] = carry;
        results[BLOCKS_DECODED] = atomicLoad(&state[BLOCKS_DECODED]);
    }
}
