"""How far a sweep scales: a discrete model of the scheduler, the store and the network.

    python scaling.py [--points N] [--workers N] [--seconds S] [--measure]

The scheduler is one process: it hands batches of points out, takes their results, checks each, and keeps it in a file.
With --measure the constants are measured on this machine first; else they are those of the run that docs/python.md tells.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
import time

#: Seconds, bytes: those of docs/python.md, measured by `measure` on two cores that were busy with builds.
CONSTANTS = {
    "submit": 81e-6,  # of a batch: handed to a thread, and its answer taken; a cluster pickles it besides
    "check": 61e-6,  # of a result: its digest
    "keep": 4.9e-3,  # of a result: written, synced, renamed
    "result_bytes": 1700.0,  # of a result on its way
    "key_bytes": 40.0,  # of a point on its way out
    "network": 125e6,  # bytes a second that the scheduler can take: 1 Gbit/s
    "round_trip": 1e-3,  # between scheduler and worker
}


def measure() -> dict[str, float]:
    """The constants of this machine."""
    from concurrent.futures import ThreadPoolExecutor

    from ssdlab import _native
    from ssdlab._sweep import FolderStore

    text = "drive = 'ideal-32die'\n[[test]]\nname = 'random-read'\n[test.set]\nseconds = 1\nspan_bytes = '64MB'\n"
    plan = _native.SweepPlan("plan.toml", text)
    key = plan.keys()[0]
    result = plan.run_point(key)[0]
    assert result is not None

    def seconds(what, times: int) -> float:
        began = time.perf_counter()
        for _ in range(times):
            what()
        return (time.perf_counter() - began) / times

    found = dict(CONSTANTS, result_bytes=float(len(result)), key_bytes=float(len(key) + 8))
    found["check"] = seconds(lambda: plan.flaw(key, result), 2000)
    with tempfile.TemporaryDirectory() as folder:
        store = FolderStore(folder)
        found["keep"] = seconds(lambda: store.put(key, result), 300)
    with ThreadPoolExecutor(1) as pool:
        found["submit"] = seconds(lambda: pool.submit(len, key).result(), 2000)
    return found


def simulate(points: int, workers: int, seconds: float, batch: int, c: dict[str, float]) -> tuple[float, float]:
    """One server, the scheduler, and workers that have one batch each. Returns the seconds that the sweep takes, and the
    share of them in which the scheduler is at work."""
    # When each worker comes back, and with how many results.
    coming: list[tuple[float, int]] = [(0.0, 0)] * workers
    clock, busy, left = 0.0, 0.0, points
    while coming:
        at, results = heapq.heappop(coming)
        give = min(batch, left)
        left -= give
        service = results * (c["check"] + c["keep"] + c["result_bytes"] / c["network"])
        if give:
            service += c["submit"] + give * c["key_bytes"] / c["network"]
        clock = max(clock, at) + service
        busy += service
        if give:
            heapq.heappush(coming, (clock + c["round_trip"] + give * seconds, give))
    return clock, busy / clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a point on a worker")
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    c = measure() if args.measure else CONSTANTS
    for name, value in c.items():
        print(f"{name:14} {value:.3g}")
    per_point = c["check"] + c["keep"] + (c["result_bytes"] + c["key_bytes"]) / c["network"]
    print(f"\nthe scheduler takes {1 / per_point:,.0f} results a second: with points of {args.seconds:g} s it keeps")
    print(f"{args.seconds / per_point:,.0f} workers busy; the store alone {args.seconds / c['keep']:,.0f}, the network alone")
    print(f"{args.seconds * c['network'] / (c['result_bytes'] + c['key_bytes']):,.0f}; kept are "
          f"{args.points * c['result_bytes'] / 1e9:.1f} GB in {args.points:,} files\n")
    print("workers    batch    hours    at best    scheduler busy")
    for workers in sorted({args.workers // 10 or 1, args.workers, args.workers * 4}):
        batch = max(1, min(1000, int(0.5 / args.seconds)))
        took, busy = simulate(args.points, workers, args.seconds, batch, c)
        best = args.points * args.seconds / workers
        print(f"{workers:7}  {batch:7}  {took / 3600:7.2f}  {best / 3600:9.2f}  {busy:14.0%}")


if __name__ == "__main__":
    main()
