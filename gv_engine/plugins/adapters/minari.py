"""Conversion between rollouts on disk and Minari datasets."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete, Space
from numpy.typing import NDArray

from gv_engine import __version__
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.envs.rollout.rollout import describe_step_arrays
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.adapters.extras import MINARI
from gv_engine.rules.errors import MissingExtraError, shorten
from gv_engine.scenario.documents.loading import (
    check_reference,
    load_reference,
    make_reference,
    read_scenario,
)
from gv_engine.scenario.documents.trust import Consent, Trust
from gv_engine.scenario.domains import AnyScenario, get_plugin
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import make_write_error, parse_json, read_bytes

if MINARI.missing_message or not importlib.util.find_spec("h5py"):  # the extra hdf5 of Minari
    raise MissingExtraError(MINARI.install_message)
import minari
from minari.data_collector import EpisodeBuffer
from minari.storage.datasets_root_dir import get_dataset_path

_ID = "GV-Scenario-v0"
_ENTRY_POINTS = (
    "gv_engine.envs.registration:make_env",
    "gv_engine.envs.registration:make_vector_env",
)
_REPRESENTATION = "observation_representation"
_METADATA_KEY = "gv_engine_rollout"
"""Metadata key of a dataset for the contents of `rollout.json`, without counts and arrays."""
_COUNT_KEYS = "episodes", "steps", "arrays"
_MAX_BYTES = 2**24
"""Size limit of Minari's metadata of a dataset."""
_REQUIRED_INFOS = "reward_terms", "member"
"""Infos that all rollouts have."""
_MASK = "action_mask"
"""Name of the array of action masks, which belong to the state before an action but are no
observation."""


def to_dataset(
    folder: Path, name: str, reference: tuple[Path, Path] | None = None, **metadata: Any
) -> minari.MinariDataset:
    """Convert a rollout, recorded by `gv-engine rollout` in `folder`, to a Minari dataset called
    `name`. `reference` has the folders of a poor and a good rollout, for normalised scores.

    An episode has its observations, one more than actions, and its seed. `infos` have
    `reward_terms`, `success`, `member` and, if recorded, `action_mask`, with zeros for the last
    observation.

    Args:
        folder: folder that `gv-engine rollout --out` has made.
        name: name of the dataset, such as `keydoor/valid-v0`.
        reference: folders of two rollouts of the same scenario, a poor and a good one. Their mean
            returns are the scores 0 and 1 of `minari.get_normalized_score`.
        metadata: further arguments of `minari.create_dataset_from_buffers`, such as `author`.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
        ValueError: the dataset exists, or its name has no version; the rollout has several agents
            or is of algebra; or the reference is of another scenario, or its second rollout is not
            better.
    """
    if not re.search(r"-v\d+$", name):
        raise ValueError(f"{name}: expected a version behind the name of a dataset, as {name}-v0")
    arrays, rollout = episode_folder.read(folder)
    scenario = rollout["scenario"]
    if "action_names" not in rollout or "agents" in rollout:
        raise ValueError(
            f"{folder} is of {scenario['name']}: datasets are of grids with one agent, whose "
            f"actions are numbers"
        )
    spec = _make_env_spec(rollout)
    descriptions = rollout["arrays"]
    spaces: dict[str, Space[Any]] = {
        key: _make_space(descriptions[key]) for key in _list_observations(descriptions)
    }
    scores = _compute_reference_scores(reference, scenario) if reference else {}
    dataset = minari.create_dataset_from_buffers(
        name,
        list(_make_episodes(arrays)),
        env=spec,
        eval_env=spec,
        observation_space=Dict(spaces),
        action_space=Discrete(len(rollout["action_names"])),
        **(_make_metadata(rollout) | scores | metadata),
    )
    kept = {key: value for key, value in rollout.items() if key not in _COUNT_KEYS}
    dataset.storage.update_metadata({_METADATA_KEY: kept})
    return dataset


def _make_env_spec(rollout: dict[str, Any]) -> EnvSpec:
    """Return the Gymnasium spec of the environment in which a rollout was recorded. `rollout` is
    the content of its `rollout.json`."""
    scenario = rollout["scenario"]
    options = {"scenario": scenario["source"], **scenario["settings"]}
    if "representation" in rollout:
        options[_REPRESENTATION] = rollout["representation"]
    if "level_seeds" in rollout:
        options["levels"] = rollout["level_seeds"]
    if max_steps := scenario["changes"].get("max_steps"):
        options["max_steps"] = max_steps
    entry_point, vector_entry_point = _ENTRY_POINTS
    return EnvSpec(
        _ID, entry_point=entry_point, vector_entry_point=vector_entry_point, kwargs=options
    )


