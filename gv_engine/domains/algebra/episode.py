"""Episode of algebra for sessions and replays, and the cursor that selects a node and a rule."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gv_engine.domains.algebra.gym_env import ExpressionEnv
from gv_engine.domains.algebra.world import ExpressionWorld, WorldSnapshot, action_names
from gv_engine.rules.frame import ExpressionFrame, TreeNode
from gv_engine.session.episode import PolicyInput, SingleAgentEpisode, add_world_axis

if TYPE_CHECKING:
    from gv_engine.domains.algebra.scenario import AlgebraScenario


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
        """Select a node and one of its rules, by default the first."""
        self.node = node
        rules = self.chosen.rules
        self.rule = rule if rule in rules else rules[0] if rules else -1

    def follow(self, frame: ExpressionFrame) -> None:
        """Set a new frame and select the node that the last move changed, or else the same node as
        before."""
        before, previous, self.frame = self.chosen, self.frame, frame
        if (previous.steps, previous.nodes) == (frame.steps, frame.nodes):
            return
        changed = any(node.changed for node in frame.nodes)
        same = [node.x for node in frame.nodes if node.identity == before.identity]
        self.choose(same[0] if same and not changed else _changed_or_usable_node(frame))

    def command(self, name: str) -> str:
        """Run a command of the bindings' group `algebra`.

        Returns:
            The action to take; empty if the command only moves the cursor, or the rule does not
            apply.
        """
        if name in ("node_before", "node_after"):
            step = 1 if name == "node_after" else -1
            self.choose(max(0, min(len(self.frame.nodes) - 1, self.node + step)))
        elif name == "node_above":
            self.choose(max(0, self.chosen.parent) if self.chosen.y else self.node)
        elif name == "node_below":
            below = [node.x for node in self.frame.nodes if node.parent == self.node]
            self.choose(below[0] if below else self.node)
        elif name in ("next_usable", "previous_usable"):
            self._select_usable(1 if name == "next_usable" else -1)
        elif name in ("next_rule", "previous_rule") and self.chosen.rules:
            rules = self.chosen.rules
            step = 1 if name == "next_rule" else -1
            self.rule = rules[(rules.index(self.rule) + step) % len(rules)]
        elif name == "apply":
            return self.action(self.rule)
        elif name.startswith(RULE_PREFIX):
            return self.action(int(name.removeprefix(RULE_PREFIX)) - 1)
        return ""

    def action(self, rule: int) -> str:
        """Return the action of a rule at the selected node; empty if the rule does not apply."""
        return f"{self.frame.actions[rule]} {self.node}" if rule in self.chosen.rules else ""

    def _select_usable(self, step: int) -> None:
        """Select the next node in order, or the previous one, that any rule applies to."""
        count = len(self.frame.nodes)
        ring = ((self.node + step * distance) % count for distance in range(1, count + 1))
        self.choose(next((x for x in ring if self.frame.nodes[x].rules), self.node))


def _changed_or_usable_node(frame: ExpressionFrame) -> int:
    """Return the uppermost node that the last move changed, else the first that a rule applies
    to."""
    changed = [node for node in frame.nodes if node.changed]
    if changed:
        return min(changed, key=lambda node: (node.y, node.x)).x
    return next((node.x for node in frame.nodes if node.rules), 0)


# ---- episode -------------------------------------------------------------------------------------


class AlgebraEpisode(SingleAgentEpisode):
    """Episode of an algebra scenario. Actions are texts, a rule and a node: `commutative_swap 3`.


    Args:
        scenario: scenario to play.

    Attributes:
        wait: empty, because there is no action that waits.
        world: world of the episode.
    """

    wait = ""

    def __init__(self, scenario: AlgebraScenario) -> None:
        self.world: ExpressionWorld = scenario.make_world()
        self._first_state, self._name = scenario.first_state, scenario.name
        self._scenario = scenario
        self._names = action_names(self.world.env.rules)

    @property
    def actions(self) -> tuple[str, ...]:
        """Return every rule at every node of the expression, valid or not; those of the first node
        first."""
        size = self.world.state.root.size
        return tuple(f"{name} {node}" for node in range(size) for name in self._names)

    @property
    def ending(self) -> str:
        """Return a text for the player on how the episode ended; empty while the episode goes
        on."""
        return self.world.ending

    def reset(self, seed: int) -> None:
        """Begin the episode that an environment has for a seed.

        Raises:
            ValueError: the scenario's problem cannot be played.
        """
        env = self.world.env
        env.rng = np.random.default_rng(seed)
        self.world.reset(self._first_state(env))

    def refusal_reason(self, action: str) -> str:
        """Return why an action is invalid, as a sentence; empty if the action is valid."""
        pair = self._parse_action(action)
        env, state = self.world.env, self.world.state
        if pair is None:
            return f"{action}: no rule of this level"
        if env.is_valid(state, pair):
            return ""
        rule, node = pair
        return f"{env.rules[rule].name} does not apply to node {node}"

    def _parse_action(self, action: str) -> tuple[int, int] | None:
        """Return (rule, node) of an action; None for a text that is no action."""
        name, _, node = action.rpartition(" ")
        if name not in self._names or not (node.isascii() and node.isdigit()):
            return None
        return self._names.index(name), int(node)

    def step(self, action: str) -> None:
        """Take a valid action."""
        pair = self._parse_action(action)
        assert pair is not None, "callers check `refusal` first"
        self.world.step(pair)

    def mask(self) -> dict[str, bool]:
        """Return True or False for each action: whether the rule applies to the node."""
        mask = self.world.env.mask(self.world.state)
        return dict(zip(self.actions, mask.ravel().astype(bool).tolist(), strict=True))

    @cached_property
    def _observer_env(self) -> ExpressionEnv:
        """Return an environment that computes the observations of this episode."""
        return ExpressionEnv(self._scenario)

    def observe(self) -> PolicyInput:
        """Return observation and info of `ExpressionVectorEnv`."""
        return add_world_axis(*self._observer_env.restore(self.snapshot()))

    def frame(self, message: str) -> ExpressionFrame:
        """Return the frame of the rendering systems, with a message for the player."""
        frames: list[ExpressionFrame] = []
        self.world.render(frames.append, self._name, message)
        return frames[-1]

    def differences(self, was: AlgebraEpisode) -> list[str]:
        """Return sentences on the differences in expression and moves from another episode."""
        sentences = []
        for field, name in (("problem", "expression"), ("moves_remaining", "moves left")):
            before, after = (getattr(e.world.state.agent, field) for e in (was, self))
            if before != after:
                sentences.append(f"{name} {after}, was {before}")
        generators = [e.world.env.rng.bit_generator.state for e in (was, self)]
        if not sentences and generators[0] != generators[1]:
            sentences.append("random draws: more or fewer of them")
        return sentences

    def snapshot(self) -> WorldSnapshot:
        """Return a snapshot of the world, which is the whole episode."""
        return self.world.snapshot()

    def restore(self, snapshot: WorldSnapshot) -> None:
        """Restore the episode from a snapshot, which may come from another process."""
        self.world.restore(snapshot)

    row, become = snapshot, restore

    def state(self) -> str:
        """Return a digest of the whole world, 16 hexadecimal digits, equal in every process."""
        world = self.world
        agent = world.state.agent
        content = (
            *(agent.problem, agent.moves_remaining, agent.problem_type, agent.history),
            *(world.state.max_moves, world.steps, repr(world.total), repr(world.reward)),
            *(world.outcome, world.decided_by, world.env.rng.bit_generator.state),
        )
        return hashlib.sha256(json.dumps(content, default=int).encode()).hexdigest()[:16]
