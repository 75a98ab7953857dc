"""Object world of an expression, in which every node is an entity."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import esper
import numpy as np

from gv_engine.plugins.algebra import parser, state
from gv_engine.plugins.algebra.components import (
    Changed,
    Constant,
    Depth,
    Identity,
    InOrder,
    Operator,
    Variable,
)
from gv_engine.plugins.algebra.env import MathyEnv, Move
from gv_engine.plugins.algebra.expression import CONSTANT, VARIABLE, Node
from gv_engine.plugins.algebra.frame import ExpressionFrame, RewriteRecord
from gv_engine.plugins.algebra.library import BaseRule, expressions
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.state import START, MathyEnvState
from gv_engine.plugins.algebra.systems import ExpressionCanvas, TreeNode
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import RENDERING, REWARD, TERMINATING, TRANSITION, Call, Phase
from gv_engine.rules.turns import describe_ending
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.columns import ESPER_LOCK, EsperContext

TRUNCATED_AFTER = 3
"""Default step limit of an episode, in multiples of its allowed moves."""


class AlgebraProcessor(esper.Processor):
    """esper processor that runs one system in its phase. Each system has its own subclass, because
    esper identifies processors by class."""

    def __init__(self, phase: Phase, call: BoundCall) -> None:
        self.phase, self.call = phase, call

    def process(self, world: ExpressionWorld, phases: tuple[Phase, ...], *leading: Any) -> None:
        """Run this processor's system on `world` if its phase is among `phases`, unless a system
        has already decided the reward of the move; rendering systems run in any case. `leading` are
        further arguments of the system."""
        # once a system has decided, only rendering systems still run
        if (world.verdict is None or self.phase is RENDERING) and self.phase in phases:
            world.last_call = self.call.call
            self.call.run(world, NOTHING, leading)


@functools.cache
def _processor_class(system: str) -> type[AlgebraProcessor]:
    return type(system, (AlgebraProcessor,), {})


_SNAPSHOT_ATTRIBUTES = (
    *("state", "action", "decided_by", "steps", "total", "reward", "discount"),
    *("terminated", "truncated", "success"),
)
"""Attributes of a world that a snapshot stores."""


@dataclass(frozen=True)
class WorldSnapshot:
    """Snapshot of a world for `ExpressionWorld.restore`; opaque to callers."""

    attributes: Mapping[str, Any]
    generator: Mapping[str, Any]
    identities: tuple[int, ...]
    changed: frozenset[int]


class ExpressionWorld(Move):
    """World of one environment, which plays episode after episode.

    Entities are created when `entities` is first read. From then on they follow the rules: a node
    that a rule keeps also keeps its entity.

    Args:
        env: environment to play; the world uses its generator.
        max_steps: step limit of an episode, invalid moves included; three times its allowed moves
            if None.
        success: condition that is true if an episode ended successfully, if any.

    Attributes:
        context: esper context with the systems in order and the components of the nodes.
        steps, total: number of steps of the episode, and the sum of their rewards.
        reward, discount: results of the last step.
        terminated, truncated, success: flags of the end of the episode.
        time_limit: step that truncates an episode in any case, as by Gymnasium's `TimeLimit`; None
            for no such step.
    """

    env: MathyEnv
    time_limit: int | None = None

    def __init__(
        self, env: MathyEnv, max_steps: int | None = None, success: Call | None = None
    ) -> None:
        """Make a world that plays episodes of `env`. `success` is the function that decides if an
        episode was won, with its arguments."""
        super().__init__(env, MathyEnvState("0", 0), START)
        self._max_steps = max_steps
        self._success = None if success is None else BoundCall(success)
        self.context = EsperContext()
        self.context.release_with(self)
        self._entities: list[int] = []  # in order; empty until `entities` is read
        self._numbers = itertools.count(1)  # next `Identity` numbers
        self._reset_counters()
        uses_esper = False  # in a step; only systems of authors may
        with self.context:
            for phase, calls in env.order.items():
                for call in calls:
                    esper.add_processor(_processor_class(call.call.name)(phase, call))
                    uses_esper |= not is_engine_module(call.call.system.function.__module__)
        self._step_context: Any = self.context if uses_esper else ESPER_LOCK

    def _reset_counters(self) -> None:
        """Reset step count, total reward and end of episode for a new episode."""
        self.steps = 0
        self.total = self.reward = 0.0
        self.discount = 1.0
        self.terminated = self.truncated = self.success = False

    def reset(self, state: MathyEnvState) -> None:
        """Start an episode in the state `state`."""
        self.begin(state, START)
        self._reset_counters()
        self._delete_entities()

    def step(self, action: state.MathyAction) -> None:
        """Take a move, given as an action number or a pair (rule, node). Set `reward`,
        `terminated`, `truncated` and the other results.

        Raises:
            ValueError: the episode is over, or the move is invalid and the response is "raise".
        """
        if self.terminated or self.truncated:
            raise ValueError("the episode is over: call reset()")
        self.begin(self.state, *self.env.check(self.state, action))
        if self._success:
            self._success.remember_before_step(self, NOTHING)
        # as by `esper.process`, which would take a tenth of a step to ask all processors
        with self._step_context:
            verdict = self.env.decide(self, TRANSITION, TERMINATING, REWARD)
        self.steps += 1
        self.discount = verdict.discount
        self.total += verdict.reward
        self.terminated = state.is_terminal_transition(verdict)
        self.truncated = not self.terminated and self.steps >= self.max_steps
        self.truncated |= self.steps >= (self.time_limit or sys.maxsize)
        self.success = self.terminated and bool(self._success and self._success.run(self, NOTHING))

    @property
    def max_steps(self) -> int:
        """Return the step limit of the episode."""
        return self._max_steps or TRUNCATED_AFTER * self.state.max_moves

    @property
    def outcome(self) -> str:
        """Return "win", "lose" or "truncated"; an empty text while the episode goes on."""
        if self.terminated:
            return "win" if self.reward > 0 else "lose"
        return "truncated" if self.truncated else ""

    @property
    def ending(self) -> str:
        """Return a sentence for the player on how the episode ended; "" if it has not ended."""
        if not (self.terminated or self.truncated):
            return ""
        calls = (bound_call.call for bound_call in self.env.order[TERMINATING])
        deciding = [call for call in calls if call.name == self.decided_by]
        success = self._success.call if self._success and self.success else None
        return describe_ending(success, self.truncated, deciding)

    # ---- entities -----------------------------------------------------------------------------

    @property
    def entities(self) -> list[int]:
        """Return the entities of all nodes of the expression, from left to right. They are created
        on first access."""
        if not self._entities:
            with self.context:
                self._entities = [self._create_entity() for _ in range(self.state.root.size)]
                self._set_components(self._changed_nodes())
        return self._entities

    def _changed_nodes(self) -> frozenset[int]:
        """Return the indices of the nodes that the last move changed. They are found by repeating
        the move in mathy_core."""
        history = self.state.agent.history
        if len(history) < 2:
            return frozenset()
        before, after = history[-2:]
        nodes = self._new_nodes(parse(before.raw), after.action)
        return _changed_indices(nodes) if len(nodes) == self.state.root.size else frozenset()

    def _new_nodes(self, before: Node, action: tuple[int, int]) -> list[expressions.MathExpression]:
        """Apply the move `action`, (rule, node), to the expression `before` in mathy_core. Return
        the nodes of the new expression in order, with ids and change flags."""
        number, node = action
        result = self.env.rules.change(before, node, number).result
        assert result is not None, "the move was made"
        return result.get_root().to_list("inorder")

    def _create_entity(self) -> int:
        return esper.create_entity(Identity(next(self._numbers)))

    def rewrite(self) -> None:
        """Apply the rule of the current move to its node. Set `state` to the next state, and update
        the nodes' entities if they exist."""
        before = self.state
        super().rewrite()
        if self._entities:
            with self.context:
                self._update_entities(before.root)

    def _update_entities(self, before: Node) -> None:
        """Update the entities after a move; `before` is the expression before it. Nodes that remain
        keep their entity, new nodes get one, and those of removed nodes are deleted."""
        nodes = self._new_nodes(before, self.action)
        if len(nodes) != self.state.root.size:  # the text parses to another tree
            self._delete_entities()
            return
        # ids of mathy_core's nodes are the indices before the move
        old_entities = {str(index): entity for index, entity in enumerate(self._entities)}
        # if a rule copies a node, the first copy keeps the entity
        self._entities = [
            old_entities.pop(node.id, NOTHING) or self._create_entity() for node in nodes
        ]
        for entity in old_entities.values():
            esper.delete_entity(entity, immediate=True)
        self._set_components(_changed_indices(nodes))

    def _set_components(self, changed: frozenset[int]) -> None:
        """Set the components of all entities from their nodes. `changed` has the indices of the
        nodes that the last move changed."""
        entities = self._entities

        def set_entity(node: Node, first: int, depth: int) -> int:
            # `first` is the index of the first node of this subtree
            index = first + (node.left.size if node.left is not None else 0)
            left = NOTHING if node.left is None else set_entity(node.left, first, depth + 1)
            right = NOTHING if node.right is None else set_entity(node.right, index + 1, depth + 1)
            entity = entities[index]
            for component_type in (Constant, Variable, Operator, Changed):
                if esper.has_component(entity, component_type):
                    esper.remove_component(entity, component_type)
            esper.add_component(entity, _node_component(node, left, right))
            esper.add_component(entity, InOrder(index))
            esper.add_component(entity, Depth(depth))
            if index in changed:
                esper.add_component(entity, Changed())
            return entity

        set_entity(self.state.root, 0, 0)

    def _delete_entities(self) -> None:
        """Delete the entities of all nodes from the esper world."""
        if self._entities:
            with self.context:
                for entity in self._entities:
                    esper.delete_entity(entity, immediate=True)
        self._entities = []

    # ---- rendering ----------------------------------------------------------------------------

    def render(
        self, show: Callable[[ExpressionFrame], None], title: str = "", message: str = ""
    ) -> None:
        """Run the rendering systems, and pass the resulting frame to `show`. The world does not
        change.

        Args:
            show: receives the finished frame.
            title: title of the frame.
            message: message for the player.
        """
        canvas = WorldCanvas(show, self, title, message)
        with self.context:
            assert self.entities
            esper.process(self, (RENDERING,), canvas)

    # ---- snapshots ----------------------------------------------------------------------------

    def snapshot(self) -> WorldSnapshot:
        """Return a picklable snapshot of the world and its random generator, for `restore`."""
        with self.context:
            numbers = [esper.component_for_entity(e, Identity).number for e in self._entities]
            changed = [n for n, e in enumerate(self._entities) if esper.has_component(e, Changed)]
        attributes = {name: getattr(self, name) for name in _SNAPSHOT_ATTRIBUTES}
        generator = self.env.rng.bit_generator.state
        return WorldSnapshot(attributes, generator, tuple(numbers), frozenset(changed))

    def restore(self, snapshot: WorldSnapshot) -> None:
        """Restore the world and its random generator from a snapshot.

        Raises:
            TypeError: the argument is no snapshot.
        """
        if not isinstance(snapshot, WorldSnapshot):
            raise TypeError(f"found a {type(snapshot).__name__}, expected a snapshot")
        self.begin(snapshot.attributes["state"], snapshot.attributes["action"])
        vars(self).update(snapshot.attributes)
        self.env.rng.bit_generator.state = snapshot.generator
        self._delete_entities()
        if snapshot.identities:
            with self.context:
                self._entities = [esper.create_entity(Identity(n)) for n in snapshot.identities]
                self._set_components(snapshot.changed)
            latest = max(snapshot.identities)
            self._numbers = itertools.count(max(latest + 1, next(self._numbers)))


