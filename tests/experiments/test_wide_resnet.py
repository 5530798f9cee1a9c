"""The training at full size, tried at a tiny one: what it computes, and what its audit says."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scripts import imported

per_record = imported("per_record")
wide_training = imported("wide_training")
wide_resnet = imported("wide_resnet")
STEPS = 50


@pytest.fixture(autouse=True)
def torch() -> Any:
    return pytest.importorskip("torch")


def begun(wide_resnet: ModuleType, *, seed: int = 1, bug: str = "none") -> Any:
    size = wide_resnet.SIZES["tiny"]
    return wide_resnet.made_training(size, device="cpu", seed=seed, bug=bug)


def test_gradients_of_records_are_those_of_torch_func(
    torch: Any, per_record: ModuleType, wide_resnet: ModuleType
) -> None:
    network = per_record.Network(first=4, widths=(8, 16), blocks=2, groups=2)
    generator = torch.Generator().manual_seed(3)
    weights = network.weights(generator)
    images = torch.randn(6, 3, 8, 8, generator=generator)
    labels = torch.randint(10, (6,), generator=generator)
    losses_of = torch.nn.functional.cross_entropy

    def loss(weights: Any, image: Any, label: Any) -> Any:
        layers = per_record.Layers(weights, keep=False)
        return losses_of(network.logits(layers, image[None]), label[None])

    layers = per_record.Layers(weights, keep=True)
    losses = losses_of(network.logits(layers, images), labels, reduction="none")
    found = layers.gradients(losses)
    right = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, images, labels)
    assert found.keys() == right.keys() == network.shapes().keys()
    for name, gradient in right.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-5)


def test_wrn16_4_has_as_many_weights_as_in_its_paper(per_record: ModuleType) -> None:
    """2.75 million, says Table 5 of Zagoruyko and Komodakis 2016 in its rounding of 2.7 or 2.8."""
    count = sum(int(np.prod(shape)) for shape in per_record.WRN16_4.shapes().values())
    assert count == 2_748_890


def test_every_record_is_clipped_over_all_weights(torch: Any, per_record: ModuleType) -> None:
    gradients = {
        "a": torch.tensor([[3.0, 0.0], [0.3, 0.0], [0.0, 0.0]]),
        "b": torch.tensor([[4.0], [0.4], [0.0]]),
    }
    found = per_record.clipped_sum(gradients, 1.0)
    torch.testing.assert_close(found["a"], torch.tensor([0.6 + 0.3, 0.0]))
    torch.testing.assert_close(found["b"], torch.tensor([0.8 + 0.4]))


def test_a_canary_has_the_gradient_of_its_own_weight_alone(
    torch: Any, wide_resnet: ModuleType, per_record: ModuleType
) -> None:
    _, training = begun(wide_resnet)
    canary, image, nobody = training.size.images + 5, 0, -1
    found = training.gradients(torch.tensor([canary, image, nobody]))
    head = found.pop("head")
    assert head[0, 5] > 1.0  # above the clipping norm
    assert torch.count_nonzero(head) == 1
    for gradient in found.values():
        assert torch.count_nonzero(gradient[0]) == torch.count_nonzero(gradient[2]) == 0
    assert any(torch.count_nonzero(gradient[1]) for gradient in found.values())
    alone = training.gradients(torch.tensor([canary]))
    clipped = per_record.clipped_sum(alone, 1.0)["head"]
    assert clipped[5].item() == pytest.approx(1.0)


def test_scores_are_shifted_and_scaled_as_the_head_says(
    wide_resnet: ModuleType, tmp_path: Path
) -> None:
    """Means and deviations of 2 x 500 canaries, within five standard errors."""
    shift = 0.2 * np.sqrt(STEPS) / 2.0
    for bug, scale in (("none", 1.0), ("noise-halved", 0.5)):
        inside, outside = [], []
        for seed in range(2):
            plan, training = begun(wide_resnet, seed=seed, bug=bug)
            for _ in range(STEPS):
                training.step()
            told = {"bug": bug, "seed": seed}
            arrays, saved = wide_resnet.load(wide_resnet.keep_run(plan, training, told, tmp_path))
            assert saved["steps"] == STEPS
            np.testing.assert_array_equal(arrays["bits"], plan.bits)
            sums = training.seen.sum(axis=0) / (2.0 * np.sqrt(STEPS))
            np.testing.assert_allclose(arrays["weights"], sums, atol=1e-4)
            inside.extend(arrays["weights"][plan.bits])
            outside.extend(arrays["weights"][~plan.bits])
        assert np.std(outside) == pytest.approx(scale, abs=5 * scale / np.sqrt(2 * len(outside)))
        assert np.mean(outside) == pytest.approx(0.0, abs=5 * scale / np.sqrt(len(outside)))
        spread = np.sqrt(scale**2 + 0.2 * 0.8 / 2.0**2)
        assert np.mean(inside) == pytest.approx(shift, abs=5 * spread / np.sqrt(len(inside)))


@pytest.mark.nightly
def test_halved_noise_is_refuted_and_the_right_noise_is_not(
    wide_resnet: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bug in wide_resnet.BUGS:
        arguments = ["--size", "tiny", "--steps", str(STEPS), "--device", "cpu", "--bug", bug]
        options = wide_resnet.parsed([*arguments, "--results", str(tmp_path)])
        wide_resnet.run(wide_resnet.SIZES["tiny"], options)
    lines = wide_resnet.table(wide_resnet.SIZES["tiny"], tmp_path)
    found = {(line.bug, line.score): line for line in lines}
    assert found.keys() == {
        (bug, score) for bug in wide_resnet.BUGS for score in ("weights", "steps")
    }
    for score in wide_resnet.SCORES:
        right, halved = found["none", score], found["noise-halved", score]
        assert not right.refuted_any
        assert not right.refuted_independent
        assert halved.refuted_independent
        assert halved.canaries_until <= halved.canaries
    assert (tmp_path / "wide_resnet_tiny.csv").read_text().count("\n") == 1 + len(lines)
    assert "accuracy" in capsys.readouterr().out


def test_a_training_that_is_stopped_keeps_its_steps(
    wide_resnet: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = wide_resnet.Training.step

    def step(training: Any) -> None:
        steps(training)
        if training.steps == 7:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(wide_resnet.Training, "step", step)
    size = wide_resnet.SIZES["tiny"]
    arguments = ["--size", "tiny", "--steps", str(STEPS), "--device", "cpu"]
    path = wide_resnet.run(size, wide_resnet.parsed([*arguments, "--results", str(tmp_path)]))
    _, told = wide_resnet.load(path)
    assert (path.name, told["steps"]) == ("tiny.none.7.1.npz", 7)
    assert wide_resnet.claim_for(size, 7) == wide_resnet.claim_for(size, 10)


def test_steps_are_timed(wide_resnet: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert wide_resnet.main(["--time", "--size", "tiny", "--device", "cpu", "--minutes", "1"]) == 0
    assert "steps fit in 1 minutes: take --steps" in capsys.readouterr().out


def test_every_accounted_number_of_steps_has_a_claim(wide_resnet: ModuleType) -> None:
    for size in wide_resnet.SIZES.values():
        epsilons = [
            wide_resnet.point_claim(wide_resnet.claim_for(size, steps), 1e-5).strength
            for steps in size.accounted
        ]
        assert epsilons == sorted(epsilons)
    with pytest.raises(ValueError, match="at most"):
        wide_resnet.claim_for(size, size.accounted[-1] + 1)


@pytest.mark.parametrize("steps", [500, 1500])
def test_claims_are_those_of_the_accountant(wide_resnet: ModuleType, steps: int) -> None:
    accounting = pytest.importorskip("dp_accounting")
    from dpaudit.integrations import from_dp_accounting

    size = wide_resnet.SIZES["full"]
    event = accounting.PoissonSampledDpEvent(size.rate, accounting.GaussianDpEvent(size.sigma))
    right = from_dp_accounting(accounting.SelfComposedDpEvent(event, steps))
    saved = wide_resnet.claim_for(size, steps)
    last = 1.1e-8  # where a saved curve ends; it stays there, a weaker claim and never a wrong one
    for level in np.linspace(0.0, 8.0, 17):
        exact = right.delta(level)
        assert exact * (1 - 1e-9) <= saved.delta(level) <= max(1.05 * exact, last)
