//! `ssdlab completions` and `ssdlab man`, made from the declaration of the command line itself.

use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use ssdlab_bench::suite::TESTS;
use ssdlab_catalog::{array_names, disk_names, drive_names};

use crate::args::Args;
use crate::failure::Failure;
use crate::output::print;

pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(Args::command()), "ssdlab", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// The command line with the names of drives and tests as values, which a shell can offer. The program itself also
/// takes files and expressions.
fn with_names(mut root: clap::Command) -> clap::Command {
    let devices: Vec<&str> = drive_names().chain(disk_names()).chain(array_names()).collect();
    let tests: Vec<&str> = TESTS.iter().map(|t| t.name).collect();
    let commands: Vec<String> = root.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for command in commands {
        root = root.mut_subcommand(command, |command| {
            command.mut_args(|arg| match arg.get_id().as_str() {
                "device" | "devices" | "name" if arg.is_positional() => {
                    arg.value_parser(PossibleValuesParser::new(devices.clone()))
                }
                "test" | "only" => arg.value_parser(PossibleValuesParser::new(tests.clone())),
                _ => arg,
            })
        });
    }
    root
}

pub fn man(command: Option<&str>) -> Result<(), Failure> {
    let mut root = Args::command();
    // Fills in what subcommands inherit from their parents.
    root.build();
    let page = match command {
        None => root,
        Some(name) => root.find_subcommand(name).cloned().ok_or_else(|| unknown_command(&root, name))?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|e| Failure::run(format!("cannot write the manual page: {e}")))?;
    print(&String::from_utf8_lossy(&text))
}

fn unknown_command(root: &clap::Command, name: &str) -> Failure {
    let known: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
    Failure::bad_input(format!("there is no command `{name}`")).help(format!("the commands are {}", known.join(", ")))
}
