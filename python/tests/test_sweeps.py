from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from types import SimpleNamespace

import pytest
import ssdlab
from conftest import FORTY, SMALL_SWEEP


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the command line makes of the forty points."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "forty.toml").write_text(FORTY)
    words = [sys.executable, "-m", "ssdlab", "sweep", str(folder / "forty.toml"), "--out", str(folder / "out")]
    subprocess.run(words, check=True, capture_output=True)
    return folder


def same(expected, out):
    for name in ("results.csv", "index.html"):
        assert (out / name).read_bytes() == (expected / "out" / name).read_bytes(), name
    theirs = sorted(p.name for p in (expected / "out" / "points").iterdir())
    assert theirs == sorted(p.name for p in (out / "points").iterdir()) and len(theirs) == 40
    for name in theirs:
        assert (out / "points" / name).read_bytes() == (expected / "out" / "points" / name).read_bytes()


def processes():
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


@pytest.mark.slow
def test_threads_and_processes_give_the_bytes_of_the_command_line(expected, tmp_path):
    plan = expected / "forty.toml"
    ssdlab.sweep(plan, out=tmp_path / "here")
    same(expected, tmp_path / "here")
    with ThreadPoolExecutor(2) as pool:
        ssdlab.sweep(plan, out=tmp_path / "threads", executor=pool)
    same(expected, tmp_path / "threads")
    with processes() as pool:
        ssdlab.sweep(plan, out=tmp_path / "processes", executor=pool)
    same(expected, tmp_path / "processes")


@pytest.mark.slow
def test_the_command_line_goes_on_from_what_python_has_kept(expected, tmp_path, cli):
    plan = expected / "forty.toml"
    with ThreadPoolExecutor(2) as pool:
        ssdlab.sweep(plan, out=tmp_path, executor=pool)
    for path in sorted((tmp_path / "points").iterdir())[:25]:
        path.unlink()
    said = cli("sweep", str(plan), "--out", str(tmp_path)).stdout
    assert "25 run, 15 found finished" in said
    same(expected, tmp_path)


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(expected, tmp_path):
    pools = []

    def make():
        pools.append(processes())
        return pools[-1]

    def kill():
        while not pools or not getattr(pools[0], "_processes", None):
            time.sleep(0.05)
        while len(list((tmp_path / "points").glob("*.json"))) < 5:
            time.sleep(0.01)
        os.kill(next(iter(pools[0]._processes)), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = ssdlab.sweep(expected / "forty.toml", out=tmp_path, executor=make)
    killer.join()
    assert len(pools) == 2 and not result.failed
    same(expected, tmp_path)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_goes_on_where_it_was(expected, tmp_path):
    script = (
        "import ssdlab, sys; from concurrent.futures import ThreadPoolExecutor\n"
        "ssdlab.sweep(sys.argv[1], out=sys.argv[2], executor=ThreadPoolExecutor(1))"
    )
    words = [sys.executable, "-c", script, str(expected / "forty.toml"), str(tmp_path)]
    running = subprocess.Popen(words)
    while len(list((tmp_path / "points").glob("*.json")) if (tmp_path / "points").exists() else []) < 5:
        assert running.poll() is None
        time.sleep(0.01)
    running.kill()
    running.wait()
    kept = len(list((tmp_path / "points").glob("*.json")))
    assert 5 <= kept < 40
    with ThreadPoolExecutor(2) as pool:
        result = ssdlab.sweep(expected / "forty.toml", out=tmp_path, executor=pool)
    assert result.found >= kept - 1
    same(expected, tmp_path)


@pytest.mark.slow
def test_without_a_way_to_make_another_executor_a_broken_one_is_told(tmp_path):
    pool = processes()
    plan = FORTY.replace("seconds = 1", "seconds = 2")

    def kill():
        while len(list((tmp_path / "points").glob("*.json")) if (tmp_path / "points").exists() else []) < 3:
            time.sleep(0.01)
        for process in list(pool._processes.values()):
            process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ssdlab.SweepInterrupted, match="goes on from there"):
        ssdlab.sweep(plan, out=tmp_path, executor=pool)
    killer.join()
    assert len(list((tmp_path / "points").glob("*.json"))) >= 3


