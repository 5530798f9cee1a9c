"""The benchmarks run, at the smallest sizes. Their figures are not tested here."""

import dataclasses
import importlib
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import importable_scripts, imported, read  # noqa: F401 -- a fixture

import dpaudit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(
    not BENCHMARKS.exists(), reason="the source distribution has tests but no benchmarks"
)


efficiency = imported("efficiency")
validity = imported("validity")
false_accusations = imported("false_accusations")
search = imported("search")
speed = imported("speed")
many_runs = imported("many_runs")


def assert_whole(table: str) -> None:
    """Nothing was too wide or cut off; the path of the CSV is as long as it is."""
    lines = [line for line in table.splitlines() if not line.startswith("Written to ")]
    assert max(map(len, lines)) <= 100
    assert "…" not in table


def test_efficiency(
    efficiency: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["NonDPGaussian1 (0.01", "0.5-GDP"]
    options = ["--runs", "2", "--further-runs", "1", "--workers", "1", "--results", str(tmp_path)]
    assert efficiency.main([*options, "--rows", *rows]) == 0
    published, further = read(tmp_path / "efficiency.partial.csv")
    assert (published["floor_pairs"], published["gonzalez2025_pairs"]) == ("16", "264")
    assert (published["runs"], published["target_ratio"]) == ("2", "3")
    assert math.isclose(
        float(published["ratio_to_floor"]), float(published["mean_pairs"]) / 16, rel_tol=1e-4
    )
    assert (further["apt2026_pairs"], further["met"], further["standard_error"]) == ("198", "", "")
    shown = capsys.readouterr().out
    assert "NonDPGaussian1" in shown
    assert "0.5-GDP" in shown
    assert_whole(shown)


def test_efficiency_has_every_published_row(efficiency: ModuleType) -> None:
    rows = efficiency.published()
    assert len(rows) == 11
    assert {row.name: row.target for row in rows} == {
        "NonDPGaussian1": 3.0,
        "NonDPLaplace1": 3.0,
        "NonDPGaussian2": 3.5,
        "NonDPLaplace2": 3.5,
    }
    assert all(row.mechanism.epsilon == row.claim.epsilon for row in rows)
    everything = [*rows, *efficiency.further()]
    assert len({row.place for row in everything}) == len(everything)  # none shares its seeds


def test_a_run_without_refutation_misses_the_target(efficiency: ModuleType) -> None:
    violation = efficiency.published()[0]
    outcomes = [efficiency.Outcome(refuted=refuted, pairs=20.0) for refuted in (True, True)]
    assert efficiency.summary(violation, outcomes).met is True
    outcomes.append(efficiency.Outcome(refuted=False, pairs=20.0))
    row = efficiency.summary(violation, outcomes)
    assert (row.met, row.share_refuted) == (False, 2 / 3)


def test_the_floor_grows_with_the_evidence_asked_for(efficiency: ModuleType) -> None:
    violation = efficiency.published()[0]
    assert violation.floor == 16.0
    assert math.isclose(dataclasses.replace(violation, alpha=0.05**2).floor, 32.0)


def test_a_filter_without_a_row_is_refused(
    efficiency: ModuleType, validity: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    for script in (efficiency, validity):
        with pytest.raises(SystemExit):
            script.main(["--rows", "Nobody"])
        assert "no row has any of ['Nobody']" in capsys.readouterr().err


def test_validity(validity: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--audits", "2", "--workers", "1", "--results", str(tmp_path)]
    assert validity.main([*options, "--rows", "RandomizedResponse", "--samples", "6000"]) == 0
    (row,) = read(tmp_path / "validity.partial.csv")
    assert (row["mechanism"], row["claim"], row["audits"]) == ("RandomizedResponse", "1-DP", "2")
    assert int(row["fewest_pairs"]) >= 20
    assert float(row["mean_samples"]) <= 6000
    assert_whole(capsys.readouterr().out)


def test_search(search: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--runs", "2", "--honest-runs", "1", "--workers", "1", "--results", str(tmp_path)]
    assert search.main([*options, "--rows", "NonDPLaplace1", "SVT1"]) == 0
    broken, honest = read(tmp_path / "search.partial.csv")
    assert (broken["mechanism"], broken["found"], broken["runs"]) == ("NonDPLaplace1", "2", "2")
    assert int(broken["most_pairs"]) <= int(broken["pair_limit"]) == 5
    assert (honest["mechanism"], honest["honest"], honest["runs"]) == ("SVT1", "yes", "1")
    assert_whole(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("found", "pairs", "holds"),
    [([True] * 10, 300, True), ([True] * 9 + [False], 300, False), ([True] * 10, 301, False)],
)
def test_a_needle_must_be_found_in_every_run_within_its_pairs(
    search: ModuleType, found: list[bool], pairs: int, holds: bool
) -> None:
    hunt = next(hunt for hunt in search.hunts() if hunt.label == "LeaksAtTwins auto")
    outcomes = [search.Outcome(refuted=one, pairs=pairs, draws=9) for one in found]
    assert search.summary(hunt, outcomes).holds is holds


def test_the_needles_leak_where_they_should_and_nowhere_else(scripts: None) -> None:
    needles = importlib.import_module("mechanisms")
    rng = np.random.default_rng(0)
    for mechanism, leaking, safe in (
        (needles.LeaksAtTwins(), [3, 7, 3], [3, 7, 4]),
        (needles.LeaksNear(), [0.1, 0.7315], [0.1, 0.733]),
    ):
        assert len(set(mechanism(leaking, 50, rng))) == 1
        assert len(set(mechanism(safe, 50, rng))) == 50


def test_validity_fits_the_screen_with_its_longest_names(
    validity: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = validity.Outcome(
        refuted=True, wealth=99.125, largest_wealth=99.125, pairs=35, samples=4500
    )
    rows = [validity.summary(each, [outcome] * 2000) for each in validity.honest_mechanisms()]
    assert len({each.place for each in validity.honest_mechanisms()}) == len(rows) >= 7
    validity.show("All", validity.COLUMNS, rows, validity.NOTES)
    assert_whole(capsys.readouterr().out)


def test_every_audit_of_validity_goes_on_until_it_has_tried_twenty_pairs(
    validity: ModuleType, tmp_path: Path
) -> None:
    options = ["--audits", "2", "--workers", "1", "--results", str(tmp_path), "--samples", "300"]
    assert validity.main([*options, "--rows", "RandomizedResponse"]) == 0
    (row,) = read(tmp_path / "validity.partial.csv")
    assert int(row["fewest_pairs"]) >= 20
    assert float(row["mean_samples"]) > 300


def test_validity_holds_within_three_standard_errors(validity: ModuleType) -> None:
    honest = validity.honest_mechanisms()[0]

    def summary(refuted: int, *, wealth: tuple[float, float]) -> tuple[bool, bool]:
        outcomes = [
            validity.Outcome(
                refuted=place < refuted,
                wealth=wealth[place % 2],
                largest_wealth=20.0,
                pairs=25,
                samples=1,
            )
            for place in range(2000)
        ]
        row = validity.summary(honest, outcomes)
        return row.share_holds, row.wealth_holds

    # 0.05 + 3 sqrt(0.05 * 0.95 / 2000) = 0.0646: 129 of 2000 are luck, 130 are not.
    assert summary(129, wealth=(0.0, 2.0)) == (True, True)
    assert summary(130, wealth=(0.0, 2.0)) == (False, True)
    assert summary(0, wealth=(0.0, 2.3)) == (True, False)
    assert summary(0, wealth=(1.0, 1.0)) == (True, True)


def test_false_accusations(
    false_accusations: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--rows", "coin flips", "IntEnum, rarely None audit", "one noise a call, beside"]
    options = ["--runs", "2", "--workers", "1", "--results", str(tmp_path), *chosen]
    assert false_accusations.main([*options, "--as-before"]) == 0
    (tmp_path / "false_accusations_before.partial.csv").rename(
        tmp_path / "false_accusations_before.csv"
    )
    assert false_accusations.main(options) == 0
    rows = read(tmp_path / "false_accusations.partial.csv")
    assert [row["holds"] for row in rows] == ["yes"] * len(rows)
    assert {row["share_failed"] for row in rows} == {"0"}
    assert all(row["share_refuted_before"] == row["share_refuted"] for row in rows)
    stopped = {row["mechanism"] for row in rows if row["share_stopped"] == "1"}
    assert stopped == {"one noise a call, beside zeros"}
    assert_whole(capsys.readouterr().out)


@pytest.mark.usefixtures("scripts")
def test_workers_are_compared_on_the_same_audit() -> None:
    script = importlib.import_module("workers")

    @contextmanager
    def threads() -> Iterator[dict[str, Any]]:
        with ThreadPoolExecutor(2) as pool:
            yield {"executor": pool}

    asked = (script.SlowCount(0.0), script.PAIR, 500)
    row = script.compared("a pair", "threads", "at least 1", asked, threads, 2)
    assert (row.audit, row.way, row.draws) == ("a pair", "threads", 500)
    assert row.ratio > 0.0
    assert min(row.seconds, row.seconds_alone) > 0.0


def test_speed(speed: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert speed.main(["--draws", "4000", "--repeats", "1", "--results", str(tmp_path)]) == 0
    (row,) = read(tmp_path / "speed.csv")
    assert 0 < int(row["draws"]) <= int(row["samples"]) == 4000
    assert float(row["ratio"]) > 1.0
    assert 0.0 < float(row["imported_mib"]) <= float(row["peak_mib"])
    shares = {part: float(row[f"{part}_share"]) for part in (*speed.PARTS, "rest")}
    assert all(share > 0.0 for share in shares.values()), (
        f"PARTS names a call that is gone: {shares}"
    )
    assert math.isclose(sum(shares.values()), 1.0, rel_tol=1e-3)
    assert_whole(capsys.readouterr().out)


def test_beside(scripts: None, capsys: pytest.CaptureFixture[str]) -> None:
    beside = importlib.import_module("beside")
    older = str(Path(dpaudit.__file__).parents[1])
    assert beside.main([older, "--draws", "3000", "--repeats", "1"]) == 0
    assert "times as long" in capsys.readouterr().out


def test_vectors(scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = importlib.import_module("vectors")
    older = str(Path(dpaudit.__file__).parents[1])
    few = ["--draws", "400", "--repeats", "1", "--growth-draws", "400", "--seeds", "2"]
    only = ["--rows", "laplace", "--results", str(tmp_path)]
    assert vectors.main([older, *few, *only]) == 0
    (seconds,) = read(tmp_path / "vectors_seconds.partial.csv")
    assert float(seconds["older_seconds"]) > 0.0
    assert float(seconds["seconds"]) > 0.0
    (growth,) = read(tmp_path / "vectors_growth.partial.csv")
    assert (growth["claim"], growth["seeds"], growth["same"]) == ("0.8-DP", "2", "yes")
    assert float(growth["older_nats"]) == float(growth["nats"])  # one version beside itself
    assert_whole(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "together", "rare"])
def test_the_vectors_differ_between_the_datasets(scripts: None, name: str) -> None:
    mechanism = importlib.import_module("vectors").MECHANISMS[name]
    sides = [
        mechanism([side] + [0.0] * 19, 20_000, np.random.default_rng(seed))
        for seed, side in enumerate((0.0, 1.0))
    ]
    assert [side.shape for side in sides] == [(20_000, 20)] * 2
    if name == "together":
        shown = [np.sign(side[:, :2]).prod(axis=1).mean() for side in sides]
    elif name == "rare":
        shown = [500.0 * np.isnan(side[:, 0]).mean() for side in sides]
    else:
        shown = [side[:, 0].mean() for side in sides]
    assert shown == pytest.approx([0.0, 0.9 if name == "together" else 1.0], abs=0.4)


def test_speed_stops_at_a_false_accusation(
    speed: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dpaudit.zoo

    dishonest = dpaudit.zoo.LaplaceCount(8.0)
    monkeypatch.setattr(dpaudit.zoo, "LaplaceCount", lambda epsilon: dishonest)
    with pytest.raises(RuntimeError, match="an honest mechanism was refuted"):
        speed.audit_honest(2_000, 0)


def test_workers_change_nothing(many_runs: ModuleType) -> None:
    here = many_runs.run_all(math.sqrt, [4.0, 9.0, 16.0], workers=1, title="")
    there = many_runs.run_all(math.sqrt, [4.0, 9.0, 16.0], workers=2, title="")
    assert here == there
    assert here.results == ((4.0, 2.0), (9.0, 3.0), (16.0, 4.0))


def test_an_interrupt_keeps_what_is_done(many_runs: ModuleType) -> None:
    def interrupted_at_three(task: int) -> int:
        if task == 3:
            raise KeyboardInterrupt
        return -task

    finished = many_runs.run_all(interrupted_at_three, [1, 2, 3, 4], workers=1, title="")
    assert finished == many_runs.Finished(results=((1, -1), (2, -2)), interrupted=True)


def test_an_interrupted_benchmark_leaves_the_old_results(
    efficiency: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "efficiency.csv").write_text("whole", encoding="utf-8")
    done: list[object] = []

    def refute(task: object) -> object:
        done.append(task)
        if len(done) > 3:
            raise KeyboardInterrupt
        return efficiency.Outcome(refuted=True, pairs=20.0)

    monkeypatch.setattr(efficiency, "refute", refute)
    assert efficiency.main(["--runs", "2", "--workers", "1", "--results", str(tmp_path)]) == 130
    assert (tmp_path / "efficiency.csv").read_text(encoding="utf-8") == "whole"
    assert [row["runs"] for row in read(tmp_path / "efficiency.partial.csv")] == ["2", "1"]
    assert_whole(capsys.readouterr().out)


def test_seeds_differ_by_row_and_run_and_nothing_else(many_runs: ModuleType) -> None:
    seeds = {many_runs.entropy(1, row, run) for row in range(20) for run in range(50)}
    assert len(seeds) == 1000
    assert many_runs.entropy(1, 3, 4) == many_runs.entropy(1, 3, 4)


def test_batch_validity(scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = importlib.import_module("batch_validity")
    options = ["--runs", "1", "--trials", "2", "--workers", "1", "--results", str(tmp_path)]
    assert script.main([*options, "--rows", "RandomizedResponse 1-DP", "1-GDP"]) == 0
    rows = read(tmp_path / "batch_validity.partial.csv")
    assert [row["tester"] for row in rows] == ["histogram", "hockey-stick", "renyi", "renyi", "mmd"]
    assert all(row["runs"] == "1" and row["trials"] == "2" for row in rows)
    assert_whole(capsys.readouterr().out)


def test_batch_speed(scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = importlib.import_module("batch_speed")
    assert script.main(["--draws", "2000", "--repeats", "1", "--results", str(tmp_path)]) == 0
    rows = read(tmp_path / "batch_speed.csv")
    assert [row["tester"] for row in rows] == list(script.MOST_SECONDS)
    assert all(float(row["seconds"]) > 0.0 and row["met"] == "" for row in rows)
    assert_whole(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["the audit, in a write", "one of two workers", "Dask"])
def test_kills(
    killed: str, scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    script = importlib.import_module("kills")
    assert script.main(["--kills", "1", "--rows", killed, "--results", str(tmp_path)]) == 0
    (row,) = read(tmp_path / "kills.partial.csv")
    assert (row["kills"], row["finished"], row["equal"]) == ("1", "1", "1")
    assert killed == "Dask" or row["run_again"] == ("0" if "worker" in killed else "1")
    assert_whole(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_odd_files(scripts: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = importlib.import_module("odd_files")
    asked = ["--files", "30", "--calls", "10", "--results", str(tmp_path)]
    assert script.main(asked) == 0
    rows = read(tmp_path / "odd_files.csv")
    assert sum(int(row["count"]) for row in rows) == 40
    assert all(row["tracebacks"] == row["other_audits"] == "0" for row in rows)
    shown = capsys.readouterr().out
    assert "Written outside of the folder: nothing." in shown
    assert_whole(shown)


def test_what_is_written_elsewhere_is_seen(scripts: None, tmp_path: Path) -> None:
    script = importlib.import_module("odd_files")
    (tmp_path / "before").touch()
    with script.in_empty_folder() as base, script.watched(base):
        Path("inside").touch()
        (tmp_path / "before").read_bytes()
        (tmp_path / "outside").write_text("x")
        (base / "home" / "stray").touch()
        found = script.strays(base)
    assert sorted(Path(one).name for one in found) == ["outside", "stray"]


def test_the_documentation_shows_the_figures_of_the_results(scripts: None) -> None:
    """A figure comes from a committed CSV: `python benchmarks/fill_tables.py`."""
    script = importlib.import_module("fill_tables")
    for page in script.PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- table: ") == text.count("<!-- end -->") >= 1
        assert script.filled(text, script.RESULTS) == text
