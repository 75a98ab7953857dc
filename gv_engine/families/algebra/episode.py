"""An episode of algebra, for games and replays."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gv_engine.families.algebra.gym_env import ExpressionEnv
from gv_engine.families.algebra.world import ExpressionWorld, Token, action_names
from gv_engine.language.expression_frame import ExpressionFrame
from gv_engine.playing.episode import Seen, Told, of_one_world

if TYPE_CHECKING:
    from gv_engine.families.algebra.scenario import MathyScenario


class MathyEpisode(Told):
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

    def refusal(self, action: str) -> str:
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

    def seen(self) -> Seen:
        """What `ExpressionVectorEnv` hands out."""
        return of_one_world(*self._seer.restore(self.snapshot()))

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
