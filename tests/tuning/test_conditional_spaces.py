"""Conditional parameters in random spaces: every strategy proposes what is active, nothing else, and nothing twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge

from foldwise import SearchCV
from foldwise.tuning import (
    CMAES,
    TPE,
    AskTell,
    Bayesian,
    Choice,
    Design,
    Evolutionary,
    Float,
    Gradient,
    Grid,
    Int,
    Manual,
    Racing,
    Random,
)
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.gradient_starts import MOST_COMBINATIONS, combinations
from foldwise.tuning.strategies.protocol import Trial, trial_generator
from foldwise.tuning.strategies.unit_encoding import UnitEncoding

STRATEGIES = {
    "grid": Grid(n_points=2),
    "sobol": Design(24),
    "latin hypercube": Design(24, kind="latin_hypercube"),
    "random": Random(),
    "evolutionary": Evolutionary(population=6),
    "bayesian": Bayesian(n_initial=6),
    "thompson": Bayesian("thompson", n_initial=4, batch=3),
    "racing": Racing("evolutionary"),
    "tpe": TPE(n_initial=4),
    "cma-es": CMAES(),
}
SLOW = {"bayesian": 12, "thompson": 12, "tpe": 16, "cma-es": 16}  # trials


def parent(rng):
    """A parameter that others may depend on, without its condition: the class, its arguments and its values."""
    kinds = [
        (Choice, (["linear", "rbf", "poly"],), ["linear", "rbf", "poly"]),
        (Choice, ([True, False],), [True, False]),
        (Choice, ([None, "l1", "l2"],), [None, "l1", "l2"]),
        (Choice, ([1, 10, 100], True), [1, 10, 100]),
        (Int, (1, 3), [1, 2, 3]),
    ]
    return kinds[int(rng.integers(len(kinds)))]


def leaf(rng):
    kinds = [(Float, (0.0, 2.0)), (Float, (1e-3, 1e3, True)), (Int, (1, 500, True)), (Int, (2, 5))]
    return kinds[int(rng.integers(len(kinds)))]


def random_branch(rng, prefix):
    """Parameters with conditions on one or two others, which may have conditions themselves; in random order."""
    values, found = {}, {}
    for i in range(int(rng.integers(2, 4))):
        kind, arguments, possible = parent(rng)
        found[f"{prefix}parent{i}"] = kind(*arguments, when=random_condition(rng, values))
        values[f"{prefix}parent{i}"] = possible
    for i in range(int(rng.integers(1, 4))):
        kind, arguments = leaf(rng)
        found[f"{prefix}leaf{i}"] = kind(*arguments, when=random_condition(rng, values))
    names = rng.permutation(list(found)).tolist()
    return {name: found[name] for name in names}


def random_condition(rng, values):
    if not values or rng.random() < 0.3:
        return None
    when = {}
    for name in rng.permutation(list(values)).tolist()[: 1 + int(rng.random() < 0.3)]:
        possible = values[name]
        some = [possible[i] for i in rng.permutation(len(possible))[: int(rng.integers(1, len(possible)))]]
        when[name] = some[0] if len(some) == 1 and rng.random() < 0.5 else some
    return when


def random_space(seed):
    rng = np.random.default_rng(seed)
    shared = {"C": Float(0.1, 10, True), "kind": Choice(["a", "b"])}
    branches = [{**shared, **random_branch(rng, "" if rng.random() < 0.5 else f"{k}_")} for k in range(2)]
    return branches if rng.random() < 0.4 else branches[0]


def equal(a, b):
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def is_active(branch, name, setting):
    """The definition: the condition holds, and the parameters that it names are active themselves."""
    for other, wanted in (getattr(branch[name], "when", None) or {}).items():
        wanted = wanted if isinstance(wanted, list) else [wanted]
        if not is_active(branch, other, setting) or other not in setting:
            return False
        if not any(equal(setting[other], one) for one in wanted):
            return False
    return True


def in_range(dimension, value):
    if isinstance(dimension, Choice):
        return any(equal(one, value) for one in dimension.values)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (value == int(value) or isinstance(dimension, Float)) and dimension.low <= value <= dimension.high


def is_complete(space, setting):
    """Whether a setting has all active parameters of a branch, and no other."""
    for branch in space if isinstance(space, list) else [space]:
        active = {name for name in branch if is_active(branch, name, setting)}
        if active == setting.keys() and all(in_range(branch[name], setting[name]) for name in active):
            return True
    return False


def key(setting):
    """A setting as a hashable value; 1 and True are different."""
    return tuple(
        sorted((name, type(value).__name__, value if value is not None else "") for name, value in setting.items())
    )


def searched(strategy, space, n_trials, seed):
    """The settings that a strategy proposes, as a search asks for them; some of them fail."""
    rng, trials = np.random.default_rng(seed), []
    batch = int(min(getattr(strategy, "batch", 1), 4))
    while len(trials) < n_trials:
        running = []
        for _ in range(batch):
            known = [*trials, *(Trial(one, float("nan"), "running") for one in running)]
            proposed = strategy.propose(space, known, trial_generator(seed, len(known)))
            running += proposed
            if not proposed:
                break
        if not running:
            break
        for one in running:
            failed = rng.random() < 0.1
            score = float("nan") if failed else float(np.log(one["C"]) + len(one) + rng.normal(0, 0.1))
            trials.append(Trial(one, score, "failed" if failed else "finished"))
    return [one.setting for one in trials]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_active_parameter_is_proposed_and_no_other(name):
    if name in ("tpe", "cma-es"):
        pytest.importorskip("optuna")
    for seed in range(4 if name in SLOW else 25):
        space = random_space(seed)
        found = searched(STRATEGIES[name], space, SLOW.get(name, 30), seed)
        assert found
        for setting in found:
            assert is_complete(space, setting), (seed, setting)
        assert len({key(one) for one in found}) == len(found), seed


@pytest.mark.parametrize("seed", range(12))
def test_settings_that_differ_in_inactive_parameters_only_are_one_to_the_gaussian_process(seed):
    rng, space = np.random.default_rng(seed), SearchSpace.of(random_space(seed))
    encoding = UnitEncoding(space)
    rows, _ = encoding.to_rows([space.sample(rng) for _ in range(30)])
    active = encoding.active(rows)
    moved = encoding.snapped(np.where(active, rows, rng.random(rows.shape)))
    assert (encoding.active(moved) == active).all()
    np.testing.assert_allclose(encoding.features(moved, active), encoding.features(rows, active), atol=1e-12)
    assert [encoding.to_setting(one) for one in moved] == [encoding.to_setting(one) for one in rows]


@pytest.mark.parametrize("seed", range(12))
def test_a_table_of_trials_can_be_read_again(seed, tmp_path):
    space = random_space(seed)
    search = AskTell(space, "random", random_state=seed)
    for number in range(12):
        search.tell(search.ask(), float(number))
    search.to_frame().write_csv(tmp_path / "trials.csv")
    expected = [one.setting for one in search.trials]
    again = AskTell(space, "random", random_state=seed)
    again.read_frame(tmp_path / "trials.csv")
    found = [one.setting for one in again.trials]
    assert [one.keys() for one in found] == [one.keys() for one in expected]
    assert all(is_complete(space, one) for one in found)
    for one, other in zip(found, expected, strict=True):
        assert all(value == pytest.approx(other[name]) for name, value in one.items())
    manual = Manual(tmp_path / "trials.csv").propose(space, [], None)
    assert [one.keys() for one in manual] == [one.keys() for one in expected]


def test_branches_that_overlap_share_the_points_of_a_grid():
    space = [
        {"C": Int(1, 3), "kind": ["a"]},
        {"C": Int(2, 4), "kind": ["a", "b"]},
        {"C": Choice([3, 9]), "kind": ["b"]},
    ]
    found = [(one["C"], one["kind"]) for one in Grid(n_points=3).propose(space, [], None)]
    assert sorted(found) == [(1, "a"), (2, "a"), (2, "b"), (3, "a"), (3, "b"), (4, "a"), (4, "b"), (9, "b")]


KERNELS = {
    "kernel": Choice(["linear", "rbf"]),
    "alpha": Float(1e-3, 10, log=True),
    "gamma": Float(1e-3, 10, log=True, when={"kernel": "rbf"}),
    "degree": Int(2, 4, log=True, when={"kernel": "rbf"}),  # without effect, but active
    "coef0": Choice([0, 1, 2, 3], when={"kernel": "linear"}),
}


class TestGradient:
    X, y = (part[:120] for part in load_diabetes(return_X_y=True))

    def search(self, **options):
        search = SearchCV(KernelRidge(), KERNELS, strategy=Gradient(n_starts=3), cv=3, random_state=0)
        return search.set_params(**options).fit(self.X, self.y)

    def test_each_combination_of_active_values_has_its_starts_once(self):
        search = self.search()
        starts = [path[0][0] for path in search.strategy_.paths]
        discrete = [tuple(one.get(name) for name in ("kernel", "degree", "coef0")) for one in starts]
        expected = {("rbf", d, None) for d in (2, 3, 4)} | {("linear", None, c) for c in range(4)}
        assert set(discrete) == expected
        assert all(discrete.count(one) == 3 for one in expected)
        for path in search.strategy_.paths:
            assert all(is_complete(KERNELS, setting) for setting, _ in path)

    def test_many_combinations_are_drawn_each_once(self):
        more = {f"unused{i}": Int(1, 9, when={"kernel": "linear"}) for i in range(3)}
        found = combinations(SearchSpace.of({**KERNELS, **more}), np.random.default_rng(0))
        assert 3 < len(found) <= MOST_COMBINATIONS
        space = SearchSpace.of({**KERNELS, **more})
        settings = [space.from_units(np.nan_to_num(units, nan=0.5), branch) for branch, units in found]
        assert len({key(one) for one in settings}) == len(settings)

    def test_user_settings_keep_their_conditions(self):
        first = [{"kernel": "rbf", "alpha": 0.5, "gamma": 0.2, "degree": 3}]
        found = self.search(initial_settings=first).cv_results_["params"]
        assert found[0] == first[0]
        assert all(is_complete(KERNELS, one) for one in found)
