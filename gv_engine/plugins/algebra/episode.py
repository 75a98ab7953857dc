"""Episode of algebra for sessions and replays, with its cursor; hints by a best-first search."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
from collections.abc import Iterator
from functools import cached_property
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from gv_engine.play.session.autoplay import SolutionPath
from gv_engine.play.session.episode import Episode, PolicyInput, add_world_axis
from gv_engine.plugins.algebra.env import MathyEnv
from gv_engine.plugins.algebra.expression import ADD, CA, CONSTANT, MULTIPLY, POWER, VARIABLE, Node
from gv_engine.plugins.algebra.frame import ExpressionFrame
from gv_engine.plugins.algebra.gym_env import ExpressionEnv
from gv_engine.plugins.algebra.rule_set import RewriteError
from gv_engine.plugins.algebra.scenario import AlgebraScenario
from gv_engine.plugins.algebra.state import MathyEnvState, is_terminal_transition
from gv_engine.plugins.algebra.systems import TreeNode
from gv_engine.plugins.algebra.world import ExpressionWorld, WorldSnapshot, action_names
from gv_engine.rules.errors import format_count
from gv_engine.scenario.documents.rule_errors import make_rule_error

# ---- cursor --------------------------------------------------------------------------------------

RULE_PREFIX = "rule_"
"""Prefix of the commands that apply a rule by its number, counted from 1."""


class TreeCursor:
    """Cursor on a node and on one of the rules that apply to the node.

    Args:
        frame: first frame.

    Attributes:
        frame: current frame.
        node: index of the selected node, in order.
        rule: number of the selected rule; -1 if none applies to the node.
    """

    def __init__(self, frame: ExpressionFrame) -> None:
        self.frame = frame
        self.choose(_changed_or_usable_node(frame))

    @property
    def chosen(self) -> TreeNode:
        """Return the selected node."""
        return self.frame.nodes[self.node]

    def choose(self, node: int, rule: int | None = None) -> None:
        """Select the node with index `node` and the rule with number `rule`; if that rule does not
        apply to the node, select the first rule that applies."""
        self.node = node
        rules = self.chosen.rules
        self.rule = rule if rule in rules else rules[0] if rules else -1

    def follow(self, frame: ExpressionFrame) -> None:
        """Continue on a new frame. Select the topmost node that the last move changed. If it
        changed no node, keep the selected node if it still exists."""
        selected, previous, self.frame = self.chosen, self.frame, frame
        if (previous.steps, previous.nodes) == (frame.steps, frame.nodes):
            return
        is_changed = any(node.changed for node in frame.nodes)
        kept = [node.x for node in frame.nodes if node.identity == selected.identity]
        self.choose(kept[0] if kept and not is_changed else _changed_or_usable_node(frame))

    def command(self, name: str) -> str:
        """Run the key command `name`, such as "node_below" or "apply". Return the action to take,
        or "" if the command only moves the cursor.

        Returns:
            The action to take; empty if the command only moves the cursor, or the rule does not
            apply.
        """
        nodes, rules = self.frame.nodes, self.chosen.rules
        step = -1 if name in ("node_before", "previous_usable", "previous_rule") else 1
        if name in ("node_before", "node_after"):
            self.choose(max(0, min(len(nodes) - 1, self.node + step)))
        elif name == "node_above":
            self.choose(self.chosen.parent if self.chosen.parent >= 0 else self.node)
        elif name == "node_below":
            children = (x for x, node in enumerate(nodes) if node.parent == self.node)
            self.choose(next(children, self.node))
        elif name in ("next_usable", "previous_usable"):
            others = ((self.node + step * k) % len(nodes) for k in range(1, len(nodes)))
            self.choose(next((x for x in others if nodes[x].rules), self.node))
        elif name in ("next_rule", "previous_rule") and rules:
            self.rule = rules[(rules.index(self.rule) + step) % len(rules)]
        elif name == "apply":
            return self.action(self.rule)
        elif name.startswith(RULE_PREFIX):
            return self.action(int(name.removeprefix(RULE_PREFIX)) - 1)
        return ""

    def action(self, rule: int) -> str:
        """Return the action of a rule at the selected node; empty if the rule does not apply."""
        return f"{self.frame.actions[rule]} {self.node}" if rule in self.chosen.rules else ""


def _changed_or_usable_node(frame: ExpressionFrame) -> int:
    """Return the index of the topmost node that the last move changed. If it changed none, return
    that of the first node with an applicable rule."""
    changed = [node for node in frame.nodes if node.changed]
    if changed:
        return min(changed, key=lambda node: (node.y, node.x)).x
    return next((node.x for node in frame.nodes if node.rules), 0)


# ---- episode -------------------------------------------------------------------------------------


class AlgebraEpisode(Episode):
    """Episode of an algebra scenario. Actions are texts, a rule and a node: `commutative_swap 3`.

    Args:
        scenario: scenario to play.

    Attributes:
        wait: empty, because there is no action that waits.
        world: world of the episode.
    """

    def __init__(self, scenario: AlgebraScenario) -> None:
        self.world: ExpressionWorld = scenario.make_world()
        self._scenario, self.partners = scenario, {}
        self._names = action_names(self.world.env.rules)

    @property
    def actions(self) -> tuple[str, ...]:
        """Return the names of all actions, valid or not: every rule at every node of the
        expression, node by node."""
        num_actions = self.world.state.root.size * len(self._names)
        return tuple(map(self.action_name, range(num_actions)))

    @property
    def ending(self) -> str:
        """Return a text for the player on how the episode ended; empty while the episode goes
        on."""
        return self.world.ending

    def reset(self, seed: int) -> None:
        """Start the episode that a Gymnasium environment starts with this seed.

        Raises:
            ValueError: the scenario's problem cannot be played.
        """
        env = self.world.env
        env.rng = np.random.default_rng(seed)
        self.world.reset(self._scenario.first_state(env))

    def action_name(self, index: int) -> str:
        """Return the name of the action with this index in the environment's action space, even if
        its node is beyond the end of the expression."""
        node, rule = divmod(index, len(self._names))
        return f"{self._names[rule]} {node}"

    def action_indices(self, action: str) -> int:
        """Return the number of an action in the environment's action space, given its name, such as
        "commutative_swap 3". Raise ValueError for an unknown name."""
        pair = self._parse_action(action)
        if pair is None:
            raise ValueError(self.refusal_reason(action))
        rule, node = pair
        return node * len(self._names) + rule

    def refusal_reason(self, action: str) -> str:
        """Return a sentence on why `step` cannot take the action with this name; "" if it can.
        Unless `invalid_action_response` is "raise", actions whose rule does not apply are accepted
        too."""
        pair, env = self._parse_action(action), self.world.env
        if pair is None:
            return f"{action}: no rule of this level"
        rule, node = pair
        if node >= env.max_seq_len:
            return f"{action}: node {node} is not among 0 to {env.max_seq_len - 1}"
        if env.invalid_action_response != "raise" or env.is_valid(self.world.state, pair):
            return ""
        return f"{env.rules[rule].name} does not apply to node {node}"

    def _parse_action(self, action: str) -> tuple[int, int] | None:
        """Return (rule, node) for an action's name: "commutative_swap 3" gives (0, 3). None if the
        text is not the name of an action."""
        name, _, node = action.rpartition(" ")
        if name not in self._names or not (node.isascii() and node.isdigit()):
            return None
        return self._names.index(name), int(node)

    def step(self, action: str) -> None:
        """Take an action, given by name, for which `refusal_reason` is empty."""
        pair = self._parse_action(action)
        assert pair is not None, "callers check `refusal_reason` first"
        self.world.step(pair)

    def mask(self, agent: str = "") -> dict[str, bool]:
        """Return for each action, by name, True if its rule applies to its node."""
        mask = self.world.env.mask(self.world.state)
        return dict(zip(self.actions, mask.ravel().astype(bool).tolist(), strict=True))

    @cached_property
    def _observer_env(self) -> ExpressionEnv:
        return ExpressionEnv(self._scenario)

    def observe(self) -> PolicyInput:
        """Return observation and info of the current state in the form of an `ExpressionVectorEnv`
        with a single environment."""
        return add_world_axis(*self._observer_env.restore(self.snapshot()))

    def frame(self, message: str) -> ExpressionFrame:
        """Return a frame with all data to draw the current state, and `message`, a text for the
        player."""
        frames: list[ExpressionFrame] = []
        self.world.render(frames.append, self._scenario.name, message)
        return frames[-1]

    def differences(self, other: AlgebraEpisode) -> list[str]:
        """Return one sentence for each difference from the episode `other` in expression, moves
        left and RNG state; [] if there is none."""
        sentences = []
        for field, name in (("problem", "expression"), ("moves_remaining", "moves left")):
            before, after = (getattr(e.world.state.agent, field) for e in (other, self))
            if before != after:
                sentences.append(f"{name} {after}, was {before}")
        generators = [e.world.env.rng.bit_generator.state for e in (other, self)]
        if not sentences and generators[0] != generators[1]:
            sentences.append("random draws: more or fewer of them")
        return sentences

    def snapshot(self) -> WorldSnapshot:
        """Return a snapshot of the episode's world; the episode has no other state."""
        return self.world.snapshot()

    def restore(self, snapshot: WorldSnapshot) -> None:
        """Restore the episode from a snapshot, which may come from another process."""
        self.world.restore(snapshot)

    row = snapshot

    def load_row(self, row: WorldSnapshot) -> None:
        """Set the episode to the state in `row`, a snapshot."""
        self.restore(row)

    def state_digest(self) -> str:
        """Return a hash of the whole state as 16 hexadecimal digits. Equal states have equal hashes
        in every process."""
        world = self.world
        agent = world.state.agent
        content = (
            *(agent.problem, agent.moves_remaining, agent.problem_type, agent.history),
            *(world.state.max_moves, world.steps, repr(world.total), repr(world.reward)),
            *(world.outcome, world.decided_by, world.env.rng.bit_generator.state),
        )
        return hashlib.sha256(json.dumps(content, default=int).encode()).hexdigest()[:16]


