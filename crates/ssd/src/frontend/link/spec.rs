//! The section `[link]` of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_device::SentAlone;
use ssdlab_keys::SpecError;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Host link"))]
pub struct LinkSpec {
    /// The host interface.
    pub generation: LinkGeneration,
    /// Required for PCI Express; has no effect on other links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie: Option<PcieSpec>,
    /// From a completion on the wire to the host's next command on it: interrupt, driver, host controller.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub host_turnaround_us: f64,
    /// Time in which the host controller takes up or hands out a data frame of at most 8 KiB, while the wire waits. Has no
    /// effect on PCI Express, whose packets go to and from the host's memory.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub host_frame_us: f64,
    /// The same, of each read and write, behind the last frame of its data: its table is fetched and its end noted, while the wire
    /// waits. Has no effect on PCI Express.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub host_command_us: f64,
    /// Which commands wait until all others have ended, and hold back those that come after them. NVMe queues all of them.
    #[serde(default)]
    pub not_queued: NotQueued,
}

/// Commands that are not among the queued ones of Serial ATA: the host's driver sends them alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotQueued {
    /// None, as with NVMe: drives for validation.
    #[default]
    Nothing,
    /// FLUSH CACHE: drives, and drivers, with queued TRIM.
    Flush,
    /// DATA SET MANAGEMENT too, as in Serial ATA until 3.1 and with most drivers since.
    FlushAndTrim,
}

impl NotQueued {
    fn sent_alone(self) -> SentAlone {
        SentAlone { flush: self != NotQueued::Nothing, trim: self == NotQueued::FlushAndTrim }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LinkGeneration {
    /// 1.5 Gbit/s.
    #[serde(rename = "sata-1.5g")]
    Sata1,
    /// 3 Gbit/s.
    #[serde(rename = "sata-3g")]
    Sata2,
    /// 6 Gbit/s.
    #[serde(rename = "sata-6g")]
    Sata3,
    /// 2.5 GT/s a lane, NVMe.
    #[serde(rename = "pcie-1")]
    Pcie1,
    /// 5 GT/s a lane, NVMe.
    #[serde(rename = "pcie-2")]
    Pcie2,
    /// 8 GT/s a lane, NVMe.
    #[serde(rename = "pcie-3")]
    Pcie3,
    /// 16 GT/s a lane, NVMe.
    #[serde(rename = "pcie-4")]
    Pcie4,
    /// 32 GT/s a lane, NVMe.
    #[serde(rename = "pcie-5")]
    Pcie5,
    /// Takes no time: for validation.
    #[serde(rename = "ideal")]
    Ideal,
}

impl LinkGeneration {
    /// Whether the link is one of lanes and packets, with NVMe for its commands.
    #[must_use]
    pub fn is_pcie(self) -> bool {
        matches!(self, Self::Pcie1 | Self::Pcie2 | Self::Pcie3 | Self::Pcie4 | Self::Pcie5)
    }
}

/// How a host says what it trims: in ranges, several of which go with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimRanges {
    range_bytes: u64,
    with_a_command: u64,
}

impl TrimRanges {
    /// DATA SET MANAGEMENT of Serial ATA: 65,535 sectors a range (ATA8-ACS-2), and the one block of 512 bytes that drives of the
    /// time take with a command.
    const ATA: TrimRanges = TrimRanges { range_bytes: 65_535 * 512, with_a_command: 64 };
    /// Dataset Management of NVMe: 2^32 - 1 blocks a range, 256 ranges.
    const NVME: TrimRanges = TrimRanges { range_bytes: 0xFFFF_FFFF * 512, with_a_command: 256 };

    /// Ranges of so many bytes in one piece.
    #[must_use]
    pub fn of(self, length_bytes: u64) -> u64 {
        length_bytes.div_ceil(self.range_bytes).max(1)
    }

    /// Commands that they need.
    #[must_use]
    pub fn commands(self, length_bytes: u64) -> u64 {
        self.of(length_bytes).div_ceil(self.with_a_command)
    }
}

/// What PCI Express has that Serial ATA has not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "PCI Express"))]
pub struct PcieSpec {
    /// Lanes that carry data side by side.
    #[schemars(extend("enum" = [1, 2, 4, 8, 16], "x-unit" = "lanes"))]
    pub lanes: u32,
    /// Data of one packet at most: the smaller of what the drive and the host's port allow.
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096], "x-unit" = "bytes"))]
    pub max_payload_bytes: u32,
    /// From the drive's request for something in the host's memory until the first of it is on the wire. Each command is fetched
    /// so; of a write also the data and, beyond 8 KiB, the list of its pages.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub host_read_us: f64,
}

impl LinkSpec {
    /// Which commands are sent alone: of NVMe none.
    #[must_use]
    pub fn sent_alone(&self) -> SentAlone {
        if self.generation.is_pcie() { SentAlone::default() } else { self.not_queued.sent_alone() }
    }

    #[must_use]
    pub fn trim_ranges(&self) -> TrimRanges {
        if self.generation.is_pcie() { TrimRanges::NVME } else { TrimRanges::ATA }
    }

    /// How many commands of the host it tells apart by their tags; `None`: as many as the drive likes.
    #[must_use]
    pub fn tags(&self) -> Option<u32> {
        matches!(self.generation, LinkGeneration::Sata1 | LinkGeneration::Sata2 | LinkGeneration::Sata3).then_some(32)
    }

    /// # Errors
    /// If a link of PCI Express has no lanes, or one of Serial ATA too few tags for a queue.
    pub fn validate(&self, queue_depth: u32) -> Result<(), SpecError> {
        if let Some(tags) = self.tags().filter(|&tags| queue_depth > tags) {
            return Err(SpecError::new(
                "controller.queue_depth",
                format!("Serial ATA has {tags} tags, too few for {queue_depth} commands at once"),
                format!("use at most {tags}, or a link.generation of PCI Express"),
            ));
        }
        if self.generation.is_pcie() && self.pcie.is_none() {
            return Err(SpecError::new(
                "link.pcie",
                "a link of PCI Express has lanes, and the file does not say how many",
                "add [link.pcie] with lanes, max_payload_bytes and host_read_us",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_gigabytes_in_one_piece_are_a_command_of_64_ranges_and_of_one_over_nvme() {
        let most = 64 * 65_535 * 512;
        assert_eq!(
            [most, most + 512].map(|bytes| (TrimRanges::ATA.of(bytes), TrimRanges::ATA.commands(bytes))),
            [(64, 1), (65, 2)]
        );
        assert_eq!((TrimRanges::NVME.of(most + 512), TrimRanges::NVME.commands(most + 512)), (1, 1));
    }
}
