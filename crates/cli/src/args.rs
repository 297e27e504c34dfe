//! The command line, declared once: parser, help, completions and manual page come from here.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use ssdlab_bench::parse_settings;
use ssdlab_bench::plan::PlanOptions;
use ssdlab_bench::replay::ReplaySpec;
use ssdlab_catalog::DeviceRecipe;
use ssdlab_core::{Nanos, SECOND, input};

use crate::failure::Failure;
use crate::output::complain;
use crate::plan::param_failure;
use crate::saved::{SavedDrive, Words};

/// Says what is wrong with the command line, or helps, and returns the exit code. Clap would print what was typed as it is.
pub fn refused(error: &clap::Error) -> u8 {
    let typed = error.to_string();
    if error.use_stderr() && input::printable(&typed, &['\n', '\t']) != typed {
        complain(typed.trim_end());
    } else {
        // Whoever closed the stream does not want to know.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

use crate::attach_args::{AttachArgs, CtlArgs, ImageArgs};
use crate::seed::seed;

/// An SSD laboratory in software: simulated drives, the test bench of the classic reviews, and reports that say why.
///
/// DEVICE is a drive or array of the catalog (see `ssdlab list devices`), the path of a file of your own, which must
/// end in .toml, or a device expression such as 'raid0(NAME*2, stripe=128KiB)' (see docs/arrays.md). review, test, run and
/// replay take real devices, too: /dev/sdb, or a file that stands for a drive (see docs/real-devices.md).
///
/// Exit codes: 0 done; 1 done, but something failed or was stopped; 2 nothing ran, because the input was wrong.
#[derive(Debug, Parser)]
#[command(name = "ssdlab", version, propagate_version = true, term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Put drives through the whole suite and write a review
    Review(ReviewArgs),
    /// Run one test on a drive
    Test(TestArgs),
    /// Run a fio job file on a drive
    Run(RunArgs),
    /// Replay a block trace on a drive
    Replay(ReplayArgs),
    /// Serve a device to other programs, as a network block device with its own timing
    Attach(AttachArgs),
    /// Pull the plug of an attached device, watch its counters, see what it waited for
    Ctl(CtlArgs),
    /// Look into an image of an attached device
    Image(ImageArgs),
    /// Put many variants of a drive through tests, and draw what a change does
    Sweep(SweepArgs),
    /// Lay published figures beside simulated ones
    Claims(ClaimsArgs),
    /// Vary each estimate of a drive's files, and say which figures hang on it
    Sensitivity(SensitivityArgs),
    /// Fit times of the firmware and its pacing to measurements
    Calibrate(CalibrateArgs),
    /// Predict figures of drives, once and for good; without a drive, lay predictions beside published figures
    Predict(PredictArgs),
    /// Torture the simulator: drives, hosts and faults drawn from a seed
    Torture(TortureArgs),
    /// Say whether a file can be used, without running anything
    Check(CheckArgs),
    /// Lay the figures of two results side by side
    Compare(CompareArgs),
    /// List what there is: devices, adapters, tests or die types
    List(ListArgs),
    /// Show every value of a drive or die type, with its source
    Show(ShowArgs),
    /// Print the JSON Schema of drive, die, disk or adapter files, or of plans
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, of the whole or of one command
    Man { command: Option<String> },
}

#[derive(Debug, clap::Args)]
pub struct ReviewArgs {
    /// Drives to review; several make one comparative review
    #[arg(required = true, value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Folder for index.html, results.json, series and charts
    #[arg(long, value_name = "DIR", default_value = "review")]
    pub out: PathBuf,
    /// Overwrite files in DIR that ssdlab did not write
    #[arg(long)]
    pub force: bool,
    /// Set a parameter of every test that takes it, such as seconds=60, or a key of every drive's file, such as
    /// gc.policy=fifo or capacity_bytes=64000000000; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Run only these tests; may be given several times
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub own: FiguresArgs,
    #[command(flatten)]
    pub real: RealArgs,
}

#[derive(Debug, clap::Args)]
pub struct CommonArgs {
    /// Run on an eighth of the drive for an eighth of the time; Storage Bench plays a hundredth of its requests, and
    /// then puts drives in no order
    #[arg(long)]
    pub quick: bool,
    /// Seed of every random number; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
}

impl CommonArgs {
    pub const fn options(&self) -> PlanOptions {
        PlanOptions { threads: None, seed: self.seed, quick: self.quick }
    }
}

/// How many tests are run.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Tests that run at the same time; never changes a result [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

impl PlanArgs {
    pub fn options(&self) -> PlanOptions {
        let threads = self.threads.and_then(|n| NonZeroUsize::new(n.into()));
        PlanOptions { threads, ..self.common.options() }
    }
}

#[derive(Debug, clap::Args)]
pub struct FiguresArgs {
    /// Published figures of your own, beside those of the catalog: a file of [[claim]] (see docs/published-figures.md)
    #[arg(long, value_name = "FILE")]
    pub figures: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct RealArgs {
    /// Lets this real device be written, and everything on it be destroyed. It must be named here once more; without, a real
    /// device is only read
    #[arg(long = "destroy", value_name = "DEVICE")]
    pub destroyed: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Also write the page, the series and results.json into this folder, as a review does
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite files in DIR that ssdlab did not write
    #[arg(long, requires = "out")]
    pub force: bool,
}

#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Name of the test (see `ssdlab list tests`)
    #[arg(value_name = "TEST")]
    pub test: String,
    /// A device of the catalog, the path of a file (.toml), a device expression, or a real device
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Set a parameter of the test, such as queue_depth=32 or span_bytes=8GB, or a key of the drive file, such as
    /// gc.policy=fifo or capacity_bytes=64000000000; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Further settings, so that `--set a=1 b=2` works
    #[arg(value_name = "KEY=VALUE", hide = true)]
    pub more_settings: Vec<String>,
    /// Test so many drives of the model, which differ in what is drawn once for each, and show the band
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000),
        allow_negative_numbers = true
    )]
    pub specimens: u32,
    #[command(flatten)]
    pub start: StartArgs,
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub real: RealArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Where the logs of a run are written if nothing is said.
pub const HERE: &str = ".";

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// fio job file; - reads standard input
    #[arg(value_name = "JOB.fio")]
    pub job: PathBuf,
    /// A device of the catalog, the path of a file (.toml), a device expression, or a real device
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// fio's layout, JSON with fio's field names (json+: with every bin of the latencies), or a line for each job
    #[arg(long, value_enum, default_value_t = OutputFormat::Normal)]
    pub output_format: OutputFormat,
    /// Write the report into a file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Folder for the logs that the jobs ask for (write_bw_log and the like)
    #[arg(long, value_name = "DIR", default_value = HERE)]
    pub log_dir: PathBuf,
    /// Also write the page, the series and results.json into this folder, as a review does
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite the report and the logs if they exist, and files in --out that ssdlab did not write
    #[arg(long)]
    pub force: bool,
    /// Value of ${NAME} in the job file; may be given several times. Without it, the environment has the value
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// What is written, in sequence, before the first job; `read` if not said, `none` with --from
    #[arg(long, value_enum)]
    pub prefill: Option<RunPrefillArg>,
    #[command(flatten)]
    pub used: UseArgs,
    #[command(flatten)]
    pub changed: ChangedArgs,
    /// Seed of every random number; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    #[command(flatten)]
    pub real: RealArgs,
}

