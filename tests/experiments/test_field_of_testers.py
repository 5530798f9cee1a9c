"""The table of testers runs, at the smallest sizes. Its figures are not tested here."""

import dataclasses
import doctest
import importlib
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import imported, read, written

from dpaudit.errors import Underpowered
from dpaudit.zoo import ZOO

study = imported("field_of_testers")
shown = imported("field_tables")


class Never:
    """A tester of somebody's own, which never accuses; of vectors it knows nothing."""

    def lower_bound(self, outputs: Any, neighbour_outputs: Any, claim: Any, **_: Any) -> float:
        if np.ndim(outputs) > 1:
            raise TypeError("numbers only")
        return -math.inf

    def threshold(self, claim: Any) -> float:
        return 0.0


class Always(Never):
    """One that accuses everybody, and can do so after ten pairs."""

    def lower_bound(self, *_: Any, **__: Any) -> float:
        return 1.0

    def pairs_until_accused(self, *_: Any, **__: Any) -> int | None:
        return 10


class Weak(Never):
    """One that needs more draws."""

    def lower_bound(self, *_: Any, **__: Any) -> float:
        raise Underpowered("more draws")


class Broken(Never):
    """One that fails."""

    def lower_bound(self, *_: Any, **__: Any) -> float:
        raise ZeroDivisionError


def own(kind: type) -> str:
    return f"{__name__}:{kind.__name__}"


def row_named(study: ModuleType, label: str) -> Any:
    return next(row for row in study._rows() if row.label == label)


def line_of(study: ModuleType, label: str, tester: str, outcomes: list[Any]) -> Any:
    row = row_named(study, label)
    bout = study.Bout(place=row.place, turn=0, draws=1_000, alpha=0.05, testers=(tester,))
    return study.summary(row, bout, tester, outcomes)


def test_the_table_has_the_rows_of_the_suite_and_of_the_zoo_once(study: ModuleType) -> None:
    rows = study._rows()
    assert [row.place for row in rows] == list(range(len(rows)))
    assert len({row.label for row in rows}) == len(rows)
    assert sum(not row.tight for row in rows) >= 40
    assert sum(row.tight for row in rows) >= 8
    names = {row.name.split(",")[0] for row in rows}
    left_out = {name for name, entry in ZOO.items() if not entry.keeps_claim} - names
    assert left_out == {"FixedSeed", "RaisesOnEmpty"}


def test_the_exact_masses_of_the_zoo_are_masses_and_break_the_claim(study: ModuleType) -> None:
    """And where the zoo knows an epsilon of all pairs, that of the pair is not above it.

    Those of `exact_outputs` have tests of their own.
    """
    for row in study._rows():
        name = row.name
        if row.tight or name not in ZOO or name.startswith(("NonDP", "SVT")):
            continue
        sides, known = row.sides(), ZOO[name].true_epsilon
        for side in (sides.data, sides.neighbour):
            assert side.sum() == pytest.approx(1.0, abs=1e-6)
            assert side.min() >= 0.0
        truth = row.truth()
        assert truth is None or truth > row.claim.epsilon
        assert known is None or truth is None or truth <= known * (1.0 + 1e-6)


@pytest.mark.parametrize(
    "name",
    ["ClippedSum", "ForgottenBudget", "PrefixSum", "RapporOneHashClaim", "NoisyMaxValueLaplace",
     "UnaryEncodingWholeEpsilon", "RoundedGeometricNaturalLog", "ClassicalGaussianCountTooLoose",
     "NoisyHistogramScaleEpsilon", "ScaledGD"],
)  # fmt: skip
def test_pairs_that_show_all_of_a_bug_have_the_epsilon_of_the_zoo(
    study: ModuleType, name: str
) -> None:
    row = next(row for row in study._rows() if row.name == name)
    assert row.truth() == pytest.approx(ZOO[name].true_epsilon, rel=1e-5)


def test_the_median_says_what_its_density_says(study: ModuleType) -> None:
    """At 0.9 to 1 with both records: `0.1 / (0.9 e^-2 + 0.1)`, and 0.1 with one."""
    row = next(row for row in study._rows() if row.name == "PrivateMedianHalfNoise")
    share = 0.1 / (0.9 * math.exp(-2.0) + 0.1)
    assert row.truth() == pytest.approx(math.log(share / 0.1), abs=1e-6)
    data, neighbour = row.draw(4_000, np.random.default_rng(1))
    for side, true in ((data, share), (neighbour, 0.1)):  # six standard errors: below 1e-8
        hits = np.mean(np.asarray(side) > 0.9)
        assert abs(hits - true) < 6.0 * math.sqrt(true * (1 - true) / 4_000)


