"""The finder "optuna": any sampler of Optuna answers the questions that a relation asks."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit.domains import Unsuitable
from dpaudit.neighbours import Pair, Relation, Structured
from dpaudit.search.memory import Memory, fingerprint
from dpaudit.search.searching import Search, first_new

TRIES = 10  # suggestions in a row without a new pair before a random one is taken


class OptunaFinder(Search):
    """Proposes what a sampler of Optuna suggests: by default its tree-structured Parzen estimator.

    `sampler` may be any of Optuna's. A sampler of your own keeps its own random state, which Optuna
    lets nobody save: after `restore` it goes on with the same knowledge but other chances. The
    default one is seeded anew for every pair and goes on exactly. A relation that answers no
    choices (`Structured` ones do) gets random pairs.
    """

    name = "optuna"

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
        self._structured = relation if isinstance(relation, Structured) else None
        self._sampler = sampler
        self._numbers: dict[str, int] = {}  # of the trials, by the marks of their pairs
        self._corrected: dict[int, float] = {}  # scores that replace those of finished trials
        self._study = self._new_study([])

    def ask(self) -> Pair | None:
        pair = None if self._structured is None else self._suggested(self._structured)
        if pair is not None:
            return pair
        return first_new(lambda: self.relation.random_pair(self.rng), self.memory)

    def tell(self, pair: Pair, score: float) -> None:
        """Remember the score; the sampler learns of it if it proposed the pair."""
        super().tell(pair, score)
        number = self._numbers.get(fingerprint(pair))
        if number is None:
            return
        if self._trials()[number].state.is_finished():
            self._corrected[number] = score
        else:
            self._study.tell(number, score)

    def own_state(self) -> dict[str, Any]:
        self._correct()
        to_json = self._optuna.distributions.distribution_to_json
        trials = self._trials()
        return {
            "trials": [
                {
                    "mark": mark,
                    "score": trials[number].value,
                    "params": trials[number].params,
                    "distributions": {
                        name: to_json(one) for name, one in trials[number].distributions.items()
                    },
                }
                for mark, number in self._numbers.items()
            ]
        }

    def restore_own(self, state: dict[str, Any]) -> None:
        from_json = self._optuna.distributions.json_to_distribution
        states = self._optuna.trial.TrialState
        self._study = self._new_study(
            self._optuna.trial.create_trial(
                state=states.RUNNING if form["score"] is None else states.COMPLETE,
                value=form["score"],
                params=form["params"],
                distributions={n: from_json(one) for n, one in form["distributions"].items()},
            )
            for form in state["trials"]
        )
        self._numbers = {form["mark"]: place for place, form in enumerate(state["trials"])}
        self._corrected = {}

    def _suggested(self, relation: Structured) -> Pair | None:
        """What the sampler suggests; None if it suggests nothing new."""
        self._correct()
        if self._sampler is None:
            seed = int(self.rng.integers(2**31))
            self._study.sampler = self._optuna.samplers.TPESampler(seed=seed)
        for _ in range(TRIES):
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
        """Give finished trials their later scores: Optuna knows no way but a new study."""
        if not self._corrected:
            return
        trials = self._study.trials  # copies, which may be changed
        for number, score in self._corrected.items():
            trials[number].value = score
        self._study, self._corrected = self._new_study(trials), {}

    def _trials(self) -> Any:
        """The trials to look at, by number; `study.trials` copies them all."""
        return self._study.get_trials(deepcopy=False)

    def _new_study(self, trials: Any) -> Any:
        with _silent(self._optuna):
            study = self._optuna.create_study(direction="maximize", sampler=self._sampler)
        study.add_trials(trials)
        return study


class TrialChooser:
    """Answers questions by a trial of Optuna. The range is in the name: it never changes."""

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


@contextmanager
def _silent(optuna: Any) -> Iterator[None]:
    """Optuna announces every new study; its user asked for an audit."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
