//! Writes the table of docs/blind-predictions.md: `predictions FOLDER PAGE`.

use std::error::Error;
use std::path::PathBuf;

use ssdlab_catalog::claims;
use ssdlab_forecast::{beside_figures, read_predictions, with_table};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, page] = paths.as_slice() else { return Err("give the folder of predictions and the page".into()) };
    let predictions = read_predictions(folder).map_err(|e| e.to_string())?;
    let text = std::fs::read_to_string(page)?;
    let text = with_table(&text, &beside_figures(&predictions, &claims::all())).ok_or("the page has no markers")?;
    std::fs::write(page, text)?;
    Ok(())
}
