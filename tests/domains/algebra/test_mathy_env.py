"""MathyEnv, method by method, and its eight environments."""

from __future__ import annotations

import pickle
import random
import re
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from gv_engine.mathy import EnvRewards, MathyEnvProblem, MathyEnvProblemArgs, StepType, termination
from gv_engine.plugins.algebra.env import MathyEnv
from gv_engine.plugins.algebra.environments import ENVIRONMENTS, PolySimplify
from gv_engine.plugins.algebra.episode import find_hint
from gv_engine.plugins.algebra.library import BaseRule, rules
from gv_engine.plugins.algebra.rule_set import to_library
from gv_engine.plugins.algebra.state import MathyEnvState, is_terminal_transition, problem_hash

CS, DF, AG = 1, 3, 4
DIFFICULTIES = ("easy", "normal", "hard")


def tree(text: str):
    return to_library(MathyEnvState(text).root).root


def test_a_state_stays_as_it_is_and_can_be_pickled():
    state = MathyEnvState(problem="4x + 2x", max_moves=10)
    after, timestep, _ = PolySimplify().get_next_state(state, (DF, 3))
    assert timestep.step_type is StepType.MID
    assert (state.agent.problem, len(state.agent.history)) == ("4x + 2x", 1)
    assert [step.raw for step in after.agent.history] == ["4x + 2x", "(4 + 2) * x"]
    again = pickle.loads(pickle.dumps(after))
    assert again == after
    assert again.root.text == after.root.text


def test_actions_are_numbers_and_pairs():
    env = PolySimplify()
    state = MathyEnvState("4x + 2x")
    assert env.action_size == 7
    assert env.get_agent_actions_count(state) == 49
    assert env.get_action_indices(22) == (CS, 3)
    assert env.get_action_indices(24) == (DF, 3)
    moves = env.get_valid_moves(state)
    assert [number for number, valid in enumerate(moves) if valid] == [22, 24]
    assert env.get_valid_rules(state) == [0, 1, 0, 1, 0, 0, 0]
    assert env.get_actions_for_node(tree("4x + 2x")) == moves
    only = env.get_actions_for_node(tree("4x + 2x"), [rules.CommutativeSwapRule])
    assert [number for number, valid in enumerate(only) if valid] == [22]
    # of a part: its nodes count from its own first one, and know what is around them
    whole = tree("(4x + 2x) + y")
    part = env.get_actions_for_node(whole.left)
    assert part == env.get_actions_for_node(whole)[: len(part)]
    by_number, by_pair = (env.get_next_state(state, action)[0] for action in (24, (DF, 3)))
    assert by_number == by_pair
    with pytest.raises(ValueError, match="allowed are node \\* 7 \\+ rule, and"):
        env.get_next_state(state, "DF")  # type: ignore[arg-type]  # on purpose


def test_tokens_count_from_the_left():
    env = MathyEnv()
    expression = tree("4x + 2x")
    names = [env.get_token_at_index(expression, index) for index in range(7)]
    assert "".join(node.name for node in names if node) == "4*x+2*x"
    assert env.get_token_at_index(expression, 7) is env.get_token_at_index(expression, -1) is None


@pytest.mark.parametrize("action", [(DF, 1), (DF, 7), (DF, -1), (7, 3), (-1, 3), 48, 49, -1])
def test_invalid_moves(action):
    state = MathyEnvState("4x + 2x", 3)
    after, timestep, change = PolySimplify().get_next_state(state, action)
    assert after == state
    assert (timestep.reward, timestep.discount) == (-0.5, 1.0)
    assert not is_terminal_transition(timestep)
    assert change.result is None
    for options in ({"error_invalid": True}, {"invalid_action_response": "raise"}):
        with pytest.raises(ValueError, match="is invalid in '4x \\+ 2x'"):
            PolySimplify(**options).get_next_state(state, action)
    ending = PolySimplify(invalid_action_response="terminal")
    after, timestep, _ = ending.get_next_state(state, action)
    assert (after.agent.moves_remaining, timestep.reward, timestep.discount) == (0, -1.0, 0.0)
    assert is_terminal_transition(timestep)
    with pytest.raises(ValueError, match="the episode is over"):
        ending.get_next_state(after, (DF, 3))


def test_what_raises_on_invalid_moves_says_what_is_valid():
    env = PolySimplify(error_invalid=True)
    with pytest.raises(ValueError, match=r"does not apply to node 1; it applies to the nodes 3"):
        env.get_next_state(MathyEnvState("4x + 2x"), (DF, 1))
    with pytest.raises(ValueError, match="allowed are penalize, raise, terminal"):
        PolySimplify(invalid_action_response="ignore")