def test_a_point_that_was_spoilt_is_run_again(tmp_path):
    first = ssdlab.sweep(SMALL_SWEEP, out=tmp_path)
    for path in (tmp_path / "points").iterdir():
        path.write_text(path.read_text().replace("0", "1", 1))
    with ThreadPoolExecutor(1) as pool:
        again = ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=pool)
    assert again.found == 0 and again.table.to_dict() == first.table.to_dict()


def test_points_are_kept_on_any_file_system(tmp_path):
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/store"
    first = ssdlab.sweep(SMALL_SWEEP, out=url)
    assert len(list((tmp_path / "store" / "points").glob("*.json"))) == 2
    assert ssdlab.sweep(SMALL_SWEEP, out=url).found == 2 == len(first)
    memory = ssdlab.sweep(SMALL_SWEEP)
    assert memory.table.to_dict() == first.table.to_dict()


def test_a_folder_is_looked_at_before_the_work(tmp_path):
    (tmp_path / "results.csv").write_text("mine")
    for executor in (None, Unused()):
        with pytest.raises(ssdlab.FolderError, match="was not written by ssdlab"):
            ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=executor)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


class Unused(ThreadPoolExecutor):
    def submit(self, *_):
        raise AssertionError("nothing is to be run")


def test_nobody_else_sweeps_into_the_same_folder(tmp_path, cli):
    (tmp_path / "plan.toml").write_text(SMALL_SWEEP)
    said, children = [], []

    class Meanwhile(ThreadPoolExecutor):
        def submit(self, *args):
            if not said:
                said.append(cli("sweep", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out"), check=False))
                with pytest.raises(ssdlab.FolderError, match="another ssdlab is writing"):
                    ssdlab.sweep(SMALL_SWEEP, out=tmp_path / "out")
                children.append(os.fork())
                if children == [0]:
                    time.sleep(60)
                    os._exit(0)
            return super().submit(*args)

    with Meanwhile(1) as pool:
        first = ssdlab.sweep(tmp_path / "plan.toml", out=tmp_path / "out", executor=pool)
    try:
        assert said[0].returncode == 2 and "another ssdlab is writing" in said[0].stderr
        # A worker that was forked lives on, and does not keep the folder.
        assert ssdlab.sweep(tmp_path / "plan.toml", out=tmp_path / "out").found == 2 == len(first)
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
    first.save(tmp_path / "out")


def test_a_plan_that_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo.toml")
    for path in (tmp_path / "fifo.toml", "/dev/zero", tmp_path):
        with pytest.raises(ssdlab.PlanError, match="not a file"):
            ssdlab.sweep(path)


def test_a_wrong_plan_is_told_with_its_line(tmp_path):
    with pytest.raises(ssdlab.PlanError) as caught:
        ssdlab.sweep(SMALL_SWEEP.replace("random-write", "random-wite"))
    assert caught.value.line == 8
    with pytest.raises(ssdlab.PlanError):
        ssdlab.sweep(tmp_path / "none.toml")
    with pytest.raises(TypeError):
        ssdlab.sweep(SMALL_SWEEP, executor=3)


def test_points_that_are_impossible_are_told(tmp_path):
    plan = SMALL_SWEEP.replace("test.queue_depth = [1, 4]", "flash.exact_spare_per_10000 = [2000, 0]")
    with pytest.warns(UserWarning, match="impossible: point 2: "):
        some = ssdlab.sweep(plan)
    assert repr(some).endswith(": 2 points, 1 impossible>")
    with pytest.raises(ssdlab.RunError, match="no point of the plan is possible") as caught, pytest.warns(UserWarning):
        ssdlab.sweep(plan.replace("[2000, 0]", "[0]"), out=tmp_path)
    assert len(caught.value.result) == 1 and (tmp_path / "results.csv").exists()


def test_a_drive_file_that_was_edited_makes_other_points(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'title = "t"\ndrive = "d.toml"\n[grid]\ntest.queue_depth = [1]\n[[test]]\nname = "random-write"\n'
        '[test.set]\nseconds = 1\nspan_bytes = "64MB"\n'
    )

    def iops(command_us):
        (tmp_path / "d.toml").write_text(f'base = "ideal-32die"\n[controller]\nwrite_command_us = {command_us}\n')
        result = ssdlab.sweep(tmp_path / "plan.toml", out=tmp_path / "out", force=True)
        return result.found, [v for n in result.table if n.endswith("iops") for v in result.table[n].tolist()]

    fast, slow = iops(1.0), iops(100.0)
    assert fast[0] == slow[0] == 0 and fast[1] != slow[1]
    assert iops(1.0) == (1, fast[1]), "it was kept"


class Here(Executor):
    """Runs at once, in this thread; `fails` says what becomes of the tasks before."""

    def __init__(self, *fails):
        self.fails = list(fails)

    def submit(self, fn, *args):
        future = Future()
        try:
            if self.fails:
                raise self.fails.pop(0)
            future.set_result(fn(*args))
        except Exception as e:
            future.set_exception(e)
        return future


class LikeDask(Here):
    """Never answers, once its client has lost the cluster."""

    def __init__(self, status):
        super().__init__()
        self._client = SimpleNamespace(status=status, ncores=lambda: {"a": 3, "b": 4})
        self.closed = 0

    def submit(self, fn, *args):
        return super().submit(fn, *args) if self._client.status == "running" else Future()

    def shutdown(self, wait=True):
        self.closed += 1


def test_a_cluster_that_is_lost_ends_the_sweep():
    with pytest.raises(ssdlab.SweepInterrupted, match="with 2 of 2 points to go: its client has lost the cluster"):
        ssdlab.sweep(SMALL_SWEEP, executor=LikeDask("closed"))
    lost, made = LikeDask("closed"), LikeDask("running")
    executors = [lost, made]
    assert len(ssdlab.sweep(SMALL_SWEEP, executor=lambda: executors.pop(0))) == 2
    assert (lost.closed, made.closed) == (1, 1)


def test_a_cluster_says_how_wide_it_is():
    from ssdlab._work import _width

    assert _width(LikeDask("running")) == 7 and _width(ThreadPoolExecutor(5)) == 5
    assert _width(Here()) == 2 * os.cpu_count()


def test_how_an_executor_is_shut_down_hides_no_result():
    class Stubborn(Here):
        def shutdown(self, wait=True):
            raise OSError("no")

    assert len(ssdlab.sweep(SMALL_SWEEP, executor=Stubborn)) == 2
    assert len(ssdlab.sweep(SMALL_SWEEP, executor=lambda: LikeDask("running"))) == 2


def test_why_an_executor_takes_nothing_is_told():
    class Refusing(Here):
        def submit(self, *_):
            raise RuntimeError("no partition gpu9")

    with pytest.raises(ssdlab.SweepInterrupted, match="2 of 2 points to go: no partition gpu9") as caught:
        ssdlab.sweep(SMALL_SWEEP, executor=Refusing())
    assert repr(caught.value.__cause__) == "RuntimeError('no partition gpu9')"
    assert caught.value.what.startswith("the executor broke") and "goes on from there" in caught.value.help[0]


def test_what_had_arrived_when_a_point_was_given_up_is_kept(tmp_path):
    with pytest.raises(ssdlab.SweepInterrupted, match="given up after 1 tries: out of memory"):
        ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=Here(OSError("out of memory")), retries=0)
    assert len(list((tmp_path / "points").iterdir())) == 1
    assert ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=Here(OSError("out of memory"))).found == 1