class WorldCanvas(ExpressionCanvas):
    """Canvas that builds an `ExpressionFrame` from the drawn nodes of a world.

    Args:
        show_frame: receives the finished frame.
        world: world to draw once.
        title: title of the frame.
        message: message for the player.
    """

    def __init__(
        self,
        show_frame: Callable[[ExpressionFrame], None],
        world: ExpressionWorld,
        title: str,
        message: str,
    ) -> None:
        """Make the canvas that rendering systems draw `world` on. The finished frame, with this
        title and message, is passed to `show_frame`."""
        self._show_frame, self._world = show_frame, world
        self._title, self._message = title, message
        self._spans = parser.find_spans(world.state.agent.problem, world.state.root)
        self._mask = world.env.mask(world.state)

    def spans(self, node: int) -> tuple[parser.Span, parser.Span]:
        """Return the character ranges of a node and of its subtree."""
        return self._spans.node_spans[node], self._spans.subtree_spans[node]

    def rules_at(self, node: int) -> tuple[int, ...]:
        """Return the numbers of the rules that apply to a node."""
        return tuple(np.flatnonzero(self._mask[node]).tolist())

    def show(self, nodes: tuple[TreeNode, ...]) -> None:
        """Build a frame from the world and the drawn `nodes`, and pass it to `show_frame`."""
        w = self._world
        rules = w.env.rules
        number, node = w.action
        has_moved = w.steps and w.action != START
        frame = ExpressionFrame(
            title=self._title,
            text=w.state.agent.problem,
            nodes=nodes,
            rules=tuple(rule.name for rule in rules),
            codes=tuple(rule.code for rule in rules),
            actions=action_names(rules),
            history=tuple(
                RewriteRecord(text, rules[rule].name if (rule, at) != START else "", at)
                for text, (rule, at) in w.state.agent.history
            ),
            moves_remaining=w.state.agent.moves_remaining,
            max_moves=w.state.max_moves,
            action=f"{rules[number].name} at {node}" if has_moved and number < len(rules) else "",
            reward=w.reward,
            terms={w.decided_by: w.reward} if w.decided_by else {},
            total=w.total,
            steps=w.steps,
            max_steps=w.max_steps,
            outcome=w.outcome,
            success=w.success,
            ending=w.ending,
            message=self._message,
        )
        self._show_frame(frame)


def _changed_indices(nodes: Sequence[expressions.MathExpression]) -> frozenset[int]:
    return frozenset(index for index, node in enumerate(nodes) if node._changed)


def action_names(rules: Sequence[BaseRule]) -> tuple[str, ...]:
    """Return the name of each rule's actions, such as `commutative_swap`. The full name of an
    action adds the node, as in `commutative_swap 3`."""
    names: list[str] = []
    for rule in rules:
        name = "_".join(rule.name.lower().split())
        names.append(name if name not in names else f"{name}_{len(names)}")
    return tuple(names)


def _node_component(node: Node, left: int, right: int) -> Constant | Variable | Operator:
    if node.kind is CONSTANT:
        return Constant(node.value)  # type: ignore[arg-type]  # a number
    return Variable(node.name) if node.kind is VARIABLE else Operator(node.name, left, right)
