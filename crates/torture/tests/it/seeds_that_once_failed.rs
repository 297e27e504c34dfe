//! Seeds that once found a bug, each with what it was.

use ssdlab_torture::{Kind, build_ssd, cut_composed, run};

#[test]
fn they_pass() {
    for (seed, bug) in [
        (11_630_489_695_959_288_328, "a fold whose last rows held nothing sat on the units of the others"),
        (4_576_812_214_189_791_395, "the same with a cache of a fixed size"),
        (17_087_561_357_940_839_903, "blocks opened at one bit per cell kept that mode over a secure erase"),
        (3_631_720_844_359_341_249, "a drive without a good block wrote map pages to load others"),
        (3_779_268_752_166_612_871, "a round of a collector that waited for an erase held the host for ever"),
        (9_986_112_111_847_268_620, "a victim was read before the processor had prepared its last rows"),
        (12_469_272_661_938_047_983, "rows of the host overtook the collector's in their common block"),
        (1, "a read was answered with an older copy in a row that was read ahead"),
        (4_695_840_349_293_130_216, "what was read ahead was served after it had been written again"),
        (16_737_300_483_904_750_917, "the same, where it was on its way when it was written"),
        (4_304_570_330_652_038_366, "an old copy in a block that failed was taken for the page's data, and lost"),
        (6_553_052_608_018_965_168, "a read lost a unit of its row that it had not asked for"),
        (8_293_340_422_861_548_717, "a write failed because of an older copy, and its page was sound"),
        (11_060_804_094_327_313_559, "what had died in an open superblock did not wake the collector once it closed"),
        (
            7_819_703_013_088_696_155,
            "a free superblock that went for a failed block of the journal did not start the collector",
        ),
        (
            17_404_200_242_947_365_698,
            "logs awaited pages that had left in the place of older writes, none could be closed, and the host was held for ever",
        ),
        (2_454_763_460_270_857_266, "the same with logs that all superblocks share"),
        (
            9_917_357_611_612_149_275,
            "a read that yielded went ahead of a program that had been loaded and was given up",
        ),
        (
            2_698_672_191_191_693_339,
            "the rest of a long write was taken in by a drive without a good block, and given to a bad one",
        ),
        (15_729_489_271_412_243_955, "a forced write to a disk waited for later data that nobody waited for"),
        (13_851_120_314_730_912_291, "the same, of a set"),
        (6_639_914_098_023_835_029, "a flush waited for a write to join it that a drive without a good block refused"),
        (3_958_699_081_400_264_199, "the same"),
        (10_684_950_152_438_602_821, "the same with forced writes"),
        (3_815_820_144_550_185_894, "a host heard of an end before all that happened at the same instant had happened"),
        (5_763_759_651_440_115_426, "the same"),
        (15_331_987_875_017_186_973, "the same, of two sets"),
        (2_246_492_911_055_953_680, "the same behind an adapter"),
    ] {
        if let Err(what) = run(Kind::Work, seed, &build_ssd) {
            panic!("seed {seed} ({bug}): {what}");
        }
    }
}

#[test]
fn those_with_power_cuts_pass() {
    for (seed, bug) in [
        (8_080_301_916_451_039_320, "the host came to a stream for the first time, and no victim was released for it"),
        (1_742_428_273_662_487_401, "the same with several streams of the collector"),
        (10_486_046_835_339_431_681, "the same on a single die"),
        (11_538_196_123_060_716_875, "the same with compressed data"),
        (13_432_498_888_423_191_970, "numbers of rows were given again that lost pages had been noted with"),
        (530_239_580_626_151_177, "a copy from before a trim was taken for one that had been moved since"),
        (9_650_682_174_167_392_500, "the same, in another block of the superblock that was being erased"),
        (16_907_892_629_335_594_768, "a page was trimmed, and a copy that had been destroyed long before made it lost"),
        (
            5_674_350_143_741_135_415,
            "blocks with parity that a recovery had needed were kept for ever, and none was free",
        ),
        (3_625_021_217_754_873, "the same"),
        (14_376_174_939_579_494_070, "the same"),
        (6_184_434_692_337_744_145, "the same"),
        (2_574_816_184_844_438_528, "a collection moved one cold block after the other, gained nothing, and gave up"),
        (
            1_436_192_551_631_985_201,
            "rescued pages took two of a die's three blocks for copies, and programs went without",
        ),
        (8_170_513_776_774_288_622, "a map on demand had no ring, as bad blocks lay on another index on each die"),
    ] {
        if let Err(what) = run(Kind::PowerCuts, seed, &build_ssd) {
            panic!("seed {seed} ({bug}): {what}");
        }
    }
}

#[test]
fn those_with_power_cuts_of_composed_devices_pass() {
    for (seed, bug) in [
        (8_063_953_309_501_703_235, "an adapter stood by while its disk was reading ahead for it"),
        (
            5_159_170_922_191_572_357,
            "behind a cache, writes of a unit were not counted anew after a cut had destroyed it at rest",
        ),
        (12_046_272_460_692_663_879, "the same behind two caches, where a later write was lost with the drive's own"),
        (
            16_011_642_745_525_304_466,
            "of 4 KiB that were under way in parts nobody knew which the drive had taken first",
        ),
    ] {
        if let Err(what) = cut_composed(seed, &build_ssd, &|device| device) {
            panic!("seed {seed} ({bug}): {what}");
        }
    }
}
