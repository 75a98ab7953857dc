"""Imitation of recorded episodes: behaviour cloning (Pomerleau, 1991).

The network of a learner is trained to choose the recorded actions, with cross-entropy as the loss.
A tenth of the episodes, of other levels, is held out: training ends once their loss has not fallen
for some passes, and the weights with the least loss are kept. The critic does not learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import make_rng
from gv_engine.envs.representations import MISSION, STATE
from gv_engine.envs.rollout.network_spec import UNKNOWN_CODE, cells_to_codes, codes_by_cell
from gv_engine.envs.rollout.policy_file import RunError
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.torch_library import Tensor, torch
from gv_engine.rules.errors import shorten
from gv_engine.scenario.scenario import Scenario

Rollout = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]
"""Arrays by name, and the content of `rollout.json`."""

_BATCH_STEPS = 1024
"""Minimum number of steps in a minibatch, which consists of whole episodes."""
_HELD_OUT = 0.1
"""Share of the episodes that are held out."""
_PATIENCE = 5
"""Passes without a lower loss after which training ends; with three, some seeds ended before the
network read the mission."""
MAX_PASSES = 50


class ImitationResult(NamedTuple):
    """Result of training by imitation.

    Attributes:
        episodes, steps: number of recorded episodes and steps, the held-out ones included.
        held_out: number of episodes that are held out.
        has_other_levels: True if they have other levels than the rest; False if all recorded
            episodes begin with the same observation.
        passes: passes over the other episodes.
        loss, accuracy: mean cross-entropy of the held-out actions, in nats, and the share of them
            that the network finds most likely.
    """

    episodes: int
    steps: int
    held_out: int
    has_other_levels: bool
    passes: int
    loss: float
    accuracy: float


class Minibatch(NamedTuple):
    """M episodes, of which the longest has T steps; they have L steps in all.

    Attributes:
        rows: (T, M, slots) encoded observations.
        actions: (L,) recorded actions.
        masks: (L, actions) action masks; all 1 if the rollout has none.
        valid: (T, M) False on padding.
    """

    rows: Tensor
    actions: Tensor
    masks: Tensor
    valid: Tensor


class Demonstrations:
    """Recorded episodes in the form that the network of a learner reads.

    Args:
        path: folder of a rollout of the learner's scenario, for messages.
        rollout: arrays and description of that rollout, from `episode_folder.read`.
        learner: learner whose scenario it is.

    Attributes:
        num_episodes, num_steps: number of episodes and of their steps.
        groups: indices of the episodes that begin with the same observation. Episodes of one level
            are in one group, so that no level is on both sides of `split`.

    Raises:
        RunError: the rollout is damaged, or does not fit the scenario.
    """

    def __init__(self, path: Path, rollout: Rollout, learner: Learner) -> None:
        """Load the recorded episodes of `rollout`, grouped by level. Raise an error if `learner`
        cannot imitate them."""
        self._arrays, about = rollout
        check_rollout(path, about, learner.env.scenario)
        if self._arrays["action"].max() >= learner.spec.actions:
            raise RunError(f"{path} is damaged: an action is {self._arrays['action'].max()}")
        starts = self._arrays["episode_start"]
        self._path, self._spec, self._starts = path, learner.spec, starts
        self._lengths = np.diff(starts, append=about["steps"])
        self._codes = codes_by_cell(learner.cells)
        self._masks = self._arrays.get("action_mask") if learner.settings.mask_actions else None
        self.num_episodes, self.num_steps = len(starts), int(about["steps"])
        self.groups = self._group_episodes()

    def _group_episodes(self) -> list[list[int]]:
        """Group the episodes by level and return lists of episode indices. Episodes belong to the
        same level if their first observations are equal."""
        names = [name for name in self._arrays if f"last_{name}" in self._arrays]
        shown = zip(*(self._arrays[name][self._starts] for name in names), strict=True)
        groups: dict[bytes, list[int]] = {}
        for episode, arrays in enumerate(shown):
            groups.setdefault(b"".join(array.tobytes() for array in arrays), []).append(episode)
        return [*groups.values()]

    def split(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Split the episodes into training and held-out episodes, and return the indices of both.
        Held out are random whole groups (levels) with about a tenth of the episodes or more, or the
        last tenth if there is only one group."""
        groups, num_held_out = self.groups, max(1, round(_HELD_OUT * self.num_episodes))
        if len(groups) == 1:
            return np.array(groups[0][:-num_held_out]), np.array(groups[0][-num_held_out:])
        order = [groups[k] for k in rng.permutation(len(groups))]
        ends = np.cumsum([len(group) for group in order])
        # held out are the first groups with enough episodes; at least one group is to train on
        split = min(int(np.searchsorted(ends, num_held_out)) + 1, len(order) - 1)
        return np.concatenate(order[split:]), np.concatenate(order[:split])

    def iter_minibatches(self, episodes: NDArray[np.int64]) -> Iterator[Minibatch]:
        """Yield the given episodes in this order as minibatches. A minibatch is complete when its
        episodes have `_BATCH_STEPS` steps in total."""
        batch: list[int] = []
        steps = 0
        for episode in episodes.tolist():
            batch.append(episode)
            steps += self._lengths[episode]
            if steps >= _BATCH_STEPS:
                yield self._make_minibatch(np.array(batch))
                batch, steps = [], 0
        if batch:
            yield self._make_minibatch(np.array(batch))

    def _make_minibatch(self, episodes: NDArray[np.int64]) -> Minibatch:
        """Return a minibatch of the episodes with these indices."""
        lengths = self._lengths[episodes]
        times = np.arange(lengths.max())[:, None]
        valid = times < lengths
        indices = (self._starts[episodes] + times)[valid]
        # the network computes on steps that are not valid, too: any codes will do
        rows = np.empty((*valid.shape, len(self._spec.sizes)), np.int32)
        rows[:] = self._spec.first_rows
        rows[valid] = self._encode(indices)
        actions = self._arrays["action"][indices].astype(np.int64)
        masks = np.ones((len(indices), self._spec.actions), np.int8)
        if self._masks is not None:
            masks = self._masks[indices].copy()
            masks[~masks.any(1)] = 1
            masks[range(len(masks)), actions] = 1  # a demonstrator need not keep to the masks
        return Minibatch(*map(torch.from_numpy, (rows, actions, masks, valid)))

    def _encode(self, steps: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the observations of M steps, given by index, as (M, slots) indices of first-layer
        weights. `NetworkSpec.encode` explains them."""
        observation = {}
        for name in ("grid", "item"):
            observation[name] = cells_to_codes(self._arrays[name][steps], self._codes)
            if (observation[name] == UNKNOWN_CODE).any():
                raise RunError(f"{self._path} is damaged: it shows unknown objects")
        for name in {MISSION, STATE} & self._arrays.keys():
            observation[name] = self._arrays[name][steps]
        rows = np.zeros((len(steps), len(self._spec.sizes)), np.int32)
        self._spec.encode(observation, np.zeros(len(steps), np.int64), rows)
        return rows


def check_rollout(path: Path, about: Mapping[str, Any], scenario: Scenario) -> None:
    """Raise RunError if a rollout cannot be imitated in `scenario`. `path` is its folder, `about`
    the content of its `rollout.json`."""
    if scenario.layout.agents > 1:
        raise RunError(f"{scenario.name} has several agents, and only one can imitate")
    if about["scenario"]["digest"] != scenario.identity.digest:
        recorded = shorten(str(about["scenario"]["name"]), 60)
        raise RunError(
            f"{path} was recorded in {recorded} or with other options: record it in {scenario.name}"
        )
    if representation := about.get("representation"):
        raise RunError(
            f"{path} has observations of the representation {shorten(str(representation), 40)}: "
            f"record it without --representation"
        )
    if about["episodes"] < 2:
        raise RunError(f"{path} has too few episodes: at least 2, as some are held out")


def imitate(
    learner: Learner,
    path: Path,
    rollout: Rollout,
    report: Callable[[int, float], None] = lambda passes, loss: None,
) -> ImitationResult:
    """Train the learner's network on recorded episodes until the held-out loss has not improved for
    `_PATIENCE` passes. Restore the best weights and return the result. `report` gets number and
    loss after each pass.

    Args:
        learner: learner, which may go on with its own experience afterwards.
        path: folder of the rollout, for messages.
        rollout: arrays and description of the rollout, from `episode_folder.read`.
        report: called after each pass with its number and the held-out loss.

    Raises:
        RunError: see `Demonstrations`.
    """
    demonstrations = Demonstrations(path, rollout, learner)
    rng = make_rng(learner.settings.seed, "demonstrations")
    training_episodes, held_out = demonstrations.split(rng)
    best_loss, best_accuracy, best_pass, passes = math.inf, 0.0, 0, 0
    best_weights: dict[str, Tensor] = {}
    while passes < MAX_PASSES and passes - best_pass < _PATIENCE:
        passes += 1
        for batch in demonstrations.iter_minibatches(rng.permutation(training_episodes)):
            loss, _ = _cross_entropy(learner, batch)
            learner.minimise(loss)
        held_out_loss, accuracy = _evaluate(learner, demonstrations.iter_minibatches(held_out))
        report(passes, held_out_loss)
        if held_out_loss < best_loss:
            best_loss, best_accuracy, best_pass = held_out_loss, accuracy, passes
            best_weights = {name: each.clone() for name, each in learner.net.state_dict().items()}
    if best_weights:  # no loss is less than infinity if training diverges
        learner.net.load_state_dict(best_weights)
    return ImitationResult(
        episodes=demonstrations.num_episodes,
        steps=demonstrations.num_steps,
        held_out=len(held_out),
        has_other_levels=len(demonstrations.groups) > 1,
        passes=passes,
        loss=best_loss,
        accuracy=best_accuracy,
    )


def _evaluate(learner: Learner, iter_minibatches: Iterable[Minibatch]) -> tuple[float, float]:
    """Return the mean cross-entropy over all steps of the minibatches, and the accuracy: how often
    the network's most likely action was the recorded one."""
    num_steps, losses, accuracies = [], [], []
    with torch.no_grad():
        for batch in iter_minibatches:
            loss, accuracy = _cross_entropy(learner, batch)
            num_steps.append(len(batch.actions))
            losses.append(float(loss))
            accuracies.append(float(accuracy))
    mean_loss = float(np.average(losses, weights=num_steps))
    return mean_loss, float(np.average(accuracies, weights=num_steps))


def _cross_entropy(learner: Learner, batch: Minibatch) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of a minibatch's actions, and the accuracy: how often the
    network's most likely valid action was the recorded one."""
    net, device = learner.net, learner.device
    rows, actions, masks, valid = (each.to(device) for each in batch)
    features = net.features(net.first_layer_table(), rows.flatten(0, 1))
    memory = torch.zeros(valid.shape[1], learner.settings.memory_size, device=device)
    features, _ = net.recur(features, memory, torch.zeros_like(valid))
    log_probs, _ = net(features[valid.flatten()], masks)
    loss = -log_probs.gather(1, actions[:, None]).mean()
    return loss, (log_probs.argmax(1) == actions).float().mean()
