//! Batches of members on a device: two are on their way while a third one waits for readers and a fourth one is read.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use super::{MOST_TEXT, Member, PADDING, Params, kernel};
use crate::gpu::{Bound, Buffer, Gpu, GpuError, Layout as _, Mapped, Part, Pending, Pipeline, Step, Upload, Usage};

/// How much a batch may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Compressed bytes, see [`Load::packed`].
    pub packed: usize,
    /// Bytes of text, see [`Load::text`].
    pub text: usize,
    /// Members.
    pub members: usize,
}

/// Batches that exist at a time: two on their way, one that waits for readers, one being read. With one less, the next
/// could not start before the last reader of a batch is done.
const BATCHES: usize = 4;

/// What an upload holds on to: three buffers of 32 MiB.
const STAGING: u64 = 96 << 20;

/// What a long upload holds on to: eight.
const LONG_STAGING: u64 = 256 << 20;

/// Batches of more text than this have long uploads.
const MOST_SHORT: u64 = 512 << 20;

/// A batch has room for a member for so many bytes of text. Pages are larger; a batch of smaller ones ends early.
const MEMBER_TEXT: usize = 2048;

impl Room {
    /// For `text` bytes of text, less where an adapter has no buffers as large as that. Half as many bytes may come
    /// in, and a member for every 2 KiB.
    pub fn for_text(text: u64, gpu: &Gpu) -> Self {
        let report = gpu.report();
        // the sizes of members stand in the buffer of texts
        let most = report.max_binding_bytes.min(report.max_buffer_bytes).saturating_sub(PADDING as u64) / 9 * 8;
        Self::of(text.min(most))
    }

    pub(super) fn of(text: u64) -> Self {
        let text = text.max(1 << 16) as usize & !3;
        Self { packed: text / 2, text, members: text / MEMBER_TEXT }
    }

    /// Bytes of host memory for so many bytes of text a batch, on a device of its own memory or one that `shares` the
    /// host's: the staging buffers, and besides them five times the text. That is four texts with their ends; the
    /// pages of compressed bytes until they are copied, half a text; and lists of five batches' members, of some 112
    /// bytes each. Where memory is shared, four batches' buffers on the device are six texts more and a bit.
    pub fn host_bytes(text: u64, shares: bool) -> u64 {
        text.saturating_mul(texts(shares)).saturating_add(if is_long(text) { LONG_STAGING } else { STAGING })
    }

    /// The most bytes of text for which so many bytes of host memory are enough.
    pub fn text_within(host_bytes: u64, shares: bool) -> u64 {
        let within = |staging: u64| host_bytes.saturating_sub(staging) / texts(shares);
        let long = within(LONG_STAGING);
        // just too little for a long upload
        if is_long(long) { long } else { within(STAGING).min(MOST_SHORT) }
    }

    fn results(&self) -> u64 {
        (self.text + 4 * self.members) as u64
    }
}

/// Host memory by [`Room::host_bytes`], in texts.
fn texts(shares: bool) -> u64 {
    if shares { 11 } else { 5 }
}

/// Whether batches of so much text have a long upload.
fn is_long(text: u64) -> bool {
    text > MOST_SHORT
}

/// Members that are to be inflated together.
#[derive(Default)]
pub struct Load<'d> {
    parts: Vec<(&'d [u8], u64)>,
    /// Bytes that are no whole word.
    tails: Vec<([u8; 4], u64)>,
    members: Vec<Member>,
    packed: usize,
    text: usize,
}

impl<'d> Load<'d> {
    /// Compressed bytes so far.
    pub fn packed(&self) -> usize {
        self.packed
    }

