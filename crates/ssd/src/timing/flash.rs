//! Dies and channels.

use ssdlab_core::{Nanos, nanos_from_us};
use ssdlab_nand::{CellMode, DieId, DieSpec, ModeSpec, Suspend, VariationSpec, WHOLE};

use super::{CopyAndRead, Interval, Load, Operation, TimingRule, TimingViolation, Work};
use crate::spec::DriveSpec;
use crate::whole_dies::WholeDies;

/// See the [module's own page](super).
#[derive(Clone, Debug)]
pub struct TimingReferee {
    /// By cell mode, then page; empty where the die does not offer the mode.
    read: [Vec<Nanos>; CellMode::COUNT],
    program: [Vec<Nanos>; CellMode::COUNT],
    erase: [Nanos; CellMode::COUNT],
    native: CellMode,
    command: Nanos,
    /// Picoseconds of one unit on the channel, its share of the spare area included.
    unit_picos: u64,
    units_per_page: u64,
    /// How often a row crosses the channel to be programmed in the die's own mode.
    passes: u64,
    /// Command and addresses of a read that occupy the channel; what cycles add to the data of a read and of a program.
    read_cycles: Nanos,
    data_out: Nanos,
    program_cycles: Nanos,
    /// With cache reads: from one register to the other.
    cache_read: Option<Nanos>,
    /// With cache programs: from the end of one until the array goes on with the next.
    cache_program: Option<Nanos>,
    /// With cache programs: a second register for each die.
    registers: Vec<Register>,
    suspend: Option<Suspend>,
    /// Whether a plane reads whatever the others of its die read.
    planes_read_apart: bool,
    /// The least and the greatest share of array times: of reads, programs and erases.
    shares: [(u64, u64); 3],
    programs_at_once: Option<u32>,
    /// If what is operated are planes of dies: these are what may program at once.
    whole: Option<WholeDies>,
    /// Die `d` hangs on channel `d % channels`.
    channels: u32,
    /// Dies of a channel that work at once, where not all may.
    ways: Option<u32>,
    /// None of the above applies but for times of the array and of the bus.
    is_plain: bool,
    dies: Vec<Die>,
    /// Where planes read apart: what each of a die's reads by itself.
    planes_reads: Vec<[PlaneRead; 4]>,
    /// Transfers by channel that may still matter, in no order.
    transfers: Vec<Vec<Interval>>,
}

#[derive(Clone, Copy, Debug)]
struct Die {
    /// The channel that it hangs on.
    channel: u32,
    /// Planes of the operation under way, and when it ends.
    planes: u8,
    free_at: Nanos,
    /// When the array had sensed the last read and the data of the one before were out, if that was the last operation.
    sensed: Option<Nanos>,
    /// Its share of the array time.
    share: u64,
    /// Whether the operation under way, or interrupted, is a program.
    programs: bool,
    /// What is left of an operation that was interrupted.
    left: Option<Nanos>,
}

/// A plane that reads by itself: when it is through, and of its last page what a [`Die`] has.
#[derive(Clone, Copy, Debug, Default)]
struct PlaneRead {
    free_at: Nanos,
    sensed: Option<Nanos>,
    share: u64,
}

/// The second register of a die.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// Since when the array has had the data of the operation under way, or interrupted, if they came over the channel.
    free_from: Option<Nanos>,
    /// What is in it, or will be.
    loaded: Option<Load>,
}

impl Die {
    fn idle(channel: u32) -> Self {
        Die { channel, planes: 0, free_at: 0, sensed: None, share: 0, programs: false, left: None }
    }