def test_finished_states_have_no_next():
    env = PolySimplify()
    for text, moves in (("6x", 5), ("4x + 2x", 0)):
        state = MathyEnvState(text, moves)
        assert env.is_terminal_state(state)
        with pytest.raises(ValueError, match="the episode is over"):
            env.get_next_state(state, 0)


def test_random_actions():
    env = PolySimplify(seed=4)
    expression = tree("4x + 2x + 7")
    valid = {n for n, one in enumerate(env.get_actions_for_node(expression)) if one}
    assert {env.random_action(expression) for _ in range(200)} == valid
    swaps = {env.random_action(expression, rules.CommutativeSwapRule) for _ in range(100)}
    assert swaps == {n for n in valid if n % 7 == CS}
    both = (rules.CommutativeSwapRule, rules.DistributiveFactorOutRule)
    assert {env.random_action(expression, both) % 7 for _ in range(100)} == {CS, DF}
    with pytest.raises(ValueError, match="no VariableMultiplyRule applies anywhere"):
        env.random_action(expression, rules.VariableMultiplyRule)
    one, other = (PolySimplify(seed=9).random_action(expression) for _ in range(2))
    assert one == other


def test_rewards_can_be_chosen():
    env = PolySimplify(rewards=EnvRewards(helpful=0.5, lose=-3.0, revisit=-0.1))
    state = MathyEnvState("4x + 2x + y", 3)
    assert env.get_next_state(state, (DF, 3))[1].reward == 0.5
    state = env.get_next_state(state, (CS, 3))[0]
    state, timestep, _ = env.get_next_state(state, (CS, 3))
    assert timestep.reward == pytest.approx(-0.2)
    assert env.get_next_state(state, (CS, 3))[1].reward == -3.0


def test_coming_back_counts_what_the_expression_prints_as():
    env = ENVIRONMENTS["ComplexSimplify"]()
    state = MathyEnvState("7a * 18a * j", 24)
    said = []
    for node in (1, 1, 3, 1, 3, 3):
        state, timestep, _ = env.get_next_state(state, (AG, node))
        said.append((state.agent.problem, round(timestep.reward, 9)))
    # what is not written as it prints visits its print, and is never visited itself
    written, printed = "7 * a * 18a * j", "7a * 18a * j"
    assert said == [
        *[(written, -0.01), (written, -0.01), (printed, -0.04)],
        *[(written, -0.04), (printed, -0.06), (printed, -1.0)],
    ]


class Halve(BaseRule):
    """2a becomes a: another value."""

    name, code = "Halve", "HV"

    def can_apply_to(self, node):
        return node.name == "2"

    def apply_to(self, node):
        change = super().apply_to(node)
        node.value = 1
        return change.done(node)


class Double(Halve):
    """1a becomes 1a again, in its own way."""

    def can_apply_to(self, node):
        if node.name == "x":
            raise RuntimeError("no letters, please")
        return node.name == "1"

    def apply_to(self, node):
        change = BaseRule.apply_to(self, node)
        node.value = 1
        node.set_changed()
        return change.done(node)


def test_rules_of_ones_own():
    env = MathyEnv(rules=[Halve(), Double(), rules.CommutativeSwapRule()])
    state = MathyEnvState("1y + 2x")
    valid = {divmod(n, 3)[::-1] for n, one in enumerate(env.get_valid_moves(state)) if one}
    assert valid == {(1, 0), (2, 1), (2, 3), (2, 5)}
    after, timestep, _ = env.get_next_state(state, (1, 0))
    assert after.agent.problem == "1y + 2x"
    assert timestep.reward == -0.04  # it has been there


class RuleProperties(MathyEnv):
    """Won when the expression has become short."""

    def get_env_namespace(self):
        return "own.reach"

    def problem_fn(self, params):
        return MathyEnvProblem("2x + 3x", 2, self.get_env_namespace())

    def transition_fn(self, env_state, expression, features):
        assert features.nodes.sum() > 0
        if len(expression.to_list()) < 4:
            return termination(features, self.get_win_signal(env_state))
        return None


def test_an_environment_of_ones_own():
    env = RuleProperties()
    state, problem = env.get_initial_state()
    assert (problem.text, state.max_moves, state.agent.problem_type) == ("2x + 3x", 6, "own.reach")
    state, timestep, _ = env.get_next_state(state, (DF, 3))
    assert not is_terminal_transition(timestep)
    state, timestep, _ = env.get_next_state(state, (0, 1))
    assert (state.agent.problem, timestep.reward) == ("5x", 1.5)
    assert is_terminal_transition(timestep)
    for method in (MathyEnv().get_env_namespace, lambda: MathyEnv().get_initial_state()):
        with pytest.raises(NotImplementedError, match="override this method"):
            method()