    /// Bytes of text so far: members begin with a word.
    pub fn text(&self) -> usize {
        self.text
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds bytes in which streams lie. Returns where they will be.
    pub fn bytes(&mut self, bytes: &'d [u8]) -> usize {
        let at = self.packed;
        let (whole, rest) = bytes.split_at(bytes.len() & !3);
        if !whole.is_empty() {
            self.parts.push((whole, at as u64));
        }
        if !rest.is_empty() {
            let mut tail = [0; 4];
            tail[..rest.len()].copy_from_slice(rest);
            self.tails.push((tail, (at + whole.len()) as u64));
        }
        self.packed = (at + bytes.len()).next_multiple_of(4);
        at
    }

    /// Adds a member whose stream has `bytes` bytes from there on, which were added before, and a text of `size`
    /// bytes. Returns its number.
    ///
    /// # Panics
    /// If the bytes were not added, or the text is over [`MOST_TEXT`].
    pub fn member(&mut self, at: usize, bytes: usize, size: usize) -> usize {
        assert!(at + bytes <= self.packed && size <= MOST_TEXT, "a member of the bytes that were added");
        let to = self.text / 4;
        self.members.push(Member { at: at as u32, bytes: bytes as u32, to: to as u32, size: size as u32 });
        self.text += size.next_multiple_of(4);
        self.members.len() - 1
    }

    /// Whether a batch with this room may have so much more of each.
    pub fn fits(&self, room: &Room, packed: usize, members: usize, text: usize) -> bool {
        self.packed + packed.next_multiple_of(4) <= room.packed
            && self.members.len() + members <= room.members
            && self.text + text <= room.text
    }
}

/// The buffers of a batch.
#[derive(Debug)]
struct Slot {
    device: OnDevice,
    /// What comes back: ends, and behind them texts.
    results: Buffer,
}

#[derive(Debug)]
struct OnDevice {
    packed: Buffer,
    members: Buffer,
    /// With the text on the device, of which copies of earlier text are read.
    bound: Bound,
}

/// Where a member's end and text are in what comes back.
#[derive(Clone, Copy, Debug)]
struct Place {
    end: usize,
    text: usize,
    size: usize,
    /// What the end is if all is well.
    bytes: u32,
}

/// A batch on its way.
#[derive(Debug)]
pub struct Running {
    slot: Slot,
    pending: Pending,
    places: Vec<Place>,
    /// Bytes of what comes back.
    bytes: u64,
}

/// Inflates batches. What it makes lends its buffers, so at most four batches exist at a time.
#[derive(Debug)]
pub struct Inflate {
    gpu: Gpu,
    pipeline: Pipeline,
    upload: Upload,
    room: Room,
    timed: bool,
    made: usize,
    /// Buffers that are free, or why a thread could not make them.
    free: Receiver<Result<Slot, GpuError>>,
    back: Sender<Result<Slot, GpuError>>,
    making: Option<JoinHandle<()>>,
}

impl Inflate {
    /// On `gpu`, for batches of that room. `timed`: kernels are timed by the device's clock, if it has one.
    ///
    /// # Errors
    /// The device refuses the kernel, or was lost.
    pub fn new(gpu: Gpu, room: Room, timed: bool) -> Result<Self, GpuError> {
        let pipeline = gpu.pipeline(&kernel()?)?;
        let (back, free) = channel();
        // the next batch is copied while the device computes
        let upload = Upload::ahead(is_long(room.text as u64));
        Ok(Self { gpu, pipeline, upload, room, timed, made: 0, free, back, making: None })
    }

    /// Puts a fault into the kernel: `planted` in place of what is right.
    #[cfg(test)]
    pub fn plant(&mut self, right: &str, planted: &str) {
        let mut kernel = kernel().expect("a kernel");
        assert_eq!(kernel.source.matches(right).count(), 1, "{right}");
        kernel.source = kernel.source.replace(right, planted);
        self.pipeline = self.gpu.pipeline(&kernel).expect("a kernel");
    }

    /// How much a batch may hold.
    pub fn room(&self) -> Room {
        self.room
    }

    /// Makes the buffers of so many batches, four at most, which else the first batches wait for: those of one now,
    /// and the others on a thread, while the first batch is on its way. What that thread meets, a later batch does.
    ///
    /// # Errors
    /// Out of memory, or the device was lost.
    pub fn make_ready(&mut self, batches: usize) -> Result<(), GpuError> {
        let missing = batches.min(BATCHES).saturating_sub(self.made);
        if missing == 0 {
            return Ok(());
        }
        // the receiver is here
        let _ = self.back.send(Ok(self.making().make()?));
        self.made += 1;
        let (making, back) = (self.making(), self.back.clone());
        let others = move || {
            for _ in 1..missing {
                let made = making.make();
                let is_last = made.is_err();
                if back.send(made).is_err() || is_last {
                    return;
                }
            }
        };
        // without a thread they are made when they are needed
        self.making = std::thread::Builder::new().name("gamut-pin".into()).spawn(others).ok();
        self.made += if self.making.is_some() { missing - 1 } else { 0 };
        Ok(())
    }

    fn making(&self) -> Making {
        Making { gpu: self.gpu.clone(), pipeline: self.pipeline.clone(), room: self.room }
    }

    /// The name of the device.
    pub fn device(&self) -> &str {
        &self.gpu.report().name
    }

    /// Whether a batch can be started without waiting for texts of earlier ones to go.
    fn slot(&mut self, wait: bool) -> Result<Option<Slot>, GpuError> {
        match self.free.try_recv() {
            Ok(slot) => return slot.map(Some),
            Err(TryRecvError::Empty) if self.made < BATCHES => {
                self.made += 1;
                return self.making().make().map(Some);
            }
            Err(_) => {}
        }
        // texts that are gone give their buffers back
        if wait { self.free.recv().ok().transpose() } else { Ok(None) }
    }

