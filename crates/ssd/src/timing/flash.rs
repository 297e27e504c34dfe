//! Dies and channels.

use ssdlab_core::{Nanos, nanos_from_us};
use ssdlab_nand::{CellMode, DieSpec, ModeSpec};

use super::{Interval, Operation, TimingRule, TimingViolation, Work};
use crate::spec::DriveSpec;

/// See the [module's own page](super).
#[derive(Clone, Debug)]
pub struct TimingReferee {
    /// By cell mode, then page; empty where the die does not offer the mode.
    read: [Vec<Nanos>; 3],
    program: [Vec<Nanos>; 3],
    erase: [Nanos; 3],
    native: CellMode,
    command: Nanos,
    /// Picoseconds of one unit on the channel, its share of the spare area included.
    unit_picos: u64,
    units_per_page: u64,
    /// Die `d` hangs on channel `d % channels`.
    channels: u32,
    ways: u32,
    dies: Vec<Die>,
    /// Transfers by channel that may still matter, in no order.
    transfers: Vec<Vec<Interval>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// Planes of the operation under way, and when it ends.
    planes: u8,
    free_at: Nanos,
}

impl TimingReferee {
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Self {
        let g = &die.geometry;
        let by_page = |time: fn(&ModeSpec, u32) -> Nanos| {
            CellMode::ALL.map(|mode| match die.mode(mode) {
                Some(m) => (0..m.pages_per_block).map(|page| time(&m, page)).collect(),
                None => Vec::new(),
            })
        };
        let unit_bytes = f64::from(g.page_bytes + g.spare_bytes) / f64::from(drive.units_per_page(die));
        let rate = die.bus.mega_transfers_per_s;
        TimingReferee {
            read: by_page(ModeSpec::read_time),
            program: by_page(ModeSpec::program_time),
            erase: CellMode::ALL.map(|mode| die.mode(mode).map_or(0, |m| m.erase_time())),
            native: die.native_mode(),
            command: nanos_from_us(die.bus.command_us),
            unit_picos: if rate > 0.0 { (unit_bytes / rate * 1e6).round() as u64 } else { 0 },
            units_per_page: drive.units_per_page(die).into(),
            channels: drive.controller.channels,
            ways: drive.controller.ways,
            dies: vec![Die::default(); drive.flash.dies as usize],
            transfers: vec![Vec::new(); drive.controller.channels as usize],
        }
    }

