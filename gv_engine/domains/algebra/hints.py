"""Hints for algebra: best-first search for a win, in the background."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.expression import ADD, CA, CONSTANT, MULTIPLY, POWER, VARIABLE, Node
from gv_engine.domains.algebra.rule_set import RewriteError
from gv_engine.domains.algebra.state import MathyEnvState
from gv_engine.domains.algebra.types import is_terminal_transition
from gv_engine.scenario.rule_modules import make_rule_error
from gv_engine.session.autoplay import SolutionPath

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
    """Search for a win from a state and return its first move. Nothing is changed or sampled.

    Args:
        env: environment to solve.
        state: state to start from.
        budget: greatest number of expressions to visit.

    Returns:
        The hint; None if no win was found within the budget and the remaining moves.
    """
    for greed in (1, 2):
        hint = _search(env, state, greed, budget // 2)
        if hint is not None:
            return hint
    return None


def _search(env: MathyEnv, state: MathyEnvState, greed: int, budget: int) -> Hint | None:
    """Return the first move of a win found by best-first search; None if the budget is used up.

    The more `greed`, the sooner a solution is found, and the longer it may be.
    """
    order = itertools.count()  # breaks ties: older expressions first
    seen = {step.raw for step in state.agent.history}
    waiting: list[tuple[int, int, MathyEnvState, Hint | None]] = [(0, 0, state, None)]
    while waiting:
        _, _, current, first = heapq.heappop(waiting)
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
                guess = length + greed * _estimate_moves(root)
                heapq.heappush(waiting, (guess, next(order), next_state, hint))
            elif verdict.reward > 0:
                return hint
            budget -= 1
            if budget <= 0:
                return None
    return None


def _estimate_moves(node: Node) -> int:
    """Return an estimate of the number of moves that it takes to simplify an expression."""
    if node.kind is ADD:
        parts = list(_flatten_operands(node))
        return _estimate_sum_moves(parts) + sum(map(_estimate_moves, parts))
    if node.kind is MULTIPLY:
        parts = list(_flatten_operands(node))
        return _estimate_product_moves(parts) + sum(map(_estimate_moves, parts))
    return bool(node.rule_bits & CA) + sum(map(_estimate_moves, node.children()))


def _estimate_sum_moves(terms: list[Node]) -> int:
    """Return the estimated moves to combine the like terms and numbers of a sum."""
    moves = 0
    last: dict[tuple[str | None, Any], int] = {}
    for place, term in enumerate(terms):
        key = _term_key(term)
        if key is not None:
            if key in last:
                moves += place - last[key] - 1 + (1 if key[0] is None else 2)
            last[key] = place
    return moves


def _term_key(node: Node) -> tuple[str | None, Any] | None:
    """Return the (variable, exponent) key that like terms share; None if the node is no term.

    The coefficient may still be an unevaluated expression.
    """
    if node.term is not None:
        return node.term.key
    left, right = node.left, node.right
    if node.kind is not MULTIPLY or left is None or right is None:
        return None
    return _term_key(right) if _is_number(left) else _term_key(left) if _is_number(right) else None


def _estimate_product_moves(factors: list[Node]) -> int:
    """Return the estimated moves to simplify a product: multiply numbers, combine powers, expand
    sums."""
    bases = [factor.left if factor.kind is POWER else factor for factor in factors]
    names = [base.text for base in bases if base is not None and base.kind is VARIABLE]
    numbers = sum(factor.kind is CONSTANT for factor in factors)
    sums = sum(factor.kind is ADD and not _is_number(factor) for factor in factors)
    return 2 * (len(names) - len(set(names))) + max(0, numbers - 1) + 3 * sums


def _flatten_operands(node: Node) -> Iterator[Node]:
    """Yield the operands of a chain of one operator, from left to right."""
    for child in node.children():
        if child.kind is node.kind:
            yield from _flatten_operands(child)
        else:
            yield child


def _is_number(node: Node) -> bool:
    """Return True if an expression has no variables."""
    return node.kind is not VARIABLE and all(map(_is_number, node.children()))


# ---- hints in the background ---------------------------------------------------------------------


class HintSearch(Thread):
    """Thread that searches for a hint from the current state of a session.

    Args:
        game: session of an algebra scenario.

    Attributes:
        hint: the hint; None until one is found.
        rules: names of the scenario's rules.
    """

    def __init__(self, game: Any) -> None:
        super().__init__(daemon=True)
        self.hint: Hint | None = None
        self._env, self._state = game.scenario.make_env(), game.row().attributes["state"]
        self.rules = game.frame().rules
        self._error = ""
        self.start()

    @property
    def answer(self) -> str:
        """Return the hint, or the reason why there is none, as a sentence."""
        if self.hint is None:
            return self._error or "No way to the goal was found in time"
        moves = "1 move" if self.hint.length == 1 else f"{self.hint.length} moves"
        return f"Hint: {self.rules[self.hint.rule]} current; the goal is {moves} away"

    def run(self) -> None:
        """Search for the hint; store it, or the error message of a failing rule."""
        try:
            self.hint = find_hint(self._env, self._state)
        except Exception as error:  # a user-defined rule may raise anything
            self._error = str(make_rule_error(error))


class HintFinder:
    """Hints for algebra: finds a good next move in a background thread. Implements
    `gv_engine.session.autoplay.HintProvider`."""

    def __init__(self, scenario: Any) -> None:
        self._thread: HintSearch | None = None

    def ask(self, game: Any) -> None:
        """Start a search from the session's current state."""
        self._thread = HintSearch(game)

    def answer(self) -> SolutionPath | None:
        """Return the next move; None while the search runs."""
        if self._thread is None or self._thread.is_alive():
            return None
        hint = self._thread.hint
        if hint is None:
            return SolutionPath((), self._thread.answer)
        return SolutionPath((f"{self._thread.rules[hint.rule]} {hint.node}",), self._thread.answer)

    def close(self) -> None:
        """Drop the search."""
        self._thread = None