    /// Sends a batch and starts it. If `wait`, waits until texts of an earlier batch are gone, where four batches
    /// exist, and for good if none of the four is finished; else returns `None` then.
    ///
    /// # Errors
    /// Out of memory, or the device was lost.
    ///
    /// # Panics
    /// If the batch has no member, or is over the room.
    pub fn start(&mut self, load: &Load<'_>, wait: bool) -> Result<Option<Running>, GpuError> {
        assert!(!load.is_empty() && load.fits(&self.room, 0, 0, 0), "a batch has members, and room for them");
        let Some(slot) = self.slot(wait)? else { return Ok(None) };
        let OnDevice { packed, members, bound } = &slot.device;
        let mut order: Vec<usize> = (0..load.len()).collect();
        // each is serial: the longest would end last
        order.sort_by_key(|&number| std::cmp::Reverse(load.members[number].bytes));
        let rows: Vec<Member> = order.iter().map(|&number| load.members[number]).collect();
        let mut parts: Vec<_> = load.parts.iter().map(|&(from, at)| Part { from, to: packed, at }).collect();
        parts.extend(load.tails.iter().map(|(from, at)| Part { from: &from[..], to: packed, at: *at }));
        parts.push(Part { from: bytemuck::cast_slice(&rows), to: members, at: 0 });
        let immediates = Params { members: rows.len() as u32 }.bytes();
        let steps = [Step::Run { name: "inflate", bound, immediates: &immediates, groups: rows.len() as u32 }];
        let sent = self.upload.send(&self.gpu, &parts).and_then(|()| self.gpu.submit("inflate", &steps, self.timed));
        let pending = match sent {
            Ok(pending) => pending,
            Err(error) => {
                // its buffers are gone, and others may be made
                self.made -= 1;
                return Err(error);
            }
        };
        let mut places = vec![Place { end: 0, text: 0, size: 0, bytes: 0 }; rows.len()];
        for (row, number) in order.into_iter().enumerate() {
            let Member { to, size, bytes, .. } = rows[row];
            let text = 4 * (rows.len() + to as usize);
            places[number] = Place { end: 4 * row, text, size: size as usize, bytes };
        }
        Ok(Some(Running { slot, pending, places, bytes: (4 * rows.len() + load.text) as u64 }))
    }

    /// Waits for a batch.
    ///
    /// # Errors
    /// The device was lost.
    pub fn finish(&mut self, running: Running) -> Result<Texts, GpuError> {
        let Running { slot: Slot { device, results }, pending, places, bytes } = running;
        let (mapped, times) = self.gpu.finish_mapped(pending, results, bytes).inspect_err(|_| self.made -= 1)?;
        let seconds = times.first().map(|&(_, seconds)| seconds);
        Ok(Texts { parts: Some((mapped, device)), places, seconds, back: self.back.clone() })
    }
}

impl Drop for Inflate {
    /// No driver likes a process that ends while a thread allocates.
    fn drop(&mut self) {
        if let Some(making) = self.making.take() {
            let _ = making.join();
        }
    }
}

/// What the buffers of a batch are made of.
struct Making {
    gpu: Gpu,
    pipeline: Pipeline,
    room: Room,
}

impl Making {
    fn make(&self) -> Result<Slot, GpuError> {
        let (gpu, room) = (&self.gpu, self.room);
        let packed = gpu.buffer("compressed members", (room.packed + PADDING) as u64, Usage::Storage)?;
        let members = gpu.buffer("members", (room.members * size_of::<Member>()) as u64, Usage::Storage)?;
        let text = gpu.buffer("inflated members", room.text as u64, Usage::Storage)?;
        let results = gpu.buffer("inflated members", room.results(), Usage::Results)?;
        let buffers = [("packed", &packed), ("members", &members), ("text", &text), ("results", &results)];
        let bound = gpu.bind("inflate", &self.pipeline, &buffers)?;
        Ok(Slot { device: OnDevice { packed, members, bound }, results })
    }
}

/// What a batch inflated to. Its buffers are used again when this is gone.
#[derive(Debug)]
pub struct Texts {
    parts: Option<(Mapped, OnDevice)>,
    places: Vec<Place>,
    seconds: Option<f64>,
    back: Sender<Result<Slot, GpuError>>,
}

impl Texts {
    /// The text of a member, whose CRC nobody has looked at; `None` if the device gave none.
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let place = self.places.get(number)?;
        let right = self.end(place)? == place.bytes;
        self.bytes().get(place.text..place.text + place.size).filter(|_| right)
    }

    /// What was wrong with a member, as the kernel calls it: one of `FAULT_*`; or that its stream ends early.
    #[cfg(test)]
    pub fn fault(&self, number: usize) -> Option<&'static str> {
        let place = self.places.get(number)?;
        match self.end(place)? {
            end if end == place.bytes => None,
            end if end & super::FAILED == 0 => Some("the stream ends early"),
            end => super::FAULTS.iter().find(|(_, fault)| *fault == end & !super::FAILED).map(|(name, _)| *name),
        }
    }

    /// Seconds of the kernel, if it was timed.
    pub fn seconds(&self) -> Option<f64> {
        self.seconds
    }

    fn end(&self, place: &Place) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes().get(place.end..)?.first_chunk()?))
    }

    fn bytes(&self) -> &[u8] {
        self.parts.as_ref().map_or(&[], |(mapped, _)| mapped.bytes())
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        if let Some((mapped, device)) = self.parts.take()
            && let Some(results) = mapped.unmap()
        {
            // nobody needs them any more if the other end is gone
            let _ = self.back.send(Ok(Slot { device, results }));
        }
    }
}
