"""The pytest plugin: what a run says, its options, its seeds and its processes."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from projects import BROKEN, NOISELESS, ON_CLAIM, Project, lines_between

import _dpaudit_pytest
import dpaudit
from dpaudit.auditing.budget import DEFAULT_SAMPLES
from dpaudit.testing import (
    DEFAULT_PROFILE,
    NEXT_SETTINGS,
    PROFILES,
    AssertionSettings,
    next_settings,
)

# What an assertion is given, without an audit.
TURN = """
from dpaudit.testing import next_settings

def test_turn():
    turn = next_settings()
    print("turn", turn.effort.samples, turn.effort.alpha, turn.seed, next_settings().seed)
"""


# --- what a user reads ----------------------------------------------------------------------------

FIRST_RUN = """\
E       dpaudit.PrivacyViolation: count is not 1-DP: epsilon >= 6.3
E
E         A = [1.0]
E         B = []
E         event       output = 0 (likelier on B)
E
E         on A            0 of 8,289 draws: probability at most 0.00184
E         on B        8,289 of 8,289 draws: probability at least 0.998
E
E         The claim allows at most e^1 = 2.72 times.
E         Seen: at least 544 times, so by this event alone at least
E         epsilon 6.3 leaks.
E         If the claim held, an audit like this would accuse it with probability
E         at most 1e-06.
E
E         The simplest pair that still breaks the claim:
E         A = [0.0]
E         B = []
E         event       output = 0 (likelier on B)
E         shows       at least epsilon 6.67 leaks, on 12,000 fresh draws each
E         The bounds of either event hold alone with probability at least
E         1 - 1e-06, those of both together with at least 1 - 2e-06.
E
E         searched    add or remove one of at most 3 records of floats(0, 1);
E                     1 pair tried
E         cost        61,392 draws, T s
E         seed        39502267572187; the event's draws: (39502267572187, 1)
E
E         replay      rng=39502267572187 makes the same audit again
E         pin         @dpaudit.example([0.0], []) on the test tries this pair
E                     first, every time
E         kept        .dpaudit/kept/test_count-1-60fa86d3.json and tried first
E                     in the next run
"""
SECOND_RUN = """\
E       dpaudit.PrivacyViolation: count is not 1-DP: epsilon >= 1.26
E
E         A = [0.0]
E         B = []
E         event       output = 0 (likelier on B)
E
E         on A         0 of 64 draws: probability at most 0.22
E         on B        64 of 64 draws: probability at least 0.78
E
E         The claim allows at most e^1 = 2.72 times.
E         Seen: at least 3.54 times, so by this event alone at least
E         epsilon 1.26 leaks.
E         If the claim held, an audit like this would accuse it with probability
E         at most 5e-07.
E
E         searched    nothing: a known counterexample, its event counted again
E                     on fresh draws
E         cost        128 draws, T s
E         seed        39502267572187; the event's draws: (39502267572187, 8)
E
E         replay      dpaudit.replay(known, mechanism, claim, alpha=5e-07,
E                     rng=39502267572187) makes the same draws again
E         pin         @dpaudit.example([0.0], []) on the test tries this pair
E                     first, every time
E         kept        .dpaudit/kept/test_count-1-60fa86d3.json from an earlier
E                     run: known = dpaudit.load(file).counterexample. Delete the
E                     file to forget it.
"""


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_failed_test_says_all_in_80_columns_and_so_does_its_second_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)  # where pytest shortens nothing
    project.write(test_count=NOISELESS)
    for message in (FIRST_RUN, SECOND_RUN):
        result = project.run()
        result.assert_outcomes(failed=1)
        assert lines_between(result, ">", "test_count.py:8") == [*message.splitlines(), ""]
        assert all(len(line) <= 80 or line.startswith("rootdir: ") for line in result.outlines)
        assert "\x1b" not in result.stdout.str()
        verdict = message.partition("\n")[0].partition("PrivacyViolation: ")[2]
        assert f"FAILED test_count.py::test_count - {verdict}" in result.outlines


def test_the_replay_of_the_message_makes_the_same_draws(project: Project) -> None:
    project.write(test_sum=BROKEN)
    project.run()
    message = project.run("--dpaudit-report=audits").stdout.str()
    shown = re.search(r"alpha=(\S+),\s+E\s+rng=(\d+)\)", message)
    file = re.search(r"\.dpaudit/kept/\S+json", message)
    assert shown is not None
    assert file is not None
    known = dpaudit.load(project.path / file[0]).counterexample
    assert known is not None
    module: dict[str, Any] = {}
    exec(BROKEN, module)
    alpha, rng = float(shown[1]), int(shown[2])
    again = dpaudit.replay(known, module["clipped_sum"], dpaudit.PureDP(1.0), alpha=alpha, rng=rng)
    assert again == project.saved()["test_sum-1"].counterexample


def test_the_summary_has_a_line_for_each_audit(project: Project) -> None:
    project.write(test_count=NOISELESS, test_answers=ON_CLAIM)
    result = project.run("-q", "--dpaudit-report=audits")
    result.assert_outcomes(failed=1, passed=1)
    headings, answers, count, where, *_ = lines_between(result, f"{'=' * 35} dpaudit", "=")
    names = ["test", "mechanism", "claim", "verdict", "leaks at least", "draws", "seconds"]
    assert re.split(" {2,}", headings) == names
    assert re.fullmatch(
        r"test_answers  Rand\S+nse  1-DP   not refuted  \S.+ +136 +\d+\.\d", answers
    )
    assert re.fullmatch(
        r"test_count    count +1-DP   refuted      epsilon 6\.3       61k +\d+\.\d", count
    )
    assert where == f"saved in {project.path / 'audits'}"


def test_the_report_folder_has_a_page_for_each_audit_and_an_index(project: Project) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    project.write(test_count=NOISELESS, test_answers=ON_CLAIM)
    project.run_apart("--dpaudit-report=audits").stdout.no_fnmatch_line("warning: *")
    pages = {file.name: file.read_text(encoding="utf-8") for file in project.path.glob("*/*.html")}
    files = sorted(file.stem for file in project.path.glob("audits/*.json"))
    assert sorted(pages) == ["index.html", *(f"{file}.html" for file in files)]
    assert files[1].startswith("test_count-1-")
    assert "refuted" in pages[f"{files[1]}.html"]
    assert all(f'href="{file}.html"' in pages["index.html"] for file in files)


def test_without_the_extra_there_are_no_pages_and_no_failure(project: Project) -> None:
    project.write(
        conftest="import sys\nsys.modules['jinja2'] = sys.modules['matplotlib'] = None",
        test_answers=ON_CLAIM,
    )
    result = project.run_apart("--dpaudit-report=audits")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["warning: no pages were written: *pip install 'dpaudit[[]report]'.*"]
    )
    assert list(project.saved()) == ["test_answers-1"]


def test_without_an_audit_there_is_no_summary(project: Project) -> None:
    project.write(test_one="def test_one(): pass")
    project.run().stdout.no_fnmatch_line("*= dpaudit*")


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ini", "options", "profile"),
    [
        ("", [], "ci"),
        ("dpaudit_profile = quick", [], "quick"),
        ("dpaudit_profile = quick", ["--dpaudit-profile=ci"], "ci"),
        ("", ["--dpaudit-profile=nightly"], "nightly"),
    ],
)
def test_the_option_wins_over_the_ini_file(
    project: Project, ini: str, options: list[str], profile: str
) -> None:
    project.write(ini=ini, test_turn=TURN)
    result = project.run("-s", "--dpaudit-seed=5", *options)
    effort = PROFILES[profile]
    result.stdout.fnmatch_lines(
        [
            f"dpaudit: {profile} ({effort.samples:,} draws, alpha {effort.alpha:g}, "
            f"at most {effort.seconds:g} s), "
            "--dpaudit-seed=5",
            f"*turn {effort.samples} {effort.alpha} *",
        ]
    )


def test_what_an_assertion_says_wins_over_the_profile(project: Project) -> None:
    explicit = ON_CLAIM.replace("samples=200", "samples=300, alpha=0.001, rng=11")
    project.write(test_answers=ON_CLAIM, test_explicit=explicit.replace("answers", "other"))
    options = ("--dpaudit-profile=nightly", "--dpaudit-report=audits")
    project.run(*options).assert_outcomes(passed=2)
    answers, other = project.saved()["test_answers-1"], project.saved()["test_other-1"]
    assert (answers.alpha, answers.samples) == (PROFILES["nightly"].alpha, 136)
    assert (other.alpha, other.samples, other.rng_seed) == (0.001, 236, 11)


def test_a_run_inside_a_test_leaves_the_turns_of_that_test(project: Project) -> None:
    project.write(test_turn=TURN)
    mine = AssertionSettings(test="the test around it")
    token = NEXT_SETTINGS.set(lambda: mine)
    try:
        project.run().assert_outcomes(passed=1)
        assert next_settings() is mine
    finally:
        NEXT_SETTINGS.reset(token)


def test_outside_of_pytest_nothing_changes() -> None:
    turn = next_settings()
    assert turn.effort == PROFILES[DEFAULT_PROFILE]
    assert (turn.effort.samples, turn.effort.alpha) == (DEFAULT_SAMPLES, 1e-6)
    assert (turn.seed, turn.folder) == (None, None)


@pytest.mark.parametrize(
    ("ini", "option", "problem"),
    [
        ("", "--dpaudit-seed=-1", "*must be a whole number >= 0, got '-1'"),
        ("", "--dpaudit-seed=x", "*must be a whole number >= 0, got 'x'"),
        ("", "--dpaudit-profile=hasty", "*invalid choice: 'hasty'*"),
        ("dpaudit_profile = hasty", "-q", "*must be one of quick, ci, nightly, got 'hasty'."),
    ],
)
def test_wrong_options_are_refused(project: Project, ini: str, option: str, problem: str) -> None:
    project.write(ini=ini, test_turn=TURN)
    result = project.run_apart(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([problem])


# --- seeds ----------------------------------------------------------------------------------------


def turns(project: Project, *options: str) -> list[tuple[str, ...]]:
    result = project.run("-s", *options)
    return re.findall(r"turn \d+ \S+ (\d+) (\d+)", result.stdout.str())


def test_every_test_has_its_own_stream_whatever_runs_before_it(project: Project) -> None:
    project.write(test_a=TURN, test_b=TURN)
    both, alone = turns(project), turns(project, "test_b.py")
    assert len({seed for test in both for seed in test}) == 4  # two assertions in each
    assert both[1:] == alone == turns(project, "--dpaudit-seed=0", "test_b.py")
    assert both != turns(project, "--dpaudit-seed=1")


def test_a_nightly_run_draws_anew_and_says_how_to_repeat_it(project: Project) -> None:
    project.write(test_turn=TURN)
    seeds = []
    for _ in range(2):
        result = project.run("-s", "--dpaudit-profile=nightly")
        found = re.search(r"--dpaudit-seed=(\d+)", result.stdout.str())
        drawn = re.findall(r"turn \d+ \S+ (\d+) (\d+)", result.stdout.str())
        assert found is not None
        assert drawn == turns(project, "--dpaudit-profile=nightly", found[0])
        seeds.append(found[1])
    assert seeds[0] != seeds[1]


def test_a_test_that_is_run_again_begins_again(project: Project) -> None:
    """As plugins do that run flaky tests more than once."""
    twice = """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                runtestprotocol(item, nextitem=nextitem, log=False)
            return True
        """
    project.write(conftest=twice, test_turn=TURN)
    first, second = turns(project)
    assert first == second


@pytest.mark.nightly
def test_what_is_exactly_on_its_claim_stays_green_over_a_hundred_seeds(
    project: Project,
) -> None:
    """Ten runs of ten tests, each with its own stream.

    Null: a test fails with probability at most 1e-6, so one of the hundred with at most 1e-4.
    Alternative: tests that fail one time in twenty are caught with probability 0.99.
    """
    ten = "import pytest\n" + ON_CLAIM.replace(
        "def test_answers():",
        '@pytest.mark.parametrize("case", range(10))\ndef test_answers(case):',
    )
    project.write(test_answers=ten)
    for seed in range(10):
        project.run(f"--dpaudit-seed={seed}").assert_outcomes(passed=10)
    assert not (project.path / ".dpaudit").exists()
    project.write(test_answers=ON_CLAIM.replace("Response(1.0)", "Response(8.0)"))
    project.run().assert_outcomes(failed=1)  # so few draws are enough to find a leak


# --- processes ------------------------------------------------------------------------------------


def test_workers_find_the_same_and_the_controller_shows_it(project: Project) -> None:
    project.write(test_count=NOISELESS, test_answers=ON_CLAIM, test_turn=TURN)
    project.run("--dpaudit-report=alone", "--dpaudit-sarif=alone.sarif")
    (project.path / ".dpaudit" / "kept").rename(project.path / "kept-alone")
    options = ("--dpaudit-report=audits", "--dpaudit-sarif=many.sarif")
    result = project.run_apart("-p", "xdist", "-n2", *options)
    result.assert_outcomes(failed=1, passed=2)
    _, answers, count, *_ = lines_between(result, f"{'=' * 35} dpaudit", "=")
    assert re.match(r"test_answers  Rand\S+nse  1-DP   not refuted  ", answers)
    assert re.match(r"test_count    count +1-DP   refuted      epsilon 6\.3       61k", count)
    seeds = {name: audit.rng_seed for name, audit in project.saved().items()}
    assert seeds == {name: audit.rng_seed for name, audit in project.saved("alone").items()}
    logs = [(project.path / f"{name}.sarif").read_text() for name in ("alone", "many")]
    assert logs[0] == logs[1]
    alone = (project.path / "kept-alone").iterdir()
    assert [file.name for file in project.kept()] == [file.name for file in alone]


def test_workers_share_the_seed_of_a_nightly_run(project: Project) -> None:
    project.write(test_answers=ON_CLAIM)
    options = ("--dpaudit-profile=nightly", "-p", "xdist", "-n2")
    result = project.run_apart(*options, "--dpaudit-report=night")
    seed = re.search(r"--dpaudit-seed=\d+", result.stdout.str())
    assert seed is not None
    project.run("--dpaudit-profile=nightly", seed[0], "--dpaudit-report=day")
    (night,), (day,) = project.saved("night").values(), project.saved("day").values()
    assert night.rng_seed == day.rng_seed


def test_collection_loads_nothing_heavy(project: Project) -> None:
    probe = """
        import sys

        def pytest_unconfigure():
            loaded = [name for name in ("numpy", "scipy", "sklearn") if name in sys.modules]
            print("heavy:", loaded, file=sys.stderr)
        """
    project.write(conftest=probe, test_count=NOISELESS)
    result = project.run_apart("--collect-only")
    result.stdout.fnmatch_lines(["*<Function test_count>"])
    result.stderr.fnmatch_lines(["heavy: []"])
    project.run_apart().stderr.fnmatch_lines(["heavy: ['numpy', *"])  # the probe is not blind


def test_pytest_finds_the_plugin_where_dpaudit_is_installed() -> None:
    package = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    points = package["project"]["entry-points"]["pytest11"]
    assert points == {"dpaudit": _dpaudit_pytest.__name__}
    in_wheel = package["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert f"src/{_dpaudit_pytest.__name__}.py" in in_wheel