    fn is_at_program(&self, at: Nanos) -> bool {
        self.programs && (self.left.is_some() || self.free_at > at)
    }
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
        let cycles = die.features.cycles.as_ref();
        let ways =
            Some(drive.controller.ways).filter(|&ways| drive.flash.dies.div_ceil(drive.controller.channels) > ways);
        let features = &die.features;
        TimingReferee {
            is_plain: !drive.reads_planes_apart(die)
                && features.cache_read_busy_us.is_none()
                && features.cache_program_busy_us.is_none()
                && features.suspend.is_none()
                && cycles.is_none()
                && die.variation.is_none()
                && drive.controller.programs_at_once.is_none()
                && ways.is_none(),
            read: by_page(ModeSpec::read_time),
            program: by_page(ModeSpec::program_time),
            erase: CellMode::ALL.map(|mode| die.mode(mode).map_or(0, |m| m.erase_time())),
            native: die.native_mode(),
            command: if cycles.is_some() { 0 } else { nanos_from_us(die.bus.command_us) },
            unit_picos: if rate > 0.0 { (unit_bytes / rate * 1e6).round() as u64 } else { 0 },
            units_per_page: drive.units_per_page(die).into(),
            passes: die.features.program_passes.into(),
            read_cycles: cycles.map_or(0, |c| nanos_from_us(c.read_us)),
            data_out: cycles.map_or(0, |c| nanos_from_us(c.data_out_us)),
            program_cycles: cycles.map_or(0, |c| nanos_from_us(c.program_us)),
            cache_read: die.features.cache_read_busy_us.map(nanos_from_us),
            cache_program: die.features.cache_program_busy_us.map(nanos_from_us),
            registers: match die.features.cache_program_busy_us {
                Some(_) => vec![Register::default(); drive.flash.dies as usize],
                None => Vec::new(),
            },
            suspend: die.features.suspend.clone(),
            planes_read_apart: drive.reads_planes_apart(die),
            shares: die.variation.as_ref().map_or([(WHOLE, WHOLE); 3], shares),
            programs_at_once: drive.controller.programs_at_once,
            whole: None,
            channels: drive.controller.channels,
            ways,
            dies: (0..drive.flash.dies).map(|d| Die::idle(d % drive.controller.channels)).collect(),
            planes_reads: match drive.reads_planes_apart(die) {
                true => vec![<[PlaneRead; 4]>::default(); drive.flash.dies as usize],
                false => Vec::new(),
            },
            transfers: vec![Vec::new(); drive.controller.channels as usize],
        }
    }

    /// What is operated are planes of these dies.
    pub(crate) fn count_whole_dies(&mut self, whole: WholeDies) {
        self.whole = Some(whole);
    }

    /// Read times of their own for every page of a block, see [`crate::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.read[self.native.index()] = by_page.to_vec();
    }

    /// The power is gone: no die and no channel is busy.
    pub fn power_cut(&mut self) {
        self.dies.iter_mut().for_each(|die| *die = Die::idle(die.channel));
        self.transfers.iter_mut().for_each(Vec::clear);
        self.registers.fill(Register::default());
        self.planes_reads.fill(<[PlaneRead; 4]>::default());
    }

    /// Accepts an operation, or says why a die would not have. Operations come in order of their beginning.
    ///
    /// # Errors
    /// The first rule broken; nothing is changed.
    #[inline]
    pub fn issue(&mut self, op: &Operation) -> Result<(), TimingViolation> {
        self.check(op)?;
        let apart = self.reads_apart(op);
        if let Some(handed_over) = self.cache_program {
            self.note_register(op, handed_over);
        }
        // What still leaves by the second register goes before what is sensed now.
        let data_out = match apart {
            Some(plane) => self.planes_reads[op.die.index()][plane].free_at,
            None => self.dies[op.die.index()].free_at,
        };
        let die = &mut self.dies[op.die.index()];
        let channel = &mut self.transfers[die.channel as usize];
        channel.retain(|t| t.to > op.begin);
        let is_loaded = matches!(op.work, Work::ProgramLoaded { .. });
        if op.transfer.to > op.transfer.from && !is_loaded {
            channel.push(op.transfer);
        }
        let sensed = match op.work {
            Work::Read { page, rows: 1, .. } if self.cache_read.is_some() => {
                let of_row = self.read[op.mode.index()][page as usize];
                Some((op.begin + self.command + share_of(of_row, op.share)).max(data_out))
            }
            _ => None,
        };
        if let Some(plane) = apart {
            self.planes_reads[op.die.index()][plane] = PlaneRead { free_at: op.end, sensed, share: op.share };
            die.sensed = None;
            return Ok(());
        }
        let programs = is_program(op.work) || die.left.is_some() && die.programs;
        if self.planes_read_apart {
            self.planes_reads[op.die.index()].iter_mut().for_each(|plane| plane.sensed = None);
        }
        *die = Die { planes: op.planes, free_at: op.end, sensed, share: op.share, programs, ..*die };
        Ok(())
    }

    /// A die begins an operation: what that means to its second register.
    #[cold]
    fn note_register(&mut self, op: &Operation, handed_over: Nanos) {
        let was_interrupted = self.dies[op.die.index()].left.is_some();
        let register = &mut self.registers[op.die.index()];
        let free_from = match op.work {
            Work::Program { .. } => Some(op.transfer.to),
            Work::ProgramLoaded { .. } => Some(op.transfer.to.max(op.begin + handed_over)),
            // What was interrupted goes on after it.
            _ => register.free_from.filter(|_| was_interrupted),
        };
        *register = Register { free_from, loaded: None };
    }

    /// Accepts the data of a die's next program while its array programs, or says why it would not have taken them.
    ///
    /// # Errors
    /// The first rule broken; nothing is changed.
    pub fn load(&mut self, load: &Load) -> Result<(), TimingViolation> {
        let place = load.die.number();
        let require = |rule, at, earliest| {
            if at >= earliest { Ok(()) } else { Err(TimingViolation { rule, place, at, earliest }) }
        };
        let die = self.dies[load.die.index()];
        let register = self.registers.get(load.die.index()).copied().unwrap_or_default();
        let programs = die.left.is_none() && load.asked <= die.free_at;
        let Some(free_from) = register.free_from.filter(|_| programs) else {
            return require(TimingRule::SecondRegister, load.asked, Nanos::MAX);
        };
        if register.loaded.is_some() {
            return require(TimingRule::SecondRegister, load.asked, die.free_at.max(load.asked + 1));
        }
        let addressed = load.asked.max(free_from) + self.command;
        require(TimingRule::CommandCycles, load.transfer.from, addressed)?;
        require(TimingRule::DataNotHere, load.transfer.from, load.data_here)?;
        let op = Operation {
            die: load.die,
            planes: load.planes,
            mode: load.mode,
            work: Work::Program { page: 0 },
            begin: load.asked,
            share: WHOLE,
            data_here: load.data_here,
            transfer: load.transfer,
            end: load.transfer.to,
        };
        self.check_transfer(&op, addressed.max(load.data_here))?;
        let channel = &mut self.transfers[die.channel as usize];
        channel.retain(|t| t.to > load.asked);
        if load.transfer.to > load.transfer.from {
            channel.push(load.transfer);
        }
        self.registers[load.die.index()].loaded = Some(*load);
        Ok(())
    }

    /// What a die has in its second register is not programmed. Its transfer takes place.
    ///
    /// # Panics
    /// If there is nothing in it.
    pub fn gave_register_up(&mut self, die: DieId) {
        let given_up = self.registers[die.index()].loaded.take();
        assert!(given_up.is_some(), "an empty register is given up");
    }

    /// Accepts the two operations of [`CopyAndRead`] in one step, if nothing else is in the way and there is no more to them.
    /// Returns whether it has; if not, nothing is changed, and [`TimingReferee::issue`] is to be asked for one after the other.
    #[inline(always)]
    pub fn takes_copy(&mut self, copy: &CopyAndRead) -> bool {
        if !self.is_plain {
            return false;
        }
        let die = &mut self.dies[copy.die.index()];
        let channel = &mut self.transfers[die.channel as usize];
        let Interval { from, to } = copy.transfer;
        let native = self.native.index();
        let programmed = copy.begin + self.command + self.program[native][copy.row as usize];
        let sensed = copy.programmed + self.command + self.read[native][copy.page as usize];
        let on_time = copy.begin >= die.free_at && copy.programmed >= programmed && from >= sensed;
        // In whole picoseconds, so that nothing has to be rounded.
        let crosses = to.saturating_sub(from) * 1000 >= u64::from(copy.units) * self.unit_picos;
        // The bus has been free since the last transfer, which is all that has to be remembered.
        let [last] = &mut channel[..] else { return false };
        let takes = on_time && crosses && last.to <= copy.begin && to > from;
        if takes {
            *last = copy.transfer;
            *die = Die { planes: copy.planes, free_at: to, programs: false, ..*die };
        }
        takes
    }

    /// A die is interrupted, and takes reads from `at` on.
    ///
    /// # Panics
    /// If it is at nothing, or was interrupted before.
    pub fn interrupted(&mut self, die: DieId, now: Nanos, at: Nanos) {
        let loaded = self.registers.get(die.index()).is_some_and(|register| register.loaded.is_some());
        assert!(!loaded, "an interruption of what has a successor in the register");
        let die = &mut self.dies[die.index()];
        assert!(die.left.is_none() && die.free_at > now && self.suspend.is_some(), "an interruption of nothing");
        (die.left, die.free_at) = (Some(die.free_at - now), at);
    }

    /// A die goes on with what was interrupted.
    ///
    /// # Errors
    /// [`TimingRule::DieBusy`] or [`TimingRule::ProgramTime`]; nothing is changed.
    pub fn resumed(&mut self, die: DieId, at: Nanos, end: Nanos) -> Result<(), TimingViolation> {
        let resume = self.suspend.as_ref().map_or(0, |s| nanos_from_us(s.resume_us));
        let free_at = self.all_free_at(die);
        let d = &mut self.dies[die.index()];
        if at < free_at {
            return Err(TimingViolation { rule: TimingRule::DieBusy, place: die.number(), at, earliest: free_at });
        }
        let earliest = at + resume + d.left.take().expect("something was interrupted");
        if end < earliest {
            return Err(TimingViolation { rule: TimingRule::ProgramTime, place: die.number(), at: end, earliest });
        }
        (d.free_at, d.sensed) = (end, None);
        if let Some(register) = self.registers.get_mut(die.index()) {
            register.free_from = register.free_from.map(|_| at + resume);
        }
        Ok(())
    }

    /// Accepts a transfer on a channel whose die is not judged: a page of a stripe. Transfers come in order of `asked`.
    ///
    /// # Errors
    /// [`TimingRule::ChannelBusy`]; nothing is changed.
    pub fn pass_through(&mut self, channel: u32, asked: Nanos, transfer: Interval) -> Result<(), TimingViolation> {
        if transfer.to <= transfer.from {
            // On a bus that takes no time there is nothing in anybody's way.
            return Ok(());
        }
        let booked = &mut self.transfers[channel as usize];
        booked.retain(|t| t.to > asked);
        if let Some(t) = booked.iter().find(|t| t.overlaps(transfer)) {
            let (at, earliest) = (transfer.from, t.to);
            return Err(TimingViolation { rule: TimingRule::ChannelBusy, place: channel, at, earliest });
        }
        booked.push(transfer);
        Ok(())
    }

    /// What [`TimingReferee::issue`] would say.
    ///
    /// # Errors
    /// The first rule broken.
    #[inline]
    pub fn check(&self, op: &Operation) -> Result<(), TimingViolation> {
        let require = |rule, at, earliest| {
            if at >= earliest { Ok(()) } else { Err(TimingViolation { rule, place: op.die.number(), at, earliest }) }
        };
        let mut die = self.dies[op.die.index()];
        if self.planes_read_apart {
            self.check_planes(op)?;
            if let Some(plane) = self.reads_apart(op) {
                // What it must wait for beside the die's own work, and goes on from, is the plane's.
                let PlaneRead { free_at, sensed, share } = self.planes_reads[op.die.index()][plane];
                die.sensed = None;
                if free_at >= die.free_at {
                    (die.free_at, die.sensed, die.share, die.planes) = (free_at, sensed, share, op.planes);
                }
            }
        }
        let shared = die.planes & op.planes != 0;
        let Interval { from, to } = op.transfer;
        // The next page may be sensed while the last one leaves.
        let cached = match (self.cache_read, die.sensed, op.work) {
            (Some(handed_over), Some(sensed), Work::Read { .. }) => {
                require(TimingRule::DataOut, from, die.free_at)?;
                Some(sensed + handed_over)
            }
            _ => None,
        };
        let free_at = cached.unwrap_or(die.free_at).min(die.free_at);
        require(if shared { TimingRule::PlaneBusy } else { TimingRule::DieBusy }, op.begin, free_at)?;
        require(TimingRule::InterleaveLimit, op.begin, self.way_free_at(op))?;
        if self.cache_program.is_some() || matches!(op.work, Work::ProgramLoaded { .. }) {
            self.check_register(op)?;
        }
        self.check_share(op)?;
        if matches!(op.work, Work::ReadAgain { .. }) {
            // The same places, which are as slow as they were.
            require(TimingRule::Share, op.share, die.share)?;
        }
        self.check_program_limit(op)?;
        match op.work {
            Work::Read { page, rows, .. } | Work::ReadAgain { page, rows, .. } => {
                let once = share_of(self.sensing(op.mode, page, rows), op.share);
                let sensed = self.addressed(op) + once * op.work.senses();
                require(TimingRule::ReadTime, from, sensed)?;
                self.check_transfer(op, sensed)?;
                require(TimingRule::DataOut, op.end, to)
            }
            Work::Program { page } => {
                let addressed = op.begin + self.command;
                require(TimingRule::CommandCycles, from, addressed)?;
                require(TimingRule::DataNotHere, from, op.data_here)?;
                self.check_transfer(op, addressed.max(op.data_here))?;
                require(
                    TimingRule::ProgramTime,
                    op.end,
                    to + share_of(self.program[op.mode.index()][page as usize], op.share),
                )
            }
            Work::ProgramLoaded { page } => {
                let array_from = to.max(op.begin + self.cache_program.unwrap_or(0));
                let programmed = share_of(self.program[op.mode.index()][page as usize], op.share);
                require(TimingRule::ProgramTime, op.end, array_from + programmed)
            }
            Work::Copy { page } => {
                let programmed = share_of(self.program[op.mode.index()][page as usize], op.share);
                require(TimingRule::ProgramTime, op.end, op.begin + self.command + programmed)
            }
            Work::Erase => {
                let erased = share_of(self.erase[op.mode.index()], op.share);
                require(TimingRule::EraseTime, op.end, op.begin + self.command + erased)
            }
        }
    }

    /// When the command and address cycles of an operation are over. Those that occupy the channel are over when it begins, but
    /// for what is sensed again.
    #[inline]
    fn addressed(&self, op: &Operation) -> Nanos {
        let again = matches!(op.work, Work::ReadAgain { .. });
        op.begin + self.command + if again { self.read_cycles } else { 0 }
    }

    /// When neither a die nor any plane of it is at anything.
    fn all_free_at(&self, die: DieId) -> Nanos {
        let planes = self.planes_reads.get(die.index()).into_iter().flatten();
        planes.map(|plane| plane.free_at).fold(self.dies[die.index()].free_at, Nanos::max)
    }

    /// The plane that an operation reads by itself, if it does.
    #[inline]
    fn reads_apart(&self, op: &Operation) -> Option<usize> {
        let reads = matches!(op.work, Work::Read { .. } | Work::ReadAgain { .. });
        (self.planes_read_apart && reads && op.planes.count_ones() == 1).then(|| op.planes.trailing_zeros() as usize)
    }

    /// Whether the planes that an operation needs are through with what they read by themselves.
    #[cold]
    fn check_planes(&self, op: &Operation) -> Result<(), TimingViolation> {
        if self.reads_apart(op).is_some() {
            return Ok(());
        }
        let earliest = self.all_free_at(op.die);
        if op.begin >= earliest || earliest == self.dies[op.die.index()].free_at {
            return Ok(());
        }
        Err(TimingViolation { rule: TimingRule::DieBusy, place: op.die.number(), at: op.begin, earliest })
    }

    /// The earliest legal course of some work, in the die's own cell mode, that is asked for at `asked`: the probe.
    #[must_use]
    pub fn earliest(&self, die: DieId, planes: u8, work: Work, asked: Nanos, data_here: Nanos) -> Operation {
        let nothing = Interval::new(asked, asked);
        let mode = self.native;
        let share = WHOLE;
        let mut op =
            Operation { die, planes, mode, work, begin: asked, share, data_here, transfer: nothing, end: asked };
        op.begin = match self.reads_apart(&op) {
            Some(plane) => asked.max(self.dies[die.index()].free_at).max(self.planes_reads[die.index()][plane].free_at),
            None => asked.max(self.all_free_at(die)),
        };
        op.begin = op.begin.max(self.way_free_at(&op));
        let addressed = self.addressed(&op);
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
            Work::ProgramLoaded { page } => {
                op.transfer =
                    self.registers.get(die.index()).and_then(|r| r.loaded).map_or(nothing, |load| load.transfer);
                let array_from = op.transfer.to.max(op.begin + self.cache_program.unwrap_or(0));
                op.end = array_from + self.program[op.mode.index()][page as usize];
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
        let eighths = match op.work {
            Work::Read { eighths, .. } => eighths.into(),
            Work::ReadAgain { units, .. } => u64::from(units) * 8,
            Work::Program { .. } => u64::from(op.planes.count_ones()) * self.units_per_page * 8,
            // They have crossed it already.
            Work::ProgramLoaded { .. } | Work::Copy { .. } | Work::Erase => 0,
        };
        let once = (eighths * self.unit_picos).div_ceil(8000);
        match op.work {
            Work::Read { .. } | Work::ReadAgain { .. } => once + self.data_out,
            Work::Program { .. } if op.mode == self.native => once * self.passes + self.program_cycles,
            Work::Program { .. } => once + self.program_cycles,
            Work::ProgramLoaded { .. } | Work::Copy { .. } | Work::Erase => once,
        }
    }

    /// Whether a program that begins out of the second register is what is in there, and nothing else begins before it.
    #[cold]
    fn check_register(&self, op: &Operation) -> Result<(), TimingViolation> {
        let loaded = self.registers.get(op.die.index()).and_then(|register| register.loaded);
        let legal = match op.work {
            Work::ProgramLoaded { .. } => {
                loaded.is_some_and(|load| (load.planes, load.mode, load.transfer) == (op.planes, op.mode, op.transfer))
            }
            _ => loaded.is_none(),
        };
        if legal {
            return Ok(());
        }
        let (place, at) = (op.die.number(), op.begin);
        Err(TimingViolation { rule: TimingRule::SecondRegister, place, at, earliest: Nanos::MAX })
    }

    /// Whether the place's share of the array time is one that the die file allows.
    #[inline]
    fn check_share(&self, op: &Operation) -> Result<(), TimingViolation> {
        let (least, greatest) = self.shares[match op.work {
            Work::Read { .. } | Work::ReadAgain { .. } => 0,
            Work::Program { .. } | Work::ProgramLoaded { .. } | Work::Copy { .. } => 1,
            Work::Erase => 2,
        }];
        if (least..=greatest).contains(&op.share) {
            return Ok(());
        }
        Err(TimingViolation { rule: TimingRule::Share, place: op.die.number(), at: op.share, earliest: least })
    }

    /// Whether few enough dies program already.
    #[inline]
    fn check_program_limit(&self, op: &Operation) -> Result<(), TimingViolation> {
        let Some(most) = self.programs_at_once else { return Ok(()) };
        if !is_program(op.work) {
            return Ok(());
        }
        if self.at_programs(op.begin).count() < most as usize || self.has_few_whole_dies_at_programs(op, most) {
            return Ok(());
        }
        Err(self.beyond_program_limit(op, most))
    }

    /// Whether no more dies are at programs than may be, this one included, if what is operated are their planes.
    #[cold]
    fn has_few_whole_dies_at_programs(&self, op: &Operation, most: u32) -> bool {
        let Some(whole) = self.whole else { return false };
        let at_programs = (0u32..).zip(&self.dies).filter(|(_, die)| die.is_at_program(op.begin));
        let mut dies: Vec<u32> = at_programs.map(|(die, _)| whole.whole(DieId::new(die)).number()).collect();
        dies.push(whole.whole(op.die).number());
        dies.sort_unstable();
        dies.dedup();
        dies.len() <= most as usize
    }

    /// Dies that are at a program at this time.
    fn at_programs(&self, at: Nanos) -> impl Iterator<Item = &Die> {
        self.dies.iter().filter(move |d| d.is_at_program(at))
    }

    #[cold]
    fn beyond_program_limit(&self, op: &Operation, most: u32) -> TimingViolation {
        let mut ends: Vec<Nanos> = self.at_programs(op.begin).map(|d| d.free_at).collect();
        ends.sort_unstable();
        let earliest = ends[ends.len() - most as usize];
        TimingViolation { rule: TimingRule::ProgramLimit, place: op.die.number(), at: op.begin, earliest }
    }

    /// A transfer that could begin at `ready` if the channel were free.
    #[inline]
    fn check_transfer(&self, op: &Operation, ready: Nanos) -> Result<(), TimingViolation> {
        let place = op.die.number();
        let length = self.transfer_time(op);
        let Interval { from, to } = op.transfer;
        if to < from + length {
            return Err(TimingViolation { rule: TimingRule::TransferTime, place, at: to, earliest: from + length });
        }
        let taken = self.channel_of(op).iter().any(|t| t.overlaps(op.transfer));
        if length > 0 && taken {
            let earliest = self.channel_free_at(op, from.max(ready), length);
            return Err(TimingViolation { rule: TimingRule::ChannelBusy, place, at: from, earliest });
        }
        Ok(())
    }

    /// Transfers on the operation's channel.
    #[inline]
    fn channel_of(&self, op: &Operation) -> &[Interval] {
        &self.transfers[self.dies[op.die.index()].channel as usize]
    }

    /// The earliest time from `ready` on at which the operation's channel is free for `length`.
    fn channel_free_at(&self, op: &Operation, ready: Nanos, length: Nanos) -> Nanos {
        let channel = self.channel_of(op);
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
        self.ways.map_or(0, |ways| self.one_of_ways_free_at(op, ways))
    }

    #[cold]
    fn one_of_ways_free_at(&self, op: &Operation, ways: u32) -> Nanos {
        let (dies, channels) = (self.dies.len() as u32, self.channels);
        let own = op.die.number();
        let others = (0..dies).filter(|&d| d % channels == own % channels && d != own);
        let mut ends: Vec<Nanos> = others.map(|d| self.all_free_at(DieId::new(d))).filter(|&t| t > op.begin).collect();
        ends.sort_unstable();
        // The one whose end leaves one way less than there are.
        ends.len().checked_sub(ways as usize).map_or(0, |k| ends[k])
    }
}

fn is_program(work: Work) -> bool {
    matches!(work, Work::Program { .. } | Work::ProgramLoaded { .. } | Work::Copy { .. })
}

/// A place's share of an array time.
#[inline]
fn share_of(time: Nanos, share: u64) -> Nanos {
    (time * share) >> 16
}

/// The least and the greatest share of reads, programs and erases: draws lie within three and a half standard deviations,
/// and wear moves them on.
fn shares(spec: &VariationSpec) -> [(u64, u64); 3] {
    let share = |percent: f64| (percent * WHOLE as f64 / 100.0).round() as u64;
    let spread = |percent: f64| share(3.5 * percent) + 3;
    let around = |draws: u64, less: u64, more: u64| (WHOLE.saturating_sub(draws + less), WHOLE + draws + more);
    let program =
        spread(spec.program_dies_percent) + spread(spec.program_blocks_percent) + spread(spec.program_pages_percent);
    [
        around(spread(spec.read_pages_percent), 0, 0),
        around(program, share(spec.program_gain_at_rated_cycles_percent), 0),
        around(spread(spec.erase_blocks_percent), 0, 4 * share(spec.erase_growth_at_rated_cycles_percent)),
    ]
}
