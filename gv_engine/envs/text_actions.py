"""Environments for language models: actions as texts, such as `go forward`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gv_engine.scenario.missions.sentences import action_to_text, find_action


class TextChoice(gymnasium.Space[str]):
    """Gymnasium space of a fixed list of texts.

    Args:
        texts: elements of the space.
        seed: seed of the random generator of `sample`.
    """

    def __init__(self, texts: Sequence[str], seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)
        self.texts = tuple(texts)

    def sample(
        self, mask: NDArray[np.int8] | None = None, probability: NDArray[np.float64] | None = None
    ) -> str:
        """Return a random text of the space.

        Args:
            mask: (texts,) 1 for each text that may be returned.
            probability: (texts,) probability of each text.
        """
        if mask is not None:
            probability = mask / mask.sum()
        return str(self.np_random.choice(self.texts, p=probability))

    def contains(self, x: Any) -> bool:
        """Return True if `x` is a text of the space."""
        return x in self.texts

    def __repr__(self) -> str:
        return f"TextChoice{self.texts}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextChoice) and self.texts == other.texts


class TextActions(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wrapper whose actions are texts such as `go forward` and `pick up`: the words of BabyAI-Text,
    and the names of other actions.

    `step` also takes the names of the engine, in upper or lower case. `info["actions"]` has the
    texts of the actions that have an effect now. For texts as observations, make the environment
    with `observation_representation={"name": "text", "style": "sentences"}`.

    >>> from gv_engine import GridEnv
    >>> env = TextActions(GridEnv("keydoor-5x5", world="object"))
    >>> observation, info = env.reset(seed=1)
    >>> info["actions"]
    ['go left', 'turn left', 'turn right']
    >>> observation, reward, terminated, truncated, info = env.step("turn left")

    Args:
        env: environment of one world of a grid scenario, see `GridEnv`.

    Attributes:
        action_texts: texts of all actions, by index in the action space of `env`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Wrap an environment of this engine."""
        super().__init__(env)
        self._names: tuple[str, ...] = env.get_wrapper_attr("scenario").action_names
        self.action_texts = tuple(map(action_to_text, self._names))
        self.action_space = TextChoice(self.action_texts)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, see `GridEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._add_actions(info)

    def step(self, action: str) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Apply the action that a text names, see `GridEnv.step`.

        Raises:
            ActionTextError: the text names no action; the message has all texts.
        """
        index = self._names.index(find_action(action, self._names))
        observation, reward, terminated, truncated, info = self.env.step(np.int64(index))
        return observation, reward, terminated, truncated, self._add_actions(info)

    def _add_actions(self, info: dict[str, Any]) -> dict[str, Any]:
        pairs = zip(self.action_texts, info["action_mask"], strict=True)
        return {**info, "actions": [text for text, is_valid in pairs if is_valid]}
