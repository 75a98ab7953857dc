"""The object world of an expression: every node an entity, once somebody looks at them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import esper
import numpy as np

from components.algebra import Changed, Constant, Depth, Identity, InOrder, Operator, Variable
from gv_engine.domains.algebra import parsing
from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.expression import CONSTANT, VARIABLE, Node
from gv_engine.domains.algebra.library import BaseRule, expressions
from gv_engine.domains.algebra.move import Move
from gv_engine.domains.algebra.parsing import parse
from gv_engine.domains.algebra.state import START, MathyEnvState
from gv_engine.domains.algebra.types import MathyAction, is_terminal_transition
from gv_engine.rules.call import Call
from gv_engine.rules.component import NOTHING
from gv_engine.rules.ending import describe_ending
from gv_engine.rules.frame import ExpressionFrame, RewriteRecord, TreeNode
from gv_engine.rules.rewriting import ExpressionCanvas
from gv_engine.rules.system import RENDERING, REWARD, TERMINATING, TRANSITION, Phase
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.columns import EsperContext

TRUNCATED_AFTER = 3
"""An episode is cut off after so many times the moves that it allows."""


class AlgebraProcessor(esper.Processor):
    """Runs one system when its phase is processed; one subclass each, as esper keys by class."""

    def __init__(self, phase: Phase, call: BoundCall) -> None:
        self.phase, self.call = phase, call

    def process(self, world: ExpressionWorld, phases: tuple[Phase, ...], *leading: Any) -> None:
        # the first that decides is the last that is asked; pictures are drawn after that, too
        if (world.verdict is None or self.phase is RENDERING) and self.phase in phases:
            world.asked = self.call.call
            self.call.run(world, NOTHING, *leading)


@functools.cache
def _kind(system: str) -> type[AlgebraProcessor]:
    """The processor of a system, one for all worlds."""
    return type(system, (AlgebraProcessor,), {})


_MOVING = (TRANSITION, TERMINATING, REWARD)
"""The phases of a move, in the order of every environment's systems."""

_STANDING = (
    *("state", "action", "decided_by", "steps", "total", "reward", "discount"),
    *("terminated", "truncated", "success"),
)
"""Attributes of a world that stand for its episode."""


@dataclass(frozen=True)
class Token:
    """The whole of a world at one time, for `ExpressionWorld.restore`; not to be looked into."""

    standing: Mapping[str, Any]
    generator: Mapping[str, Any]
    identities: tuple[int, ...]
    changed: frozenset[int]