/// What a drive begins as.
#[derive(Debug, clap::Args)]
pub struct StartArgs {
    /// Begin with the drive that was saved in FILE (--save), or that an image of `attach` holds, instead of a new one
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// With --from: the drive has lain without power at 30 °C for so many days
    #[arg(
        long,
        value_name = "DAYS",
        requires = "from",
        value_parser = clap::value_parser!(u32).range(..=36_500),
        allow_negative_numbers = true
    )]
    pub stored_days: Option<u32>,
}

impl StartArgs {
    /// The drive to begin with, if it is not a new one.
    ///
    /// # Errors
    /// As [`SavedDrive::stored`].
    pub fn saved(&self, recipe: &DeviceRecipe, seed: u64) -> Result<Option<SavedDrive>, Failure> {
        let days = self.stored_days.unwrap_or(0);
        let stored = |path| SavedDrive::stored(path, days, recipe, seed, Words::OF_COMMAND);
        self.from.as_deref().map(stored).transpose()
    }
}

/// What a drive begins as, how long it rests, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct UseArgs {
    /// Let the drive rest so long before it is measured: what it tidies up while idle, such as an SLC cache, is done then.
    /// If not said, 10 after a prefill, else 0
    #[arg(
        long = "rest",
        value_name = "SECONDS",
        value_parser = clap::value_parser!(u32).range(..=31_536_000),
        allow_negative_numbers = true
    )]
    rest_seconds: Option<u32>,
    #[command(flatten)]
    pub start: StartArgs,
    /// Shut the drive down at the end and save it in FILE, for --from: its flash with all wear, and no data
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Write what dies, channels and arms did while the slowest request waited into FILE: a picture if it ends in .svg, else JSON
    /// in the Trace Event Format, for a viewer such as ui.perfetto.dev; docs/timelines.md
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
}

