from __future__ import annotations

import numpy as np
import pytest
import ssdlab

pytestmark = pytest.mark.slow

WORK = ssdlab.Workload("office", drive_writes_per_day=0.1, spread=0.4, fill_percent=70)


@pytest.fixture(scope="module")
def model():
    return ssdlab.Drive("ultra-ii-240gb")


def test_a_fleet_does_not_depend_on_its_size_or_on_partitions(model, tmp_path):
    small = ssdlab.fleet(model, WORK, drives=50, years=2, small=128, out=tmp_path, ambient=(35, 5), oldest_years=1)
    large = ssdlab.fleet(model, WORK, drives=2500, years=2, small=128, out=tmp_path, ambient=(35, 5), oldest_years=1)
    of_small = next(small.tables())
    parts = list(large.tables())
    assert len(parts) == 3 and sum(len(set(p["drive"].tolist())) for p in parts) == 2500
    rows = parts[0]["drive"] < 50
    for name in of_small:
        assert (of_small[name] == parts[0][name][rows]).all(), name
    assert (np.diff(of_small["wear_mean"][of_small["drive"] == 3]) > 0).all()


def test_a_report_counts_every_drive(model, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    work = [WORK, ssdlab.Workload("log", drive_writes_per_day=0.5, random_percent=10, read_percent=10, weight=0.5)]
    fleet = ssdlab.fleet({model: 2}, work, drives=1500, years=2, small=128, other_failures_per_year=0.05)
    report = fleet.write(tmp_path)
    assert report.table.num_rows == 2
    left = 1500 - report.spares
    assert report.table["works"][-1] == left
    assert 100 < report.spares < 200, "five per cent a year"
    table = pyarrow.parquet.read_table(tmp_path / "drives")
    assert table.num_rows == sum(len(t) for t in fleet.tables())
    assert {p.name for p in tmp_path.iterdir()} == {"drives", "report.csv", "report.html", "fleet.json"}
    assert fleet.report().csv() == report.csv() == (tmp_path / "report.csv").read_text()
    first = next(fleet.tables())
    of_log = len(set(first["drive"][first["class"] == "log"].tolist()))
    assert 280 < of_log < 390, "a third of a thousand"


@pytest.mark.parametrize(
    "change",
    [
        {"drives": 0},
        {"years": float("nan")},
        {"years": -1},
        {"ambient": (300.0, 0.0)},
        {"other_failures_per_year": 2.0},
        {"small": 3000},
        {"specimens": 0},
    ],
)
def test_a_fleet_that_cannot_be_is_refused(model, change):
    with pytest.raises((ValueError, ssdlab.BadInput)):
        ssdlab.fleet(model, WORK, **{"small": 128, "drives": 2, **change}).report()


def test_a_disk_has_no_life():
    with pytest.raises(ssdlab.TestError):
        ssdlab.fleet("spinpoint-f1-1tb", WORK, small=1)
    with pytest.raises(ValueError, match="queue_depth"):
        ssdlab.fleet("ideal-32die", ssdlab.Workload("w", queue_depth=0))
