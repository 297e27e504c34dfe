//! Hard disks: mechanics against closed forms, queues against independent figures, and all of it against an oracle.

mod cache;
mod mechanics;
mod oracle;
mod power_cuts;
mod published;
mod queue;
mod specs;
mod support;
