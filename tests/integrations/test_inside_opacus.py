"""Trainings of Opacus, followed: the right one is not accused, the broken ones are."""

import warnings
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import InsideVerdict, Pair
from dpaudit.errors import CannotFollow
from dpaudit.inside import Sampled, transcript_of
from dpaudit.mechanism import as_mechanism

torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")

pytestmark = pytest.mark.filterwarnings("ignore")
SIGMA, RATE_OF = 0.8, 4
RECORDS = dpaudit.records(x=dpaudit.vectors(2, -1, 1), y=dpaudit.floats(-1, 1))
FAR = [{"x": np.array([3.0, 3.0]), "y": -9.0}]
OTHERS = [{"x": np.array([0.1 * i, 0.2]), "y": 0.1} for i in range(7)]


def subject(optimizer_of: Any = None, noise: float = SIGMA, steps: int = 4) -> dpaudit.Subject:
    with warnings.catch_warnings(action="ignore"):
        line = torch.nn.Linear(2, 1)
        with torch.no_grad():
            for each in line.parameters():
                each.zero_()
        data = torch.utils.data.TensorDataset(torch.zeros(8, 2), torch.zeros(8, 1))
        engine = opacus.PrivacyEngine()
        module, optimizer, loader = engine.make_private(
            module=line,
            optimizer=torch.optim.SGD(line.parameters(), lr=0.05),
            data_loader=torch.utils.data.DataLoader(data, batch_size=8 // RATE_OF),
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        for x, y in batches:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(module(x), y).backward()
            optimizer.step()

    made = dpaudit.integrations.from_opacus(
        train,
        engine=engine,
        module=module,
        optimizer=optimizer,
        data_loader=loader,
        records=RECORDS,
        steps=steps,
    )
    if optimizer_of is not None:
        optimizer.__class__ = optimizer_of
    return made


def with_noise(factor: float) -> Any:
    class Wrong(opacus.optimizers.DPOptimizer):  # type: ignore[misc, name-defined]
        def add_noise(self: Any) -> None:
            stated = self.noise_multiplier
            self.noise_multiplier = stated * factor
            super().add_noise()
            self.noise_multiplier = stated

    return Wrong


def test_a_step_is_the_mixture_of_both_sums() -> None:
    found = transcript_of(
        as_mechanism(subject().mechanism), Pair(FAR + OTHERS, OTHERS), np.random.default_rng(0)
    )
    assert found.differs is None
    assert len(found.releases) == 4
    one = found.releases[0]
    assert isinstance(one.kernel, Sampled)
    assert one.kernel.rate == 1 / RATE_OF
    without, within = (np.concatenate([part.ravel() for part in side]) for side in one.input)
    assert np.linalg.norm(within - without) == pytest.approx(1.0, abs=1e-4)
    plain = np.concatenate([part.ravel() for part in one.neighbour_input])
    assert np.allclose(plain, without, atol=1e-6)


def test_the_right_training_is_not_accused_and_torch_is_left_as_it_was() -> None:
    made, state = subject(), torch.get_rng_state()
    pairs = [(FAR + OTHERS, OTHERS)]
    found = dpaudit.audit_inside(made.mechanism, made.claim, pairs, rng=1, transcripts=60)
    assert found.verdict in (InsideVerdict.NOT_REFUTED, InsideVerdict.UNDECIDED)
    assert found.reason == "" or "leans" in found.reason
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("factor", "most"), [(1 / RATE_OF, 20), (SIGMA, 1000)])
def test_too_little_noise_is_found(factor: float, most: int) -> None:
    made = subject(with_noise(factor), steps=8)
    pairs = [(FAR + OTHERS, OTHERS)]
    found = dpaudit.audit_inside(made.mechanism, made.claim, pairs, rng=1, transcripts=most)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_noise_of_its_own_is_refused() -> None:
    made = subject(opacus.optimizers.DistributedDPOptimizer)
    with pytest.raises(CannotFollow, match="DistributedDPOptimizer"):
        transcript_of(
            as_mechanism(made.mechanism), Pair(FAR + OTHERS, OTHERS), np.random.default_rng(0)
        )