    /// Read times of their own for every page of a block, see [`crate::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.read[self.native.index()] = by_page.to_vec();
    }

    /// The power is gone: no die and no channel is busy.
    pub fn power_cut(&mut self) {
        self.dies.fill(Die::default());
        self.transfers.iter_mut().for_each(Vec::clear);
    }

    /// Accepts an operation, or says why a die would not have. Operations come in order of their beginning.
    ///
    /// # Errors
    /// The first rule broken; nothing is changed.
    #[inline]
    pub fn issue(&mut self, op: &Operation) -> Result<(), TimingViolation> {
        self.check(op)?;
        let channel = &mut self.transfers[(op.die % self.channels) as usize];
        channel.retain(|t| t.to > op.begin);
        if op.transfer.to > op.transfer.from {
            channel.push(op.transfer);
        }
        self.dies[op.die as usize] = Die { planes: op.planes, free_at: op.end };
        Ok(())
    }

    /// Accepts a transfer on a channel whose die is not judged: a page of a stripe. Transfers come in order of `asked`.
    ///
    /// # Errors
    /// [`TimingRule::ChannelBusy`]; nothing is changed.
    pub fn pass_through(&mut self, channel: u32, asked: Nanos, transfer: Interval) -> Result<(), TimingViolation> {
        let booked = &mut self.transfers[channel as usize];
        booked.retain(|t| t.to > asked);
        if let Some(t) = booked.iter().find(|t| t.overlaps(transfer)) {
            let (at, earliest) = (transfer.from, t.to);
            return Err(TimingViolation { rule: TimingRule::ChannelBusy, place: channel, at, earliest });
        }
        if transfer.to > transfer.from {
            booked.push(transfer);
        }
        Ok(())
    }

    /// What [`TimingReferee::issue`] would say.
    ///
    /// # Errors
    /// The first rule broken.
    #[inline]
    pub fn check(&self, op: &Operation) -> Result<(), TimingViolation> {
        let require = |rule, at, earliest| {
            if at >= earliest { Ok(()) } else { Err(TimingViolation { rule, place: op.die, at, earliest }) }
        };
        let die = self.dies[op.die as usize];
        let shared = die.planes & op.planes != 0;
        require(if shared { TimingRule::PlaneBusy } else { TimingRule::DieBusy }, op.begin, die.free_at)?;
        require(TimingRule::InterleaveLimit, op.begin, self.way_free_at(op))?;
        let Interval { from, to } = op.transfer;
        match op.work {
            Work::Read { page, rows, .. } | Work::ReadAgain { page, rows, .. } => {
                let sensed = op.begin + self.command + self.sensing(op.mode, page, rows) * op.work.senses();
                require(TimingRule::ReadTime, from, sensed)?;
                self.check_transfer(op, sensed)?;
                require(TimingRule::DataOut, op.end, to)
            }
            Work::Program { page } => {
                let addressed = op.begin + self.command;
                require(TimingRule::CommandCycles, from, addressed)?;
                require(TimingRule::DataNotHere, from, op.data_here)?;
                self.check_transfer(op, addressed.max(op.data_here))?;
                require(TimingRule::ProgramTime, op.end, to + self.program[op.mode.index()][page as usize])
            }
            Work::Copy { page } => {
                let programmed = self.program[op.mode.index()][page as usize];
                require(TimingRule::ProgramTime, op.end, op.begin + self.command + programmed)
            }
            Work::Erase => {
                require(TimingRule::EraseTime, op.end, op.begin + self.command + self.erase[op.mode.index()])
            }
        }
    }

    /// The earliest legal course of some work, in the die's own cell mode, that is asked for at `asked`: the probe.
    #[must_use]
    pub fn earliest(&self, die: u32, planes: u8, work: Work, asked: Nanos, data_here: Nanos) -> Operation {
        let nothing = Interval::new(asked, asked);
        let mode = self.native;
        let mut op = Operation { die, planes, mode, work, begin: asked, data_here, transfer: nothing, end: asked };
        op.begin = asked.max(self.dies[die as usize].free_at);
        op.begin = op.begin.max(self.way_free_at(&op));
        let addressed = op.begin + self.command;
        let length = self.transfer_time(&op);
        let course = |ready| {
            let from = self.channel_free_at(&op, ready, length);
            Interval::new(from, from + length)
        };
        match work {
            Work::Read { page, rows, .. } | Work::ReadAgain { page, rows, .. } => {
                op.transfer = course(addressed + self.sensing(op.mode, page, rows) * op.work.senses());
                op.end = op.transfer.to;
            }
            Work::Program { page } => {
                op.transfer = course(addressed.max(data_here));
                op.end = op.transfer.to + self.program[op.mode.index()][page as usize];
            }
            Work::Copy { page } => {
                op.transfer = Interval::new(op.begin, op.begin);
                op.end = addressed + self.program[op.mode.index()][page as usize];
            }
            Work::Erase => {
                op.transfer = Interval::new(op.begin, op.begin);
                op.end = addressed + self.erase[op.mode.index()];
            }
        }
        op
    }

    /// tR of each row sensed.
    #[inline]
    fn sensing(&self, mode: CellMode, page: u32, rows: u8) -> Nanos {
        let by_page = &self.read[mode.index()];
        if rows == 1 {
            return by_page[page as usize];
        }
        (0..8).filter(|k| rows >> k & 1 != 0).map(|k| by_page[page as usize + k]).sum()
    }

    /// What the bytes of an operation take.
    #[inline]
    fn transfer_time(&self, op: &Operation) -> Nanos {
        let units = match op.work {
            Work::Read { units, .. } | Work::ReadAgain { units, .. } => units.into(),
            Work::Program { .. } => u64::from(op.planes.count_ones()) * self.units_per_page,
            Work::Copy { .. } | Work::Erase => 0,
        };
        (units * self.unit_picos).div_ceil(1000)
    }

    /// A transfer that could begin at `ready` if the channel were free.
    #[inline]
    fn check_transfer(&self, op: &Operation, ready: Nanos) -> Result<(), TimingViolation> {
        let place = op.die;
        let length = self.transfer_time(op);
        let Interval { from, to } = op.transfer;
        if to < from + length {
            return Err(TimingViolation { rule: TimingRule::TransferTime, place, at: to, earliest: from + length });
        }
        let taken = self.transfers[(op.die % self.channels) as usize].iter().any(|t| t.overlaps(op.transfer));
        if length > 0 && taken {
            let earliest = self.channel_free_at(op, from.max(ready), length);
            return Err(TimingViolation { rule: TimingRule::ChannelBusy, place, at: from, earliest });
        }
        Ok(())
    }

    /// The earliest time from `ready` on at which the operation's channel is free for `length`.
    fn channel_free_at(&self, op: &Operation, ready: Nanos, length: Nanos) -> Nanos {
        let channel = &self.transfers[(op.die % self.channels) as usize];
        let mut from = ready;
        // Each transfer in the way moves it on, and none can be in the way twice.
        while let Some(t) = channel.iter().find(|t| length > 0 && t.overlaps(Interval::new(from, from + length))) {
            from = t.to;
        }
        from
    }

    /// When fewer dies of the operation's channel will be at work than the controller interleaves.
    #[inline]
    fn way_free_at(&self, op: &Operation) -> Nanos {
        let (dies, channels) = (self.dies.len() as u32, self.channels);
        if dies.div_ceil(channels) <= self.ways {
            return 0;
        }
        let others = (0..dies).filter(|&d| d % channels == op.die % channels && d != op.die);
        let mut ends: Vec<Nanos> = others.map(|d| self.dies[d as usize].free_at).filter(|&t| t > op.begin).collect();
        ends.sort_unstable();
        // The one whose end leaves one way less than there are.
        ends.len().checked_sub(self.ways as usize).map_or(0, |k| ends[k])
    }
}
