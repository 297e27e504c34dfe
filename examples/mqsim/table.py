"""Lays MQSim's and ssdlab's results, which compare.sh has put into a folder, side by side with the arithmetic."""

import json
import random
import re
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])
PAGES = 917_504  # of the drive with blocks of 64 pages
DIES, CHANNELS = 16, 4


def mqsim(workload: str, number: int) -> dict[str, float]:
    """Figures of one result file. MQSim divides by whole seconds: its IOPS are counts over such."""
    text = (FOLDER / f"{workload}_scenario_{number}.xml").read_text()

    def value(key: str) -> float:
        found = re.search(rf'(?:<{key}>|\b{key}=")([^<"]*)', text)
        return float(found[1]) if found else 0.0

    programs = value("Issued_Flash_Program_CMD") + 2 * value("Issued_Flash_Multiplane_Program_CMD")
    return {
        "requests": value("Request_Count"),
        "iops": value("IOPS"),
        "seconds": round(value("Request_Count") / value("IOPS")),
        "programmed": programs,
        "read_us": value("Average_Read_Transaction_Turnaround_Time"),
    }


def ssdlab(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def busy_dies(requests: int, steps: int = 300_000) -> float:
    """Dies at work when requests that all take the same time go to dies at random: they move in step."""
    draw = random.Random(1)
    waiting = [0] * DIES
    for _ in range(requests):
        waiting[draw.randrange(DIES)] += 1
    busy = 0
    for _ in range(steps):
        served = [die for die in range(DIES) if waiting[die]]
        busy += len(served)
        for die in served:
            waiting[die] -= 1
            waiting[draw.randrange(DIES)] += 1
    return busy / steps


# Microseconds. MQSim transfers 4,096 bytes at 3 ns (it rounds 1000/333 down) and adds 20 ns to a read; it has no time
# for what comes before the data of a read.
THEIRS, OURS = 12.288, 4096 / 333
READ_THEIRS, READ_OURS = 0.29 + 50.02 + THEIRS, 0.29 + 50 + 0.03 + OURS
PROGRAM_1, PROGRAM_2_THEIRS, PROGRAM_2_OURS = 0.361 + THEIRS + 500, 1.177 + 2 * THEIRS + 500, 0.361 + 2 * OURS + 500
MB = 131_072 / 1e6


def first_served(rate: float, read: float, program: float) -> float:
    """Mean read of one of the dies, reads before programs, all arriving at random (M/G/1 with priority)."""
    reads, writes = 0.7 * rate / DIES / 1e6, 0.3 * rate / DIES / 1e6
    return read + (reads * read**2 + writes * program**2) / 2 / (1 - reads * read)


def random_writes(busy: float, program: float) -> float:
    """A second, if so many pages are programmed at once."""
    return busy * 1e6 / program


DEEP = busy_dies(32)
ROWS_AT_ONCE = 1e6 / (0.94 + 50.02 + 8 * THEIRS)  # of 128 KiB: MQSim's dies read together, then transfer
PIPELINED, FIRST = 4 * (0.32 + 2 * OURS), 50
CACHED, UNCACHED = "sixteen-dies", "uncached"
# Pages that ssdlab programs at once, by queue depth: both planes of every die, or a page of a die and padding.
RATE = {CACHED: {1: 2 * DIES, 32: 2 * DIES}, UNCACHED: {1: 1, 32: DIES}}
PLACED = random_writes(DEEP, PROGRAM_1)
# In the order of workload.xml: name, ssdlab's job, queue depth, bytes, arithmetic of MQSim, of ssdlab.
CLOSED = [
    ("random reads, QD 1", "random-read-1", 1, 4096, 1e6 / READ_THEIRS, 1e6 / READ_OURS),
    ("random reads, QD 4", "random-read-4", 4, 4096, None, None),
    ("random reads, QD 16", "random-read-16", 16, 4096, None, None),
    ("random reads, QD 32", "random-read-32", 32, 4096, None, None),
    ("random reads, QD 64", "random-read-64", 64, 4096, None, None),
    ("sequential reads, QD 1", "sequential-read-1", 1, 131_072, ROWS_AT_ONCE, 1e6 / (FIRST + PIPELINED)),
    ("sequential reads, QD 32", "sequential-read-32", 32, 131_072, ROWS_AT_ONCE, 1e6 / PIPELINED),
    *(
        (f"{kind} writes, {named}, QD {depth}", f"{kind}-write-{state}-{depth}", depth, size, theirs, ours)
        for named, state in (("cache", CACHED), ("no cache", UNCACHED))
        for kind, depth, size, theirs, ours in (
            (
                *("random", 1, 4096, PLACED if state == CACHED else 1e6 / PROGRAM_1),
                random_writes(RATE[state][1], PROGRAM_2_OURS),
            ),
            ("random", 32, 4096, PLACED, random_writes(RATE[state][32], PROGRAM_2_OURS)),
            ("sequential", 32, 131_072, None if state == CACHED else 1e6 / PROGRAM_2_THEIRS, 1e6 / PROGRAM_2_OURS),
        )
    ),
]


def cell(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def row(name: str, theirs: float, ours: float, *rest: str, digits: int = 0) -> None:
    difference = f"{100 * (ours / theirs - 1):+.1f} %"
    print("|", " | ".join([name, cell(theirs, digits), cell(ours, digits), difference, *rest, *[""] * (4 - len(rest))]), "|")


print("| | MQSim | ssdlab | difference | arithmetic: MQSim | ssdlab | mean latency, µs: MQSim | ssdlab |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for number, (name, job, depth, size, theirs, ours) in enumerate(CLOSED, 1):
    m = mqsim("workload", number)
    # Those under way at the end have been counted.
    m_iops = (m["requests"] - depth) / m["seconds"]
    way = "read" if "read" in job else "write"
    figures = ssdlab(job)["jobs"][0][way]
    scale, digits = (MB, 1) if size > 4096 else (1.0, 0)
    row(
        name + (", MB/s" if size > 4096 else ", IOPS"),
        m_iops * scale,
        figures["iops"] * scale,
        cell(theirs and theirs * scale, digits),
        cell(ours and ours * scale, digits),
        cell(1e6 * depth / m_iops, 1),
        cell(figures["lat_ns"]["mean"] / 1e3, 1),
        digits=digits,
    )

number = len(CLOSED) + 1
mixed, m = ssdlab("mixed")["jobs"][0], mqsim("workload", number)
row("70 % reads, QD 32, IOPS", (m["requests"] - 32) / m["seconds"], mixed["read"]["iops"] + mixed["write"]["iops"])
row("the same, mean read, µs", m["read_us"], mixed["read"]["lat_ns"]["mean"] / 1e3, digits=1)
reads, m = ssdlab("mixed-open")["jobs"][0]["read"], mqsim("workload", number + 1)
row(
    "the same at 30,000 a second, mean read, µs",
    m["read_us"],
    reads["lat_ns"]["mean"] / 1e3,
    cell(first_served(30_000, READ_THEIRS, PROGRAM_1), 1),
    cell(first_served(30_000, READ_OURS, PROGRAM_2_OURS), 1),
    digits=1,
)
five, six = mqsim("steady-5", 1), mqsim("steady-6", 1)
m_iops = PAGES / (six["seconds"] - five["seconds"])
m_waf = (six["programmed"] - five["programmed"]) / PAGES
waf = 6 * ssdlab("steady-6")["ssdlab"]["waf"] - 5 * ssdlab("steady-5")["ssdlab"]["waf"]
row("random writes, sixth capacity, IOPS", m_iops, ssdlab("steady-6")["jobs"][1]["write"]["iops"])
row("the same, write amplification", m_waf, waf, digits=2)
