//! The GPUs that there are, and those that were opened.

use crate::Result;
use crate::base::kept;
use crate::gpu::{AdapterReport, Choice, Gpu, adapters, chosen};

/// GPUs that were opened, kept for as long as they are those that are wanted.
pub struct Devices {
    open: Option<(Option<String>, Vec<Gpu>)>,
    /// Lists what there is, without opening it.
    list: fn() -> Vec<AdapterReport>,
    /// Opens the GPUs that a name means.
    opener: fn(Option<&str>) -> Result<Vec<Gpu>>,
}

impl Default for Devices {
    /// Those of this machine.
    fn default() -> Self {
        Self::of(adapters, open)
    }
}

fn open(name: Option<&str>) -> Result<Vec<Gpu>> {
    let cache = kept::folder();
    Ok(match name {
        Some(ALL) => Gpu::open_all(cache.as_deref())?,
        name => vec![Gpu::open_with_cache(&Choice::parse(name.unwrap_or_default()), cache.as_deref())?],
    })
}

/// Names all hardware GPUs.
const ALL: &str = "all";

impl Devices {
    /// None is open. `list` says what there is, and `opener` opens what a name means.
    pub fn of(list: fn() -> Vec<AdapterReport>, opener: fn(Option<&str>) -> Result<Vec<Gpu>>) -> Self {
        Self { open: None, list, opener }
    }

    /// The GPUs that a name means, opened if they are not. `None` is the first hardware GPU.
    ///
    /// # Errors
    /// There is none of that name, or it cannot be opened.
    pub fn get(&mut self, name: Option<&str>) -> Result<Vec<Gpu>> {
        if let Some((open, gpus)) = &self.open
            && open.as_deref() == name
            && gpus.iter().all(|gpu| gpu.check().is_ok())
        {
            return Ok(gpus.clone());
        }
        self.open = None;
        let gpus = (self.opener)(name)?;
        self.open = Some((name.map(str::to_owned), gpus.clone()));
        Ok(gpus)
    }

    /// Those that are open and work, if they are what a name means; `None` takes any.
    pub fn open_already(&self, name: Option<&str>) -> Vec<Gpu> {
        match &self.open {
            Some((open, gpus)) if name.is_none() || open.as_deref() == name => {
                gpus.iter().filter(|gpu| gpu.check().is_ok()).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What would be opened first, without opening it.
    ///
    /// # Errors
    /// There is none of that name; without a name, there is no hardware GPU.
    pub fn candidate(&self, name: Option<&str>) -> Result<AdapterReport> {
        let reports = (self.list)();
        let choice = Choice::parse(name.filter(|&name| name != ALL).unwrap_or_default());
        let index = chosen(&reports, &choice)?;
        Ok(reports[index].clone())
    }
}
