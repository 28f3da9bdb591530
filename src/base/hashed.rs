//! Tables whose keys are hashes already, which need no other.

use std::hash::{BuildHasherDefault, Hasher};

/// What such a table is made with.
pub type Hashed = BuildHasherDefault<Identity>;

/// Takes a number of 64 bits as it is.
#[derive(Debug, Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers of 64 bits")
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
