"""Rollouts on disk as datasets of Minari, and datasets as rollouts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete

from gv_engine import __version__
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rollout import episode_folder
from gv_engine.rollout.episode_folder import EpisodeFolder
from gv_engine.rollout.rollout import rows_of_steps
from gv_engine.rules.errors import MissingExtraError, shortened
from gv_engine.scenario.files import parse_json, read_bytes
from gv_engine.scenario.loading import read_scenario
from gv_engine.scenario.lookup import checked, found_again, reference_to
from gv_engine.scenario.optional_deps import MINARI
from gv_engine.scenario.plugin import AnyScenario, hooks_of
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.trust import Consent, Trust

if MINARI.missing:
    raise MissingExtraError(MINARI.missing)
import minari
from minari.data_collector import EpisodeBuffer
from minari.storage.datasets_root_dir import get_dataset_path

_ID = "GV-Scenario-v0"
_ENTRIES = "gv_engine.envs.factory:make_env", "gv_engine.envs.factory:make_vector_env"
_REPRESENTATION = "observation_representation"
_TOLD = "gv_engine_rollout"
"""Of a dataset's metadata: what `rollout.json` said, but for the counts and the arrays."""
_COUNTED = ("episodes", "steps", "arrays")
_LARGEST = 2**24
"""Bytes of what Minari keeps of a dataset."""
_ALWAYS = "reward_terms", "member"
"""What infos of all rollouts have."""
_BEFORE = ("action_mask",)
"""Arrays that say something of the moment before an action, and are no observation."""


def to_dataset(
    folder: Path, name: str, reference: tuple[Path, Path] | None = None, **more: Any
) -> minari.MinariDataset:
    """Make a dataset of a rollout.

    An episode has its observations, one more than actions, and its seed. `infos` have
    `reward_terms`, `success`, `member` and, if it was kept, `action_mask`, 0 where there is none.

    Args:
        folder: that `gv-engine rollout --out` has made.
        name: of the dataset, such as `keydoor/valid-v0`.
        reference: folders of two rollouts of the same scenario, a poor and a good one. Their mean
            returns are the scores 0 and 1 of `minari.get_normalized_score`.
        more: what `minari.create_dataset_from_buffers` takes besides, such as `author`.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
        ValueError: there is such a dataset, or its name has no version; the rollout is of several
            agents, or of algebra; or the reference is of another scenario, or its second rollout is
            not the better one.
    """
    if not re.search(r"-v\d+$", name):
        raise ValueError(f"{name}: expected a version behind the name of a dataset, as {name}-v0")
    arrays, about = episode_folder.read(folder)
    scenario = about["scenario"]
    if "action_names" not in about or "agents" in about:
        raise ValueError(
            f"{folder} is of {scenario['name']}: datasets are of grids with one agent, whose "
            f"actions are numbers"
        )
    given = {"scenario": scenario["source"], **scenario["settings"]}
    if "representation" in about:
        given[_REPRESENTATION] = about["representation"]
    if "level_seeds" in about:
        given["levels"] = about["level_seeds"]
    if limit := scenario["changes"].get("max_steps"):
        given["max_steps"] = limit
    spec = EnvSpec(_ID, entry_point=_ENTRIES[0], vector_entry_point=_ENTRIES[1], kwargs=given)
    usual: dict[str, Any] = {
        "algorithm_name": about.get("policy"),
        "requirements": [f"gv-engine=={__version__}"],
        "description": f"{about['episodes']} episodes of {scenario['name']}, seed {about['seed']}, "
        f"policy {about.get('policy')}, digest {scenario['digest']}; actions: "
        f"{', '.join(about['action_names'])}; reward terms: {', '.join(about['reward_names'])}",
    }
    made = minari.create_dataset_from_buffers(
        name,
        list(_episodes(arrays)),
        env=spec,
        eval_env=spec,
        observation_space=_shown(about["arrays"]),
        action_space=Discrete(len(about["action_names"])),
        **(usual | (_scores(reference, scenario) if reference else {}) | more),
    )
    told = {key: value for key, value in about.items() if key not in _COUNTED}
    made.storage.update_metadata({_TOLD: told})
    return made


def _scores(reference: tuple[Path, Path], scenario: dict[str, Any]) -> dict[str, Any]:
    """The scores that others are measured by."""
    means = []
    for folder in reference:
        arrays, about = episode_folder.read(folder)
        if about["scenario"]["digest"] != scenario["digest"]:
            raise ValueError(
                f"{folder} is of {about['scenario']['name']}, digest "
                f"{about['scenario']['digest']}, and not of {scenario['name']}, digest "
                f"{scenario['digest']}: references are of what the dataset is of"
            )
        means.append(float(arrays["reward"].sum(dtype=np.float64)) / about["episodes"])
    low, high = means
    if low >= high:
        raise ValueError(
            f"{reference[0]} has a mean return of {low:g}, and {reference[1]} of {high:g}: name a "
            f"poor rollout, as of --policy random, and then a good one, as of --policy solver"
        )
    return {
        "ref_min_score": low,
        "ref_max_score": high,
        "num_episodes_average_score": about["episodes"],
    }


