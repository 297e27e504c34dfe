//! The command line, declared once: parser, help, completions and manual page come from here.

use clap::{Parser, Subcommand, ValueEnum};

/// An SSD laboratory in software: simulated drives, the test bench of the classic reviews, and reports that say why.
#[derive(Debug, Parser)]
#[command(name = "ssdlab", version, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what there is: devices, tests or die types
    List(ListArgs),
    /// Show every value of a drive or die type, with its source
    Show(ShowArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page, of the whole or of one command
    Man { command: Option<String> },
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[arg(value_enum)]
    pub what: ListWhat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ListWhat {
    /// Drives of the catalog
    Devices,
    /// Die types of the catalog
    Nand,
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// A drive or die type of the catalog, or the path of a drive file (.toml)
    #[arg(value_name = "DEVICE|DIE")]
    pub name: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
