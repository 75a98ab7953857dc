"""What policies draw is that of the episode, wherever it is drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine.envs.backends.seeding import POLICY, make_purpose_generators, make_rng
from gv_engine.envs.rollout.compiled_play import sample_allowed_actions
from gv_engine.envs.rollout.policy import (
    PolicyError,
    find_run,
    load_policy,
    policies_by_agent,
    policies_needing_default,
    policy_digest,
    remove_file_names,
    with_absolute_paths,
)
from gv_engine.envs.rollout.policy_file import POLICY_FILE
from gv_engine.rules.turns import AgentGroup
from tests.comparing import same

WORLDS = 40


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "seed"), [("random", 3), ("valid", 2**40)])
def test_compiled_draws_are_those_of_the_episodes_generators(name, seed):
    policies = [load_policy(name, WORLDS, 8, compiled=compiled) for compiled in (False, True)]
    pilot = np.random.default_rng(0)
    rngs = {}
    fresh = list(range(WORLDS))
    number = 0
    for _ in range(150):  # more than are drawn at a time
        for policy in policies:
            policy.begin(fresh, seed, range(number, number + len(fresh)))
        for i, world in enumerate(fresh):
            rngs[world] = make_rng(seed, POLICY, number + i)
        number += len(fresh)
        info = {"action_mask": (pilot.random((WORLDS, 8)) < 0.3).astype(np.int8)}
        found, again = (policy.act({}, info) for policy in policies)
        assert np.array_equal(found, again)
        draws = np.array([rngs[world].random() for world in range(WORLDS)])
        if name == "random":
            assert np.array_equal(found, (draws * 8).astype(int))
        fresh = np.flatnonzero(pilot.random(WORLDS) < 0.01).tolist()
    assert number > 2 * WORLDS


def test_the_compiled_sampler_takes_allowed_actions_in_their_order():
    masks = np.array([[0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]], np.int8)
    counts = 1, 2, 4
    seen: list[set[int]] = [set(), set(), set()]
    for number in range(40):
        records = make_purpose_generators(5, POLICY, [number] * 3).view(np.recarray)
        draw = make_rng(5, POLICY, number).random()
        chosen = np.full(3, -1)
        with np.errstate(over="ignore"):  # compiled numbers wrap
            sample_allowed_actions(records, masks, chosen)
        ranks = [int(draw * count) for count in counts]
        assert chosen.tolist() == [2, (0, 3)[ranks[1]], ranks[2]]
        for actions, action in zip(seen, chosen.tolist(), strict=True):
            actions.add(action)
    assert seen == [{2}, {0, 3}, {0, 1, 2, 3}]


def test_behind_a_run_stands_greedy_alone(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / POLICY_FILE).touch()
    with pytest.raises(PolicyError, match="may stand :greedy alone"):
        load_policy(f"{run}:gready", 1, 6)


# ---- a function of one's own -------------------------------------------------------------------

OWN = """
import numpy as np
def fine(observation, info, rngs): return np.array([0, 7], np.int8)
def told(observation, info, rngs): return [7, 0], np.full((2, 8), 1, np.int8)
def pair_of_actions(observation, info, rngs): return 3, 4
def shaped(observation, info, rngs): return [0, 7, 1]
def floats(observation, info, rngs): return [0.0, 1.0]
def negative(observation, info, rngs): return [3, -1]
def beyond(observation, info, rngs): return [8, 9]
def chances_shaped(observation, info, rngs): return [0, 1], np.zeros((2, 7))
def chances_text(observation, info, rngs): return [0, 1], np.full((2, 8), "a")
def few(observation, info): return [0, 0]
def drawing(observation, info, rngs): return [int(rng.random() * 8) for rng in rngs]
number = 7
class Lacking:
    def act(self, observation, info, rngs): pass
class Unmade:
    def act(self, observation, info, rngs): pass
    def begin(self, worlds): pass
class Deaf:
    def __init__(self, num_envs, num_actions): pass
    def act(self, observation, info, rngs): pass
    def begin(self): pass
class Mute(Deaf):
    def act(self, observation): pass
    def begin(self, worlds): pass
class Counting:
    def __init__(self, num_envs, num_actions): self.worlds, self.end = [], num_actions - 1
    def begin(self, worlds): self.worlds = worlds
    def act(self, observation, info, rngs): return [len(self.worlds), self.end]
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "actions", "chances"),
    [("fine", [0, 7], None), ("told", [7, 0], np.ones((2, 8))), ("Counting", [1, 7], None)],
)
def test_actions_of_ones_own(own, name, actions, chances):
    policy = load_policy(f"./own.py:{name}", 2, 8)
    policy.begin([1], 0, [0])
    found = policy.act({}, {})
    assert same(found, np.array(actions, np.int64))
    assert same(policy.probabilities, chances)


