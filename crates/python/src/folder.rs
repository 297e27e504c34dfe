//! Folders that are written into when some work has ended: checked before it begins, and kept from others meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ssdlab_cli::commands::sweep;
use ssdlab_cli::failure::Failure;
use ssdlab_cli::folder::{OutputFolder, Writes};
use ssdlab_report::unfinished_name;

use crate::failure::{Wrong, exception, value_error};

/// What a fleet consists of on disk, its lives among it.
const FLEET: Writes = Writes {
    command: "fleet",
    files: &["report.csv", "report.html", "fleet.json"],
    folders: &["drives"],
    stores: &["points"],
};

/// See the module's own page.
#[pyclass(frozen, module = "ssdlab._native")]
pub struct Folder {
    path: PathBuf,
    /// Where files are until all of them are there. What stays of it after a kill, the next one who opens the folder removes.
    staging: PathBuf,
    folder: Mutex<Option<OutputFolder>>,
}

impl Folder {
    fn open(py: Python<'_>, path: PathBuf, writes: Writes, force: bool) -> PyResult<Folder> {
        let folder = py.detach(|| OutputFolder::open(&path, writes, force));
        let folder = folder.map_err(|f| exception(py, &f, Wrong::Folder))?;
        let staging = path.join(format!("{}.partial-{}", unfinished_name(&path), std::process::id()));
        Ok(Folder { path, staging, folder: Mutex::new(Some(folder)) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<OutputFolder>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes into the folder.
    ///
    /// # Errors
    /// If it is closed, or cannot be written to.
    pub fn write<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut OutputFolder) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let written = py.detach(|| self.lock().as_mut().map(what));
        let written = written.ok_or_else(|| value_error(format!("{} is closed", self.path.display())))?;
        written.map_err(|f| exception(py, &f, Wrong::Folder))
    }
}

/// Puts files of `staging` in their places. The last of them is there only while all are.
fn publish(folder: &mut OutputFolder, staging: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let put = |dir: &Path| {
        let places: Vec<PathBuf> = files.iter().map(|file| dir.join(file)).collect();
        if let Some(last) = places.last().filter(|last| last.exists()) {
            fs::remove_file(last)?;
        }
        for (file, place) in files.iter().zip(&places) {
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::rename(staging.join(file), place)?;
        }
        Ok(())
    };
    folder.write(true, |dir| {
        let refused = |e: std::io::Error| Failure::run(format!("cannot write to {}: {e}", dir.display()));
        put(dir).map(|()| ((), files.to_vec())).map_err(refused)
    })
}

#[pymethods]
impl Folder {
    #[staticmethod]
    fn of_sweep(py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Folder> {
        Self::open(py, path, sweep::WRITES, force)
    }

    #[staticmethod]
    fn of_fleet(py: Python<'_>, path: PathBuf, force: bool) -> PyResult<Folder> {
        Self::open(py, path, FLEET, force)
    }

    /// Where files are until they are published.
    #[getter]
    fn staging(&self) -> &Path {
        &self.staging
    }

    /// Puts files in their places, in this order, and removes what an earlier fleet has left besides.
    fn publish(&self, py: Python<'_>, files: Vec<PathBuf>) -> PyResult<()> {
        self.write(py, |folder| publish(folder, &self.staging, &files))
    }

    /// Others may write to it.
    fn close(&self) {
        if let Some(folder) = self.lock().take() {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(&self.staging);
            drop(folder);
        }
    }

    /// Leaves it to the process that this one was forked from.
    fn disown(&self) {
        // Whoever held it in the other process is not here to give it back.
        if let Ok(mut folder) = self.folder.try_lock() {
            folder.take().into_iter().for_each(OutputFolder::disown);
        }
    }
}