def _make_metadata(rollout: dict[str, Any]) -> dict[str, Any]:
    """Return Minari's metadata for a rollout. Arguments of `to_dataset` can override them.
    `rollout` is the content of `rollout.json`."""
    scenario, policy = rollout["scenario"], rollout.get("policy")
    return {
        "algorithm_name": policy,
        "requirements": [f"gv-engine=={__version__}"],
        "description": f"{rollout['episodes']} episodes of {scenario['name']}, seed "
        f"{rollout['seed']}, policy {policy}, digest {scenario['digest']}; actions: "
        f"{', '.join(rollout['action_names'])}; reward terms: {', '.join(rollout['reward_names'])}",
    }


def _compute_reference_scores(
    reference: tuple[Path, Path], scenario: dict[str, Any]
) -> dict[str, Any]:
    """Compute the mean returns of a poor and a good rollout, from which Minari calculates
    normalised scores. Return them as metadata.

    Raises:
        ValueError: a rollout is of another scenario, or the second one is not better.
    """
    means = []
    for folder in reference:
        arrays, rollout = episode_folder.read(folder)
        name, digest = rollout["scenario"]["name"], rollout["scenario"]["digest"]
        if digest != scenario["digest"]:
            raise ValueError(
                f"{folder} is of {name}, digest {digest}, and not of {scenario['name']}, digest "
                f"{scenario['digest']}: reference rollouts must be of the dataset's scenario"
            )
        means.append(float(arrays["reward"].sum(dtype=np.float64)) / rollout["episodes"])
    low, high = means
    if low >= high:
        raise ValueError(
            f"{reference[0]} has a mean return of {low:g}, and {reference[1]} of {high:g}: name a "
            f"poor rollout, as of --policy random, and then a good one, as of --policy solver"
        )
    return {
        "ref_min_score": low,
        "ref_max_score": high,
        "num_episodes_average_score": rollout["episodes"],  # of the good one
    }


def _list_observations(array_names: Iterable[str]) -> list[str]:
    # for each observation, an array `last_…` holds those at the ends of episodes
    return [name.removeprefix("last_") for name in array_names if name.startswith("last_")]


def _make_space(description: dict[str, Any]) -> Box | Discrete:
    """Return the Gymnasium space of a recorded array. `description` is the array's entry in
    `rollout.json`."""
    low, high = episode_folder.read_bounds(description)
    if not low.ndim and "low" in description:
        return Discrete(int(high) - int(low) + 1, start=int(low))
    return Box(low, high, dtype=low.dtype.type)


def _make_episodes(arrays: dict[str, Any]) -> Iterator[EpisodeBuffer]:
    """Yield each episode of a rollout as Minari's `EpisodeBuffer`. `arrays` are the recorded arrays
    by name."""
    starts = arrays["episode_start"]
    ends = [*starts[1:], len(arrays["action"])]
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        observations = {
            name: np.concatenate([arrays[name][start:end], arrays[f"last_{name}"][k : k + 1]])
            for name in _list_observations(arrays)
        }
        yield EpisodeBuffer(
            id=k,
            seed=int(arrays["episode_seed"][k]),
            observations=observations,
            actions=arrays["action"][start:end].astype(np.int64),
            rewards=arrays["reward"][start:end].tolist(),
            terminations=arrays["terminated"][start:end].tolist(),
            truncations=arrays["truncated"][start:end].tolist(),
            infos=_make_infos(arrays, k, start, end),
        )


def _make_infos(arrays: dict[str, Any], k: int, start: int, end: int) -> dict[str, Any]:
    """Return the infos of episode `k`, one for the reset and one for each step. Its steps are
    `start` to `end - 1` of the recorded arrays."""
    num_infos = 1 + end - start
    reset_terms = np.zeros_like(arrays["reward_terms"][:1])
    infos: dict[str, Any] = {
        "reward_terms": np.concatenate([reset_terms, arrays["reward_terms"][start:end]]),
        "member": np.full(num_infos, arrays["episode_member"][k]),
    }
    if "episode_success" in arrays:
        success = np.zeros(num_infos, np.bool_)
        success[-1] = arrays["episode_success"][k]
        infos["success"] = success
    if _MASK in arrays:
        masks = arrays[_MASK][start:end]
        infos[_MASK] = np.concatenate([masks, np.zeros_like(masks[:1])])
    return infos


