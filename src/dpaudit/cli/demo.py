"""`dpaudit demo`: one mechanism that breaks its claim and one that keeps it, audited live."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dpaudit.cli.screen import WIDTH, following, show_audit

if TYPE_CHECKING:
    from dpaudit.results import Audit

SAMPLES = 100_000
NEXT = """\
Next:
  dpaudit mechanisms              honest and broken mechanisms to audit
  dpaudit audit --help            audit one of your own:

    dpaudit audit my_file.py:my_function --claim eps=1 \\
      --records floats:0:1 --relation add-or-remove-one

  In Python:

    audit = dpaudit.audit(my_function, dpaudit.PureDP(1.0),
                          dpaudit.add_or_remove_one(dpaudit.floats(0, 1)))
    print(audit)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One audit of the demo: what is audited, the sentence before it and the verdict after it."""

    mechanism: str
    introduction: str
    seed: int
    expected: str


SCENES = (
    Scene(
        mechanism="ClippedSum",
        introduction="a sum of numbers in [-1, 1] with noise for a change of 1. It claims 1-DP, "
        "but replacing a record can change the sum by 2.",
        seed=7,
        expected="refuted",
    ),
    Scene(
        mechanism="LaplaceCount",
        introduction="a count with Laplace noise. It claims 1-DP and keeps it, just.",
        seed=7,
        expected="not refuted",
    ),
)


@click.command("demo", short_help="Audit a broken and an honest mechanism, to see how it looks.")
@click.pass_context
def demo_command(ctx: click.Context) -> None:
    """Audit a mechanism that breaks its claim and one that keeps it."""
    as_expected = True
    for number, scene in enumerate(SCENES, start=1):
        title = f"{number}. {scene.mechanism}:"
        words = textwrap.fill(f"{title} {scene.introduction}", WIDTH)
        click.echo(words.replace(title, click.style(title, bold=True), 1))
        click.echo()
        as_expected &= _play(scene)
    click.echo(NEXT)
    ctx.exit(0 if as_expected else 1)


def _play(scene: Scene) -> bool:
    from dpaudit.auditing import audit
    from dpaudit.zoo import ZOO

    entry = ZOO[scene.mechanism]
    with following(entry.claim.symbol) as progress:
        found: Audit = audit(
            entry.factory(),
            entry.claim,
            entry.neighbours(),
            samples=SAMPLES,
            rng=scene.seed,
            progress=progress,
        )
    show_audit(found)
    click.echo()
    return found.verdict.value == scene.expected
