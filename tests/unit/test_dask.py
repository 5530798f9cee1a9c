"""Audits on a Dask cluster: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import elsewhere
import pytest
from click.testing import CliRunner
from elsewhere import REPLACED, noisy_sum, told_apart

import dpaudit
from dpaudit.cli import main
from dpaudit.testers import HistogramTester

distributed = pytest.importorskip("distributed")

CLAIM = dpaudit.PureDP(1.0)
SUPPORT = str(Path(elsewhere.__file__).parent)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([SUPPORT, os.environ.get("PYTHONPATH", "")]),
        "DASK_DISTRIBUTED__DIAGNOSTICS__NVML": "False",
    }
    start = "from distributed.cli.dask_{0} import main; main()"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    commands = [["scheduler", "--host", "127.0.0.1", "--port", "0", *common]]
    commands += [["worker", "--nthreads", "1", "--no-nanny", *common]] * 2
    with (folder / "log").open("w") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", start.format(command[0]), *command[1:]],
                env=environment,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
            for command in commands
        ]
        try:
            deadline = time.monotonic() + 60.0
            while not file.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            with distributed.Client(scheduler_file=str(file)) as client:
                client.wait_for_workers(2, timeout=60)
                yield client.scheduler.address
        finally:
            for process in processes:
                process.kill()
                process.wait()


@pytest.fixture
def client(address: str) -> Iterator[Any]:
    with distributed.Client(address, set_as_default=False) as found:
        yield found


def test_an_audit_on_a_cluster_is_the_same(client: Any) -> None:
    """A search, a pair, trials and a measurement."""

    def audits(**where: Any) -> list[object]:
        return [
            told_apart(dpaudit.audit(noisy_sum, CLAIM, REPLACED, samples=3_000, rng=7, **where)),
            told_apart(
                dpaudit.audit(
                    noisy_sum,
                    CLAIM,
                    dpaudit.pairs([([1.0], [-1.0])]),
                    samples=10_000,
                    rng=7,
                    **where,
                )
            ),
            told_apart(
                dpaudit.audit(
                    noisy_sum,
                    CLAIM,
                    REPLACED,
                    tester=HistogramTester(),
                    samples=20_000,
                    rng=7,
                    **where,
                )
            ),
            dpaudit.measure_epsilon(
                noisy_sum, [1.0], [-1.0], samples=20_000, rng=7, **where
            ).epsilon_lower,
        ]

    assert audits(executor=client) == audits()


def test_the_command_line_takes_a_scheduler(address: str) -> None:
    asked = ["audit", "dpaudit.zoo:ClippedSum", "--claim", "eps=1", "--records", "floats:-1:1"]
    asked += ["--relation", "replace-one", "--seed", "7", "--quiet"]
    on_cluster = CliRunner().invoke(main, [*asked, "--dask", address])
    here = CliRunner().invoke(main, asked)
    assert (on_cluster.exit_code, on_cluster.output) == (here.exit_code, here.output)


def test_a_scheduler_that_is_not_there_is_one_line(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpaudit.cli.audit._SECONDS_TO_CONNECT", 1.0)
    asked = ["audit", "dpaudit.zoo:ClippedSum", "--claim", "eps=1", "--pair", "[[1], [0]]"]
    for nobody in ("nonsense://x:1", "tcp://127.0.0.1:9"):
        done = CliRunner().invoke(main, [*asked, "--dask", nobody])
        assert done.exit_code == 2
        assert f"--dask {nobody}: " in done.output
    for odd in ("", "x", "tcp://x", "127.0.0.1"):
        done = CliRunner().invoke(main, [*asked, "--dask", odd])
        assert "an address such as tcp://HOST:8786" in done.output
    both = CliRunner().invoke(main, [*asked, "--dask", address, "--workers", "2"])
    assert "brings workers of its own" in both.output
