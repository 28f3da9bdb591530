// The place in the input of each document.
var<storage, read> input_places: array<u32>;

fn place_of(doc: u32) -> u32 {
    return input_places[min(doc, arrayLength(&input_places) - 1u)];
}
