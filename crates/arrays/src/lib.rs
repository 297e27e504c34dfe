//! Devices made of devices.
//!
//! [`Raid0`] stripes over its members, [`Ranges`] gives each member a range of addresses. [`Adapter`] is the
//! way from the host to a device, perhaps with a cache. All are a [`ssdlab_device::Device`] like their members: they can
//! be tested, reviewed, and be members of another array.
//!
//! ```
//! use ssdlab_arrays::Raid0;
//! use ssdlab_bench::model::{ModelDevice, ModelSpec};
//! use ssdlab_device::{Device, Request};
//!
//! let member = || -> Box<dyn Device> { Box::new(ModelDevice::new(ModelSpec::default())) };
//! let mut array = Raid0::new("pair", vec![member(), member()], 128 << 10)?;
//! // Half of it lies on each member, so that both work at the same time.
//! array.submit(0, Request::read(7, 0, 256 << 10))?;
//! let mut done = Vec::new();
//! array.advance_to_completion(u64::MAX, &mut done);
//! assert_eq!((done[0].tag, done[0].latency()), (7, 100_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapter;
mod error;
mod joined;
mod joined_plug;
mod raid0;
mod ranges;
mod stripes;

/// The plug of a device that keeps or loses 4 KiB as one: only such can be put together.
fn plug_of_pages(device: &dyn ssdlab_device::Device) -> Option<&dyn ssdlab_device::Plug> {
    device.plug_seen().filter(|plug| plug.unit_bytes() == ssdlab_core::UNIT_BYTES)
}

#[doc(hidden)]
pub use adapter::SavedAdapter;
pub use adapter::{Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, adapter_keys};
pub use error::{ArrayError, MemberSize};
pub use joined::Joined;
pub use raid0::{Raid0, raid0_capacity};
pub use ranges::{Ranges, Spans, ends_of_ranges};
pub use stripes::Stripes;