def test_longer_than_there_is_room_for():
    problem = MathyEnvProblem("4x + 2x", 2, "own")
    with pytest.raises(ValueError, match="has 7 nodes, allowed are max_seq_len=6"):
        PolySimplify(max_seq_len=6).begin(problem, 5)
    env = PolySimplify(max_seq_len=7)
    state = env.begin(MathyEnvProblem("x * (2 + y)", 2, "own"), 5)
    state, timestep, _ = env.get_next_state(state, (2, 1))
    assert (state.root.size, timestep.reward) == (7, 2.0)
    env = PolySimplify(max_seq_len=9)
    state = env.begin(MathyEnvProblem("(a + b) * (c + 3)", 2, "own"), 5)
    state, timestep, _ = env.get_next_state(state, (2, 3))
    assert state.root.size > 9
    assert (timestep.reward, is_terminal_transition(timestep)) == (-1.0, True)
    assert timestep.observation.nodes.shape == (9,)


def test_it_is_written_in_one_line(capsys):
    env = PolySimplify()
    state = MathyEnvState("4x + 2x", 10)
    after, timestep, change = env.get_next_state(state, (DF, 3))
    line = env.render_state(after, "Distributive Factoring", 3, change, timestep.reward)
    columns = [column.strip() for column in line.split(" | ")]
    assert columns[:4] == ["004", "ca cs dm -- -- -- --", "09", "0.01"]
    assert columns[4] == "distributive factoring(3)"
    assert "\x1b[" in columns[5]  # what has changed is coloured
    commuting = MathyEnv(preferred_term_commute=True)
    for text, node in (("8 / (x / y) + 2y", 5), ("x + 5! + (2y)^3", 1), ("4 * x", 1)):
        moved, _, change = commuting.get_next_state(MathyEnvState(text, 10), (CS, node))
        shown = env.render_state(moved, "swap", node, change, pretty=True).split(" | ")[1]
        assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == moved.agent.problem
        assert shown != moved.agent.problem
    assert env.render_state(state, "initial-state", pretty=True).endswith(" | 4x + 2x")
    env.print_state(state, "initial-state")
    env.print_history(after)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert printed[0].startswith("002 | -- cs -- df -- -- -- | 10 | 0.0 ")
    verbose = PolySimplify(verbose=True, seed=0)
    state, _ = verbose.get_initial_state()
    for searching, lines in ((False, 2), (True, 0)):
        action = verbose.random_action(to_library(state.root).root)
        verbose.get_next_state(state, action, searching=searching)
        assert len(capsys.readouterr().out.splitlines()) == lines


def test_the_end_equals_the_beginning():
    env = PolySimplify(seed=0)
    state = MathyEnvState("4x + 2x", 10)
    after = env.get_next_state(state, (DF, 3))[0]
    env.finalize_state(after)
    for wrong, said in (("7x", "different values"), ("6y", "different variables")):
        with pytest.raises(ValueError, match=said):
            env.finalize_state(state.after_move((DF, 3), wrong, MathyEnvState(wrong).root))


def test_hash_keys_tell_texts_apart():
    env = PolySimplify()
    one, other = MathyEnvState("a * b * c"), MathyEnvState("a * (b * c)")
    assert env.to_hash_key(one) != env.to_hash_key(other)
    assert env.to_hash_key(one) == env.to_hash_key(MathyEnvState("a * b * c", 3))


def test_environments_are_told_apart():
    hashes = {tuple(problem_hash(each.namespace).tolist()) for each in ENVIRONMENTS.values()}
    assert len(hashes) == len(ENVIRONMENTS)
    assert all(0 <= number < 128 for pair in hashes for number in pair)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_problems_are_open_and_touch_nothing_global(name, difficulty):
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002  # only looked at
    env = ENVIRONMENTS[name](seed=3)
    again = ENVIRONMENTS[name](seed=3)
    for _ in range(10):
        state, problem = env.get_initial_state(MathyEnvProblemArgs(difficulty))
        assert problem.type == env.get_env_namespace()
        assert not env.is_terminal_state(state)
        assert state.max_moves == env.max_moves_fn(problem, MathyEnvProblemArgs(difficulty))
        assert state.root.size <= env.max_seq_len
        assert sum(env.get_valid_moves(state))
        assert again.get_initial_state(MathyEnvProblemArgs(difficulty))[1] == problem
    assert before == (random.getstate(), repr(np.random.get_state()))  # noqa: NPY002


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("text", ["x = 3", "4x + 2x = 3"])
def test_an_equation_is_no_problem_and_breaks_no_win_check(name, text):
    env = ENVIRONMENTS[name]()
    won = env.get_state_transition(MathyEnvState(text)).reward > 0
    assert won == (text != "x = 3" and name in ("PolyCommuteLikeTerms", "PolyGroupLikeTerms"))
    with pytest.raises(ValueError, match=f"'{text.replace('+', '.')}' is an equation"):
        env.begin(MathyEnvProblem(text, 2, "own"), 5)


