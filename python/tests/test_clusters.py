"""Sweeps on Dask, Ray, MPI and submitit, two local workers each; workers that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
import ssdlab
from test_sweeps import expected, same  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def when_kept(out, count, what):
    """Does something once so many points are kept."""

    def wait():
        while len(list((out / "points").glob("*.json")) if (out / "points").exists() else []) < count:
            time.sleep(0.01)
        what()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_dask_with_a_worker_that_is_killed(expected, tmp_path):  # noqa: F811
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        ssdlab.sweep(expected / "forty.toml", out=tmp_path / "whole", executor=client.get_executor())
        same(expected, tmp_path / "whole")
        pid = next(iter(client.run(os.getpid).values()))
        killer = when_kept(tmp_path / "killed", 5, lambda: os.kill(pid, signal.SIGKILL))
        ssdlab.sweep(expected / "forty.toml", out=tmp_path / "killed", executor=client.get_executor())
        killer.join()
        same(expected, tmp_path / "killed")


def test_dask_with_a_scheduler_that_is_killed(expected, tmp_path):  # noqa: F811
    pytest.importorskip("distributed")
    script = (
        "import ssdlab, sys\n"
        "from dask.distributed import Client, LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c, Client(c) as client:\n"
        "        ssdlab.sweep(sys.argv[1], out=sys.argv[2], executor=client.get_executor())\n"
    )
    (tmp_path / "run.py").write_text(script)
    words = [sys.executable, str(tmp_path / "run.py"), str(expected / "forty.toml"), str(tmp_path / "out")]
    running = subprocess.Popen(words, start_new_session=True)
    killer = when_kept(tmp_path / "out", 5, lambda: os.killpg(running.pid, signal.SIGKILL))
    running.wait()
    killer.join()
    kept = len(list((tmp_path / "out" / "points").glob("*.json")))
    assert running.returncode != 0 and 5 <= kept < 40
    subprocess.run(words, check=True)
    same(expected, tmp_path / "out")


def test_ray_with_a_worker_that_is_killed(expected, tmp_path):  # noqa: F811
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        executor = ssdlab.executors.ray()
        ssdlab.sweep(expected / "forty.toml", out=tmp_path / "whole", executor=executor)
        same(expected, tmp_path / "whole")
        pid = executor.submit(os.getpid).result()
        killer = when_kept(tmp_path / "killed", 5, lambda: os.kill(pid, signal.SIGKILL))
        ssdlab.sweep(expected / "forty.toml", out=tmp_path / "killed", executor=executor)
        killer.join()
        same(expected, tmp_path / "killed")
    finally:
        ray.shutdown()


def test_submitit_on_this_machine(expected, tmp_path):  # noqa: F811
    submitit = pytest.importorskip("submitit")
    local = submitit.LocalExecutor(tmp_path / "logs")
    executor = ssdlab.executors.submitit(local, jobs=2, poll_seconds=0.1)
    ssdlab.sweep(expected / "forty.toml", out=tmp_path / "out", executor=executor)
    executor.shutdown()
    same(expected, tmp_path / "out")


def test_mpi_with_two_ranks(expected, tmp_path):  # noqa: F811
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("no mpirun: as root, apt-get install openmpi-bin")
    (tmp_path / "run.py").write_text(
        "import ssdlab, sys\n"
        "from mpi4py.futures import MPIPoolExecutor\n"
        "if __name__ == '__main__':\n"
        "    with MPIPoolExecutor() as pool:\n"
        "        ssdlab.sweep(sys.argv[1], out=sys.argv[2], executor=pool)\n"
    )
    plan, out = str(expected / "forty.toml"), str(tmp_path / "out")
    words = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-m", "mpi4py.futures"]
    subprocess.run([*words, str(tmp_path / "run.py"), plan, out], check=True, timeout=300)
    same(expected, tmp_path / "out")
