//! What a drive draws: its parts as the section `[power]` of a drive file ([`PowerSpec`]), the energy that they have drawn
//! ([`PowerMeter`]), and the sleep of its link ([`LinkSleep`]).

mod link_sleep;
mod meter;
mod spec;

pub use link_sleep::{LinkSleep, Rest, Slept};
pub use meter::{Ahead, ArrayWork, FlashWork, PowerMeter, link_bytes};
pub use spec::PowerSpec;