def test_generators_of_ones_own_are_those_of_the_episodes(own):
    policy = load_policy("./own.py:drawing", 2, 8)
    policy.begin([0, 1], 5, [3, 4])
    policy.act({}, {})
    policy.begin([0], 5, [9])
    new, old = (make_rng(5, POLICY, number).random(2) for number in (9, 4))
    assert policy.act({}, {}).tolist() == [int(new[0] * 8), int(old[1] * 8)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pair_of_actions", r"returned chances of shape \(\) and dtype int64: expected \(2, 8\)"),
        ("shaped", r"returned shape \(3,\) and dtype int64: expected \(2,\) integers"),
        ("floats", r"returned shape \(2,\) and dtype float64: expected"),
        ("negative", "returned the action -1: allowed are 0 to 7"),
        ("beyond", "returned the action 8: allowed are 0 to 7"),
        ("chances_shaped", r"chances of shape \(2, 7\) and dtype float64: expected \(2, 8\)"),
        ("chances_text", r"chances of shape \(2, 8\) and dtype <U1: expected"),
        ("few", r"few is called with \(observation, info, rngs\): too many positional"),
        ("number", "number is 7; expected a function or class"),
        ("Lacking", "the class lacks `begin`"),
        ("Unmade", r"Unmade is called with \(num_envs, num_actions\)"),
        ("Deaf", r"Deaf.begin is called with \(worlds\)"),
        ("Mute", r"Mute.act is called with \(observation, info, rngs\)"),
        ("fien", "has no function 'fien'.*fine"),
    ],
)
def test_what_is_no_policy_is_told(own, name, message):
    with pytest.raises(PolicyError, match=message):
        load_policy(f"./own.py:{name}", 2, 8).act({}, {})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("valud", "no policy 'valud'.*did you mean 'valid'"),
        ("solvr", "no policy 'solvr'.*solver"),
        ("own.py", "no policy 'own.py'"),
        ("own.txt:fine", "no policy 'own.txt:fine'"),
        ("gone.py:fine", "gone.py cannot be loaded"),
        (f"run/{POLICY_FILE}", "is of a run; name its folder, run"),
    ],
)
def test_names_of_no_policy_are_told(own, name, message):
    (own / "run").mkdir()
    (own / "run" / POLICY_FILE).touch()
    (own / "own.txt").touch()
    with pytest.raises(PolicyError, match=message):
        load_policy(name, 2, 8, more_names=["solver"])


def test_chances_of_what_comes_with_the_engine():
    mask = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]], np.int8)
    for name, expected in (
        ("valid", [[0.5, 0, 0.5, 0], [0.25] * 4, [0, 0, 0, 1]]),
        ("random", [[0.25] * 4] * 3),
    ):
        policy: Any = load_policy(name, 3, 4)
        policy.begin([0, 1, 2], 0, [0, 1, 2])
        policy.act({}, {"action_mask": mask})
        assert policy.probabilities is not None
        assert policy.probabilities.tolist() == expected


# ---- texts of policies -------------------------------------------------------------------------

TEAMS = AgentGroup(names=("ann", "bob", "cat"), teams=(("hunters", (2, 3)),))


def test_policies_of_agents_and_of_teams():
    assert policies_by_agent("valid", TEAMS) == dict.fromkeys(TEAMS.names, "valid")
    assert policies_by_agent("hunters=valid,ann=random", TEAMS) == {
        "ann": "random",
        **dict.fromkeys(("bob", "cat"), "valid"),
    }
    with pytest.raises(PolicyError, match="--policy an=valid: no agent or team 'an'; did you mean"):
        policies_by_agent("an=valid", TEAMS)
    with pytest.raises(
        PolicyError, match="--policy ann=valid,bob: found 'bob', expected NAME=POLI"
    ):
        policies_by_agent("ann=valid,bob", TEAMS)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("valid", "valid"),
        ("./own.py:fine", ":fine"),
        ("run", ""),
        ("run:greedy", ":greedy"),
        ("ann=own.py:fine,bob=random,cat=run", "ann=:fine,bob=random,cat="),
    ],
)
def test_files_of_policies_are_known_by_what_is_in_them(own, text, without):
    (own / "run").mkdir()
    (own / "run" / POLICY_FILE).touch()
    assert remove_file_names(text) == without
    digest = policy_digest(text)
    assert [*map(find_run, policies_needing_default(text))] == [Path("run")] * ("run" in text)
    for file, name in ((own / "own.py", "own.py"), (own / "run" / POLICY_FILE, "run")):
        file.write_text("other")
        assert (policy_digest(text) != digest) == (name in text)
        digest = policy_digest(text)
    assert bool(digest) == (text != "valid")


def test_the_bot_acts_by_the_default_representation_also_for_one_agent_of_several():
    assert policies_needing_default("ann=bot,ben=valid") == ["bot"]
    assert policies_needing_default("ann=valid") == []


def test_policies_are_found_from_another_folder(own):
    (own / "run").mkdir()
    for text, expected in (
        ("random", "random"),
        ("runs=1", f"{own}/runs=1"),
        ("run:greedy", f"{own}/run:greedy"),
        ("./own.py:fine", f"{own}/own.py:fine"),
    ):
        assert with_absolute_paths(text, AgentGroup()) == expected
    several = with_absolute_paths("ann=./own.py:act,bob=valid", AgentGroup(names=("ann", "bob")))
    assert several == f"ann={own}/own.py:act,bob=valid"
    (own / "lr=0.1").mkdir()
    group = AgentGroup(names=("ann", "bob"))
    assert with_absolute_paths("lr=0.1", group) == f"{own}/lr=0.1"
    assert policies_by_agent("lr=0.1", group) == {"ann": "lr=0.1", "bob": "lr=0.1"}
