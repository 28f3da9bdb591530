//! What is known of the lists on a device, by their numbers. The thread that makes rows of batches asks for millions of
//! lists a second, and would wait for the memory of each: so all that it reads of one lies side by side, and can be
//! asked for ahead.

use super::placed::Placed;
use crate::base::simd::prefetch;

/// What one list holds of the memory of the device.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Entry {
    /// The list's number; [`GONE`] if the entry is free.
    number: u32,
    /// How often it was asked for.
    pub uses: u32,
    /// The batch that last asked for it.
    pub tick: u64,
    pub placed: Placed,
    /// Address and number of its words, if they are not part of a window.
    pub own: Option<(u32, u32)>,
    /// The batches by which it stands in [`super::residence::Residence::ages`], by kind of room; it is moved there only
    /// when it is looked at: most lists that queries ask for are there, and nothing has to make room.
    pub aged: [u64; 2],
}

impl Entry {
    /// Of a list that batch `tick` asks for.
    pub fn new(placed: Placed, own: Option<(u32, u32)>, tick: u64) -> Self {
        Self { number: GONE, uses: 1, tick, placed, own, aged: [tick; 2] }
    }
}

/// Not the number of a list.
const GONE: u32 = u32::MAX;

/// Entries by the numbers of lists.
#[derive(Debug, Default)]
pub struct Entries {
    /// For each list one more than its place among `kept`, or 0. Zeros take no memory before they are written.
    at: Vec<u32>,
    kept: Vec<Entry>,
    /// Places that are free.
    free: Vec<u32>,
}

impl Entries {
    /// Without entries, for so many lists.
    pub fn new(lists: usize) -> Self {
        Self { at: vec![0; lists], ..Self::default() }
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.kept.len() - self.free.len()
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.at.get(number as usize).and_then(|&at| (at as usize).checked_sub(1))
    }

    pub fn get(&self, number: u32) -> Option<&Entry> {
        self.kept.get(self.place(number)?)
    }

    pub fn get_mut(&mut self, number: u32) -> Option<&mut Entry> {
        let place = self.place(number)?;
        self.kept.get_mut(place)
    }

    /// Asks for the place of a list's entry ahead.
    pub fn ask_for_place(&self, number: u32) {
        prefetch(self.at.get(number as usize..).unwrap_or_default(), 1);
    }

    /// Asks for a list's entry ahead.
    pub fn ask_for_entry(&self, number: u32) {
        if let Some(place) = self.place(number) {
            prefetch(self.kept.get(place..).unwrap_or_default(), size_of::<Entry>() / 64);
        }
    }

    /// Adds an entry for a list that has none. A number that no list has is not kept.
    pub fn insert(&mut self, number: u32, entry: Entry) {
        debug_assert!(self.place(number).is_none(), "a list has one entry");
        let Some(at) = self.at.get_mut(number as usize) else { return };
        let place = self.free.pop().unwrap_or(self.kept.len() as u32);
        *at = place + 1;
        let entry = Entry { number, ..entry };
        match self.kept.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.kept.push(entry),
        }
    }

    /// Takes an entry out.
    pub fn remove(&mut self, number: u32) -> Option<Entry> {
        let place = self.place(number)?;
        self.at[number as usize] = 0;
        self.free.push(place as u32);
        let gone = Entry { number: GONE, ..self.kept[place] };
        Some(std::mem::replace(&mut self.kept[place], gone))
    }

    /// All lists with an entry.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.kept.iter().filter(|entry| entry.number != GONE).map(|entry| (entry.number, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn test_entries_are_those_of_a_map() {
        let mut random = crate::base::random::Rng::new(3, 0, 0);
        let (mut entries, mut map) = (Entries::new(50), HashMap::new());
        for step in 0..5000 {
            let number = random.below(60) as u32;
            entries.ask_for_place(number);
            entries.ask_for_entry(number);
            match (random.below(3), map.contains_key(&number)) {
                (0, _) => {
                    let removed = entries.remove(number).map(|entry| entry.tick);
                    assert_eq!(removed, map.remove(&number), "{number}");
                }
                (_, true) => {
                    entries.get_mut(number).unwrap().tick = step;
                    map.insert(number, step);
                }
                (_, false) => {
                    entries.insert(number, Entry::new(Placed::default(), None, step));
                    // no list has a greater number
                    (number < 50).then(|| map.insert(number, step));
                }
            }
            assert_eq!(entries.get(number).map(|entry| entry.tick), map.get(&number).copied());
            assert_eq!(entries.len(), map.len());
        }
        let found: HashMap<u32, u64> = entries.iter().map(|(number, entry)| (number, entry.tick)).collect();
        assert_eq!(found, map);
    }
}
