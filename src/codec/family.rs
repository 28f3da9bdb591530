//! What a codec is called, where it comes from, and which parameters it takes.

use std::fmt;
use std::sync::Arc;

use super::Codec;
use crate::Result;
use crate::base::params::{Param, Settings};

/// A codec before its parameters are chosen: one row of [`super::FAMILIES`].
pub struct Family {
    /// Its name on the command line and of its folder in the index.
    pub name: &'static str,
    /// Its number in files. Never reused, never 0.
    pub id: u8,
    /// One line: how it stores a list.
    pub about: &'static str,
    /// Where it is described.
    pub paper: &'static str,
    /// What can be set.
    pub params: &'static [Param],
    /// The codec with these parameters, which hold a valid value for each of `params`.
    pub make: fn(Settings) -> Arc<dyn Codec>,
}

impl Family {
    /// The codec with the parameters that `text` sets, `segment=64,exceptions=0.2`, and defaults for the others.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] for a parameter that is not there, [`crate::Error::Invalid`] for a value outside
    /// its domain.
    pub fn codec(&self, text: &str) -> Result<Arc<dyn Codec>> {
        let settings = Settings::read(self.params, text, &format!("codec {}", self.name))?;
        Ok((self.make)(settings))
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
