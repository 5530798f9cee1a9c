"""The finder "optuna": any sampler of Optuna answers the questions that a relation asks."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dpaudit.domains import Unsuitable
from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.finder import Memory, RelationFinder, fingerprint

MAX_SUGGESTIONS = 10  # in a row without a new pair, before a random one is taken


class OptunaFinder(RelationFinder):
    """Proposes what a sampler of Optuna suggests: by default its tree-structured Parzen estimator.

    `sampler` may be any of Optuna's. The default one is seeded anew for every pair, so that an
    audit can be repeated. A relation that answers no choices (only `Structured` ones do) gets
    random pairs.
    """

    def __init__(
        self,
        relation: Relation,
        rng: np.random.Generator,
        memory: Memory | None = None,
        *,
        sampler: Any = None,
    ) -> None:
        super().__init__(relation, rng, memory)
        self._optuna = _optuna()
        self._sampler = sampler
        self._numbers: dict[str, int] = {}  # of the trials, by the fingerprints of their pairs
        self._corrected: dict[int, float] = {}  # scores that replace those of finished trials
        self._study = self._new_study([])

    def ask(self) -> Pair | None:
        pair = None if self.structured is None else self._suggested(self.structured)
        return super().ask() if pair is None else pair

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score; the sampler learns of it if it proposed the pair."""
        super().tell(pair, score)
        number = self._numbers.get(fingerprint(pair))
        if number is None:
            return
        trials = self._study.get_trials(deepcopy=False)  # `study.trials` copies them all
        if trials[number].state.is_finished():
            self._corrected[number] = score
        else:
            self._study.tell(number, score)

    def _suggested(self, relation: Structured) -> Pair | None:
        """What the sampler suggests; None if it suggests nothing new."""
        self._correct()
        if self._sampler is None:
            seed = int(self.rng.integers(2**31))
            self._study.sampler = self._optuna.samplers.TPESampler(seed=seed)
        for _ in range(MAX_SUGGESTIONS):
            trial = self._study.ask()
            try:
                pair = relation.choose(TrialChooser(trial))
            except Unsuitable:
                pair = None
            if pair is not None and self.memory.meet(pair):
                self._numbers[fingerprint(pair)] = trial.number
                return pair
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    def _correct(self) -> None:
        """Give finished trials their later scores. Optuna allows that in a new study only."""
        if not self._corrected:
            return
        trials = self._study.trials  # copies, which may be changed
        for number, score in self._corrected.items():
            trials[number].value = score
        self._study, self._corrected = self._new_study(trials), {}

    def _new_study(self, trials: list[Any]) -> Any:
        """A study with these trials, without the announcement that Optuna would log."""
        logging = self._optuna.logging
        level = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)
        try:
            study = self._optuna.create_study(direction="maximize", sampler=self._sampler)
        finally:
            logging.set_verbosity(level)
        study.add_trials(trials)
        return study


class TrialChooser:
    """Answers questions by a trial of Optuna, where the range of a name must never change.

    So the range is part of the name.
    """

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def real(self, name: str, low: float, high: float) -> float:
        return float(self._trial.suggest_float(f"{name} in [{low!r}, {high!r}]", low, high))

    def whole(self, name: str, low: int, high: int) -> int:
        return int(self._trial.suggest_int(f"{name} in {low}..{high}", low, high))

    def one_of(self, name: str, count: int) -> int:
        return int(self._trial.suggest_categorical(f"{name} of {count}", list(range(count))))


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise ImportError(
            "the finder 'optuna' needs Optuna, which is not installed: "
            "pip install 'dpaudit[optuna]'."
        ) from error