# ---- search --------------------------------------------------------------------------------------

SEARCH_BUDGET = 4000
"""Default number of expressions that a search may visit."""


class Hint(NamedTuple):
    """First move of a solution.

    Attributes:
        rule, node: first move.
        length: number of moves to the goal, with the first one.
    """

    rule: int
    node: int
    length: int


def find_hint(env: MathyEnv, state: MathyEnvState, budget: int = SEARCH_BUDGET) -> Hint | None:
    """Search for a sequence of moves that wins from `state`, visiting at most `budget` expressions;
    return its first move, or None if none was found. State and RNG do not change.

    The first half of the budget is for a short solution, the second for any solution.
    """
    return _search(env, state, 1, budget // 2) or _search(env, state, 2, budget // 2)


def _search(env: MathyEnv, state: MathyEnvState, greed: int, budget: int) -> Hint | None:
    """Search best-first for a winning sequence of moves, and return its first move. None if none is
    found within `budget` expressions. The estimated number of moves left is weighted with `greed`.

    The more `greed`, the sooner a solution is found, and the longer it may be.
    """
    order = itertools.count()  # breaks ties: older expressions first
    seen = {step.raw for step in state.agent.history}
    # (estimated length of the solution, order, state, hint to reach the state)
    queue: list[tuple[int, int, MathyEnvState, Hint | None]] = [(0, 0, state, None)]
    while queue:
        _, _, current, first = heapq.heappop(queue)
        length = 1 if first is None else first.length + 1
        for node, rule in np.argwhere(env.mask(current)).tolist():
            try:
                text, root = env.rules.apply(current.root, node, rule)
            except RewriteError:
                continue
            if text in seen:
                continue
            seen.add(text)
            next_state = current.after_move((rule, node), text, root)
            hint = Hint(rule, node, 1) if first is None else first._replace(length=length)
            verdict = env.get_state_transition(next_state)
            if not is_terminal_transition(verdict):
                estimate = length + greed * _estimate_moves(root)
                heapq.heappush(queue, (estimate, next(order), next_state, hint))
            elif verdict.reward > 0:
                return hint
            budget -= 1
            if budget <= 0:
                return None
    return None


def _estimate_moves(node: Node) -> int:
    """Return a heuristic estimate of the number of moves needed to simplify an expression."""
    if node.kind not in (ADD, MULTIPLY):
        return bool(node.rule_bits & CA) + sum(map(_estimate_moves, node.children()))
    parts = list(_flatten_operands(node))
    estimate = _estimate_sum_moves if node.kind is ADD else _estimate_product_moves
    return estimate(parts) + sum(map(_estimate_moves, parts))


def _estimate_sum_moves(terms: list[Node]) -> int:
    """Return a heuristic estimate of the number of moves needed to combine the like terms and
    numbers among `terms`, the operands of a sum."""
    num_moves = 0
    last_index: dict[tuple[str | None, Any], int] = {}
    for index, term in enumerate(terms):
        key = _term_key(term)
        if key is None:
            continue
        if key in last_index:
            num_swaps = index - last_index[key] - 1
            is_number = key[0] is None  # numbers need no factoring before they are added
            num_moves += num_swaps + (1 if is_number else 2)
        last_index[key] = index
    return num_moves


def _term_key(node: Node) -> tuple[str | None, Any] | None:
    """Return (variable, exponent) of a term, which is the same for like terms: 2x^3 gives ("x", 3).
    None if the node is no term.

    The coefficient may still be an unevaluated expression.
    """
    if node.term is not None:
        return node.term[1:]
    left, right = node.left, node.right
    if node.kind is not MULTIPLY or left is None or right is None:
        return None
    if _is_number(left):
        return _term_key(right)
    return _term_key(left) if _is_number(right) else None


def _estimate_product_moves(factors: list[Node]) -> int:
    """Return a heuristic estimate of the number of moves needed to simplify a product: multiply its
    numbers, combine powers, expand sums."""
    bases = [factor.left if factor.kind is POWER else factor for factor in factors]
    names = [base.text for base in bases if base is not None and base.kind is VARIABLE]
    numbers = sum(factor.kind is CONSTANT for factor in factors)
    sums = sum(factor.kind is ADD and not _is_number(factor) for factor in factors)
    return 2 * (len(names) - len(set(names))) + max(0, numbers - 1) + 3 * sums


def _flatten_operands(node: Node) -> Iterator[Node]:
    """Yield the operands of a nested operator from left to right: a + (b + c) gives a, b and c."""
    for child in node.children():
        if child.kind is node.kind:
            yield from _flatten_operands(child)
        else:
            yield child


def _is_number(node: Node) -> bool:
    return node.kind is not VARIABLE and all(map(_is_number, node.children()))


# ---- hints in the background ---------------------------------------------------------------------


class HintSearch(Thread):
    """Thread that searches for a hint from the current state of a session.

    Args:
        game: session of an algebra scenario.

    Attributes:
        hint: the hint; None until one is found.
        frame: frame of the state, with the names of rules and actions.
    """

    def __init__(self, game: Any) -> None:
        """Start to search for a hint in the background, from the current state of `game`, a play
        session."""
        super().__init__(daemon=True)
        self.hint: Hint | None = None
        self._env, self._state = game.scenario.make_env(), game.row().attributes["state"]
        self.frame: ExpressionFrame = game.frame()
        self._error = ""
        self.start()

    @property
    def answer(self) -> str:
        """Return the hint as a sentence for the player, or the reason why there is none."""
        if self.hint is None:
            return self._error or "No way to the goal was found in time"
        moves = format_count(self.hint.length, "move")
        return f"Hint: {self.frame.rules[self.hint.rule]} here; the goal is {moves} away"

    def run(self) -> None:
        """Search for a hint in this thread and store the result. If a rule raises an error, store
        the message instead."""
        try:
            self.hint = find_hint(self._env, self._state)
        except Exception as error:  # a user-defined rule may raise anything
            self._error = str(make_rule_error(error))


class HintFinder:
    """Hints for algebra: finds a good next move in a background thread. Implements
    `gv_engine.play.session.autoplay.HintProvider`."""

    def __init__(self, scenario: Any, agent: int = 0) -> None:
        self._thread: HintSearch | None = None

    def ask(self, game: Any) -> None:
        """Start a search from the session's current state."""
        self._thread = HintSearch(game)

    def answer(self) -> SolutionPath | None:
        """Return the hint with a sentence for the player, or only a sentence if the search found no
        solution. None while the search is running."""
        if self._thread is None or self._thread.is_alive():
            return None
        hint = self._thread.hint
        actions = (f"{self._thread.frame.actions[hint.rule]} {hint.node}",) if hint else ()
        return SolutionPath(actions, self._thread.answer)

    def close(self) -> None:
        """Ignore the result of the search; its thread runs on until it ends."""
        self._thread = None
