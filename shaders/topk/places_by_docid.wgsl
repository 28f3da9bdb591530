// DocIDs are in the order of the input.

fn place_of(doc: u32) -> u32 {
    return doc;
}
