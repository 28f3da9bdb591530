//! The tables that a method keeps with lists, in the memory of the device. A table is made when its list is first asked
//! for.

use crate::Result;
use crate::gpu::{Buffer, Gpu, GpuError, Usage};
use crate::postings::ListWords;
use crate::query::gpu::recipe::MakeTable;
use std::collections::HashMap;

/// The buffer of tables has at most so many words.
const MOST_WORDS: u64 = 1 << 28;

/// Tables of lists. If there is no room for one more, all are dropped.
#[derive(Debug)]
pub struct Tables {
    buffer: Option<Buffer>,
    /// Another one for each buffer.
    number: u64,
    most: u64,
    words: Vec<u32>,
    /// How many of the words are on the device.
    there: usize,
    numbers: HashMap<u32, [u32; 3]>,
}

impl Tables {
    /// None yet.
    pub fn new(gpu: &Gpu) -> Self {
        let report = gpu.report();
        let most = (report.max_binding_bytes.min(report.max_buffer_bytes) / 4).min(MOST_WORDS);
        Self { buffer: None, number: 0, most, words: Vec::new(), there: 0, numbers: HashMap::new() }
    }

    /// The numbers that go with the terms of a list. `None` if there is no room until all tables are dropped.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]
    pub fn of(&mut self, number: u32, list: &ListWords<'_>, make: &MakeTable) -> Result<Option<[u32; 3]>> {
        if let Some(&numbers) = self.numbers.get(&number) {
            return Ok(Some(numbers));
        }
        let mut table = make(list)?;
        if self.words.len() + table.words.len() > self.most as usize {
            return Ok(None);
        }
        if !table.words.is_empty() {
            table.numbers[0] = self.words.len() as u32;
        }
        self.words.append(&mut table.words);
        self.numbers.insert(number, table.numbers);
        Ok(Some(table.numbers))
    }

    /// Drops all tables.
    pub fn clear(&mut self) {
        self.words.clear();
        self.numbers.clear();
        self.there = 0;
    }

    /// Brings the tables that are not on the device yet.
    ///
    /// # Errors
    /// The device was lost, or has not enough memory.
    pub fn flush(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        let bytes = size_of_val(&*self.words) as u64;
        if self.buffer.as_ref().is_none_or(|buffer| buffer.bytes() < bytes) {
            let room = (bytes.next_power_of_two()).clamp(1 << 10, 4 * self.most);
            self.buffer = None;
            self.buffer = Some(gpu.buffer("tables of lists", room, Usage::Storage)?);
            self.number += 1;
            self.there = 0;
        }
        if let Some(buffer) = &self.buffer {
            gpu.write(buffer, 4 * self.there as u64, bytemuck::cast_slice(&self.words[self.there..]))?;
            self.there = self.words.len();
        }
        Ok(())
    }

    /// Tells buffers apart: another buffer has another number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The buffer of the tables; call [`Self::flush`] first.
    pub fn buffer(&self) -> Option<&Buffer> {
        self.buffer.as_ref()
    }
}