def to_folder(
    name: str, folder: Path, scenario: str | None = None, **consent: Unpack[Consent]
) -> None:
    """Convert a Minari dataset, created by `to_dataset`, back to a rollout in `folder`. The folder
    appears only when it is complete.

    Args:
        name: name of the dataset on this machine.
        folder: new folder, or an empty one.
        scenario: name or path of the scenario on this machine, if it has moved.
        consent: as for `load_scenario`; a dataset only refers to its scenario, so no Python of the
            scenario runs without `trust=True`.

    Warns:
        UserWarning: the scenario has changed; the rollout describes the original. Or episodes have
            no seeds, as in combined datasets; their seeds are -1.

    Raises:
        OSError: the folder cannot be written, or is not empty.
        ScenarioError: the scenario does not exist, or has Python that may not run.
        ValueError: the dataset is of no rollout or of another scenario, or some episodes lack infos
            that others have.
    """
    episode_folder.check_new_folder(folder)
    dataset, env_options = _load_dataset(name)
    rollout = _get_rollout_description(dataset)
    loaded = _load_scenario(name, env_options, rollout, scenario, consent)
    episodes = [dataset[k] for k in dataset.episode_indices]
    _check_equal_infos(name, episodes)
    seeds = _list_seeds(name, dataset)
    options = {key: env_options[key] for key in env_options.keys() & {_REPRESENTATION}}
    if not isinstance(loaded, Scenario) or len(loaded.agent_group.names) > 1:
        raise ValueError(f"{name} is of {loaded.name}: datasets are of grids with one agent")
    excluded = ("complete", "scenario") if scenario else ("complete",)
    kept = {key: value for key, value in rollout.items() if key not in excluded}
    has_masks = _MASK in episodes[0].infos
    env = GridVectorEnv(loaded, 1, world="object", autoreset_mode="Disabled", **options)
    try:
        arrays = _make_rollout_arrays(env, episodes, seeds)
        for key, (dtype, shape) in describe_step_arrays(env, has_masks).items():
            message = f"{name} is not of {loaded.name}: its {key}"
            arrays[key] = _convert_array(arrays[key], dtype, shape, message)
        with _new_folder(folder) as draft:
            writer = EpisodeFolder(draft, env, kept, masks=has_masks)
            writer.extend(arrays)
            writer.close(complete=bool(rollout.get("complete", True)))
    finally:
        env.close()


