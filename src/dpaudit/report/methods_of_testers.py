r"""The methods of batch testers, as formulas with sources (docs/mathematics.md, section 7)."""

from __future__ import annotations

from dpaudit.report.formulas import Statement

TRIALS = Statement(
    title="Many trials",
    text="Trial $t$ may err with a probability of at most its share of $\\alpha$, half of it in "
    "each direction; an audit that makes only one trial gives it all of $\\alpha$. The shares add "
    "up to at most $\\alpha$.",
    formulas=(r"\alpha_t = \frac{6 \alpha}{\pi^2 t^2}",),
    source="Kong, Medina, Ribero and Syed 2023, algorithm 1",
)
_EVENTS = Statement(
    title="Events",
    text="The event $E$ is chosen on some of the outputs. On the others, held out, its probability "
    "is bounded from below on one side and from above on the other, each with half of the trial's "
    "share (the bound exact, which is the usual one). The claim is refuted if the bound exceeds "
    "its delta.",
    formulas=(r"\sup_E P(E) - e^\epsilon Q(E) \ge p_\least - e^\epsilon q_\most",),
    source="Clopper and Pearson 1934; other bounds that can be asked for: Hoeffding 1963, Gilbert "
    "and McMillan 2018",
)
_RENYI = Statement(
    title="A Rényi divergence",
    text="A function $h$ of the output is learned on some of the outputs. On the others the two "
    "means are bounded, and with them the divergence of order $a$. The claim is refuted if the "
    "bound exceeds what it allows.",
    formulas=(r"R_a \ge \frac{a}{a - 1} \log \mean_P[e^{(a - 1) h}] - \log \mean_Q[e^{a h}]",),
    source="Birrell et al. 2021; Waudby-Smith and Ramdas 2023 for the bounds on means",
)
_MMD = Statement(
    title="The maximum mean discrepancy",
    text="It is estimated from separate blocks of outputs, so that a bound on the mean of "
    "independent values applies. For a kernel between 0 and 1, a claim bounds it through the "
    "total variation $\\TV$.",
    formulas=(r"\MMD \le \sqrt{2} \TV(P, Q) \le \sqrt{2} \delta(0)",),
    source="Gretton et al. 2012; Waudby-Smith and Ramdas 2023",
)
OWN = Statement(
    title="The tester",
    text="The tester gives a lower bound on a divergence of its own, and a threshold that no "
    "mechanism with this claim exceeds. The claim is refuted if the bound exceeds the threshold. "
    "That the bound is too high with a probability of at most the share of $\\alpha$ is what its "
    "author states; dpaudit proves nothing about it.",
)
_THINNED = Statement(
    title="Thinned hits",
    text="The event $E$ is chosen on some of the outputs. On the others its hits on the likelier "
    "side are kept with probability $e^{-\\epsilon}$ each. If the claim holds, a kept hit is no "
    "likelier than a hit on the other side. Fisher's exact test asks whether there are too many of "
    "them. The p-value is twice the mean over many ways to keep them.",
    formulas=(r"P(E) \le e^\epsilon Q(E)",),
    source="Ding, Wang, Wang, Zhang and Kifer 2018; Fisher 1935; Vovk and Wang 2020 for the mean",
)
_SUREST = Statement(
    title="The surest outputs",
    text="A classifier learns to tell the sides apart. The event $E$ is the share $c$ of the other "
    "side's outputs where it is surest; ties belong to it by a coin. On outputs held out its "
    "probabilities are bounded, each with half of the trial's share.",
    formulas=(r"\epsilon \ge \log \frac{p_\least - \delta}{q_\most}",),
    source="Bichsel, Steffen, Bogunovic and Vechev 2021; Clopper and Pearson 1934",
)
_FRONTIER = Statement(
    title="A whole frontier",
    text="The event $E$ is the one that refutes the strongest claim of the same kind, at any level "
    "of its profile. It is chosen on some of the outputs; on the others its probabilities are "
    "bounded, each with half of the trial's share, and the bounds hold at all levels at once.",
    formulas=(r"P(E) - e^\epsilon Q(E) \ge p_\least - e^\epsilon q_\most",),
    source="Lokna, Paradis, Dimitrov and Vechev 2023; Clopper and Pearson 1934",
)
_BOX = Statement(
    title="A box of errors",
    text="A nearest-neighbour classifier learns from some of the outputs. On the others, $n$ of a "
    "side, its shares of errors $a$ and $b$ are counted. The true ones lie within $w$ of these, "
    "and the claim allows no pair of errors below its trade-off curve $f$.",
    formulas=(r"b + w < f(a + w)", r"w = \sqrt{\frac{\log(4 / \alpha)}{2 n}}"),
    source="Lu et al. 2024; Askin et al. 2025; Hoeffding 1963",
)
_PAIR_BETS = Statement(
    title="Bets pair by pair",
    text="On each pair of outputs $x$ from one side and $y$ from the other, the wealth $W$ is "
    "multiplied as below. The function $f$, from the unit ball of a kernel, and the stake "
    "$\\lambda$ are chosen from earlier pairs. If the claim holds, the wealth hardly ever becomes "
    "large.",
    formulas=(
        r"W_{t+1} = W_t (1 + \lambda_t (f_t(x_t) - f_t(y_t) - \tau))",
        r"\tau = \sqrt{2} \delta(0)",
    ),
    source="González, Dulce-Rubio, Ramdas and Ribero 2025",
)
_CURVE_DISTANCE = Statement(
    title="The distance from the trade-off curve",
    text="Past outputs choose a set, by the ratio of kernel densities, and a level. What every new "
    "pair says of the distance below, $a$ and $b$ being its errors, is averaged, less a band by "
    "the law of the iterated logarithm. The band rests on a normal approximation, so nothing is "
    "proved for so many outputs.",
    formulas=(r"\frac{1 - \delta(\epsilon) - a - e^\epsilon b}{1 + e^\epsilon}",),
    source="Kutta, Dunsche, Wei and Zikas 2026",
)
_KERNEL_RENYI = Statement(
    title="A Rényi divergence of kernel features",
    text="$S_P$ and $S_Q$ are the covariances of features $\\phi$ of norm at most 1, $I$ the "
    "identity. The trace is convex in both, so a tangent that is chosen on some of the outputs "
    "bounds it by two means, which are bounded on the others.",
    formulas=(r"R_a \ge \frac{1}{a - 1} \log tr(S_P^a (S_Q + \lambda I)^{1 - a})",),
    source="Domingo-Enrich and Mroueh 2022; Ando 1979",
)
_TAILS = Statement(
    title="Masses of the privacy loss",
    text="Cells of outputs are ordered by their loss on some of the outputs. On the others the "
    "probabilities of sets of cells are bounded, all at once. They give a profile below the true "
    "one; the claim is refuted if it lies above the claim's anywhere.",
    formulas=(r"\sup_E P(E) - e^\epsilon Q(E) \ge p_\least - e^\epsilon q_\most",),
    source="Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022; Clopper and Pearson 1934",
)
_EVERY_OUTPUT = Statement(
    title="Every output",
    text="Which outputs there are is seen on some of them. On the others the probability of each "
    "is bounded on both sides, all at once.",
    formulas=(r"\sup_E P(E) - e^\epsilon Q(E) \ge \sum_i \max(0, p_i - e^\epsilon q_i)",),
    source="Dixit, Jha, Raskhodnikova and Thakurta 2013; Clopper and Pearson 1934",
)
OF_TESTERS = {
    "HistogramTester": _EVENTS,
    "HockeyStickTester": _EVENTS,
    "RenyiTester": _RENYI,
    "MMDTester": _MMD,
    "StatDP": _THINNED,
    "DPSniper": _SUREST,
    "DeltaSiege": _FRONTIER,
    "NearestNeighbours": _BOX,
    "SequentialMMD": _PAIR_BETS,
    "APT": _CURVE_DISTANCE,
    "KernelRenyi": _KERNEL_RENYI,
    "PrivacyLossBounds": _TAILS,
    "FiniteOutputs": _EVERY_OUTPUT,
}
