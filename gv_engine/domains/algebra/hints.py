"""Hints that are looked for while the window goes on."""

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
from gv_engine.scenario.rule_modules import failure
from gv_engine.session.autoplay import SolutionPath

# ---- search --------------------------------------------------------------------------------------

BUDGET = 4000
"""Expressions that a hint may look at."""


class Hint(NamedTuple):
    """The first move of a way to the goal.

    Attributes:
        rule, node: the move.
        length: moves to the goal, this one included.
    """

    rule: int
    node: int
    length: int


def find_hint(env: MathyEnv, state: MathyEnvState, budget: int = BUDGET) -> Hint | None:
    """Look for a win from a state; nothing is changed, and nothing drawn.

    Args:
        env: what is played.
        state: where to begin.
        budget: expressions that are looked at, at most.

    Returns:
        None if no way was found within the budget, or within the moves that are left.
    """
    for greed in (1, 2):
        found = _search(env, state, greed, budget // 2)
        if found is not None:
            return found
    return None


def _search(env: MathyEnv, state: MathyEnvState, greed: int, budget: int) -> Hint | None:
    """The more greed, the sooner a way is found, and the longer it may be."""
    order = itertools.count()  # older expressions first, where all else is equal
    seen = {step.raw for step in state.agent.history}
    waiting: list[tuple[int, int, MathyEnvState, Hint | None]] = [(0, 0, state, None)]
    while waiting:
        _, _, here, first = heapq.heappop(waiting)
        length = 1 if first is None else first.length + 1
        for node, rule in np.argwhere(env.mask(here)).tolist():
            try:
                text, root = env.rules.apply(here.root, node, rule)
            except RewriteError:
                continue
            if text in seen:
                continue
            seen.add(text)
            there = here.after((rule, node), text, root)
            hint = Hint(rule, node, 1) if first is None else first._replace(length=length)
            verdict = env.get_state_transition(there)
            if not is_terminal_transition(verdict):
                guess = length + greed * _remaining(root)
                heapq.heappush(waiting, (guess, next(order), there, hint))
            elif verdict.reward > 0:
                return hint
            budget -= 1
            if budget <= 0:
                return None
    return None


def _remaining(node: Node) -> int:
    """About how many moves it takes to simplify an expression."""
    if node.kind is ADD:
        parts = list(_chain(node))
        return _in_sum(parts) + sum(map(_remaining, parts))
    if node.kind is MULTIPLY:
        parts = list(_chain(node))
        return _in_product(parts) + sum(map(_remaining, parts))
    return bool(node.marks & CA) + sum(map(_remaining, node.children()))


def _in_sum(terms: list[Node]) -> int:
    """Like terms are brought together, factored out and added; numbers only added."""
    moves = 0
    last: dict[tuple[str | None, Any], int] = {}
    for place, term in enumerate(terms):
        key = _key(term)
        if key is not None:
            if key in last:
                moves += place - last[key] - 1 + (1 if key[0] is None else 2)
            last[key] = place
    return moves


def _key(node: Node) -> tuple[str | None, Any] | None:
    """What a term has in common with those like it, even if its number is still a sum."""
    if node.term is not None:
        return node.term.key
    left, right = node.left, node.right
    if node.kind is not MULTIPLY or left is None or right is None:
        return None
    return _key(right) if _is_number(left) else _key(left) if _is_number(right) else None


def _in_product(factors: list[Node]) -> int:
    """Numbers are multiplied, powers of a letter put together, and sums multiplied out."""
    bases = [each.left if each.kind is POWER else each for each in factors]
    names = [base.text for base in bases if base is not None and base.kind is VARIABLE]
    numbers = sum(each.kind is CONSTANT for each in factors)
    sums = sum(each.kind is ADD and not _is_number(each) for each in factors)
    return 2 * (len(names) - len(set(names))) + max(0, numbers - 1) + 3 * sums


def _chain(node: Node) -> Iterator[Node]:
    """The operands of an operator, and of the same one below it."""
    for child in node.children():
        if child.kind is node.kind:
            yield from _chain(child)
        else:
            yield child


def _is_number(node: Node) -> bool:
    return node.kind is not VARIABLE and all(map(_is_number, node.children()))


# ---- advice --------------------------------------------------------------------------------------


class Advice(Thread):
    """Looks for a way to the goal of an algebra game, on copies, from where the game is now.

    Args:
        game: a `gv_engine.session.session.Session` of a mathy scenario.

    Attributes:
        hint: the first move of the way; None as long as none is found.
        rules: names of the game's rules.
    """

    def __init__(self, game: Any) -> None:
        super().__init__(daemon=True)
        self.hint: Hint | None = None
        self._env, self._state = game.scenario.make_env(), game.row().standing["state"]
        self.rules = game.frame().rules
        self._wrong = ""
        self.start()

    @property
    def answer(self) -> str:
        """The hint that was found, as a sentence."""
        if self.hint is None:
            return self._wrong or "No way to the goal was found in time"
        moves = "1 move" if self.hint.length == 1 else f"{self.hint.length} moves"
        return f"Hint: {self.rules[self.hint.rule]} here; the goal is {moves} away"

    def run(self) -> None:
        try:
            self.hint = find_hint(self._env, self._state)
        except Exception as error:  # whatever a rule of one's own may raise
            self._wrong = str(failure(error))


class HintFinder:
    """Finds the next move of algebra games; see `gv_engine.session.autoplay.HintProvider`."""

    def __init__(self, scenario: Any) -> None:
        self._advice: Advice | None = None

    def ask(self, game: Any) -> None:
        """Look for a way from the present state."""
        self._advice = Advice(game)

    def answer(self) -> SolutionPath | None:
        """The next move."""
        if self._advice is None or self._advice.is_alive():
            return None
        hint = self._advice.hint
        if hint is None:
            return SolutionPath((), self._advice.answer)
        return SolutionPath((f"{self._advice.rules[hint.rule]} {hint.node}",), self._advice.answer)

    def close(self) -> None:
        """Ask no more."""
        self._advice = None