def _shown(told: dict[str, Any]) -> Dict:
    """The space of the observations that were kept, of what `rollout.json` says of arrays."""
    names = [name.removeprefix("last_") for name in told if name.startswith("last_")]
    return Dict({name: _space(told[name]) for name in names})


def _space(kind: dict[str, Any]) -> Box | Discrete:
    """The space of one array; older rollouts have no bounds but those of its dtype."""
    low, high = episode_folder.read_bounds(kind)
    if not low.ndim and "low" in kind:
        return Discrete(int(high) - int(low) + 1, start=int(low))
    return Box(low, high, dtype=low.dtype.type)


def _episodes(arrays: dict[str, Any]) -> Iterator[EpisodeBuffer]:
    """The episodes of a folder, one after the other."""
    starts = arrays["episode_start"]
    names = [name.removeprefix("last_") for name in arrays if name.startswith("last_")]
    ends = [*starts[1:], len(arrays["action"])]
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        seen = {
            name: np.concatenate([arrays[name][start:end], arrays[f"last_{name}"][k : k + 1]])
            for name in names
        }
        yield EpisodeBuffer(
            id=k,
            seed=int(arrays["episode_seed"][k]),
            observations=seen,
            actions=arrays["action"][start:end].astype(np.int64),
            rewards=arrays["reward"][start:end].tolist(),
            terminations=arrays["terminated"][start:end].tolist(),
            truncations=arrays["truncated"][start:end].tolist(),
            infos=_infos(arrays, k, start, end),
        )


def _infos(arrays: dict[str, Any], k: int, start: int, end: int) -> dict[str, Any]:
    """What infos say: of a reset and of each step, one more than actions."""
    none = np.zeros_like(arrays["reward_terms"][:1])
    found: dict[str, Any] = {
        "reward_terms": np.concatenate([none, arrays["reward_terms"][start:end]]),
        "member": np.full(end - start + 1, arrays["episode_member"][k]),
    }
    if "episode_success" in arrays:
        success = np.zeros(end - start + 1, np.bool_)
        success[-1] = arrays["episode_success"][k]
        found["success"] = success
    for name in _BEFORE:
        if name in arrays:
            told = arrays[name][start:end]
            found[name] = np.concatenate([told, np.zeros_like(told[:1])])
    return found


def to_folder(
    name: str, folder: Path, scenario: str | None = None, **consent: Unpack[Consent]
) -> None:
    """Make a rollout of a dataset of `to_dataset`, the same as the one it was made of.

    Args:
        name: of the dataset, which is on this machine.
        folder: a new one.
        scenario: where on this machine that is which was played, if it is not where it was.
        consent: as for `load_scenario`; a dataset only refers to its scenario, so that nothing of
            it runs without `trust=True`.

    Warns:
        UserWarning: the scenario is no longer what it was; the rollout tells what it was. Or
            episodes have no seeds, as in datasets that were combined; theirs are -1.

    Raises:
        OSError: the folder cannot be written.
        ScenarioError: what was played is not there, or has Python that may not run.
        ValueError: the dataset is of no rollout, or not of this scenario; or some of its episodes
            lack what others have.
    """
    dataset, known = _loaded(name)
    told = _told(dataset)
    played = _played(name, known, told, scenario, consent)
    apart = ("complete", "scenario") if scenario else ("complete",)
    more = {key: value for key, value in told.items() if key not in apart}
    whole = [dataset[k] for k in dataset.episode_indices]
    seeds = [*dataset.storage.get_episode_metadata(dataset.episode_indices)]
    _be_alike(name, whole)
    masks = "action_mask" in whole[0].infos
    if unknown := sum("seed" not in about for about in seeds):
        warnings.warn(
            f"{name} has no seeds of {unknown:,} of its {len(whole):,} episodes, as Minari drops "
            f"them where it combines datasets: their episode_seed is -1",
            stacklevel=2,
        )
    shown = {_REPRESENTATION: known[_REPRESENTATION]} if _REPRESENTATION in known else {}
    if not isinstance(played, Scenario) or len(played.sharing.names) > 1:
        raise ValueError(f"{name} is of {played.name}: datasets are of grids with one agent")
    env = GridVectorEnv(played, 1, world="object", autoreset_mode="Disabled", **shown)
    try:
        rows = _rows(env, whole, [int(about.get("seed", -1)) for about in seeds])
        kinds = rows_of_steps(env, masks)
        if wrong := [n for n, (_, shape) in kinds.items() if rows[n].shape[1:] != shape]:
            raise ValueError(
                f"{name} is not of {played.name}: its {wrong[0]} has shape "
                f"{rows[wrong[0]].shape[1:]}, and not {kinds[wrong[0]][1]}"
            )
        written = EpisodeFolder(folder, env, more, masks=masks)
        written.extend(rows)
        written.close(complete=bool(told.get("complete", True)))
    finally:
        env.close()