class ExpressionWorld(Move):
    """One game of an environment, episode after episode.

    Entities are made when `entities` is read for the first time, and from then on follow the
    rules: what a rule keeps keeps its entity.

    Args:
        env: what is played; its generator is the world's.
        max_steps: an episode is cut off after so many, invalid moves included; three times the
            moves that it allows if None.
        success: what is true where an episode ends well, if anything says so.

    Attributes:
        context: esper's, with the systems in their order and the nodes' components.
        steps, total: of the episode: how many, and the sum of their rewards.
        reward, discount: of the last step.
        terminated, truncated, success: whether the episode is over, and how.
    """

    env: MathyEnv

    def __init__(
        self, env: MathyEnv, max_steps: int | None = None, success: Call | None = None
    ) -> None:
        super().__init__(env, MathyEnvState("0", 0), START)
        self._max_steps = max_steps
        self._success = None if success is None else BoundCall(success)
        self.context = EsperContext()
        self.context.release_with(self)
        self._entities: list[int] = []  # in order; empty until somebody looks
        self._numbers = itertools.count(1)  # of identities
        self._clear()
        with self.context:
            for phase, calls in env.order.items():
                for call in calls:
                    esper.add_processor(_kind(call.call.name)(phase, call))

    def _clear(self) -> None:
        self.steps = 0
        self.total = self.reward = 0.0
        self.discount = 1.0
        self.terminated = self.truncated = self.success = False

    def reset(self, state: MathyEnvState) -> None:
        """Begin an episode."""
        self.begin(state, START)
        self._clear()
        self._forget()

    def step(self, action: MathyAction) -> None:
        """Take a move; one that is invalid is answered as the environment says.

        Raises:
            ValueError: the episode is over, or the environment raises on invalid moves.
        """
        if self.terminated or self.truncated:
            raise ValueError("the episode is over: call reset()")
        self.begin(self.state, *self.env.checked(self.state, action))
        if self._success:
            self._success.measure(self, NOTHING)
        with self.context:
            esper.process(self, _MOVING)
        verdict = self.settle()
        self.steps += 1
        self.discount = verdict.discount
        self.total += verdict.reward
        self.terminated = is_terminal_transition(verdict)
        self.truncated = not self.terminated and self.steps >= self.max_steps
        self.success = self.terminated and bool(self._success and self._success.run(self, NOTHING))

    @property
    def max_steps(self) -> int:
        """The episode is cut off after so many."""
        return self._max_steps or TRUNCATED_AFTER * self.state.max_moves

    @property
    def outcome(self) -> str:
        """`win`, `lose`, `truncated`, or empty while the episode goes on."""
        if self.terminated:
            return "win" if self.reward > 0 else "lose"
        return "truncated" if self.truncated else ""

    @property
    def ending(self) -> str:
        """How the episode ended, for the player; empty while it goes on."""
        if not (self.terminated or self.truncated):
            return ""
        calls = (bound.call for bound in self.env.order[TERMINATING])
        by = [call for call in calls if call.name == self.decided_by]
        success = self._success.call if self._success and self.success else None
        return describe_ending(success, self.truncated, by)

    # ---- entities -----------------------------------------------------------------------------

    @property
    def entities(self) -> list[int]:
        """The entity of every node, in order."""
        if not self._entities:
            with self.context:
                self._entities = [self._entity() for _ in range(self.state.root.size)]
                self._describe(self._changed())
        return self._entities

    def _changed(self) -> frozenset[int]:
        """Which nodes the last move has changed, found out afterwards."""
        history = self.state.agent.history
        if len(history) < 2:
            return frozenset()
        before, now = history[-2:]
        nodes = self._rewritten(parse(before.raw), now.action)
        return _marked(nodes) if len(nodes) == self.state.root.size else frozenset()

    def _rewritten(self, before: Node, action: tuple[int, int]) -> list[expressions.MathExpression]:
        """The nodes of mathy_core in order after a move, with their ids and marks."""
        number, node = action
        result = self.env.rules.change(before, node, number).result
        assert result is not None, "the move was made"
        return result.get_root().to_list("inorder")

    def _entity(self) -> int:
        return esper.create_entity(Identity(next(self._numbers)))

    def rewrite(self) -> None:
        """Apply the rule: reach the next state, and let the entities follow if there are any."""
        before = self.state.root
        super().rewrite()
        if self._entities:
            self._follow(before)

    def _follow(self, before: Node) -> None:
        nodes = self._rewritten(before, self.action)
        if len(nodes) != self.state.root.size:  # the text parses to another tree
            self._forget()
            return
        old = {str(place): entity for place, entity in enumerate(self._entities)}
        # where a rule has copied a node the first copy keeps the entity
        self._entities = [old.pop(node.id, NOTHING) or self._entity() for node in nodes]
        for entity in old.values():
            esper.delete_entity(entity, immediate=True)
        self._describe(_marked(nodes))

    def _describe(self, changed: frozenset[int]) -> None:
        """Give every entity the components of its node."""
        everywhere = self._entities

        def describe(node: Node, first: int, depth: int) -> int:
            place = first + (node.left.size if node.left is not None else 0)
            left = NOTHING if node.left is None else describe(node.left, first, depth + 1)
            right = NOTHING if node.right is None else describe(node.right, place + 1, depth + 1)
            entity = everywhere[place]
            for kind in (Constant, Variable, Operator, Changed):
                if esper.has_component(entity, kind):
                    esper.remove_component(entity, kind)
            esper.add_component(entity, _component(node, left, right))
            esper.add_component(entity, InOrder(place))
            esper.add_component(entity, Depth(depth))
            if place in changed:
                esper.add_component(entity, Changed())
            return entity

        describe(self.state.root, 0, 0)

    def _forget(self) -> None:
        if self._entities:
            with self.context:
                for entity in self._entities:
                    esper.delete_entity(entity, immediate=True)
        self._entities = []

    # ---- pictures -----------------------------------------------------------------------------

    def render(
        self, show: Callable[[ExpressionFrame], None], title: str = "", message: str = ""
    ) -> None:
        """Run the rendering systems, which change nothing.

        Args:
            show: takes the finished frame.
            title: what the picture is called.
            message: a note for the player.
        """
        canvas = WorldCanvas(show, self, title, message)
        with self.context:
            assert self.entities
            esper.process(self, (RENDERING,), canvas)

    # ---- the whole state ----------------------------------------------------------------------

    def snapshot(self) -> Token:
        """The whole world, generator included, as something opaque that can be pickled."""
        with self.context:
            numbers = [esper.component_for_entity(e, Identity).number for e in self._entities]
            changed = [n for n, e in enumerate(self._entities) if esper.has_component(e, Changed)]
        standing = {name: getattr(self, name) for name in _STANDING}
        generator = self.env.rng.bit_generator.state
        return Token(standing, generator, tuple(numbers), frozenset(changed))

    def restore(self, token: Token) -> None:
        """Become the world that a snapshot was taken of; it has the same future.

        Raises:
            TypeError: that is no snapshot.
        """
        if not isinstance(token, Token):
            raise TypeError(f"found a {type(token).__name__}, expected what snapshot() returned")
        self.begin(token.standing["state"], token.standing["action"])
        vars(self).update(token.standing)
        self.env.rng.bit_generator.state = token.generator
        self._forget()
        if token.identities:
            with self.context:
                self._entities = [esper.create_entity(Identity(n)) for n in token.identities]
                self._describe(token.changed)
            latest = max(token.identities)
            self._numbers = itertools.count(max(latest + 1, next(self._numbers)))