class Jobs:
    """As submitit's executors: jobs that end when they are told to."""

    def __init__(self):
        self.jobs = []

    def submit(self, fn, *args):
        self.jobs.append(SimpleNamespace(ended=False, cancelled=False, result=lambda: fn(*args)))
        job = self.jobs[-1]
        job.done = lambda: job.ended
        job.cancel = lambda: setattr(job, "cancelled", True)
        return job


def test_jobs_that_are_under_way_when_no_more_are_taken():
    jobs = Jobs()
    executor = ssdlab.executors.submitit(jobs, jobs=2, poll_seconds=0.01)
    future = executor.submit(abs, -1)
    executor.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, -1)
    jobs.jobs[0].ended = True
    assert future.result(timeout=10) == 1 and len(jobs.jobs) == 1
    executor = ssdlab.executors.submitit(jobs, jobs=2, poll_seconds=0.01)
    future = executor.submit(abs, -1)
    executor.shutdown(cancel_futures=True)
    with pytest.raises(CancelledError):
        future.result(timeout=10)
    assert jobs.jobs[1].cancelled


def test_a_job_that_does_not_say_whether_it_has_ended_holds_no_other_up():
    jobs = Jobs()
    executor = ssdlab.executors.submitit(jobs, jobs=3, poll_seconds=0.001)
    lost, slow, other = (executor.submit(abs, -n) for n in (1, 2, 3))
    asked = []

    def refused(times, job):
        asked.append(job)
        if asked.count(job) <= times:
            raise OSError("sacct: Connection refused")
        return True

    jobs.jobs[0].done = lambda: refused(10**9, 0)
    jobs.jobs[1].done = lambda: refused(3, 1)
    jobs.jobs[2].ended = True
    assert other.result(timeout=10) == 3 and slow.result(timeout=10) == 2
    with pytest.raises(OSError, match="Connection refused"):
        lost.result(timeout=10)
    assert asked.count(0) > 3 and jobs.jobs[0].cancelled
    executor.shutdown()