impl UseArgs {
    pub fn rest(&self) -> Option<Nanos> {
        self.rest_seconds.map(|seconds| Nanos::from(seconds) * SECOND)
    }
}

/// What is changed of a drive, where nothing but a drive can be changed.
#[derive(Debug, clap::Args)]
pub struct ChangedArgs {
    /// Set a key of the drive file, such as gc.policy=fifo or capacity_bytes=64000000000; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

impl ChangedArgs {
    /// Keys and their values.
    ///
    /// # Errors
    /// If one is no setting, or if a key is set twice.
    pub fn keys(&self) -> Result<Vec<(String, String)>, Failure> {
        parse_settings(&self.settings).map_err(param_failure)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Normal,
    Json,
    #[value(name = "json+")]
    JsonPlus,
    Terse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunPrefillArg {
    /// What the jobs read, as fio lays out a file before reading it
    Read,
    /// The whole drive
    Drive,
    /// Nothing: a fresh drive answers reads of empty addresses without flash
    None,
}

#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// Trace file, as it is or compressed by gzip or zstd; - reads standard input
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// A device of the catalog, the path of a file (.toml), a device expression, or a real device
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Format of the trace, if it shall not be recognised by itself: msr, vscsi1, vscsi2, mqsim, blkparse, iolog2,
    /// iolog3, spc, alibaba, tencent, systor or cloudphysics
    #[arg(long, value_name = "F")]
    pub format: Option<String>,
    /// When requests are sent: at the recorded times, N times as fast (2x), or as soon as possible (asap)
    #[arg(long, value_name = "SPEED", default_value = "recorded")]
    pub speed: String,
    /// Requests in flight at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(ReplaySpec::MOST_QUEUE_DEPTH)),
        allow_negative_numbers = true
    )]
    pub queue_depth: u32,
    /// How addresses beyond the drive are brought onto it
    #[arg(long, value_enum, default_value_t = PlacementArg::Wrap)]
    pub placement: PlacementArg,
    /// How several devices of a trace share the drive
    #[arg(long, value_enum, default_value_t = DevicesArg::SideBySide)]
    pub devices: DevicesArg,
    /// What is written before the replay; `drive` if not said, `none` with --from
    #[arg(long, value_enum)]
    pub prefill: Option<PrefillArg>,
    #[command(flatten)]
    pub used: UseArgs,
    #[command(flatten)]
    pub changed: ChangedArgs,
    /// Seed of every random number; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    #[command(flatten)]
    pub real: RealArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlacementArg {
    /// Address modulo drive: what fits stays where it was
    Wrap,
    /// Stretch or shrink the trace's span onto the drive
    Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DevicesArg {
    /// One behind the other, in the order of their first request
    SideBySide,
    /// All from the start of the drive, over each other
    Folded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrefillArg {
    /// The whole drive, in sequence: as a drive in use, whose reads come from flash
    Drive,
    /// Nothing: a fresh drive answers reads of empty addresses without flash
    None,
}

#[derive(Debug, clap::Args)]
pub struct SweepArgs {
    /// What to vary, and what to run: a TOML file (see docs/sweeps.md)
    #[arg(value_name = "PLAN.toml")]
    pub plan: String,
    /// Folder for index.html, results.csv and the finished points; what is finished there is not run again
    #[arg(long, value_name = "DIR", default_value = "sweep")]
    pub out: PathBuf,
    /// Overwrite files in DIR that ssdlab did not write
    #[arg(long)]
    pub force: bool,
    /// Points that run at the same time; never changes a result [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub struct ClaimsArgs {
    /// Drives to check; if none is named, those of --figures, or all that something was published about
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    #[command(flatten)]
    pub own: FiguresArgs,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Keep each test that ends in this folder, so that the same command goes on after a stop; and write claims.json there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite files in DIR that ssdlab did not write
    #[arg(long, requires = "out")]
    pub force: bool,
    /// End with exit code 1 if a published figure is missed and no reason for it is given, or could not be judged
    #[arg(long)]
    pub strict: bool,
}

#[derive(Debug, clap::Args)]
pub struct SensitivityArgs {
    /// An SSD of the catalog, or the path of a drive file (.toml)
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Only the figures of these tests; may be given several times
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only estimates whose key begins so, such as gc. or die.timing; may be given several times
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,
    /// How far numbers are varied each way whose file states no band
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0, value_parser = percent, allow_negative_numbers = true)]
    pub by: f64,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Also write a page of charts and sensitivity.json into this folder; each test that ends is kept there, so that the
    /// same command goes on after a stop
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite files in DIR that ssdlab did not write
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A share by which a number can be varied both ways.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|v| *v > 0.0 && *v < 100.0);
    number.ok_or_else(|| "give a number above 0 and below 100".to_owned())
}