def _loaded(name: str) -> tuple[Any, dict[str, Any]]:
    """Return a dataset of `to_dataset`, loaded without making its environment, and what makes that.

    Raises:
        FileNotFoundError: it is not on this machine.
        ValueError: it is of something else, or damaged.
    """
    file = Path(get_dataset_path(name)) / "data" / "metadata.json"
    try:
        about = parse_json(read_bytes(file, _LARGEST, "descriptions of datasets"))
        # without its spaces Minari makes the environment, by whatever function it names
        lacking = [key for key in ("observation_space", "action_space") if key not in about]
        spec = parse_json(about["env_spec"]) if about.get("env_spec") else {"kwargs": {}}
        source = spec["kwargs"].get("scenario")
    except FileNotFoundError:
        raise FileNotFoundError(f"{name}: there is no such dataset here, no {file}") from None
    except Exception as error:  # whatever comes of values that may be anything
        raise _damaged(name, error) from None
    if spec.get("id") != _ID or not isinstance(source, str | dict):
        raise ValueError(
            f"{name} is of {shortened(str(spec.get('id', 'no environment')), 60)}, and not of a "
            f"scenario by {_ID}: name one that `gv-engine minari --from` has made"
        )
    if lacking:
        raise ValueError(f"{name} says nothing of its {lacking[0]}: no such dataset is read")
    try:
        dataset = minari.load_dataset(name)
        known = dict(dataset.spec.env_spec.kwargs)
        if not isinstance(known.get("max_steps"), int | None):
            raise ValueError(f"max_steps is {known['max_steps']!r}")
        return dataset, known
    except Exception as error:
        raise _damaged(name, error) from None


def _damaged(name: str, error: Exception) -> ValueError:
    why = shortened(f"{type(error).__name__}: {error}", 200)
    return ValueError(f"{name} is damaged, or of another version of Minari: {why}")


def _be_alike(name: str, whole: list[Any]) -> None:
    """See that what some episodes tell is there in all.

    Raises:
        ValueError: it is not.
    """
    told = [set(each.infos or ()) for each in whole]
    for info in sorted(set(_ALWAYS).union(*told)):
        lacking = [each.id for each, own in zip(whole, told, strict=True) if info not in own]
        if lacking:
            raise ValueError(
                f"{name}: {len(lacking):,} of {len(whole):,} episodes have no {info} in their "
                f"infos, the first is {lacking[0]}; combine what `gv-engine minari --from` has "
                f"made of rollouts, all with --masks or all without"
            )


def _told(dataset: Any) -> dict[str, Any]:
    """What `rollout.json` said; {} if the dataset is one of several that were combined."""
    told = dataset.storage.metadata.get(_TOLD) or {}
    if told:
        checked(told.get("scenario") if isinstance(told, dict) else None)
    return dict(told)


def _played(
    name: str, made: dict[str, Any], told: dict[str, Any], named: str | None, consent: Consent
) -> AnyScenario:
    """The scenario that a dataset is of, by what was named in its place, if that is the same.

    Raises:
        ValueError: it is not.
    """
    known = dict(made)
    if told and not named:
        return found_again(told["scenario"], name, **consent)
    source, limit = known.pop("scenario"), known.pop("max_steps", None)
    settings = {key: known[key] for key in known.keys() - {"levels", _REPRESENTATION}}
    trust = Trust.given(**consent)

    def read(source: Any, trust: Trust) -> AnyScenario:
        found = read_scenario(source, trust, settings=settings)
        limited: AnyScenario = hooks_of(found).limited(found, limit)
        return limited

    if not named:
        return read(source, trust.of_reference(name))
    then = told["scenario"] if told else reference_to(read(source, trust.of_reference(name)))
    found = read(named, trust)
    if found.identity.digest != then["digest"]:
        raise ValueError(
            f"{name} is of {then['name']}, digest {then['digest']}, and {named} has the digest "
            f"{found.identity.digest}: leave it out, or name what was played"
        )
    return found


def _rows(env: Any, whole: list[Any], seeds: list[int]) -> dict[str, Any]:
    """The arrays of a folder, from episodes of a dataset."""
    lengths = np.array([len(each) for each in whole])

    def steps(get: Any, first: int = 0) -> Any:
        parts = zip(map(get, whole), lengths.tolist(), strict=True)
        return np.concatenate([part[first : first + length] for part, length in parts])

    infos = whole[0].infos
    return {
        **{name: steps(lambda e, n=name: e.observations[n]) for name in env.recorded},
        **{name: steps(lambda e, n=name: e.infos[n]) for name in _BEFORE if name in infos},
        "action": steps(lambda e: e.actions),
        "reward": steps(lambda e: e.rewards),
        "reward_terms": steps(lambda e: e.infos["reward_terms"], 1),
        "terminated": steps(lambda e: e.terminations),
        "truncated": steps(lambda e: e.truncations),
        "episode_start": np.cumsum(lengths) - lengths,
        "episode_seed": np.array(seeds),
        "episode_member": np.array([each.infos["member"][-1] for each in whole]),
        "episode_success": np.array([each.infos.get("success", [False])[-1] for each in whole]),
        **{
            f"last_{name}": np.stack([each.observations[name][-1] for each in whole])
            for name in env.recorded
        },
    }
