"""The schedule: pure decisions, tested with a fake clock and without a single fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import randint, uniform

from foldwise.app.model_plan import ModelPlan
from foldwise.app.schedule import Schedule, settings_to_keep
from foldwise.app.schedule_rules import KINDS, MOST_BATCHES
from foldwise.app.search_state import JobOutcome, SearchState, SettingBatch, SplitJob, decode, encode
from foldwise.app.state_view import REMEMBERED
from foldwise.app.timing import PATIENCE, PATIENCE_LEAST
from foldwise.tuning.strategies.random import Random

SPACE = {"model__C": uniform(0, 1)}
N_SPLITS = 5


def plans(**seconds):
    return {name: ModelPlan(name, each, SPACE) for name, each in seconds.items()}


class Simulation:
    """A search in which jobs take fake seconds and give made-up scores, one at a time."""

    def __init__(self, models, scores, *, end=100.0, n_splits=N_SPLITS, n_workers=1, seconds=None, compiling=()):
        self.schedule = Schedule(models, n_workers, perfect=1.0)
        self.state = SearchState(0, n_splits)
        self.scores, self.end, self.compiling = scores, end, compiling
        self.seconds = seconds or {name: plan.seconds for name, plan in models.items()}
        self.now = 0.0
        self.jobs = []  # (model, batch, split), as they were started

    def next(self):
        return self.schedule.next_job(self.state, self.now, self.end, self.compiling)

    def step(self):
        """Start the next job and let it end; False where there is none."""
        job = self.next()
        if job is None:
            return False
        self.jobs.append((job.batch.model, job.batch.number, job.split))
        self.state = self.schedule.start(self.state, job)
        taken = self.seconds[job.batch.model] * self.schedule.models[job.batch.model].growth[job.batch.rung]
        if taken > job.limit:
            outcome = JobOutcome(job.limit, out_of_time=self.now + job.limit >= self.end)
        else:
            score = self.scores[job.batch.model]
            outcome = JobOutcome(taken, tuple(score for _ in job.batch.settings))
        self.now += outcome.seconds
        self.state = self.schedule.record(self.state, job, outcome)
        return True

    def run(self, n_jobs=10_000):
        for _ in range(n_jobs):
            if self.now >= self.end or not self.step():
                break
        return self


def test_models_open_on_the_first_split_the_cheap_ones_first():
    found = Simulation(plans(slow=2.0, quick=0.1, middle=0.5), {"slow": 1, "quick": 0, "middle": 0.5}).run(3)
    assert found.jobs == [("quick", 0, 0), ("middle", 1, 0), ("slow", 2, 0)]


def test_after_three_models_the_best_is_finished_before_the_next_opens():
    models = plans(a=0.1, b=0.2, c=0.3, d=0.4)
    found = Simulation(models, {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.2}).run(8)
    assert [model for model, _, _ in found.jobs] == ["a", "b", "c", "b", "b", "b", "b", "d"]
    assert [split for _, _, split in found.jobs[3:7]] == [1, 2, 3, 4]
    assert found.state.batches[1].complete(N_SPLITS)


def test_the_best_of_every_cheap_model_goes_on_to_all_splits():
    found = Simulation(plans(a=0.1, b=0.1, c=0.1), {"a": 0.1, "b": 0.9, "c": 0.5}).run(15)
    assert {model for model, _, _ in found.jobs[3:7]} == {"b"}
    assert all(batch.complete(N_SPLITS) for batch in found.state.batches)
    assert not found.state.eliminated


def test_new_settings_are_drawn_for_the_models_that_do_best():
    found = Simulation(plans(good=0.1, fair=0.1, bad=0.1), {"good": 0.9, "fair": 0.5, "bad": 0.1}, end=60.0).run()
    spent = {name: sum(one.spent for one in found.state.of_model(name)) for name in ("good", "fair", "bad")}
    assert spent["good"] > 1.5 * spent["fair"] > 1.5 * spent["bad"] > 0
    assert all(len(found.state.of_model(name)) <= MOST_BATCHES for name in spent)


def test_a_model_that_cannot_be_searched_has_one_batch():
    found = Simulation({"fixed": ModelPlan("fixed", 0.1)}, {"fixed": 0.5}).run()
    assert found.jobs == [("fixed", 0, split) for split in range(N_SPLITS)]


def test_the_search_ends_with_its_time():
    found = Simulation(plans(a=0.3, b=0.4), {"a": 0.1, "b": 0.2}, end=10.0).run()
    assert 9.0 < found.now <= 10.0 + 0.4
    found.now = 10.0
    assert found.next() is None
    assert found.state.finished


def test_a_model_that_takes_too_long_for_all_splits_waits_and_one_that_takes_too_long_at_all_never_opens():
    found = Simulation(plans(quick=0.1, slow=30.0, endless=1000.0), {"quick": 0.5, "slow": 0.6, "endless": 1}).run(1)
    assert found.jobs[0] == ("quick", 0, 0)
    found.run()
    opened = [model for model, _, _ in found.jobs]
    assert "endless" not in opened
    assert found.state.unfinished_reason("endless") == ("not finished", "not started, the budget was used up")


def test_a_job_that_is_far_slower_than_predicted_is_stopped():
    models = plans(quick=0.1, liar=0.1)
    found = Simulation(models, {"quick": 0.5, "liar": 0.9}, seconds={"quick": 0.1, "liar": 80.0}).run()
    (stopped,) = found.state.of_model("liar")
    assert stopped.stopped == "too slow"
    assert found.state.unfinished_reason("liar")[0] == "too slow"
    assert stopped.spent == pytest.approx(50.0, rel=0.05)  # half of the time that was left
    assert found.state.finished


def test_the_patience_with_a_model_follows_what_was_measured():
    found = Simulation(plans(a=2.0, b=2.0), {"a": 0.1, "b": 0.2}).run(2)
    job = found.next()
    assert job.limit == PATIENCE * 2.0
    quick = Simulation(plans(a=0.01, b=0.01), {"a": 0.1, "b": 0.2}).run(2)
    assert quick.next().limit == PATIENCE_LEAST


def test_what_is_stopped_at_the_end_is_not_called_slow():
    found = Simulation(plans(a=0.1, b=4.0), {"a": 0.1, "b": 0.9}, end=11.0).run()
    last = found.state.batches[-1]
    assert all(one.stopped != "too slow" for one in found.state.batches)
    assert last.stopped in ("", "not finished")


def test_models_wait_until_their_code_is_compiled():
    found = Simulation(plans(a=0.1, naive_bayes=0.05), {"a": 0.1, "naive_bayes": 0.9}, compiling=("naive_bayes",))
    found.run(6)
    assert {model for model, _, _ in found.jobs} == {"a"}
    found.compiling = ()
    found.run(1)
    assert found.jobs[-1] == ("naive_bayes", len(found.state.batches) - 1, 0)


def empty(n_batches):
    """So many batches without a setting."""
    return [SettingBatch(number, "a", (), 0.0) for number in range(n_batches)]


def test_no_columns_are_selected_before_naive_bayes_is_compiled():
    space = {**SPACE, "select": ["passthrough", object()]}
    plan = ModelPlan("a", 0.1, space)
    drawn = [plan.draw(empty(number), 0, Schedule({}, 1).strategy, select=False) for number in range(5)]
    assert not any("select" in setting for settings in drawn for setting in settings)
    drawn = [plan.draw(empty(number), 0, Schedule({}, 1).strategy) for number in range(1, 5)]
    assert all("select" in setting for settings in drawn for setting in settings)


def test_a_first_fit_of_compiled_code_may_take_all_the_time():
    models = {"knn": ModelPlan("knn", 0.1, SPACE, compiled=True)}
    assert Simulation(models, {"knn": 0.5}, end=50.0).next().limit == 50.0


def test_a_failure_gives_a_model_up():
    found = Simulation(plans(a=0.1, b=0.1), {"a": 0.5, "b": math.nan}).run(12)
    assert len(found.state.of_model("b")) == 1
    assert found.state.unfinished_reason("b") == ("failed", "the metric is undefined")
    job = SplitJob(found.schedule.open(found.state, "a", 0.0, ()), 0, 1.0)
    state = found.schedule.start(found.state, job)
    state = found.schedule.record(state, job, JobOutcome(0.1, failure="ValueError: no"))
    assert (state.batches[-1].stopped, state.batches[-1].why) == ("failed", "ValueError: no")


def test_batches_behind_too_many_better_ones_are_stopped():
    state = SearchState(0, N_SPLITS)
    schedule = Schedule(plans(a=0.1), 1)
    for number in range(REMEMBERED + 5):
        job = SplitJob(SettingBatch(number, "a", ({},), 0.0), 0, 1.0)
        state = schedule.record(schedule.start(state, job), job, JobOutcome(0.1, (float(number),)))
    assert [one.number for one in state.batches if one.stopped == "outranked"] == [0, 1, 2, 3, 4]


def test_where_nothing_was_finished_the_cheapest_is_whatever_it_takes():
    found = Simulation(plans(a=3.0, b=1.0), {"a": 0.1, "b": 0.2}, end=2.5).run()
    state = found.state.without_pending()
    assert not state.finished
    for split in range(len(state.batches[0].scores), N_SPLITS):
        job = found.schedule.rescue_job(state, found.now)
        assert (job.batch.model, job.split) == ("b", split)
        assert job.limit >= 3600
        state = found.schedule.record(found.schedule.start(state, job), job, JobOutcome(60.0, (0.5,)))
    assert state.finished
    assert found.schedule.rescue_job(state, found.now) is None


def test_a_rescue_tries_one_model_after_the_other():
    schedule, state, tried = Schedule(plans(a=3.0, b=1.0), 1), SearchState(0, N_SPLITS), []
    while (job := schedule.rescue_job(state, 0.0)) is not None:
        tried.append(job.batch.model)
        state = schedule.record(schedule.start(state, job), job, JobOutcome(1.0, failure="no"))
    assert tried == ["b", "a"]


SPACES = {
    "staged": ModelPlan("staged", 0.2, {"n": randint(10, 50), **SPACE}, stages="n", longest=40),
    "shared": ModelPlan(
        "shared", 0.1, {"k": randint(1, 9), "w": [None, (1, 2)], **SPACE}, shared=("k",), n_companions=5
    ),
    "choices": ModelPlan("choices", 0.3, {"sizes": [(8,), (8, 4)], "maps": [{"a": 1}, {"a": 2}]}),
}


def test_settings_that_share_work_are_asked_together():
    settings = SPACES["staged"].draw(empty(0), 0, Schedule({}, 1).strategy)
    assert settings == ({"n": 40}, {"n": 20}, {"n": 10}, {"n": 5})
    settings = SPACES["shared"].draw(empty(0), 0, Schedule({}, 1).strategy)
    assert len(settings) == 6
    assert settings[0] == {}
    later = SPACES["shared"].draw(empty(1), 0, Schedule({}, 1).strategy)
    assert len({one["model__C"] for one in later}) == 1
    assert len({one["k"] for one in later}) > 1


def test_settings_follow_from_seed_model_and_number():
    strategy = Schedule({}, 1).strategy
    plan, other = SPACES["choices"], replace(SPACES["choices"], name="other")
    space = {"x": uniform(0, 1)}
    plan, other = replace(plan, space=space), replace(other, space=space)
    assert plan.draw(empty(3), 1, strategy) == plan.draw(empty(3), 1, strategy)
    different = [
        plan.draw(empty(3), 1, strategy),
        plan.draw(empty(4), 1, strategy),
        plan.draw(empty(3), 2, strategy),
        other.draw(empty(3), 1, strategy),
    ]
    assert len({one[0]["x"] for one in different}) == 4


def test_encoded_settings_are_plain_and_can_be_decoded():
    space = SPACES["choices"].space
    setting = {"sizes": (8, 4), "maps": space["maps"][1]}
    encoded = encode(setting, space)
    assert encoded == {"sizes": {"choice": 1}, "maps": {"choice": 1}}
    assert decode(json.loads(json.dumps(encoded)), space) == setting
    assert encode({"sizes": None, "x": 1.5}, space) == {"sizes": None, "x": 1.5}


@pytest.mark.parametrize("n_jobs", [0, 1, 7, 40, 111])
def test_a_state_that_went_through_json_goes_on_as_before(n_jobs):
    scores = {"staged": 0.3, "shared": math.nan if n_jobs == 7 else 0.5, "choices": 0.4}
    found = Simulation(SPACES, scores, end=60.0).run(n_jobs)
    stored = json.loads(json.dumps(found.state.to_dict(), allow_nan=False))
    again = Simulation(SPACES, scores, end=60.0)
    again.state, again.now = SearchState.from_dict(stored), found.now
    assert again.state.to_dict() == found.state.to_dict()
    before = len(found.jobs)
    found.run(30)
    again.run(30)
    assert len(found.jobs) > before
    assert again.jobs == found.jobs[before:]
    assert [one.settings for one in again.state.batches] == [one.settings for one in found.state.batches]


def test_jobs_that_were_cut_off_are_asked_again():
    found = Simulation(plans(a=0.1, b=0.2), {"a": 0.1, "b": 0.2}).run(4)
    job = found.next()
    cut_off = found.schedule.start(found.state, job)
    assert cut_off != found.state
    assert cut_off.without_pending().to_dict() == found.state.to_dict()


def test_the_schedule_changes_no_state():
    found = Simulation(plans(a=0.1, b=0.2), {"a": 0.1, "b": 0.2}).run(4)
    before = json.dumps(found.state.to_dict())
    job = found.next()
    started = found.schedule.start(found.state, job)
    found.schedule.record(started, job, JobOutcome(0.1, (0.5,)))
    found.schedule.rescue_job(found.state, 1.0)
    assert json.dumps(found.state.to_dict()) == before


class TestBatches:
    batch = SettingBatch(
        0, "a", ({}, {}, {}), 0.0, (0, 1), {0: (0.1, math.nan, 0.3), 1: (0.5, 0.2, 0.4)}, {0: 1.0, 1: 2.0}, {2: "no"}
    )

    def test_the_first_score_is_the_best_on_the_first_split(self):
        assert self.batch.first == 0.3
        assert SettingBatch(0, "a", ({},), 0.0).first == -math.inf

    def test_usable_settings_answered_every_split(self):
        assert self.batch.usable == [0]
        assert replace(self.batch, errors={}, kept=(1, 2)).usable == [2]

    def test_mean_scores(self):
        assert self.batch.mean_score(0) == pytest.approx(0.3)
        assert math.isnan(self.batch.mean_score(1))

    def test_settings_that_some_choice_may_fall_on_are_kept(self):
        """The best of all splits, of all but one, and of the first ones."""
        scores = {0: (9.0, 0.0, 0.0, 3.0), 1: (0.0, 9.0, 0.0, 3.0), 2: (0.0, 0.0, 1.0, 2.0)}
        batch = SettingBatch(0, "a", ({}, {}, {}, {}), 0.0, (0, 1, 2), scores)
        assert settings_to_keep(batch, 1) == (0, 1)
        assert settings_to_keep(batch, 4) == (0, 1, 2, 3)

    def test_counts(self):
        state = SearchState(0, 2, (self.batch, SettingBatch(1, "b", ({},), 0.0)))
        assert (state.n_settings, state.n_models) == (3, 6)
        assert [one.number for one in state.finished] == [0]
        assert state.unfinished_reason("b") == ("not finished", "the budget was used up")
        compiling = replace(state, uncompiled=("c",))
        assert "still being compiled" in compiling.unfinished_reason("c")[1]


def test_a_short_run_finishes_generally_good_models_before_it_tries_others():
    models = plans(quick=0.01, linear=0.05, boosted=0.3)
    models["linear"] = replace(models["linear"], general="linear")
    models["boosted"] = replace(models["boosted"], general="boosting")
    scores = {"quick": 0.9, "linear": 0.5, "boosted": 0.4}
    found = Simulation(models, scores, end=7.0).run(2 * N_SPLITS + 1)
    assert [model for model, _, _ in found.jobs] == ["boosted"] * N_SPLITS + ["linear"] * N_SPLITS + ["quick"]
    late = Simulation(models, scores, end=17.0)  # as short, because the libraries were loaded slowly
    late.now, late.schedule = 10.0, replace(late.schedule, delay=8.0)
    assert late.run(2 * N_SPLITS + 1).jobs == found.jobs
    assert Simulation(models, scores, end=17.0).run(1).jobs[0][0] == "quick"
    large = {**models, "boosted": replace(models["boosted"], seconds=4.0)}
    found = Simulation(large, scores, end=7.0).run(N_SPLITS + 1)
    assert [model for model, _, _ in found.jobs] == ["linear"] * N_SPLITS + ["quick"]


def test_a_short_run_tries_a_variant_of_the_best_model_before_other_models():
    models = plans(quick=0.01, boosted=0.1)
    models["boosted"] = replace(models["boosted"], general="boosting", first=({"leaves": 31}, {"leaves": 128}))
    found = Simulation(models, {"quick": 0.5, "boosted": 0.4}, end=7.0).run(N_SPLITS + 2)
    assert [model for model, _, _ in found.jobs] == ["boosted"] * (N_SPLITS + 1) + ["quick"]
    assert [one.settings[0] for one in found.state.batches[:2]] == [{"leaves": 31}, {"leaves": 128}]
    slow = {**models, "boosted": replace(models["boosted"], seconds=0.9)}
    found = Simulation(slow, {"quick": 0.5, "boosted": 0.4}, end=7.0).run(N_SPLITS + 1)
    assert found.jobs[-1][0] == "quick"


def test_first_settings_come_before_those_of_the_strategy():
    plan = ModelPlan("a", 0.1, SPACE, first=({}, {"x": "as given"}), fixed={"trees": 50})
    batches = []
    for number in range(3):
        batches.append(SettingBatch(number, "a", plan.draw(batches, 0, Random()), 0.0, scores={0: (0.1 * number,)}))
    assert batches[0].settings == ({"trees": 50},)
    assert batches[1].settings == ({"trees": 50, "x": "as given"},)
    assert set(batches[2].settings[0]) == {"trees", *SPACE}


def test_the_strategy_is_told_what_was_tried():
    class Remembers:
        def propose(self, space, trials, rng):
            self.trials = trials
            return Random().propose(space, trials, rng)

    plan, strategy = ModelPlan("a", 0.1, SPACE, fixed={"trees": 50}), Remembers()
    tried = [
        SettingBatch(0, "a", ({"trees": 50},), 0.0, scores={0: (0.5,)}),
        SettingBatch(1, "a", ({"trees": 50, **dict.fromkeys(SPACE, 1)},), 0.0, stopped="failed"),
        SettingBatch(2, "a", ({"trees": 50, **dict.fromkeys(SPACE, 2)},), 0.0),
    ]
    plan.draw(tried, 0, strategy)
    assert [one.state for one in strategy.trials] == ["finished", "failed", "running"]
    assert [one.setting for one in strategy.trials] == [{}, dict.fromkeys(SPACE, 1), dict.fromkeys(SPACE, 2)]
    assert strategy.trials[0].score == 0.5


def staged_scores(schedule, state, job, best_length):
    """Scores that are highest at some number of stages."""
    scores = tuple(-abs(one["n"] - best_length) / 1000 for one in job.batch.settings)
    return schedule.record(schedule.start(state, job), job, JobOutcome(0.1, scores))


@pytest.mark.parametrize("best_length", [200, 10])
def test_a_model_whose_longest_stage_is_best_gets_more_stages(best_length):
    plan = ModelPlan("staged", 0.1, {"n": randint(10, 201), **SPACE}, stages="n", longest=40)
    schedule, state = Schedule({"staged": plan}, 1), SearchState(0, 2)
    for _ in range(4):
        job = schedule.next_job(state, 0.0, 60.0)
        state = staged_scores(schedule, state, job, best_length)
    if best_length == 200:
        assert [one["n"] for one in state.batches[1].settings] == [160, 80]
        assert not plan.longer(replace(state.batches[1], scores={0: (0.1, 0.5), 1: (0.1, 0.5)}), 4)
        longer = replace(state.batches[1], scores={0: (0.5, 0.1), 1: (0.5, 0.1)})
        assert [one["n"] for one in plan.longer(longer, 4)] == [200]  # the bound of the space
    else:
        assert not plan.longer(state.batches[0], 4)


@pytest.mark.parametrize(("forest_score", "expected"), [(-0.42, [25, 100]), (-0.65, [25])])
def test_a_forest_nearly_as_good_as_the_best_model_gets_more_trees(forest_score, expected):
    """The baseline scores -0.7, so forests at -0.42 and -0.65 have 93% and 17% of the gain of the best model."""
    plans = {
        "boosting": ModelPlan("boosting", 0.1, general="boosting"),
        "forest": ModelPlan("forest", 0.1, stages="trees", longest=200, fixed={"trees": 25}, general="forest"),
    }
    schedule, state = Schedule(plans, 1, perfect=0.0, baseline=-0.7), SearchState(0, 2)
    scores = {"boosting": -0.4, "forest": forest_score}
    while (job := schedule.next_job(state, 0.0, 8.0)) is not None:
        state = schedule.record(schedule.start(state, job), job, JobOutcome(0.1, (scores[job.batch.model],)))
    assert [one.settings[0]["trees"] for one in state.of_model("forest") if one.settings[0]["trees"] <= 100] == expected


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 84))])
def test_simulated_runs_keep_their_time_and_score_what_there_was_time_for(seed):
    """Random costs, learning curves and failures: 2,100 runs."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        n_rungs, end = int(rng.integers(1, 4)), float(rng.choice([3.0, 8.0, 30.0, 120.0]))
        growth = tuple(float(4.0**k) for k in range(n_rungs))
        kinds = [*KINDS, *[""] * 13][: int(rng.integers(1, 17))]
        models = {
            f"m{i}": ModelPlan(f"m{i}", end * float(10 ** rng.uniform(-3, 0)), SPACE, growth=growth, general=kind)
            for i, kind in enumerate(kinds)
        }
        wrong = {name: plan.seconds * float(10 ** rng.normal(0, 0.3)) for name, plan in models.items()}
        scores = {name: float("nan") if rng.random() < 0.1 else float(rng.random()) for name in models}
        found = Simulation(models, scores, end=end, seconds=wrong).run()
        assert found.now <= end * 1.001, (seed, end)
        sound = [name for name in models if scores[name] == scores[name]]
        quick = [name for name in sound if wrong[name] * N_SPLITS < 0.02 * end and models[name].seconds < 0.01 * end]
        finished = {one.model for one in found.state.finished}
        assert len(finished) >= min(5, len(quick)), (seed, end, finished, quick)
