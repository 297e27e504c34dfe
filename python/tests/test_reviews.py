from __future__ import annotations

import json

import pytest
import ssdlab

SETTINGS = {"seconds": 1, "span_bytes": "64MB"}


def test_a_review_is_that_of_the_command_line(tmp_path, cli):
    drives = ["ideal-32die", "ideal-16k-32die"]
    ours = ssdlab.review(drives, only=["random-write", "random-read"], settings=SETTINGS, quick=True)
    ours.save(tmp_path / "ours")
    words = ["--only", "random-write,random-read", "--set", "seconds=1", "--set", "span_bytes=64MB", "--quick"]
    cli("review", *drives, *words, "--out", str(tmp_path / "theirs"))
    files = sorted(p.relative_to(tmp_path / "theirs") for p in (tmp_path / "theirs").rglob("*") if p.is_file())
    files = [p for p in files if p.parts[0] != ".ssdlab"]
    assert len(files) > 5
    for path in files:
        assert (tmp_path / "ours" / path).read_bytes() == (tmp_path / "theirs" / path).read_bytes(), path
    assert len(ours.results) >= 4 and not ours.failures and "ideal" in str(ours)


def test_a_folder_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    review = ssdlab.review("ideal-32die", only="random-write", settings=SETTINGS)
    with pytest.raises(ssdlab.FolderError, match="was not written by ssdlab"):
        review.save(tmp_path)
    assert (tmp_path / "index.html").read_text() == "mine"


def test_results_are_compared(tmp_path, cli_json):
    slow, fast = (ssdlab.Drive("ideal-32die").test("random-write", queue_depth=q, **SETTINGS) for q in (1, 8))
    (tmp_path / "slow.json").write_text(slow.json())
    (tmp_path / "fast.json").write_text(fast.json())
    ours = ssdlab.compare(slow, fast)
    theirs = cli_json("compare", str(tmp_path / "slow.json"), str(tmp_path / "fast.json"), "--json")
    assert ours == theirs == ssdlab.compare(tmp_path / "slow.json", fast)
    with pytest.raises(ssdlab.ResultsError):
        ssdlab.compare(tmp_path / "none.json", fast)


def test_claims_are_about_drives_that_somebody_wrote_about():
    with pytest.raises(ssdlab.DriveFileError, match="no published figures"):
        ssdlab.claims("ideal-32die")


FIGURE = """
[[claim]]
id = "mine-1"
devices = ["ideal-32die"]
quantity = "random write"
published = "%s IOPS"
source = "data sheet"
check.value = { test = "random-write", metric = "iops", value = %s, unit = "IOPS", tolerance_percent = 1, params = { seconds = 1, span_bytes = "64MB" } }
"""


def test_figures_of_ones_own_are_laid_beside(tmp_path, cli_json):
    measured = ssdlab.Drive("ideal-32die").test("random-write", **SETTINGS).metrics["iops"].value
    for published, state in ((round(measured), "met"), (round(measured * 2), "missed")):
        file = tmp_path / f"{state}.toml"
        file.write_text(FIGURE % (published, published))
        ours = ssdlab.claims(figures=file)
        assert ours.pop("failures") == []
        assert [(c["id"], c["state"]) for c in ours["claims"]] == [("mine-1", state)]
        assert ours == cli_json("claims", "--figures", str(file), "--json")
        reviewed = ssdlab.review("ideal-32die", only="random-write", settings=SETTINGS, figures=file).claims
        assert [(c["id"], c["state"]) for c in reviewed] == [("mine-1", state)]
    with pytest.raises(ssdlab.ParameterError, match="no figure of the file is about ideal-16k-32die"):
        ssdlab.review("ideal-16k-32die", only="random-write", settings=SETTINGS, figures=file)
    file.write_text(FIGURE.replace('"iops"', '"iosp"') % (1, 1))
    with pytest.raises(ssdlab.DriveFileError, match="random-write has no figure `iosp`"):
        ssdlab.claims(figures=file)


def test_figures_whose_test_a_drive_does_not_allow_are_not_missing(tmp_path, cli_json):
    file = tmp_path / "figures.toml"
    other = FIGURE.replace("mine-1", "mine-2").replace('"random-write"', '"slc-cache"').replace('"iops"', '"stages"')
    other = other.replace('unit = "IOPS"', 'unit = "count"').replace(', params = { seconds = 1, span_bytes = "64MB" }', "")
    file.write_text(FIGURE % (1, 1) + other.replace('"ideal-32die"', '"spinpoint-f1-1tb"') % (1, 1))
    with pytest.warns(UserWarning, match="slc-cache on spinpoint-f1-1tb"):
        ours = ssdlab.claims(figures=file)
    assert len(ours["failures"]) == 1 and "slc-cache on spinpoint-f1-1tb" in ours.pop("failures")[0]
    assert ours["complete"] and [c["state"] for c in ours["claims"]] == ["missed", "not-run"]
    assert ours == cli_json("claims", "--figures", str(file), "--json")
    with pytest.warns(UserWarning, match="slc-cache on spinpoint-f1-1tb"):
        review = ssdlab.review(["spinpoint-f1-1tb"], only=["random-write", "slc-cache"], settings=SETTINGS)
    assert len(review.failures) == 1 and "slc-cache on spinpoint-f1-1tb" in review.failures[0]
    assert review.failures[0] in str(review) and "1 without an outcome" in repr(review)


def test_what_notebooks_show():
    drive = ssdlab.Drive("ideal-32die")
    result = drive.test("random-write", records=20, **SETTINGS)
    assert "ideal-32die" in drive._repr_html_() and "iops" in result._repr_html_()
    assert "10 more rows" in result.records._repr_html_()
    assert "<pre>" in ssdlab.review(drive, only="random-write", settings=SETTINGS)._repr_html_()


def test_charts_are_drawn_by_altair():
    pytest.importorskip("altair")
    result = ssdlab.Drive("ideal-32die").test("random-write", **SETTINGS)
    assert result.charts and json.loads(result.plot().to_json())["vconcat"]


def test_the_catalog_can_be_listed(cli_json):
    assert ssdlab.devices() == cli_json("list", "devices", "--json")["devices"]
    assert ssdlab.tests() == cli_json("list", "tests", "--json")


def test_the_command_says_what_is_wrong_and_ends_with_its_code(cli):
    ran = cli("show", "no-such-drive", check=False)
    assert ran.returncode == 2 and ran.stderr.startswith("error: there is no drive")
    assert cli("--version").stdout == f"ssdlab {ssdlab.__version__}\n"