def _list_seeds(name: str, dataset: Any) -> list[int]:
    """Return the seed of each episode in a dataset. A missing seed gives -1 and a warning."""
    episodes = [*dataset.storage.get_episode_metadata(dataset.episode_indices)]
    if num_missing := sum("seed" not in episode for episode in episodes):
        warnings.warn(
            f"{name} has no seeds of {num_missing:,} of its {len(episodes):,} episodes, as Minari "
            f"drops them where it combines datasets: their episode_seed is -1",
            stacklevel=3,
        )
    return [int(episode.get("seed", -1)) for episode in episodes]


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Context manager that yields a temporary folder to fill. It is renamed to `path` at the end of
    the block, or deleted after an error."""
    try:
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as parent:
            draft = Path(parent, path.name)
            yield draft
            if path.exists():
                path.rmdir()  # it is empty
            draft.rename(path)
    except OSError as error:
        if error.errno:
            raise make_write_error(path, error) from None
        raise OSError(str(error).replace(str(draft), str(path))) from None


def _convert_array(
    array: NDArray[Any], dtype: Any, step_shape: tuple[int, ...], message: str
) -> NDArray[Any]:
    """Convert an array with a value per step to another dtype, as Minari returns actions as int64.
    Raise an error with `message` if shape or values do not fit.

    Raises:
        ValueError: steps have another shape than `step_shape`, or a value would change; the error
            begins with `message`.
    """
    if array.shape[1:] != step_shape:
        raise ValueError(f"{message} has shape {array.shape[1:]}, and not {step_shape}")
    converted: NDArray[Any] = array.astype(dtype)
    if not np.array_equal(converted, array, equal_nan=array.dtype.kind == "f"):
        raise ValueError(f"{message} has values that {np.dtype(dtype)} cannot hold")
    return converted


def _load_dataset(name: str) -> tuple[Any, dict[str, Any]]:
    """Load a Minari dataset by name. Return it with the arguments of its environment, which is not
    created.

    Raises:
        FileNotFoundError: the dataset is not on this machine.
        ValueError: the dataset is of another environment, or damaged.
    """
    file = Path(get_dataset_path(name)) / "data" / "metadata.json"
    try:
        metadata = parse_json(read_bytes(file, _MAX_BYTES, "descriptions of datasets"))
        # without spaces, Minari would call whatever function the metadata names
        missing = [key for key in ("observation_space", "action_space") if key not in metadata]
        spec = parse_json(metadata["env_spec"]) if metadata.get("env_spec") else {"kwargs": {}}
        source = spec["kwargs"].get("scenario")
    except FileNotFoundError:
        raise FileNotFoundError(f"{name}: there is no such dataset, {file} is missing") from None
    except Exception as error:  # contents of a file may be anything
        raise _make_damage_error(name, error) from None
    if spec.get("id") != _ID or not isinstance(source, str | dict):
        raise ValueError(
            f"{name} is of {shorten(str(spec.get('id', 'no environment')), 60)}, and not of a "
            f"scenario by {_ID}: name one that `gv-engine minari --from` has made"
        )
    if missing:
        raise ValueError(f"{name} has no {missing[0]}: such datasets cannot be read")
    try:
        dataset = minari.load_dataset(name)
        env_options = dict(dataset.spec.env_spec.kwargs)
        if not isinstance(env_options.get("max_steps"), int | None):
            raise ValueError(f"max_steps is {env_options['max_steps']!r}")
        return dataset, env_options
    except Exception as error:
        raise _make_damage_error(name, error) from None


def _make_damage_error(name: str, error: Exception) -> ValueError:
    cause = shorten(f"{type(error).__name__}: {error}", 200)
    return ValueError(f"{name} is damaged, or of another version of Minari: {cause}")


def _check_equal_infos(name: str, episodes: list[Any]) -> None:
    """Raise ValueError if the episodes of a dataset do not all have the same info keys. `name` is
    that of the dataset."""
    all_infos = {*_REQUIRED_INFOS}.union(*(episode.infos or () for episode in episodes))
    for info in sorted(all_infos):
        lacking = [episode.id for episode in episodes if info not in (episode.infos or ())]
        if lacking:
            raise ValueError(
                f"{name}: {len(lacking):,} of {len(episodes):,} episodes have no {info} in their "
                f"infos, the first is {lacking[0]}; combine what `gv-engine minari --from` has "
                f"made of rollouts, all with --masks or all without"
            )


def _get_rollout_description(dataset: Any) -> dict[str, Any]:
    """Return the description (`rollout.json`) of the rollout that a dataset was created from; {}
    for a dataset combined from several."""
    description = dataset.storage.metadata.get(_METADATA_KEY) or {}
    if description:
        check_reference(description.get("scenario") if isinstance(description, dict) else None)
    return dict(description)


def _load_scenario(
    name: str,
    env_options: dict[str, Any],
    rollout: dict[str, Any],
    override: str | None,
    consent: Consent,
) -> AnyScenario:
    """Load the scenario in which a dataset was recorded. `override`, if given, is its name or file;
    raise ValueError if that is a different scenario."""
    if rollout and not override:
        return load_reference(rollout["scenario"], name, **consent)
    no_settings = {"scenario", "max_steps", "levels", _REPRESENTATION}
    settings = {key: value for key, value in env_options.items() if key not in no_settings}
    source, max_steps = env_options["scenario"], env_options.get("max_steps")
    trust = Trust.from_options(**consent)

    def read(source: Any, trust: Trust) -> AnyScenario:
        loaded = read_scenario(source, trust, settings=settings)
        limited: AnyScenario = get_plugin(loaded).with_step_limit(loaded, max_steps)
        return limited

    if not override:
        return read(source, trust.for_reference(name))
    original = rollout.get("scenario") or make_reference(read(source, trust.for_reference(name)))
    loaded = read(override, trust)
    if loaded.identity.digest != original["digest"]:
        raise ValueError(
            f"{name} is of {original['name']}, digest {original['digest']}, and {override} has the "
            f"digest {loaded.identity.digest}: leave it out, or name the original scenario"
        )
    return loaded


def _make_rollout_arrays(env: Any, episodes: list[Any], seeds: list[int]) -> dict[str, Any]:
    """Convert the episodes of a dataset, with their seeds, to the arrays of a rollout, by name."""
    lengths = np.array([len(e) for e in episodes])

    def join(arrays: Iterable[Any], first: int = 0) -> Any:
        # items before `first` and behind the last step belong to no step
        parts = zip(arrays, lengths.tolist(), strict=True)
        return np.concatenate([array[first : first + length] for array, length in parts])

    has_masks = _MASK in episodes[0].infos
    return {
        **{name: join(e.observations[name] for e in episodes) for name in env.recorded},
        **({_MASK: join(e.infos[_MASK] for e in episodes)} if has_masks else {}),
        "action": join(e.actions for e in episodes),
        "reward": join(e.rewards for e in episodes),
        # the reset has reward terms, too
        "reward_terms": join((e.infos["reward_terms"] for e in episodes), first=1),
        "terminated": join(e.terminations for e in episodes),
        "truncated": join(e.truncations for e in episodes),
        "episode_start": np.cumsum(lengths) - lengths,
        "episode_seed": np.array(seeds),
        "episode_member": np.array([e.infos["member"][-1] for e in episodes]),
        "episode_success": np.array([e.infos.get("success", [False])[-1] for e in episodes]),
        **{
            f"last_{name}": np.stack([e.observations[name][-1] for e in episodes])
            for name in env.recorded
        },
    }