def test_the_ceiling_is_alpha_where_nothing_shows_and_1_from_the_floor_on(
    study: ModuleType,
) -> None:
    floor = study.floor(0.01, 0.05)
    assert study.ceiling(0.01, math.ceil(floor), 0.05) == 1.0
    shares = [study.ceiling(0.01, draws, 0.05) for draws in (0, 10, 100, 200, 299)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.05)
    assert shares[-1] < 1.0


def test_all_testers_meet_the_same_outputs(
    study: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def spied(self: Never, outputs: Any, *_: Any, **__: Any) -> float:
        seen.append(np.asarray(outputs).copy())
        return 0.0

    for kind in (Never, Weak):
        monkeypatch.setattr(kind, "lower_bound", spied)
    place = row_named(study, "Laplace, epsilon 1, 0.5-DP").place
    bout = study.Bout(place=place, turn=3, draws=50, alpha=0.05, testers=(own(Never), own(Weak)))
    assert [one.state for one in study.run(bout).values()] == ["not accused"] * 2
    assert len(seen) == 4  # both directions
    assert np.array_equal(seen[0], seen[2])
    assert np.array_equal(seen[1], seen[3])
    study.run(dataclasses.replace(bout, turn=4))
    assert not np.array_equal(seen[0], seen[4])


def test_what_a_tester_says_is_kept_apart_from_what_it_cannot(study: ModuleType) -> None:
    testers = tuple(map(own, (Never, Always, Weak, Broken)))
    place = row_named(study, "vector of 2, 0.5-DP").place
    told = study.run(
        study.Bout(place=place, turn=0, draws=60, alpha=0.05, testers=("betting", *testers))
    )
    states = [told[tester].state for tester in testers]
    assert states == ["does not apply", "accused", "underpowered", "error"]
    assert told[own(Broken)].note == "ZeroDivisionError: "
    assert told[own(Always)].draws == 20
    assert told[own(Always)].ratio > 0.0
    assert told["betting"].ratio == 1.0
    assert (told[own(Weak)].seconds, told[own(Weak)].ratio) == (None, None)


def test_bets_and_a_batch_tester_find_a_gross_leak_and_stop_early(study: ModuleType) -> None:
    """Always 1 beside always 0: the wealth is above 20 after ten draws, with any seed."""
    row = next(row for row in study._rows() if row.name == "HistogramThresholdBeforeNoise")
    testers = ("betting", "hockey-stick")
    told = study.run(study.Bout(place=row.place, turn=0, draws=400, alpha=0.05, testers=testers))
    assert [told[tester].state for tester in testers] == ["accused", "accused"]
    assert told["betting"].draws < 200
    assert told["hockey-stick"].draws is None
    assert all(told[tester].strength > 1.0 for tester in testers)


def test_a_line_sums_up_its_runs(study: ModuleType) -> None:
    outcomes = [
        study.Outcome(state="accused", strength=0.5, draws=draws, seconds=2.0, ratio=0.5)
        for draws in (300, 100)
    ]
    missed = study.Outcome(state="not accused", strength=0.25, seconds=2.0, ratio=0.5)
    label = "Laplace, epsilon 1, 0.5-DP"
    line = line_of(study, label, "betting", [*outcomes, missed])
    assert (line.runs, line.answered, line.accused, line.draws_until) == (3, 3, 2, 300)
    assert line.of_truth == pytest.approx(0.5)
    assert line.possible
    assert line_of(study, label, "betting", [outcomes[0], missed]).draws_until is None
    weak = line_of(study, label, "betting", [study.Outcome(state="underpowered", note="more")])
    assert (weak.state, weak.note, weak.answered, weak.ratio) == ("underpowered", "more", 0, None)
    rare = line_of(study, "atom of 0.0001, 1-DP", "betting", [missed])
    assert not rare.possible
    assert 0.05 < rare.ceiling < 0.12


def test_an_exact_tester_above_alpha_is_an_error(study: ModuleType) -> None:
    lines = importlib.import_module("field_lines")
    line = line_of(study, "LaplaceCount, 1-DP", "betting", [study.Outcome(state="accused")])
    assert line.tight
    enough = dataclasses.replace(line, runs=400, accused=20)
    above = dataclasses.replace(line, runs=400, accused=40)  # 3e-5
    suspects = dataclasses.replace(above, guarantee="asymptotic")
    false = dataclasses.replace(above, tight=False)
    assert lines.too_many([enough, suspects, false]) == []
    (error,) = lines.too_many([enough, above])
    assert error == "betting accuses LaplaceCount, 1-DP: 40 of 400 at alpha 0.05"
    assert lines.report([above]) == 1
    assert lines.report([enough]) == 0


def test_a_table_is_made_goes_on_after_a_stop_and_gets_one_more_column(
    study: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    chosen = [
        dataclasses.replace(row_named(study, label), place=place)
        for place, label in enumerate(
            ("Laplace, epsilon 1, 0.5-DP", "atom of 0.0001, 1-DP", "RandomizedResponse, 1-DP")
        )
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "_rows", lambda: chosen)
        study._growth.cache_clear()
        patch.setattr(study, "names", lambda: ["betting", "MMD"])
        patch.setattr(study, "draw", lambda path: path)
        sizes = ["--runs", "1", "--tight-runs", "2", "--draws", "100", "--tight-draws", "60"]
        options = [*sizes, "--workers", "1", "--results", str(tmp_path)]
        assert study.main([*options, "--rows", "Laplace"]) == 0
        partial = read(tmp_path / "field_of_testers.partial.csv")
        assert [line["tester"] for line in partial] == ["betting", "MMD"]
        assert study.main(options) == 0
        assert "1 runs of 4 are kept from before." in capsys.readouterr().out
        before = read(tmp_path / "field_of_testers.csv")
        assert len(before) == 3 * 2
        assert study.main([*options, "--tester", own(Always)]) == 0
        after = read(tmp_path / "field_of_testers.csv")
        assert [line for line in after if line["tester"] != own(Always)] == before
        assert [line["accused"] for line in after if line["tester"] == own(Always)] == [
            "1",
            "1",
            "2",
        ]
    assert study.main(["--figure-only", "--results", str(tmp_path)]) == 0
    drawn = (tmp_path / "field_of_testers.svg").read_text(encoding="utf-8")
    for word in ("betting", "Always", "anybody, at best", "false accusations"):
        assert word in drawn


def test_a_tester_that_is_not_there_is_named(
    study: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, said in (("nobody", "one of betting"), ("no_such:One", "No module")):
        with pytest.raises(SystemExit):
            study.main(["--tester", name])
        assert said in capsys.readouterr().err


def test_the_documentation_tells_nobody_can_from_nobody_does(
    study: ModuleType, shown: ModuleType, tmp_path: Path
) -> None:
    missed = study.Outcome(state="not accused", strength=0.25, seconds=2.0, ratio=1.0)
    found = dataclasses.replace(missed, state="accused", strength=0.8, draws=500)
    weak = study.Outcome(state="underpowered", note="more")
    rows = [
        line_of(study, label, tester, outcomes)
        for label, told in (
            ("Laplace, epsilon 1, 0.5-DP", ([found, found], [found, missed])),
            ("Laplace, epsilon 1, 0.9-DP", ([missed, missed], [weak, weak])),
            ("LaplaceCount, 1-DP", ([missed, found], [missed, missed])),
        )
        for tester, outcomes in zip(("MMD", "betting"), told[::-1], strict=True)
    ]
    lines = read(written(rows, tmp_path, "field_of_testers"))
    _, first, second = shown.field_rows(lines)
    assert first[:2] + first[3:] == ["Laplace, epsilon 1", "0.5-DP", "all", "2", "1"]
    assert second[3].startswith("nobody can: at most")
    assert second[4:] == ["0", "cannot"]
    heads, betting, mmd = shown.field_of_testers(lines)
    assert len(heads) == len(betting) == len(mmd)
    assert betting[:6] == ["betting", "exact", "100 %", "1 of 1", "1", "0"]
    assert (betting[6], mmd[2], mmd[9]) == ("0.80", "50 %", "0 of 2")
    assert shown.field_tight(lines)[1] == ["LaplaceCount", "1-DP", "1", "0"]


def test_every_line_is_read_as_it_was_written(study: ModuleType, tmp_path: Path) -> None:
    outcome = study.Outcome(state="accused", strength=0.5, draws=3, seconds=2.0, ratio=0.5)
    rows = [
        line_of(study, label, "betting", [outcome])
        for label in ("LaplaceCount, 1-DP", "number or None, 2 times delta, (1, 0.01)-DP")
    ]
    path = written(rows, tmp_path, "field_of_testers")
    again = study.read_lines(path)
    assert again[0] == rows[0]
    assert [line.row for line in again] == [line.row for line in rows]
    assert again[1].floor == pytest.approx(rows[1].floor, rel=1e-5)


def test_the_doctests_pass(study: ModuleType) -> None:
    for name in ("field_rows", "field_testers", "field_lines", "field_tables"):
        failed, tried = doctest.testmod(importlib.import_module(name))
        assert failed == 0, name
        assert tried > 0, name