def test_what_is_under_way_when_a_sweep_ends_is_cancelled():
    jobs = Jobs()
    executor = ssdlab.executors.submitit(jobs, jobs=2, poll_seconds=0.001)

    def interrupt(_done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ssdlab.sweep(SMALL_SWEEP, executor=executor, progress=interrupt)
    assert len(jobs.jobs) == 2 and all(job.cancelled for job in jobs.jobs)
    # Of those that are cancelled nobody asks what came of them.
    executor.shutdown()


def test_files_lie_beside_the_plan_whatever_leads_there(tmp_path, monkeypatch):
    """`..` after a link is not the folder that the link lies in."""
    plan = SMALL_SWEEP.replace('"ideal-32die"', '"d.toml"').replace("[1, 4]", "[1]")
    for folder, command_us in (("real/x", 1.0), ("here", 100.0)):
        (tmp_path / folder).mkdir(parents=True)
        file = tmp_path / folder.split("/")[0] / "d.toml"
        file.write_text(f'base = "ideal-32die"\n[controller]\nwrite_command_us = {command_us}\n')
    (tmp_path / "real" / "plan.toml").write_text(plan)
    (tmp_path / "here" / "link").symlink_to("../real/x")
    monkeypatch.chdir(tmp_path / "here")
    expected = ssdlab.sweep(tmp_path / "real" / "plan.toml").table.to_dict()
    for executor in (None, Here()):
        assert ssdlab.sweep("link/../plan.toml", executor=executor).table.to_dict() == expected


@pytest.mark.parametrize("executor", [None, Here()])
def test_a_result_that_cannot_be_kept_is_told_with_its_file(executor, tmp_path):
    ssdlab.sweep(SMALL_SWEEP, out=tmp_path)
    in_the_way = sorted((tmp_path / "points").iterdir())[0]
    in_the_way.unlink()
    (in_the_way / "mine").mkdir(parents=True)
    with pytest.raises(ssdlab.RunError, match=f"cannot write .*{in_the_way.name}: .*directory") as caught:
        ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=executor)
    assert "what is finished is kept" in str(caught.value) and not list(tmp_path.glob("points/*partial*"))


def test_a_disk_that_is_full_leaves_nothing_half_written(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ssdlab.RunError, match=r"\.json: No space left on device \(os error 28\)"):
        ssdlab.sweep(SMALL_SWEEP, out=tmp_path, executor=Here())
    assert list((tmp_path / "points").iterdir()) == []


def test_the_result_of_a_sweep_can_be_pickled(tmp_path):
    (tmp_path / "plan.toml").write_text(SMALL_SWEEP)
    result = ssdlab.sweep(tmp_path / "plan.toml")
    again = pickle.loads(pickle.dumps(result))
    assert again.table.to_dict() == result.table.to_dict() and repr(again) == repr(result)
    plan = SMALL_SWEEP.replace("test.queue_depth = [1, 4]", "flash.exact_spare_per_10000 = [0]")
    with pytest.raises(ssdlab.RunError) as caught, pytest.warns(UserWarning):
        ssdlab.sweep(plan)
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value) and len(error.result) == 1
    # Of files that have changed meanwhile, it would be another table.
    of_file = SMALL_SWEEP.replace('"ideal-32die"', '"d.toml"')
    (tmp_path / "d.toml").write_text('base = "ideal-32die"\n')
    (tmp_path / "plan.toml").write_text(of_file)
    kept = pickle.dumps(ssdlab.sweep(tmp_path / "plan.toml"))
    (tmp_path / "d.toml").write_text('base = "ideal-32die"\n[controller]\nwrite_command_us = 100.0\n')
    with pytest.raises(ssdlab.PlanError, match="other points here than where it was swept"):
        pickle.loads(kept).table
