//! Dies that run with fewer bits per cell than they could.

mod cell_modes;