class WorldCanvas(ExpressionCanvas):
    """Takes the picture of a world, and adds to its nodes what else there is to be seen."""

    def __init__(
        self, take: Callable[[ExpressionFrame], None], world: ExpressionWorld, title: str, said: str
    ) -> None:
        self._take, self._world, self._title, self._said = take, world, title, said
        self._spans = parsing.spans(world.state.agent.problem, world.state.root)
        self._mask = world.env.mask(world.state)

    def spans(self, node: int) -> tuple[parsing.Span, parsing.Span]:
        return self._spans.own[node], self._spans.whole[node]

    def rules_at(self, node: int) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self._mask[node]).tolist())

    def show(self, nodes: tuple[TreeNode, ...]) -> None:
        w = self._world
        rules = w.env.rules
        number, node = w.action
        played = w.steps and w.action != START
        frame = ExpressionFrame(
            title=self._title,
            text=self._spans.text,
            nodes=nodes,
            rules=tuple(rule.name for rule in rules),
            codes=tuple(rule.code for rule in rules),
            actions=action_names(rules),
            history=tuple(
                RewriteRecord(raw, rules[rule].name if rule >= 0 else "", place)
                for raw, (rule, place) in w.state.agent.history
            ),
            moves_remaining=w.state.agent.moves_remaining,
            max_moves=w.state.max_moves,
            action=f"{rules[number].name} at {node}" if played and number < len(rules) else "",
            reward=w.reward,
            terms={w.decided_by: w.reward} if w.decided_by else {},
            total=w.total,
            steps=w.steps,
            max_steps=w.max_steps,
            outcome=w.outcome,
            success=w.success,
            ending=w.ending,
            message=self._said,
        )
        self._take(frame)


def _marked(nodes: Sequence[expressions.MathExpression]) -> frozenset[int]:
    """Indices of the nodes that a rule has marked as changed."""
    return frozenset(place for place, node in enumerate(nodes) if node._changed)


def action_names(rules: Sequence[BaseRule]) -> tuple[str, ...]:
    """What the actions of each rule are called, without their node: `commutative_swap`."""
    names: list[str] = []
    for rule in rules:
        name = "_".join(rule.name.lower().split())
        names.append(name if name not in names else f"{name}_{len(names)}")
    return tuple(names)


def _component(node: Node, left: int, right: int) -> Constant | Variable | Operator:
    if node.kind is CONSTANT:
        return Constant(node.value)  # type: ignore[arg-type]  # a number
    if node.kind is VARIABLE:
        return Variable(node.name)
    return Operator(node.name, left, right)
