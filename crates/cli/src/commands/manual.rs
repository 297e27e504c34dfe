//! `ssdlab completions` and `ssdlab man`, made from the declaration of the command line itself.

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::Failure;
use crate::output::print;

pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ssdlab", &mut script);
    print(&String::from_utf8_lossy(&script))
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
