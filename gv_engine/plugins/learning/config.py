"""Configuration of a training run: hyperparameters, levels, device and end.

`Config` is made in Python, or read from a YAML or TOML file of the same names:

>>> Config.from_values({"learner": "ppo", "recurrent": True, "learning_rate": 1e-3}).num_envs
256
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from gv_engine.envs.rollout.numpy_net import GRU, LSTM, find_memory_size
from gv_engine.rules.errors import (
    GVEngineError,
    describe_allowed,
    error_text,
    shorten,
    suggest_whole,
)
from gv_engine.scenario.storage.files import read_bytes, to_path
from gv_engine.scenario.syntax.yaml_parser import parse_value

if TYPE_CHECKING:
    from gv_engine.plugins.learning.survival_estimate import TrainingMetrics


class ConfigError(GVEngineError, ValueError):
    """A configuration has an unknown name or an invalid value, or its file cannot be read."""


_MIN_EPISODES = 500
"""Finished episodes before `StopCondition.until` is compared with the success rate."""


ENCODERS = EMBEDDING, CNN, MLP, FLAT = "embedding", "cnn", "mlp", "flat"
ACTIVATIONS = RELU, TANH = "relu", "tanh"
SAMPLERS = GRID, RANDOM, TPE = "grid", "random", "tpe"
OBJECTIVES = SUCCESS, RETURN = "success", "return"
LEARNERS = {
    "ppo": "gv_engine.plugins.learning.ppo:Learner",
    "pqn": "gv_engine.plugins.learning.pqn:PQNLearner",
    "mappo": "gv_engine.plugins.learning.mappo:MAPPOLearner",
    "rnd": "gv_engine.plugins.learning.rnd:RNDLearner",
    "noveld": "gv_engine.plugins.learning.noveld:NovelDLearner",
    "ride": "gv_engine.plugins.learning.ride:RIDELearner",
}
"""Class of each learner; each file names its paper."""
CURRICULA = {
    "random": "gv_engine.plugins.learning.curriculum:RandomLevels",
    "plr": "gv_engine.plugins.learning.curriculum:LevelReplay",
    "accel": "gv_engine.plugins.learning.curriculum:EditedLevels",
}
"""Class of each curriculum."""


_NO_BOUND = 2**62


class AllowedValues(NamedTuple):
    """Allowed values of a setting.

    Attributes:
        kind: type of the values; float takes integers, too.
        low, high: bounds of numbers.
        words: all allowed texts; () for any text.
    """

    kind: type
    low: float = 0
    high: float = _NO_BOUND
    words: tuple[str, ...] = ()


def define_setting(
    default: Any, *limits: Any, kind: type | None = None, words: Iterable[str] = ()
) -> Any:
    """Return the field of a dataclass of settings, with its `AllowedValues` as metadata.

    Args:
        default: default value.
        limits: low and high bound of a number, by default 0 and 2**62.
        kind: type of the value; by default that of `default`.
        words: all allowed texts; () for any text.
    """
    allowed = AllowedValues(kind or type(default), *limits)._replace(words=tuple(words))
    return field(default=default, metadata={"limits": allowed})


_MANY = 2**20
"""Maximum of counts that memory grows with."""


@dataclass(frozen=True)
class Hyperparameters:
    """Settings of a learner; the defaults suit PPO on all grid scenarios of the engine.

    Attributes:
        learner: "ppo", "pqn", "mappo", "rnd", "noveld" or "ride", see `LEARNERS`.
        seed: seed of the worlds, the initial weights and the sampling of actions.
        recurrent: add a recurrent layer, reset at the start of each episode.
        recurrent_cell: "gru" or "lstm", the cell of that layer.
        mask_actions: give probability 0 to the actions that `info["action_mask"]` excludes.
        augment_colors: permute interchangeable colours per episode, see `color_augmentation`.
        num_envs: number of worlds; each of the A agents of a world is a row of the batch.
        num_steps: steps of each world between two updates.
        update_epochs: passes over the collected steps in an update.
        num_minibatches: minibatches of a pass.
        learning_rate: step size of Adam.
        anneal_steps: steps of all worlds over which the learning rate falls to 0, linearly; 0 for a
            constant rate.
        gamma: discount factor.
        gae_lambda: lambda of generalised advantage estimation.
        clip_coef: clip range of the probability ratio.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradient norm above which the gradient is clipped.
        share_rewards: give each agent the sum of the rewards of its team; without teams all agents
            are one team. MAPPO's default.
        reward_clip: bound of the scaled rewards on both sides; None for no bound.
        encoder: "embedding", "cnn", "mlp" or "flat", the first layers of the network, see
            `ActorCritic`.
        activation: "relu" or "tanh", after each hidden layer.
        separate_critic: give the critic an encoder and hidden layers of its own, without a
            recurrent layer; the policy then has no values. PQN has no critic, and that of MAPPO is
            always separate.
        embedding_size: length of the embedding of a cell code; "mlp" and "flat" have none.
        hidden_size: width of the hidden layers and of the recurrent layer.
        layer_norm: normalise the hidden layers, which PQN needs.
        start_epsilon, end_epsilon: share of random actions of PQN at the first step, and after
            `exploration_steps` steps; linear between.
        rnd_coef: weight of the rewards of RND, NovelD and RIDE for exploration.
        curriculum: "random", "plr" or "accel", see `curriculum.py`.
        level_buffer_size: number of levels that a curriculum other than "random" keeps.
        replay_prob: probability that an update replays levels of the curriculum.
        train_on_new_levels: learn from all updates of a curriculum, not only from replays.
        replay_temperature: from 0.01; the higher, the more equal the probabilities of levels.
        staleness_coef: share of the probability of a replay that depends on the time since the last
            update that played a level.
        exploration_steps: steps of all worlds over which the share of random actions falls.
        partner: agents that act and do not learn: "self" for past selves, or agents or teams with
            their policies, such as "cat=random"; "" for none, see `partners.py`.
        past_selves: number of past selves that are kept.
        past_interval: updates between two past selves.
        eval_interval: steps of all worlds between two evaluations of the policy in 100 episodes, on
            `validation`, or on levels of other seeds if the run trains on no level set; 0 for none.
        num_threads: threads that share the gradient of a minibatch.
        num_env_threads: threads that step the worlds.
    """

    learner: str = define_setting("ppo", words=LEARNERS)
    seed: int = define_setting(0)
    recurrent: bool = define_setting(False)
    recurrent_cell: str = define_setting(GRU, words=(GRU, LSTM))
    mask_actions: bool = define_setting(True)
    augment_colors: bool = define_setting(True)
    num_envs: int = define_setting(128, 1, _MANY)
    num_steps: int = define_setting(32, 1, _MANY)
    update_epochs: int = define_setting(3, 1)
    num_minibatches: int = define_setting(4, 1)
    learning_rate: float = define_setting(2e-3)
    anneal_steps: int = define_setting(0)
    gamma: float = define_setting(0.99, 0, 1)
    gae_lambda: float = define_setting(0.95, 0, 1)
    clip_coef: float = define_setting(0.2)
    ent_coef: float = define_setting(0.01)
    vf_coef: float = define_setting(0.5)
    max_grad_norm: float = define_setting(0.5)
    share_rewards: bool = define_setting(False)
    reward_clip: float | None = define_setting(None, kind=float)
    encoder: str = define_setting(EMBEDDING, words=ENCODERS)
    activation: str = define_setting(RELU, words=ACTIVATIONS)
    separate_critic: bool = define_setting(False)
    embedding_size: int = define_setting(16, 1, 1024)
    hidden_size: int = define_setting(128, 1, 4096)  # above, policy.npz could not be read back
    layer_norm: bool = define_setting(False)
    start_epsilon: float = define_setting(1.0, 0, 1)
    end_epsilon: float = define_setting(0.05, 0, 1)
    exploration_steps: int = define_setting(100_000)
    rnd_coef: float = define_setting(0.5)
    curriculum: str = define_setting("random", words=CURRICULA)
    level_buffer_size: int = define_setting(1000, 1, _MANY)
    replay_prob: float = define_setting(0.5, 0.01, 0.99)
    train_on_new_levels: bool = define_setting(False)
    replay_temperature: float = define_setting(1.0, 0.01)
    staleness_coef: float = define_setting(0.3, 0, 1)
    partner: str = define_setting("")
    past_selves: int = define_setting(8, 1)
    past_interval: int = define_setting(10, 1)
    eval_interval: int = define_setting(0)
    num_threads: int = define_setting(1, 1, 1024)
    num_env_threads: int = define_setting(1, 1, 1024)

    @property
    def memory_size(self) -> int:
        """Length of the recurrent layer's state, twice `hidden_size` with an LSTM."""
        return find_memory_size(self.recurrent_cell, self.hidden_size)

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Return a new object; raise ConfigError if a name is unknown."""
        check_names(named, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Convert ints in float fields to float. Raise ConfigError if a value is invalid."""
        for each in fields(self):
            object.__setattr__(self, each.name, check_value(each, getattr(self, each.name)))
        steps = self.num_envs * self.num_steps
        if self.num_minibatches > max(1, steps // 2):
            raise ConfigError(
                f"num_minibatches is {self.num_minibatches}; an update has {steps} steps, num_envs "
                f"times num_steps, so expected at most {max(1, steps // 2)}, of two steps each"
            )


RECURRENT_DEFAULTS = {"recurrent": True, "num_envs": 256, "num_minibatches": 2, "ent_coef": 0.03}
"""Settings of a recurrent learner that differ from the defaults: more exploration, and larger
minibatches, because a GRU runs through them step by step."""

CURRICULUM_DEFAULTS = {"num_envs": 32, "num_steps": 256, "num_minibatches": 8}
"""Settings of a curriculum that differ from the defaults: worlds start their levels in each update,
so an update has to be longer than an episode."""

LEARNER_DEFAULTS: dict[str, dict[str, Any]] = {
    "mappo": {"share_rewards": True},
    "pqn": {
        **{"layer_norm": True, "gae_lambda": 0.65, "learning_rate": 5e-4},
        **{"update_epochs": 2, "num_minibatches": 32},
    },
}
"""Settings of a learner that differ from the defaults."""

_SMALL_BATCHES = {
    **{"num_envs": 8, "num_steps": 128, "num_minibatches": 16, "update_epochs": 10},
    **{"activation": TANH, "hidden_size": 64, "separate_critic": True, "reward_clip": 10.0},
    "augment_colors": False,
}

PRESETS = {
    "small": {**_SMALL_BATCHES, "encoder": FLAT, "learning_rate": 2.5e-4, "ent_coef": 0.005},
    "small-mission": {**_SMALL_BATCHES, "learning_rate": 5e-4},
}
"""Settings by the name of a preset. Both learn from few steps, in batches of 1,024; "small-mission"
in levels whose missions differ."""


def check_value(each: Field[Any], value: Any) -> Any:
    """Check the value of one hyperparameter, described by the dataclass field `each`. Return it, as
    a float if the field has that type.

    Raises:
        ConfigError: the type or the range of the value is wrong.
    """
    name, (kind, low, high, words) = each.name, each.metadata["limits"]
    if value is None and each.default is None:
        return value
    is_number = kind in (int, float)
    is_kind = type(value) is kind or (kind is float and type(value) is int)
    if words and value not in words:
        wrong = shorten(str(value), 40)
        raise ConfigError(f"no {name} {wrong!r}{describe_allowed(wrong, words)}")
    if not is_kind or (is_number and not low <= value <= high):
        expected = {bool: "true or false", str: "a text", int: "an integer"}.get(kind, "a number")
        if is_number:
            expected += f" from {low} on" if high == _NO_BOUND else f" from {low} to {high}"
        hint = suggest_whole(value) if kind is int else ""
        if is_number and isinstance(value, str) and re.fullmatch(r"[-+.\de]*\d", value):
            hint = "; found a text: leave out the quotes"
        raise ConfigError(f"{name} is {shorten(repr(value), 40)}; expected {expected}{hint}")
    return kind(value)


def check_names(values: Any, names: Iterable[str]) -> None:
    """Raise ConfigError if `values` is not a mapping, or has a key that is not in `names`."""
    if not isinstance(values, Mapping):
        found = shorten(repr(values), 40)
        raise ConfigError(f"found {found}; expected settings by name, such as {{'gamma': 0.9}}")
    allowed = [*names]
    if unknown := [name for name in values if name not in allowed]:
        wrong = shorten(str(unknown[0]), 60)
        raise ConfigError(f"no setting {wrong!r}{describe_allowed(wrong, allowed)}")


@dataclass(frozen=True)
class Config(Hyperparameters):
    """Hyperparameters of a run, and where and how long it trains.

    Attributes:
        steps: total environment steps of all worlds.
        until: success rate in (0, 1] that ends training early; None for no early end.
        levels: level set to train on, such as "train"; None for all levels.
        device: torch device of the network: "cpu", "cuda", "cuda:1", or "auto", a GPU if there is
            one.

    Raises:
        ConfigError: a value is invalid.
    """

    steps: int = define_setting(1_000_000)
    until: float | None = define_setting(None, 0, 1, kind=float)
    levels: str | None = define_setting(None, kind=str)
    device: str = define_setting("auto")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Config:
        """Return a configuration with these values by name. Missing hyperparameters get those of
        the `preset`, if the values name one, such as "small"; else the defaults, which differ for
        some learners, for a network with a GRU, and for curricula.

        Raises:
            ConfigError: a name is unknown, or a value is invalid.
        """
        check_names(values, [*(field.name for field in fields(cls)), "preset"])
        values = dict(values)
        if (preset := values.pop("preset", None)) is not None:
            if preset not in [*PRESETS]:
                wrong = shorten(str(preset), 40)
                raise ConfigError(f"no preset {wrong!r}{describe_allowed(wrong, PRESETS)}")
            values = PRESETS[preset] | values
        defaults = dict(LEARNER_DEFAULTS.get(str(values.get("learner")), {}))
        defaults |= RECURRENT_DEFAULTS if values.get("recurrent") is True else {}
        if values.get("curriculum", "random") != "random":
            defaults |= CURRICULUM_DEFAULTS
        return cls(**{**defaults, **values})

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Read a configuration from a YAML or TOML file.

        Raises:
            ConfigError: see `read_config_file` and `from_values`.
        """
        try:
            return cls.from_values(read_config_file(to_path(path, "path")))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The hyperparameters alone."""
        names = [field.name for field in fields(Hyperparameters)]
        return Hyperparameters(**{name: getattr(self, name) for name in names})

    @property
    def stop_condition(self) -> StopCondition:
        """Condition that ends training, from `steps` and `until`."""
        return StopCondition(self.steps, self.until)


_MAX_FILE = 2**16
"""Bytes of a configuration file."""


def read_config_file(path: Path) -> dict[str, Any]:
    """Parse a configuration file without checking the values. It is TOML if the name ends in
    `.toml`, else YAML.

    Raises:
        ConfigError: the file cannot be read, or holds no mapping.
    """
    try:
        text = read_bytes(path, _MAX_FILE, "configurations").decode()
        values = tomllib.loads(text) if path.suffix == ".toml" else parse_value(text)
    except OSError as error:
        raise ConfigError(error_text(error)) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"neither YAML nor TOML: {shorten(str(error), 200)}") from None
    if not isinstance(values, dict | NoneType):
        found = shorten(repr(values), 40)
        raise ConfigError(f"found {found}; expected lines such as `learning_rate: 3e-4`")
    return values or {}


class StopCondition(NamedTuple):
    """Condition that ends training: a number of steps, or, earlier, a success rate.

    Attributes:
        steps: total environment steps of all worlds.
        until: success rate in (0, 1] that ends training early; None for no early end.
    """

    steps: int = 1_000_000
    until: float | None = None

    def is_met(self, metrics: TrainingMetrics) -> bool:
        """Return True if `metrics` have reached the number of steps or, after enough episodes, the
        success rate at which training ends."""
        if self.until is None or metrics.episodes < _MIN_EPISODES:
            return metrics.steps >= self.steps
        return metrics.steps >= self.steps or metrics.success_rate >= self.until
