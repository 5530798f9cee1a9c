"""Counterexamples kept from run to run: tried first, certified anew, forgotten when mended."""

import pytest
from projects import BROKEN, NOISELESS, ON_CLAIM, Project

import dpaudit

# --- from run to run ------------------------------------------------------------------------------


def test_the_second_run_needs_less_than_a_tenth_of_the_draws(project: Project) -> None:
    project.write(test_sum=BROKEN)
    draws = []
    for folder in ("first", "second"):
        project.run(f"--dpaudit-report={folder}").assert_outcomes(failed=1)
        draws.append(project.saved(folder)["test_sum-1"].samples)
    assert draws[1] < draws[0] / 10


def test_mended_code_is_not_accused_and_what_was_kept_is_forgotten(
    project: Project,
) -> None:
    project.write(test_sum=BROKEN)
    project.run().assert_outcomes(failed=1)
    assert len(project.kept()) == 1
    mended = BROKEN.replace("scale=1.0", "scale=2.0").replace("near)", "near, samples=5_000)")
    project.write(test_sum=mended)
    project.run("--dpaudit-report=audits").assert_outcomes(passed=1)
    audit = project.saved()["test_sum-1"]
    assert audit.pairs_tried > 1  # the search followed
    assert audit.alpha == 0.5e-6  # and what was kept had its share
    assert project.kept() == []
    project.run("--dpaudit-report=audits").assert_outcomes(passed=1)
    assert project.saved()["test_sum-1"].alpha == 1e-6


def test_a_pair_that_is_no_longer_one_of_neighbours_is_not_tried(
    project: Project,
) -> None:
    """Two records may differ by 2 no more: on the domain of today the mechanism keeps its claim."""
    project.write(test_sum=BROKEN)
    project.run().assert_outcomes(failed=1)
    narrow = BROKEN.replace("floats(-1, 1)", "floats(0, 1)").replace(
        "near)", "near, samples=3_000)"
    )
    project.write(test_sum=narrow)
    result = project.run("--dpaudit-report=audits")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["warning: a kept counterexample was dropped: *-1.0 is not in floats(0, 1)*"]
    )
    assert project.saved()["test_sum-1"].alpha == 1e-6


def test_a_file_that_cannot_be_read_is_spoken_of_once_and_fails_no_test(project: Project) -> None:
    project.write(test_count=NOISELESS)
    project.run()
    (file,) = project.kept()
    file.write_text(file.read_text()[:-100])
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["warning: a kept counterexample was ignored: *not an audit file*"])
    assert [path.suffix for path in project.kept()] == [".broken", ".json"]
    project.run().stdout.no_fnmatch_line("warning: *")


def test_git_ignores_what_is_kept_unless_it_is_told_otherwise(project: Project) -> None:
    project.write(test_count=NOISELESS)
    project.run()
    ignored = project.path / ".dpaudit" / ".gitignore"
    assert ignored.read_text().endswith("\n*\n")
    ignored.unlink()
    project.kept()[0].unlink()
    project.run()
    assert not ignored.exists()
    assert len(project.kept()) == 1


def test_a_folder_that_cannot_be_written_costs_a_warning_and_no_more(
    project: Project,
) -> None:
    for name in (".dpaudit", "audits"):
        (project.path / name).write_text("in the way")
    project.write(test_count=NOISELESS, test_answers=ON_CLAIM)
    result = project.run("--dpaudit-report=audits")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*PrivacyViolation: count is not 1-DP: epsilon >= 6.3",
            "warning: a counterexample could not be kept: *",
            "warning: a kept counterexample was ignored: *",
            "warning: an audit could not be saved: *",
        ]
    )


def test_ctrl_c_ends_the_run_and_loses_nothing_that_was_kept(project: Project) -> None:
    interrupted = """
        import signal

        import dpaudit

        calls = []

        def slow(data, size, rng):
            calls.append(size)
            if len(calls) > 5:
                signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
            return rng.laplace(size=size)

        def test_slow():
            dpaudit.assert_private(slow, dpaudit.PureDP(1.0), [([1], [0])])

        def test_never():
            raise AssertionError
        """
    project.write(test_count=NOISELESS, test_slow=interrupted)
    result = project.run(no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*count * refuted *"])
    assert len(project.kept()) == 1


def test_a_crash_loses_nothing_that_was_kept(project: Project) -> None:
    crash = "import os\ndef test_crash(): os._exit(3)"
    project.write(test_count=NOISELESS, test_crash_later=crash)
    assert project.run_apart("test_count.py", "test_crash_later.py").ret == 3
    (file,) = project.kept()
    assert dpaudit.load(file).counterexample is not None
