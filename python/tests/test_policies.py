"""Policies of one's own, and what they may do wrong."""

from __future__ import annotations

import functools
import gc
import json
import sys
import threading
import weakref

import numpy as np
import pytest
import ssdlab

#: A drive that collects after 256 MiB.
SMALL = """
base = "ideal-16k-32die"
capacity_bytes = 268435456
[flash]
dies = 2
[controller]
channels = 1
ways = 2
"""
PAGES = 65_536
LONG = {"seconds": 5}


def small(**policies):
    return ssdlab.Drive.from_toml(SMALL, name="small.toml", **policies)


def overwrite(drive, commands=30_000):
    """Fills the drive, and writes at random until it collects."""
    drive.submit("write", np.arange(0, PAGES, 32) * 4096, 131_072, queue_depth=8)
    drive.submit("write", np.random.default_rng(1).integers(0, PAGES, commands) * 4096, 4096, queue_depth=32)
    return drive.advance()


def greedy(blocks, valid, age, capacity):
    return blocks[min(range(len(blocks)), key=lambda k: (valid[k], -age[k]))]


def test_a_policy_in_python_does_what_the_same_built_in_does():
    calls = []

    def oldest(blocks, valid, age, capacity):
        assert len(blocks) == len(valid) == len(age) and max(valid) <= capacity and blocks == sorted(blocks)
        calls.append(len(blocks))
        return np.int64(blocks[max(range(len(blocks)), key=age.__getitem__)])

    built_in, ours = small(**{"gc.policy": "fifo"}), small(victim=oldest)
    assert overwrite(built_in).to_dict() == overwrite(ours).to_dict()
    assert len(calls) > 20
    assert built_in.counters() == ours.counters()
    ours.check()


@pytest.mark.slow
def test_a_policy_in_python_has_the_write_amplification_of_the_same_built_in():
    changes = {"gc.policy": "greedy", "gc.tie_break": "fifo"}
    built_in = ssdlab.Drive("ideal-16k-32die", **changes).test("steady-state", quick=True)
    ours = ssdlab.Drive("ideal-16k-32die", victim=greedy, **changes).test("steady-state", quick=True)
    assert ours.metrics["waf"].value == pytest.approx(built_in.metrics["waf"].value, rel=0.01)


