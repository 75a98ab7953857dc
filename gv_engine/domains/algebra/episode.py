"""An episode of algebra, for games and replays."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gv_engine.domains.algebra.gym_env import ExpressionEnv
from gv_engine.domains.algebra.world import ExpressionWorld, Token, action_names
from gv_engine.rules.frame import ExpressionFrame, TreeNode
from gv_engine.session.episode import PolicyInput, SingleAgentEpisode, add_world_axis

if TYPE_CHECKING:
    from gv_engine.domains.algebra.scenario import MathyScenario


# ---- cursor --------------------------------------------------------------------------------------

RULE = "rule_"
"""Beginning of the names of commands that apply a rule by its number, from 1."""


class TreeCursor:
    """A node, and one of the rules that apply to it.

    Args:
        frame: what is shown at first.

    Attributes:
        frame: what is shown.
        node: its index in order.
        rule: number of a rule; -1 if none applies to the node.
    """

    def __init__(self, frame: ExpressionFrame) -> None:
        self.frame = frame
        self.choose(_newest(frame))

    @property
    def chosen(self) -> TreeNode:
        """The node."""
        return self.frame.nodes[self.node]

    def choose(self, node: int, rule: int | None = None) -> None:
        """Choose a node, and one of its rules, by default the first."""
        self.node = node
        rules = self.chosen.rules
        self.rule = rule if rule in rules else rules[0] if rules else -1

    def follow(self, frame: ExpressionFrame) -> None:
        """Another picture is shown: choose what the last move has made there, or the same node."""
        before, known, self.frame = self.chosen, self.frame, frame
        if (known.steps, known.nodes) == (frame.steps, frame.nodes):
            return
        changed = any(node.changed for node in frame.nodes)
        same = [node.x for node in frame.nodes if node.identity == before.identity]
        self.choose(same[0] if same and not changed else _newest(frame))

    def command(self, name: str) -> str:
        """Take a command of the bindings' group `algebra`.

        Returns:
            The action that it stands for; empty if it only chooses, or if the rule does not apply.
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
            self._jump(1 if name == "next_usable" else -1)
        elif name in ("next_rule", "previous_rule") and self.chosen.rules:
            rules = self.chosen.rules
            step = 1 if name == "next_rule" else -1
            self.rule = rules[(rules.index(self.rule) + step) % len(rules)]
        elif name == "apply":
            return self.action(self.rule)
        elif name.startswith(RULE):
            return self.action(int(name.removeprefix(RULE)) - 1)
        return ""

    def action(self, rule: int) -> str:
        """The action of a rule at the node; empty if it does not apply."""
        return f"{self.frame.actions[rule]} {self.node}" if rule in self.chosen.rules else ""

    def _jump(self, step: int) -> None:
        """Choose the next node in order, or the one before, that some rule applies to."""
        count = len(self.frame.nodes)
        ring = ((self.node + step * far) % count for far in range(1, count + 1))
        self.choose(next((x for x in ring if self.frame.nodes[x].rules), self.node))


def _newest(frame: ExpressionFrame) -> int:
    """The uppermost node that the last move has changed, else the first that a rule applies to."""
    changed = [node for node in frame.nodes if node.changed]
    if changed:
        return min(changed, key=lambda node: (node.y, node.x)).x
    return next((node.x for node in frame.nodes if node.rules), 0)


# ---- episode -------------------------------------------------------------------------------------


class MathyEpisode(SingleAgentEpisode):
    """Plays a scenario, one episode at a time.

    Actions are texts, a rule and a node: `commutative_swap 3`.

    Args:
        scenario: what is played.

    Attributes:
        wait: empty: time does not pass by itself.
        world: its state.
    """

    wait = ""

    def __init__(self, scenario: MathyScenario) -> None:
        self.world: ExpressionWorld = scenario.make_world()
        self._first_state, self._name = scenario.first_state, scenario.name
        self._scenario = scenario
        self._names = action_names(self.world.env.rules)

    @property
    def actions(self) -> tuple[str, ...]:
        """Every rule at every node there is now, valid or not; those of the first node first."""
        size = self.world.state.root.size
        return tuple(f"{name} {node}" for node in range(size) for name in self._names)

    @property
    def ending(self) -> str:
        """How it ended, for the player; empty while it goes on."""
        return self.world.ending

    def reset(self, seed: int) -> None:
        """Begin the episode that an environment gives for a seed.

        Raises:
            ValueError: the scenario's problem cannot be played.
        """
        env = self.world.env
        env.rng = np.random.default_rng(seed)
        self.world.reset(self._first_state(env))

    def refusal_reason(self, action: str) -> str:
        """Why an action is none here, or does not apply, as a sentence; empty if it is fine."""
        pair = self._pair(action)
        env, state = self.world.env, self.world.state
        if pair is None:
            return f"{action}: no rule of this level"
        if env.is_valid(state, pair):
            return ""
        rule, node = pair
        return f"{env.rules[rule].name} does not apply to node {node}"

    def _pair(self, action: str) -> tuple[int, int] | None:
        name, _, node = action.rpartition(" ")
        if name not in self._names or not (node.isascii() and node.isdigit()):
            return None
        return self._names.index(name), int(node)

    def step(self, action: str) -> None:
        """Take an action that is not refused."""
        pair = self._pair(action)
        assert pair is not None, "it was not refused"
        self.world.step(pair)

    def mask(self) -> dict[str, bool]:
        """Whether each of the actions applies."""
        mask = self.world.env.mask(self.world.state)
        return dict(zip(self.actions, mask.ravel().astype(bool).tolist(), strict=True))

    @cached_property
    def _seer(self) -> ExpressionEnv:
        """An environment that looks at its states."""
        return ExpressionEnv(self._scenario)

    def observe(self) -> PolicyInput:
        """What `ExpressionVectorEnv` hands out."""
        return add_world_axis(*self._seer.restore(self.snapshot()))

    def frame(self, message: str) -> ExpressionFrame:
        """What the rendering systems show."""
        frames: list[ExpressionFrame] = []
        self.world.render(frames.append, self._name, message)
        return frames[-1]

    def differences(self, was: MathyEpisode) -> list[str]:
        """What is different in the expression and its moves from another episode."""
        told = []
        for what, name in (("problem", "expression"), ("moves_remaining", "moves left")):
            before, after = (getattr(each.world.state.agent, what) for each in (was, self))
            if before != after:
                told.append(f"{name} {after}, was {before}")
        draws = [each.world.env.rng.bit_generator.state for each in (was, self)]
        if not told and draws[0] != draws[1]:
            told.append("random draws: more or fewer of them")
        return told

    def snapshot(self) -> Token:
        """The whole world, which is the whole episode."""
        return self.world.snapshot()

    def restore(self, snapshot: Token) -> None:
        """Become what a snapshot holds, maybe in another process."""
        self.world.restore(snapshot)

    row, become = snapshot, restore

    def state(self) -> str:
        """16 hexadecimal digits that stand for the whole world, equal in every process."""
        world = self.world
        agent = world.state.agent
        said = (
            *(agent.problem, agent.moves_remaining, agent.problem_type, agent.history),
            *(world.state.max_moves, world.steps, repr(world.total), repr(world.reward)),
            *(world.outcome, world.decided_by, world.env.rng.bit_generator.state),
        )
        return hashlib.sha256(json.dumps(said, default=int).encode()).hexdigest()[:16]
