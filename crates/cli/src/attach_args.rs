//! The commands around attached devices, declared.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as _, Subcommand, ValueEnum};
use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, SECOND};

use crate::seed::seed;

#[derive(Debug, clap::Args)]
pub struct AttachArgs {
    /// A device of the catalog, the path of a file (.toml), or a device expression
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Serve on this unix socket [default: one in a new private folder]
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub socket: Option<PathBuf>,
    /// Serve on this address, such as 127.0.0.1:10809; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Serve over iSCSI as well, on this address, such as 127.0.0.1:3260; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub iscsi: Option<SocketAddr>,
    /// Allow --listen and --iscsi on an address that other machines can reach. There is neither TLS nor a password
    #[arg(long)]
    pub allow_remote: bool,
    /// Take orders (see `ssdlab ctl`) on this unix socket [default: the socket's path and .ctl]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Keep the drive in this file: its bytes, and its flash with wear and counters; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Put the bytes of the image onto a new drive instead of going on with the one that it holds
    #[arg(long, requires = "image")]
    pub new_drive: bool,
    /// Clients can only read
    #[arg(long)]
    pub read_only: bool,
    /// Seconds of the machine for one of the drive: 10 makes everything ten times as slow
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = time_scale, allow_negative_numbers = true)]
    pub time_scale: f64,
    /// What is written before the first client
    #[arg(long, value_enum, default_value_t = AttachPrefill::None)]
    pub prefill: AttachPrefill,
    /// Pull the plug at this time of the drive, such as 12.5s; may be given several times
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    pub cut_at: Vec<Nanos>,
    /// Pull the plug again and again
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    pub cut_every: Option<Nanos>,
    /// How long the power stays away after --cut-at and --cut-every [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_negative_numbers = true)]
    pub off_for: Option<Nanos>,
    /// While the power is off, clients stay and every request fails, instead of being hung up on
    #[arg(long)]
    pub errors: bool,
    /// What reads of trimmed pages return
    #[arg(long, value_enum, default_value_t = TrimmedArg::Zeroes)]
    pub trimmed: TrimmedArg,
    /// Memory for contents, beyond which writes fail with ENOSPC. Pages of zeroes take none
    #[arg(long, value_name = "SIZE", default_value = "4GiB", allow_negative_numbers = true)]
    pub memory: String,
    /// Clients at once
    #[arg(
        long,
        value_name = "N",
        default_value_t = 32,
        value_parser = clap::value_parser!(u16).range(1..=1000),
        allow_negative_numbers = true
    )]
    pub connections: u16,
    /// Seed of every random number of the drive, and of its serial number: two of one model on one host need two
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Run a command on a private socket, with $uri, $unixsocket and $control set (and $iscsi with --iscsi), and end with it
    /// and its exit code. One word is a line for the shell; must come last, behind all other options
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["socket", "listen"])]
    pub run: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AttachPrefill {
    /// Nothing: a fresh drive answers reads of empty addresses without flash
    None,
    /// The whole drive, in sequence, with zeroes
    Drive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrimmedArg {
    Zeroes,
    /// What was there before, until it is written again
    OldData,
}

#[derive(Debug, clap::Args)]
pub struct CtlArgs {
    /// The socket of the served device, or its control socket
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
    #[command(subcommand)]
    pub order: CtlOrder,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum CtlOrder {
    /// Pull the plug
    Cut,
    /// Give the power back
    Restore,
    /// What is served, how late replies were, and what the last cut has left
    Status,
    /// Counters by the names that smartctl and nvme-cli print
    Smart,
    /// The last slow requests, and what they waited for
    Blame,
    /// What dies, channels and arms did while the slowest request waited, since the last such order: a picture if FILE ends in .svg,
    /// else JSON in the Trace Event Format
    Timeline {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Erase everything for good: every block (SECURITY ERASE UNIT), or by changing the media key
    Erase {
        /// Change the media key of a drive that encrypts: a crypto erase
        #[arg(long)]
        crypto: bool,
    },
    /// Write an image of bytes and drive as they are now
    Snapshot {
        #[arg(value_name = "FILE")]
        image: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub struct ImageArgs {
    #[command(subcommand)]
    pub what: ImageWhat,
}

#[derive(Debug, Subcommand)]
pub enum ImageWhat {
    /// What an image holds, and what not
    Info {
        #[arg(value_name = "FILE")]
        image: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Read every byte of an image and compare its checksums
    Check {
        #[arg(value_name = "FILE")]
        image: PathBuf,
    },
    /// Erase all that an image holds for good, and change its media key, if it has one
    Erase {
        #[arg(value_name = "FILE")]
        image: PathBuf,
    },
}

/// Whether a word is an option of `attach`, with or without its value.
pub fn is_option(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--").map(|word| word.split_once('=').map_or(word, |(name, _)| name)) else {
        return false;
    };
    AttachArgs::augment_args(clap::Command::new("attach")).get_arguments().any(|arg| arg.get_long() == Some(name))
}

fn time_scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (0.01..=1e6).contains(scale));
    scale.ok_or_else(|| "give a number from 0.01 to 1000000".to_owned())
}

/// `12.5s`, `300ms`, `2min`.
fn duration(text: &str) -> Result<Nanos, String> {
    let units = [
        ("ns", 1),
        ("us", MICROSECOND),
        ("ms", MILLISECOND),
        ("min", 60 * SECOND),
        ("h", 3600 * SECOND),
        ("s", SECOND),
    ];
    let wrong = || "times look like 12.5s, 300ms or 2min, and are 1ns or more".to_owned();
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit))).ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let nanos = number * unit as f64;
    // Less than one is none, which `--cut-every` would take for never.
    if (1.0..1e18).contains(&nanos) { Ok(nanos as Nanos) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_attach_are_known_by_their_names() {
        for option in ["--cut-at", "--cut-at=2s", "--run", "--iscsi"] {
            assert!(is_option(option), "{option}");
        }
        for other in ["--name=a", "cut-at", "-c", "--", "--cut", "--help"] {
            assert!(!is_option(other), "{other}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!((duration("12.5s"), duration("1ns")), (Ok(12_500_000_000), Ok(1)));
        assert_eq!(
            (duration("300ms"), duration("2min"), duration("40us")),
            (Ok(300_000_000), Ok(120_000_000_000), Ok(40_000))
        );
        for wrong in ["", "5", "s", "-1s", "0s", "infs", "1e30s", "nans", "0.1ns", "0.9999ns"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