def test_an_assertion_of_ones_own_is_heard():
    class Asserting(RuleProperties):
        def transition_fn(self, env_state, expression, features):
            raise AssertionError("mine")

    with pytest.raises(AssertionError, match="mine"):
        Asserting().get_initial_state()


def test_arguments_that_are_none():
    for problem in (5, None, ["4x"]):
        with pytest.raises(TypeError, match="expected the text of an expression"):
            MathyEnvState(problem)  # type: ignore[arg-type]  # on purpose
    makes: tuple[Any, ...] = (partial(MathyEnvState, "4x"), MathyEnv)
    for make, moves in product(makes, (-1, "3", 2.5, True)):
        with pytest.raises(ValueError, match=r"max_moves=.*: expected a whole number"):
            make(max_moves=moves)
    with pytest.raises(ValueError, match="at least one rule"):
        MathyEnv(rules=[])
    for rule in ("swap", rules.CommutativeSwapRule):
        with pytest.raises(ValueError, match=r"rules\[0\]=.*: expected an object of a subclass"):
            MathyEnv(rules=[rule])  # type: ignore[list-item]  # on purpose
    with pytest.raises(ValueError, match="count from 0"):
        PolySimplify().get_action_indices(-1)
    hard = MathyEnvProblemArgs("hard")
    assert hard.difficulty == "hard"
    one, other = (PolySimplify(seed=1).get_initial_state(each) for each in ("hard", hard))
    assert one == other
    for call in (MathyEnvProblemArgs, PolySimplify().get_initial_state):
        with pytest.raises(ValueError, match="allowed are easy, normal, hard"):
            call("harder")


def test_grouped_terms():
    env = ENVIRONMENTS["PolyGroupLikeTerms"]()
    won = {
        "x + 2x + y": True,
        "x + y + 2x": False,
        "x + y + z": False,  # nothing is like anything
        "4 + x + 2": False,
        "4 + 2 + x^2 + x": True,
        "x + (a + b) * c + 2x": False,  # what is like nothing stands between
    }
    assert {text: env.is_terminal_state(MathyEnvState(text)) for text in won} == won


def test_the_haystack():
    env = ENVIRONMENTS["PolyHaystackLikeTerms"]()
    state = MathyEnvState("2x + 8y^3 + 13z + 5x", 2)
    _, timestep, _ = env.get_next_state(state, (CS, 1))
    assert (timestep.reward, is_terminal_transition(timestep)) == (2.0, True)
    state, timestep, _ = env.get_next_state(state, (CS, 5))
    assert (state.agent.problem, timestep.reward) == ("2x + y^3 * 8 + 13z + 5x", -0.01)
    # the move acts on node 7, the next like term is node 1, the last term node 15
    _, timestep, _ = env.get_next_state(state, (CS, 7))
    assert timestep.reward == pytest.approx(-1 - 6 / 15)
    unlike = MathyEnvState("2x + 3y", 1)
    assert env.get_next_state(unlike, (CS, 1))[1].reward == -2.0


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if name != "ComplexSimplify"])
def test_hints_lead_to_the_goal(name):
    env = ENVIRONMENTS[name](seed=2)
    state, _ = env.get_initial_state()
    generator = env.rng.bit_generator.state
    hint = find_hint(env, state)
    assert hint is not None
    assert env.rng.bit_generator.state == generator
    lengths = [hint.length]
    while hint is not None:
        state, timestep, _ = env.get_next_state(state, hint[:2])
        hint = None if is_terminal_transition(timestep) else find_hint(env, state)
        lengths += [hint.length] if hint else []
    assert timestep.reward > 0
    assert lengths[-1] == 1


def test_no_hint_within_the_budget_or_the_moves():
    env = PolySimplify()
    state = MathyEnvState("4x + 2y + 3x", 9)
    assert find_hint(env, state) == (CS, 3, 3)
    assert find_hint(env, state, budget=2) is None
    assert find_hint(env, MathyEnvState("4x + 2y + 3x", 2)) is None
    assert find_hint(MathyEnv(), MathyEnvState("x + y", 3)) is None
