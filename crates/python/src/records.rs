//! Every command that a device answered, in columns.

use std::sync::{Arc, Mutex, PoisonError};

use ssdlab_bench::{Begins, Lab, PoweredOn};
use ssdlab_core::{CAUSES, Nanos};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Flash, Plug, PowerManagement, Recorder, Refusal, Request, Security,
    Status,
};

use crate::table::{Column, Table};

const OPS: [&str; 5] = ["read", "write", "trim", "flush", "write_zeroes"];
const STATUSES: [&str; 6] = ["ok", "media_error", "read_only", "locked", "aborted", "gone"];

fn status_number(status: Status) -> i8 {
    match status {
        Status::Ok => 0,
        Status::MediaError => 1,
        Status::ReadOnly => 2,
        Status::Locked => 3,
        Status::Aborted => 4,
        Status::Gone => 5,
    }
}

/// Completions by column, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Records {
    tag: Vec<u64>,
    op: Vec<i8>,
    status: Vec<i8>,
    offset: Vec<u64>,
    length: Vec<u64>,
    submitted: Vec<u64>,
    completed: Vec<u64>,
    /// Of each cause that took any time so far; the others stay empty.
    causes: [Vec<u64>; CAUSES.len()],
    /// Commands that came after the limit.
    pub left_out: u64,
}

impl Records {
    pub fn len(&self) -> usize {
        self.tag.len()
    }

    #[inline]
    pub fn push(&mut self, c: &Completion, explained: bool) {
        if explained {
            let before = self.tag.len();
            for (column, &nanos) in self.causes.iter_mut().zip(&c.breakdown.nanos) {
                if column.len() < before && nanos > 0 {
                    column.resize(before, 0);
                }
                if nanos > 0 || before > 0 && column.len() == before {
                    column.push(nanos);
                }
            }
        }
        self.tag.push(c.tag);
        self.op.push(c.op as i8);
        self.status.push(status_number(c.status));
        self.offset.push(c.offset_bytes);
        self.length.push(c.length_bytes);
        self.submitted.push(c.submitted);
        self.completed.push(c.completed);
    }

    /// `tag`, `op`, `status`, `offset`, `length`, `submitted`, `completed`, and a column for each cause that took time.
    pub fn into_table(self) -> Table {
        let rows = self.len();
        let mut columns = vec![
            Column::u64("tag", "", self.tag),
            Column::words("op", &OPS, self.op),
            Column::words("status", &STATUSES, self.status),
            Column::u64("offset", "B", self.offset),
            Column::u64("length", "B", self.length),
            Column::u64("submitted", "ns", self.submitted),
            Column::u64("completed", "ns", self.completed),
        ];
        for (cause, mut nanos) in CAUSES.iter().zip(self.causes) {
            if !nanos.is_empty() {
                nanos.resize(rows, 0);
                columns.push(Column::u64(cause.key(), "ns", nanos));
            }
        }
        Table::new(columns)
    }
}

/// Devices whose commands are recorded, of all that a test powers on.
pub struct Recorded<'a> {
    pub inner: &'a dyn Lab,
    pub limit: usize,
    pub records: Arc<Mutex<Records>>,
}

impl<'a> Recorded<'a> {
    pub fn new(inner: &'a dyn Lab, limit: usize) -> Self {
        Recorded { inner, limit, records: Arc::default() }
    }

    pub fn into_records(self) -> Records {
        std::mem::take(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn of(&self, inner: Box<dyn Device>) -> Box<dyn Device> {
        Box::new(RecordedDevice { inner, limit: self.limit, records: Arc::clone(&self.records) })
    }
}

impl Lab for Recorded<'_> {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let PoweredOn { device, ready } = self.inner.fresh(seed)?;
        Ok(PoweredOn { device: self.of(device), ready })
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn begins(&self) -> Begins {
        self.inner.begins()
    }

    fn stored_days(&self) -> u32 {
        self.inner.stored_days()
    }

    fn has_disk(&self, seed: u64) -> Result<bool, String> {
        self.inner.has_disk(seed)
    }

    fn queue_depth(&self, seed: u64) -> Result<u32, String> {
        self.inner.queue_depth(seed)
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        Ok(self.inner.small(by, seed)?.map(|device| self.of(device)))
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        self.inner.reference(model, seed)
    }
}

struct RecordedDevice {
    inner: Box<dyn Device>,
    limit: usize,
    records: Arc<Mutex<Records>>,
}

impl RecordedDevice {
    fn record(&self, done: &[Completion]) {
        if done.is_empty() {
            return;
        }
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        for completion in done {
            if records.len() < self.limit {
                records.push(completion, true);
            } else {
                records.left_out += 1;
            }
        }
    }
}

impl Device for RecordedDevice {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let before = done.len();
        self.inner.advance(to, done);
        self.record(&done[before..]);
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let before = done.len();
        let reached = self.inner.advance_to_completion(limit, done);
        self.record(&done[before..]);
        reached
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        let inner = self.inner.snapshot()?;
        Some(Box::new(RecordedDevice { inner, limit: self.limit, records: Arc::clone(&self.records) }))
    }

    fn flash(&mut self) -> Option<&mut dyn Flash> {
        self.inner.flash()
    }

    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        self.inner.power()
    }

    fn celsius(&self) -> Option<f64> {
        self.inner.celsius()
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        self.inner.recorder()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        self.inner.security()
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        self.inner.plug()
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        self.inner.plug_seen()
    }
}