#[derive(Debug, clap::Args)]
pub struct CalibrateArgs {
    /// What is unknown, and what was measured: a TOML file (see docs/blind-predictions.md)
    #[arg(value_name = "MEASURED.toml")]
    pub measured: PathBuf,
    /// Drives that are run at the most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        allow_negative_numbers = true
    )]
    pub runs: u32,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Keep each test that ends in this folder, so that the same command goes on after a stop
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What `predict` varies numbers by.
pub const PREDICT_BY: f64 = 20.0;

#[derive(Debug, clap::Args)]
pub struct PredictArgs {
    /// SSDs of the catalog; without any, prints what was predicted before beside what was published
    #[arg(value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Folder of the predictions
    #[arg(long, value_name = "DIR", default_value = "predictions")]
    pub dir: PathBuf,
    #[command(flatten)]
    pub own: FiguresArgs,
    /// How far numbers are varied each way whose file states no band
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = PREDICT_BY,
        value_parser = percent,
        allow_negative_numbers = true
    )]
    pub by: f64,
    /// Only estimates whose key begins so make the bands, such as die.timing; may be given several times
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,
    /// Take the bands from the whole drive, too, not from an eighth of it
    #[arg(long, conflicts_with = "quick")]
    pub full_bands: bool,
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Keep each test that ends in this folder, so that the same command goes on after a stop
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct TortureArgs {
    /// Seed of the campaign; the same seed gives the same bytes. A failure names the seed that repeats it alone
    #[arg(value_name = "SEED", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Runs: a small drive, a host and faults each, a few milliseconds long
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000_000),
        allow_negative_numbers = true
    )]
    pub runs: u32,
    /// Pull the plug, after every phase and in between, and compare what is there with what was promised
    #[arg(long)]
    pub power_cuts: bool,
    /// Power cuts of small drives with the keys of this one instead of drawn ones; `catalog`: of every drive of the catalog
    /// in turn. May be given several times
    #[arg(long, value_name = "DRIVE", requires = "power_cuts")]
    pub of: Vec<String>,
    /// Runs at the same time; never changes a result [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Drive file, die file, plan, fio job file or trace; or a device of the catalog, or a device expression
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What it is, if it shall not be recognised by itself
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<FileKind>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FileKind {
    /// A drive or array
    Drive,
    Die,
    /// A plan of a sweep
    Plan,
    /// Published figures of your own
    Figures,
    /// A fio job file
    Job,
    Trace,
}

#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// results.json of a review, a test or a replay, or the folder that it is in
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// Another one
    #[arg(value_name = "SECOND")]
    pub second: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[arg(value_enum)]
    pub what: ListWhat,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ListWhat {
    /// Drives, disks and arrays of the catalog
    Devices,
    /// Host adapters of the catalog, for device expressions
    Adapters,
    /// Tests of the bench, with their parameters and figures
    Tests,
    /// Die types of the catalog
    Nand,
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// A device or die type of the catalog, the path of a file (.toml), or a device expression
    #[arg(value_name = "DEVICE|DIE")]
    pub name: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    #[arg(value_enum)]
    pub file: SchemaFile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaFile {
    /// Drive files
    Drive,
    /// Die files
    Die,
    /// Disk files
    Disk,
    /// Host adapter files
    Adapter,
    /// Plans of sweeps
    Plan,
}
