"""Searches over-provisioning, write buffer and collection policy: cost against tail latency against endurance.

    pip install ./python optuna   # from a checkout: needs Rust
    python examples/python/optuna_search.py [TRIALS]
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import optuna
import ssdlab

BASE = "ideal-16k-32die"
CAPACITY_GB = ssdlab.Drive(BASE).capacity_bytes / 1e9


def figures(params: dict) -> tuple[float, float, float]:
    """Relative cost of flash and DRAM (an estimate), 99th percentile of steady writes, write amplification."""
    drive = ssdlab.Drive(BASE, params)
    steady = drive.test("steady-state", quick=True).metrics
    flash = 1 + params["over_provisioning_percent"] / 100
    dram = params["write_buffer.capacity_kib"] / 1024 / CAPACITY_GB * 2.0
    return flash + dram, steady["latency_p99"].value, steady["waf"].value


def ask(trial: optuna.Trial) -> dict:
    return {
        "over_provisioning_percent": trial.suggest_int("over_provisioning_percent", 7, 40),
        "write_buffer.capacity_kib": 2 ** trial.suggest_int("buffer_log2_kib", 11, 15),
        "gc.policy": trial.suggest_categorical("gc.policy", ["greedy", "fifo", "cost-benefit"]),
    }


if __name__ == "__main__":
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    study = optuna.create_study(directions=["minimize"] * 3, sampler=optuna.samplers.NSGAIISampler(seed=1))
    with ProcessPoolExecutor() as pool:  # or client.get_executor() of Dask, or ssdlab.executors.ray()
        for _ in range(0, trials, 4):
            asked = [study.ask() for _ in range(4)]
            for trial, values in zip(asked, pool.map(figures, [ask(trial) for trial in asked])):
                study.tell(trial, values)
    for best in study.best_trials:
        print("  ".join(f"{value:9.3f}" for value in best.values), best.params)
