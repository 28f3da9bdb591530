//! Ways to store a strictly increasing list of docIDs: one trait, one registry, one file per codec.
