r"""The methods of an audit, as formulas with their sources: the appendix of a page.

What is stated here is proved in docs/mathematics.md, which the comments name by section.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpaudit.claims import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    Scalable,
    point_of,
)
from dpaudit.report import wording
from dpaudit.report.formulas import Statement, prose
from dpaudit.report.methods_of_testers import OF_TESTERS, OWN, TRIALS

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit, TrainingEvidence

NOTATION = (
    "$P$ and $Q$ are the distributions of the output on A and on B, $p$ and $q$ their densities, "
    "$E$ is an event, and $1_E$ is 1 where it happens. $\\epsilon$ and $\\delta$ belong to the "
    "claim; $\\alpha$ is the chance of a false accusation that was accepted. Logarithms are "
    "natural. dpaudit's documentation proves each statement (The mathematics)."
)
NOTATION_OF_TRAININGS = (
    "$m$ is the number of canaries, $R$ that of right guesses. $\\epsilon$ and $\\delta$ belong to "
    "the claim, with $p = e^\\epsilon / (1 + e^\\epsilon)$; $\\alpha$ is the chance of a false "
    "accusation that was accepted. Logarithms are natural. dpaudit's documentation proves each "
    "statement (The mathematics)."
)


# Section 1.
_CURVE = Statement(
    title="What a claim allows",
    text="Every claim bounds, for each $\\epsilon$ at least 0 and in both directions, how much "
    "likelier an event may be on one side. For pure and approximate differential privacy "
    "$\\delta(\\epsilon)$ is the claim's own delta at its own epsilon.",
    formulas=(r"\sup_E P(E) - e^\epsilon Q(E) \le \delta(\epsilon)",),
    source="Dwork and Roth 2014; Dong, Roth and Su 2022",
)
# Section 2.
_BET = Statement(
    title="A bet",
    text="A fair coin decides whether the next output comes from A or from B. Before it is "
    "tossed, two payoffs are fixed as functions of the output, neither below 0. The bet is valid: "
    "if the claim holds, it pays at most 1 on average.",
    formulas=(r"\frac{1}{2} (\mean_P[S_P] + \mean_Q[S_Q]) \le 1",),
)
_WEALTH = Statement(
    title="One wealth for the whole audit",
    text="On pair $i$ the payoffs multiply to $V_i$. The pair takes part with a fraction $f_i$ of "
    "the wealth that is fixed when the pair is first met. If the claim holds, the wealth of all "
    "pairs hardly ever becomes large, whatever was searched and whenever the audit ended. The "
    "claim is refuted when the wealth reaches $1/\\alpha$.",
    formulas=(
        r"W = \prod_i (1 - f_i + f_i V_i)",
        r"\Pr[\sup W \ge 1/\alpha] \le \alpha",
    ),
    source="Ville 1939; Shafer 2021; Ramdas, Grünwald, Vovk and Shafer 2023",
)
# Section 3.
_TANGENT = Statement(
    title="The payoffs",
    text="$v$ and $w$ are made from a guess of where the output comes from: $v$ is positive where "
    "A is likely enough, $w$ where B is, and never both. Whatever the guess, the bet is valid.",
    formulas=(
        r"S_P = a + v - e^\epsilon w",
        r"S_Q = b + w - e^\epsilon v",
        r"a + b = 2 - \delta (\sup v + \sup w)",
    ),
    source="the best such bet: Grünwald, de Heide and Koolen 2024, theorem 1",
)
# Section 5.
_PORTFOLIO = Statement(
    title="The payoffs",
    text="An average of valid bets is valid. Those that are averaged bet on the label, and for "
    "several levels of the claim's curve on the event $E$ that the guessed log-odds exceed the "
    "level.",
    formulas=(
        r"S_P = \nu 1_E",
        r"S_Q = (2 - \delta \nu)(1 - 1_E)",
        r"\nu = \frac{2}{\delta + e^\epsilon}",
    ),
    source="Cover 1984 for the average",
)
_RENYI_BET = Statement(
    title="A bet against a Rényi divergence",
    text="Among them are bets against a divergence of order $a$ of at most $\\epsilon$, with any "
    "function $g$ of the output from 0 up, any $t$ above 0, $k = (a - 1)/a$ and $K = e^{k "
    "\\epsilon}$; this inequality is what makes them valid.",
    formulas=(r"\mean_P[g] \le K (k t^{-1/a} \mean_Q[g^{1/k}] + \frac{t^k}{a})",),
    source="Mironov 2017; van Erven and Harremoës 2014",
)
# Section 6.
_LADDER = Statement(
    title="The certified bound",
    text="The same bets are made against a ladder of claims, from a strength of nearly 0 upwards. "
    "The bound is the largest strength such that its wealth and that of all below it have reached "
    "$1/\\alpha$. It is too large with a probability of at most $\\alpha$, without a correction "
    "for the number of levels.",
    formulas=(r"\Pr[s_\least > s] \le \alpha",),
)
_LARGER_OF_TWO = (
    " For a claim of pure or approximate differential privacy that is refuted, the bound is the "
    "larger of the claim's epsilon and what the event below shows."
)
# Sections 4 and 10.
_FIXED = Statement(
    title="How often an event happens",
    text="The number $n$ of fresh draws of a side was fixed before the first of them; the event "
    "happened $h$ times. The bounds on its probability are those of Clopper and Pearson. Each of "
    "the four (two on either side) errs with a probability of at most $\\alpha/4$.",
    formulas=(
        r"\Pr[\Bin(n, p_\least) \ge h] = \alpha/4",
        r"\Pr[\Bin(n, p_\most) \le h] = \alpha/4",
    ),
    source="Clopper and Pearson 1934",
)
_ANYTIME = Statement(
    title="How often an event happens",
    text="A limit of time ended the draws, so the bounds hold at every number $n$ of draws at "
    "once. They enclose every probability $p$ for which this holds, $h$ being the hits so far; "
    "$B$ is the beta function.",
    formulas=(
        r"\frac{B(h + 1/2, n - h + 1/2)}{B(1/2, 1/2) p^h (1 - p)^{n - h}} < \frac{2}{\alpha}",
    ),
    source="Robbins 1970",
)
_SHOWS = Statement(
    title="What the event shows",
    text="With the lower bound $p_\\least$ on the side where the event is likelier, and the upper "
    "bound $q_\\most$ on the other side, the mechanism keeps no epsilon and delta below these.",
    formulas=(
        r"\epsilon \ge \log \frac{p_\least - \delta}{q_\most}",
        r"\delta \ge p_\least - e^\epsilon q_\most",
    ),
)
_SHOWS_OF: dict[type, Statement] = {
    GaussianDP: Statement(
        title="What the event shows of mu",
        text="$\\Phi$ is the normal distribution function.",
        formulas=(r"\mu \ge \Phi^{-1}(p_\least) - \Phi^{-1}(q_\most)",),
        source="Dong, Roth and Su 2022",
    ),
}
_RENYI_SHOWS = (
    r"R_a \ge \frac{1}{a - 1} \log (p_\least^a q_\most^{1 - a}"
    r" + (1 - p_\least)^a (1 - q_\most)^{1 - a})"
)
_SHOWS_OF[RenyiDP] = Statement(
    title="What the event shows of the Rényi divergence",
    text="No function of the output increases a divergence, and whether the event happened is one.",
    formulas=(_RENYI_SHOWS,),
    source="van Erven and Harremoës 2014",
)
_SHOWS_OF[ZCDP] = Statement(
    title="What the event shows of rho",
    text="Rho is at least the divergence of any order, divided by the order.",
    formulas=(_RENYI_SHOWS, r"\rho \ge \sup_a \frac{R_a}{a}"),
    source="Bun and Steinke 2016; van Erven and Harremoës 2014",
)
# Section 11.
_STOPPED = Statement(
    title="The stopped wealth",
    text="Canary by canary, the accuracy of a guess is predicted by a number $r$ from $p$ up. The "
    "wealth is multiplied by $r/p$ if the guess is right and by $(1 - r)/(1 - p)$ if it is wrong, "
    "and betting stops at $C$. The number $a$ bounds by how much $r$ may exceed $p$.",
    formulas=(
        r"\Pr[W \ge C] \le \alpha",
        r"C = \frac{1}{\alpha - m \delta a}",
    ),
    source="this library; Steinke, Nasr and Jagielski 2023 for canaries in one run",
)
_RECURSION = Statement(
    title="The error recursion",
    text="$f(y)$ is the least probability that the claim allows on one side for an event of "
    "probability $y$ on the other. Among $g$ guesses, $v$ are right. Start from $r = \\alpha v / "
    "m$ and $h = \\alpha (g - v)/m$ at $v$ and go down as below. If some $r + h$ exceeds $g/m$, "
    "then $v$ right guesses have a probability below $\\alpha$ for every mechanism with this "
    "claim.",
    formulas=(
        r"h_i = \max(h_{i+1}, f(r_{i+1}))",
        r"r_i = r_{i+1} + \frac{i}{g - i} (h_i - h_{i+1})",
    ),
    source="Mahloujifar, Melis and Chaudhuri 2024",
)
_RIGHT = Statement(
    title="The number of right guesses",
    text="$B$ is a binomial number of right guesses among $g$, each right with probability $p$.",
    formulas=(
        r"\Pr[R \ge v] \le \Pr[B \ge v] + 2 m \delta D",
        r"D = \max_i \frac{1}{i} \Pr[v - i \le B < v]",
    ),
    source="Steinke, Nasr and Jagielski 2023",
)
_RUNS = Statement(
    title="Several runs",
    text="Runs have coins of their own, so their evidence $e$ multiplies; each has a mean of at "
    "most 1 if the claim holds. A p-value is turned into such evidence by a rule fixed before the "
    "first run.",
    formulas=(r"\Pr[\sup e_1 e_2 \sdot \sdot \sdot \ge 1/\alpha] \le \alpha",),
    source="Ville 1939; Vovk and Wang 2021",
)
_CANARY_BETS = Statement(
    title="One wealth over canaries",
    text="Each canary is a draw with a label, and is bet on with what was learned from the others "
    "before it, in a shuffled order. The product of the payoffs is a wealth if the claim holds "
    "and canaries do nothing to each other.",
    formulas=(r"\Pr[\sup W \ge 1/\alpha] \le \alpha",),
    source="Ville 1939",
)
_STEP_BETS = Statement(
    title="One wealth over steps",
    text="At each step a fair coin decides whether a canary is inserted. Given all before it, the "
    "step is one draw with a label, so the product of the payoffs is a wealth, whatever the "
    "training does.",
    formulas=(r"\Pr[\sup W \ge 1/\alpha] \le \alpha",),
    source="Ville 1939",
)
_OF_TESTS = {
    "stopped wealth": _STOPPED,
    "error recursion": _RECURSION,
    "right guesses": _RIGHT,
    "one wealth over canaries": _CANARY_BETS,
    "one wealth over steps": _STEP_BETS,
}
_INSIDE = Statement(
    title="The loss of a transcript",
    text="Release $k$ came out as $x$, drawn with density $p$ on A. On B the code was forced to "
    "the same $x$, which its noise gives density $q$ there. The loss of the transcript is the "
    "sum.",
    formulas=(r"L = \sum_k \log \frac{p_k(x_k)}{q_k(x_k)}",),
    source="Dwork and Roth 2014",
)
_INSIDE_PURE = Statement(
    title="A claim without delta",
    text="Under it no transcript has a larger loss, in either direction, so one that has breaks "
    "the claim without any chance of error, up to the rounding that is allowed for.",
    formulas=(r"-\epsilon \le L \le \epsilon",),
)
_INSIDE_BETS = Statement(
    title="Other claims",
    text="A function $X$ of the loss has a mean of at most 0 if the claim holds, for a point of "
    "its curve or for a Rényi divergence of order $a$ of at most $D$. So has $Y$. Stakes $s$ and "
    "$t$ are fixed from the past; the wealth is the product over all transcripts.",
    formulas=(
        r"X = \frac{1}{\delta} \max(0, 1 - e^{\epsilon - L}) - 1",
        r"X = e^{(a - 1)(L - D)} - 1",
        r"Y = e^{-L} - 1",
        r"W = \prod (1 + s X + t Y)",
        r"\Pr[\sup W \ge 1/\alpha] \le \alpha",
    ),
    source="Ville 1939",
)


def methods_of(audit: Audit) -> list[Statement]:
    """The methods of an audit by draws, or of a training."""
    if audit.training is not None:
        return list(_of_training(audit.training))
    said = [_CURVE]
    if audit.is_replay:
        return [*said, *(_certificate(audit) or [_FIXED])]
    said += _of_bets(audit) if audit.tester == wording.BETS else _of_trials(audit)
    return [*said, *_certificate(audit)]


def notation_of(audit: Audit) -> Any:
    """What the letters in the formulas mean, as HTML."""
    return prose(NOTATION if audit.training is None else NOTATION_OF_TRAININGS)


def methods_inside(found: InsideAudit) -> list[Statement]:
    """The methods of an audit inside."""
    point = point_of(found.claim)
    is_pure = point is not None and point[1] == 0.0
    return [_INSIDE, _INSIDE_PURE if is_pure else _INSIDE_BETS]


def _of_bets(audit: Audit) -> list[Statement]:
    said = [_BET, _WEALTH, _TANGENT if point_of(audit.claim) else _PORTFOLIO]
    if isinstance(audit.claim, RenyiDP | ZCDP):
        said.append(_RENYI_BET)
    if not isinstance(audit.claim, Scalable):
        return said
    if not isinstance(audit.claim, PureDP | ApproxDP) or audit.counterexample is None:
        return [*said, _LADDER]
    return [*said, replace(_LADDER, text=_LADDER.text + _LARGER_OF_TWO)]


def _of_trials(audit: Audit) -> list[Statement]:
    trials = [] if wording.is_of_samples(audit) else [TRIALS]
    return [*trials, OF_TESTERS.get(audit.tester, OWN)]


def _certificate(audit: Audit) -> list[Statement]:
    found = audit.counterexample
    if found is None:
        return []
    counted = _ANYTIME if found.data.anytime or found.neighbour.anytime else _FIXED
    own = [shows for kind, shows in _SHOWS_OF.items() if isinstance(audit.claim, kind)]
    return [counted, _SHOWS, *own]


def _of_training(seen: TrainingEvidence) -> Iterator[Statement]:
    """Those of every test on the page, that which decides first."""
    said = []
    for finding in seen.findings:
        runs, _, test = finding.test.rpartition("runs, ")
        said += [_RUNS, _OF_TESTS.get(test)] if runs else [_OF_TESTS.get(finding.test)]
    yield from dict.fromkeys(each for each in said if each is not None)