def test_results_say_whose_policy_it_was(tmp_path):
    def oldest(blocks, valid, age, capacity):
        return blocks[max(range(len(blocks)), key=age.__getitem__)]

    def halved(dead, valid):
        return dead / max(2 * valid, 1)

    plain, ours = small(), small(victim=oldest)
    assert ours.name == "small.toml with victim=oldest" and "victim=oldest" in repr(ours) and ours.changes == {}
    values = {row["key"]: row["value"] for row in ours.specification["values"]}
    assert values["gc.policy"] == "oldest"
    results = [drive.test("random-write", **LONG) for drive in (plain, ours)]
    first, second = [json.loads(result.json())["device"] for result in results]
    assert first["name"] != second["name"] and first["identity"] != second["identity"]
    assert "functions" not in first and second["functions"] == ["victim=oldest"]
    assert [any("function of Python, `oldest`" in note for note in result.notes) for result in results] == [False, True]
    assert "victim=oldest" in repr(results[1])
    results[1].save(tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "victim=oldest" in page and '<td class="n">greedy' not in page
    devices = [of["devices"] for key, of in ssdlab.compare(*results).items() if key in ("first", "second")]
    assert devices == [["small.toml"], ["small.toml with victim=oldest"]]
    # What a function does is not known, so that it may be more than chance.
    pairs = zip(results, [drive.test("random-write", seed=2, **LONG) for drive in (plain, ours)])
    assert [ssdlab.compare(*pair)["differ_by_chance_alone"] for pair in pairs] == [True, False]
    paced = small(pacing=halved, **{"gc.policy": "fifo"})
    assert paced.name == "small.toml with gc.policy=fifo, pacing=halved" and paced.changes == {"gc.policy": "fifo"}
    values = {row["key"]: row["value"] for row in paced.specification["values"]}
    assert (values["gc.policy"], values["gc.host_share"]) == ("fifo", "halved")
    assert small(victim=functools.partial(greedy)).name == "small.toml with victim=partial"
    with pytest.warns(UserWarning, match="function of Python, `halved`, took the place of `gc.host_share`"):
        job = paced.run("[w]\nrw=randwrite\nbs=4k\nsize=1m\nioengine=libaio\n", prefill="none")
    assert any("`halved`" in notice for notice in job.notices) and job.report["ssdlab"]["device"] == paced.name


class Index:
    def __init__(self, answer):
        self.answer = answer

    def __index__(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Unshowable:
    def __repr__(self):
        raise LookupError("no words")


class Untold(Exception):
    def __str__(self):
        raise LookupError("no words")


def fail(*_):
    return 1 / 0


def untold(*_):
    raise Untold


def deep(*args):
    return deep(*args)


def deep_in_c(*args):
    return max(args, key=lambda _: deep_in_c(*args))


NO_NUMBER = "which is no whole number"
NO_BLOCK = "which is the number of no closed superblock"
WRONG_VICTIMS = [
    (lambda *a: 10**6, f"the victim policy returned 1000000, {NO_BLOCK}"),
    (lambda *a: -1, f"returned -1, {NO_BLOCK}"),
    (lambda *a: 2**32, f"returned 4294967296, {NO_BLOCK}"),
    (lambda *a: 10**5000, NO_BLOCK),
    (lambda *a: Index(2**64), NO_BLOCK),
    (lambda *a: Index(LookupError("no")), NO_BLOCK),
    (lambda *a: None, f"returned None, {NO_NUMBER}"),
    (lambda *a: True, f"returned True, {NO_NUMBER}"),
    (lambda *a: np.bool_(True), NO_NUMBER),
    (lambda *a: float("nan"), f"returned nan, {NO_NUMBER}"),
    (lambda *a: 3.0, f"returned 3.0, {NO_NUMBER}"),
    (lambda *a: "3", f"returned '3', {NO_NUMBER}"),
    (lambda *a: a[0], NO_NUMBER),
    (lambda *a: "x" * 10**6, "xxx…, which is no whole number"),
    (lambda *a: Unshowable(), NO_NUMBER),
    (fail, "the victim policy failed: ZeroDivisionError: division by zero"),
    (lambda: 0, "the victim policy failed: TypeError: "),
    (untold, "the victim policy failed: "),
    (deep, "the victim policy failed: RecursionError: "),
    (deep_in_c, "the victim policy failed: RecursionError: "),
]
WRONG_PACINGS = [
    (lambda *a: -1, "the pacing returned -1, which is no number from 0 on"),
    (lambda *a: float("nan"), "the pacing returned nan, which"),
    (lambda *a: float("-inf"), "the pacing returned -inf, which"),
    (lambda *a: 10**400, "which is no number from 0 on"),
    (lambda *a: True, "the pacing returned True, which"),
    (lambda *a: None, "the pacing returned None, which"),
    (lambda *a: "1", "the pacing returned '1', which"),
    (lambda *a: 1j, "the pacing returned 1j, which"),
    (fail, "the pacing failed: ZeroDivisionError: division by zero"),
    (lambda one: 1.0, "the pacing failed: TypeError: "),
]
WRONG = [({"victim": f}, words) for f, words in WRONG_VICTIMS] + [({"pacing": f}, words) for f, words in WRONG_PACINGS]


@pytest.mark.parametrize("policies, words", WRONG)
def test_a_policy_that_goes_wrong_ends_the_batch_and_the_drive(policies, words):
    drive = small(**policies)
    with pytest.raises(ssdlab.RunError) as caught:
        overwrite(drive)
    assert words in str(caught.value) and "panic" not in str(caught.value)
    for call in (drive.advance, lambda: drive.submit("read", 0, 4096), lambda: drive.clone().advance()):
        with pytest.raises(ssdlab.RunError, match="a policy of this drive has failed"):
            call()
    drive.reset()
    drive.submit("write", 0, 4096)
    assert len(drive.advance()) == 1


@pytest.mark.parametrize("policies, words", [WRONG[0], WRONG[-5], WRONG[-2]])
def test_a_policy_that_goes_wrong_ends_a_test_a_replay_and_a_job(policies, words):
    drive = small(**policies)
    offsets = np.random.default_rng(1).integers(0, PAGES, 20_000) * 4096
    table = {"time": np.arange(20_000), "offset": offsets, "length": np.full(20_000, 4096), "op": ["write"] * 20_000}
    job = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nioengine=libaio\nsize=256m\nio_size=320m\n"
    for run in (
        lambda: drive.test("random-write", **LONG),
        lambda: drive.test("random-write", records=True, **LONG),
        lambda: drive.replay(table, time_unit="us", speed="asap"),
        lambda: drive.run(job, prefill="drive"),
    ):
        with pytest.raises(ssdlab.RunError) as caught:
            run()
        assert words in str(caught.value) and "panic" not in str(caught.value)


def test_the_error_knows_what_caused_it():
    with pytest.raises(ssdlab.RunError) as caught:
        overwrite(small(victim=fail))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__traceback__.tb_frame.f_code.co_name == "fail"


@pytest.mark.parametrize("leaves", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_is_no_error_of_a_function_is_not_made_one(leaves):
    def leave(*_):
        raise leaves

    with pytest.raises(type(leaves)):
        overwrite(small(victim=leave))


def test_policies_may_use_the_laboratory_but_not_the_drive_that_asks_them():
    other = small()
    metrics = []

    def curious(*args):
        if not metrics:
            metrics.append(other.test("random-write", seconds=1).metrics)
        gc.collect()
        return greedy(*args)

    overwrite(small(victim=curious))
    assert metrics
    for touch in (lambda d: d.advance(), lambda d: d.close(), lambda d: d.clone(), lambda d: d.submit("read", 0, 4096)):
        drives = []

        def meddle(*args, touch=touch, drives=drives):
            touch(drives[0])

        drives.append(small(victim=meddle))
        with pytest.raises(ssdlab.RunError, match="at work in another thread"):
            overwrite(drives[0])


def test_a_policy_that_gains_nothing_is_noticed():
    """It always chooses the fullest block, so that collection goes on for ever."""

    def fullest(blocks, valid, *_):
        return blocks[max(range(len(blocks)), key=valid.__getitem__)]

    with pytest.raises(ssdlab.RunError, match="will never finish them"):
        small(victim=fullest).test("random-write", **LONG)
    drive = small(victim=fullest)
    # In batches of any size, and by who waits for them.
    for commands in (30_000, 500):
        with pytest.raises(ssdlab.RunError, match="will never finish them"):
            overwrite(drive, commands)
    with pytest.raises(ssdlab.RunError, match="will never finish them"):
        drive.advance()


def test_a_fault_of_a_copy_is_none_of_the_original():
    may_fail = []

    def policy(*args):
        return fail() if may_fail else greedy(*args)

    drive = small(victim=policy)
    overwrite(drive)
    copy = drive.clone()
    may_fail.append(True)
    with pytest.raises(ssdlab.RunError, match="division"):
        overwrite(copy)
    may_fail.clear()
    with pytest.raises(ssdlab.RunError, match="nothing is known of it any more"):
        copy.advance()
    assert len(overwrite(drive)) > 30_000


def test_devices_that_would_not_ask_are_refused():
    def pacing(dead, valid):
        return 1.0

    with pytest.raises(ssdlab.DriveFileError, match="maps by pages"):
        ssdlab.Drive("spinpoint-f1-1tb", victim=greedy)
    with pytest.raises(ssdlab.DriveFileError):
        ssdlab.Drive("spinpoint-f1-1tb", pacing=pacing)
    with pytest.raises(ssdlab.DriveFileError, match="sets the host no limit"):
        ssdlab.Drive("ideal-32die", pacing=pacing, **{"gc.host_share": "unlimited"})
    for drive in (ssdlab.Drive("ideal-32die", victim=greedy), ssdlab.Drive("ideal-32die", pacing=pacing)):
        with pytest.raises(ValueError, match="built-in"):
            ssdlab.review(drive)
        with pytest.raises(ValueError, match="built-in"):
            ssdlab.fleet(drive, ssdlab.Workload("w"))
        with pytest.raises(ValueError):
            ssdlab.raid0(drive, drive)
    with pytest.raises(TypeError):
        ssdlab.Drive("ideal-32die", pacing=3)
    pair = ssdlab.Drive("raid0(ideal-32die*2)", victim=greedy)
    pair.submit("write", 0, 4096)
    assert len(pair.advance()) == 1


def test_pacing_in_python_limits_the_host():
    def seconds(rate):
        drive = small(pacing=lambda dead, valid: rate)
        overwrite(drive)
        return drive.now / 1e9

    assert seconds(0.05) > 1.1 * seconds(np.float32(5.0))
    assert seconds(float("inf")) == seconds(10**9) > 0


def test_threads_ask_their_own_policies():
    def run(number, results):
        try:
            overwrite(small(victim=greedy if number % 2 else fail), 15_000)
            results[number] = "done"
        except ssdlab.RunError as e:
            results[number] = type(e.__cause__).__name__

    results: dict[int, str] = {}
    threads = [threading.Thread(target=run, args=(number, results)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: "ZeroDivisionError", 1: "done", 2: "ZeroDivisionError", 3: "done"}


def test_functions_are_given_back():
    def victim(*args):
        return greedy(*args)

    before = sys.getrefcount(victim)
    drive = small(victim=victim)
    overwrite(drive, 5_000)
    drive.clone().close()
    drive.close()
    del drive
    gc.collect()
    assert sys.getrefcount(victim) == before


def test_a_policy_that_reaches_its_own_drive_is_given_back():
    class Studied:
        def __init__(self):
            self.asked = 0
            self.drive = small(victim=self.choose)

        def choose(self, *args):
            self.asked += 1
            return greedy(*args)

    studied = Studied()
    overwrite(studied.drive)
    assert studied.asked > 0
    gone = weakref.ref(studied)
    del studied
    gc.collect()
    assert gone() is None


def test_policies_are_asked_after_a_power_cut_and_of_a_saved_drive(tmp_path):
    asked = {"victim": 0, "pacing": 0}

    def victim(*args):
        asked["victim"] += 1
        return greedy(*args)

    def pacing(dead, valid):
        asked["pacing"] += 1
        return dead / max(valid, 1)

    def were_asked():
        counts = dict(asked)
        asked.update(victim=0, pacing=0)
        return all(count > 20 for count in counts.values())

    path = tmp_path / "saved.state"
    # A drive that has been cut asks nobody where it has hardly a free superblock.
    free = {"gc.start_free_superblocks": 3}
    small(**{"gc.host_share": "balanced", **free}).save(path)
    drive = small(victim=victim, pacing=pacing, **free)
    overwrite(drive)
    assert were_asked()
    drive.cut()
    drive.power_on()
    overwrite(drive)
    assert were_asked(), "after a cut"
    drive.load(path)
    overwrite(drive)
    assert were_asked(), "after load"
    drive.check()
    drive.test("random-write", start=path, prefill="drive", **LONG)
    assert were_asked(), "with start"
    assert drive.test("power-cut", quick=True, cuts=20, event_cuts=10).metrics and were_asked()


@pytest.mark.slow
def test_a_saved_drive_stays_the_saved_one_with_policies_and_records(tmp_path):
    path = tmp_path / "saved.state"
    plain = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    trace = {"time": [0, 1_000_000], "op": ["write", "read"], "offset": [0, 4096], "length": [4096, 4096]}
    plain.replay(trace, time_unit="ns", save=path)
    recorded = plain.replay(trace, time_unit="ns", start=path, records=True)
    assert recorded.method.startswith("The drive was as it had been saved")
    own = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB", victim=lambda blocks, valid, age, capacity: blocks[0])
    quick = own.test("random-write", start=path, quick=True)
    assert any("as it was saved" in note for note in quick.notes), quick.notes
