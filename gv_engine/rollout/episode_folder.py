"""Rollouts on disk: a folder of `.npy` files that grow while episodes are played.

Over the T steps of all episodes, one after the other:

- `grid.npy` (T, h, w, 3) uint8, `item.npy` (T, 3) uint8, and `mission.npy` (T, k) int32 if the
  agent is asked something: the observation before each action; in
  algebra `nodes.npy` (T, L) int64, `values.npy` (T, L) float32, `mask.npy` (T, L, rules) int8,
  `time.npy` (T, 1) float32;
- `action_mask.npy` (T, actions) int8, if it is asked for: which would do something;
- `action.npy` (T,) uint8 or wider, `reward.npy` (T,) float64, `reward_terms.npy` (T, F) float64;
- `terminated.npy`, `truncated.npy` (T,) bool: whether the episode ended with this step, and how.

Over the E episodes:

- `episode_start.npy` (E,) int64: the number of its first step;
- `episode_seed.npy` (E,) int64: its level is that of `reset(seed=…)`;
- `episode_member.npy` (E,) int64: which member of a mixture it played;
- `episode_success.npy` (E,) bool: whether it ended well, if the scenario says what that is;
- `last_grid.npy` (E, h, w, 3) uint8, `last_item.npy` (E, 3) uint8, and so on: the observation at
  its end.

Of A agents, what is kept of steps has an axis of agents behind the first, `reward.npy` is (T, A)
and `grid.npy` (T, A, h, w, 3), and so has `last_grid.npy`; `rollout.json` names the `agents`.

And `rollout.json`: how many `steps` and `episodes` are valid, whether that is `complete`, dtype and
shape of a row of each of the `arrays` and the `crc32` of all its bytes, of observations the `low`
and `high` of their space, `action_names` (in algebra `rule_names`), `reward_names`, the `scenario`,
as `make_reference` tells of it, and what else was to be kept. It is written last, so whatever
happens, what it counts is there.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rollout.policy import without_files
from gv_engine.rollout.rollout import FinishedEpisode, rows_of_steps
from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.scenario.files import (
    ArrayError,
    atomic_write,
    check_file_size,
    is_file_name,
    parse_json,
    read_bytes,
    read_npy_header,
    remove_stale_drafts,
)
from gv_engine.scenario.lookup import check_reference, make_reference

# ---- growing array -------------------------------------------------------------------------------


class GrowingArray:
    """A `.npy` file that rows are appended to.

    Args:
        path: of a new file; or of one that goes on, if it is `known`.
        dtype, shape: of a row.
        known: what `told` has said of it, and how many rows it had then.

    NumPy leaves room in the head of every file for the number of rows to grow.

    Attributes:
        about: dtype and shape of a row, as `rollout.json` has them.
    """

    def __init__(
        self,
        path: Path,
        dtype: Any,
        shape: tuple[int, ...] = (),
        known: tuple[dict[str, Any], int] | None = None,
    ) -> None:
        self._dtype, self._shape = np.dtype(dtype), shape
        self._row = self._dtype.itemsize * int(np.prod(shape))
        self.about = row_kind(dtype, shape)
        about, number = known or ({"crc32": 0}, 0)
        self._sums = {number: int(about["crc32"])}  # of the bytes of so many rows
        self._file = path.open("r+b" if known else "xb")
        self.count(number)
        self._begin = self._file.tell()
        self._file.truncate(self._begin + number * self._row)

    def write(self, start: int, rows: Any) -> None:
        """Put (K, …) rows behind the first `start`; they are not counted yet."""
        data = np.ascontiguousarray(rows, self._dtype)
        self._file.seek(self._begin + start * self._row)
        self._file.write(data.data)
        self._sums[start + len(rows)] = zlib.crc32(data.data, self._sums[start])

    def count(self, number: int) -> None:
        """Say in the head how many rows there are."""
        self._file.flush()
        self._file.seek(0)
        head = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (number, *self._shape),
        }
        np.lib.format.write_array_header_1_0(self._file, head)
        self._file.flush()

    def told(self, number: int) -> dict[str, Any]:
        """What `rollout.json` says of it and its first rows, behind which the next are written."""
        self._sums = {number: self._sums[number]}
        return {**self.about, "crc32": self._sums[number]}

    def close(self) -> None:
        """Let go of the file; what it still holds back is lost if there is no room for it."""
        with suppress(OSError):
            self._file.close()


def row_kind(dtype: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """dtype and shape of a row, as `rollout.json` has them."""
    return {"dtype": np.dtype(dtype).str, "shape": list(shape)}


# ---- episode folder ------------------------------------------------------------------------------

LISTING = "rollout.json"
"""Of a folder: what is in it."""
_COUNTS = "complete", "episodes", "steps"
"""What `rollout.json` says of how far it is."""
_NEEDED = frozenset({"action", "reward", "episode_start", "episode_seed"})
"""Arrays that whoever reads a folder may rely on."""
_CHUNK = 2**14
"""Steps that are written at once; twice as many may be lost if the process is killed."""
_MOST_AXES = 16
_LONGEST_NAME = 100
"""Characters of the name of an array."""
_LONGEST_ABOUT = 2**22
"""Bytes of `rollout.json`."""


class RolloutError(GVEngineError):
    """A folder holds no rollout, or a damaged one."""


class EpisodeFolder:
    """Writes episodes that kept their steps.

    Args:
        path: a new folder, or an empty one.
        env: what is played.
        more: what else `rollout.json` is to hold.
        go_on: whether to go on behind the episodes that are there, of the same rollout.
        masks: whether action masks are kept, too.

    Attributes:
        episodes, steps: so many are there to stay.

    Raises:
        OSError: the folder cannot be written, or is not empty.
        RolloutError: it is to go on, and is none, or one of something else.
    """

    def __init__(
        self,
        path: Path,
        env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv,
        more: dict[str, Any],
        go_on: bool = False,
        masks: bool = False,
    ) -> None:
        remove_stale_drafts(path)
        if not go_on and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FileExistsError(
                f"{path} is there already{_state(path)}; give the name of a new folder"
            )
        self._path = path
        known: dict[str, Any] = _about(path) if go_on else {"episodes": 0, "steps": 0}
        self.episodes, self.steps = known["episodes"], known["steps"]
        with self._writing():
            path.mkdir(exist_ok=True)
        self._pending: list[FinishedEpisode] = []
        self._num_pending = 0
        self._beside = ThreadPoolExecutor(1, "gv-engine-writer")
        self._chunk: tuple[list[FinishedEpisode], Future[None]] | None = None
        scenario, shown = env.scenario, cast(Any, env.single_observation_space)
        of_steps = rows_of_steps(env, masks)
        self._bounds = {name: _bounds(shown[name]) for name in env.recorded}
        of_episodes = {
            "episode_start": (np.int64, ()),
            "episode_seed": (np.int64, ()),
            "episode_member": (np.int64, ()),
            **({"episode_success": (np.bool_, ())} if scenario.tells_success else {}),
            **{f"last_{name}": of_steps[name] for name in env.recorded},
        }
        about = {
            "format": 1,
            "scenario": make_reference(scenario),
            **env.labels,
            "reward_names": list(scenario.reward_names),
            **more,
        }
        if go_on:
            kinds = {name: row_kind(*kind) for name, kind in {**of_steps, **of_episodes}.items()}
            _be_same(path, {**about, "arrays": kinds}, known)
        self._about = _lines(about)
        with self._writing():
            self._of_steps, self._of_episodes = (
                {
                    name: GrowingArray(
                        path / f"{name}.npy",
                        *kind,
                        known=(known["arrays"][name], rows) if go_on else None,
                    )
                    for name, kind in arrays.items()
                }
                for arrays, rows in ((of_steps, self.steps), (of_episodes, self.episodes))
            )
            self._tell(complete=False)

    def append(self, episode: FinishedEpisode) -> None:
        """Add an episode; from time to time they are written, while the next ones are played.

        Raises:
            OSError: as for `flush`, also of those that were added before.
        """
        self._pending.append(episode)
        self._num_pending += episode.length
        if self._num_pending >= _CHUNK:
            self._settle()
            chunk, self._pending, self._num_pending = self._pending, [], 0
            self._chunk = chunk, self._beside.submit(self._flush, chunk)

    def _settle(self) -> None:
        """Wait until what was given to the other thread is written; what could not be written is
        to be written again."""
        if self._chunk:
            chunk, writing = self._chunk
            try:
                with self._writing():
                    writing.result()
            except Exception:
                self._pending[:0] = chunk
                self._num_pending = sum(episode.length for episode in self._pending)
                self._chunk = None
                raise
            self._chunk = None

    def flush(self) -> None:
        """Write what has been added. If it is interrupted it can be called again.

        Raises:
            OSError: it cannot be written; what was added before is there to stay.
        """
        self._settle()
        with self._writing():
            self._flush(self._pending)
        self._pending, self._num_pending = [], 0

    def _flush(self, episodes: list[FinishedEpisode]) -> None:
        if episodes:
            self._write(rows_of(episodes))
        self._count(sum(episode.length for episode in episodes), len(episodes))

    def _count(self, more_steps: int, more_episodes: int) -> None:
        """Say that so many more steps and episodes are there to stay."""
        steps, number = self.steps + more_steps, self.episodes + more_episodes
        for array in self._of_steps.values():
            array.count(steps)
        for array in self._of_episodes.values():
            array.count(number)
        self.steps, self.episodes = steps, number
        self._tell(complete=False)

    def extend(self, rows: Mapping[str, Any]) -> None:
        """Add the episodes of `rows_of`, at once.

        Raises:
            OSError: as for `flush`.
        """
        self.flush()
        with self._writing():
            self._write(rows)
            self._count(len(rows["action"]), len(rows["episode_seed"]))

    def _write(self, rows: Mapping[str, Any]) -> None:
        for name, array in self._of_steps.items():
            array.write(self.steps, rows[name])
        for name, array in self._of_episodes.items():
            first = self.steps if name == "episode_start" else 0
            array.write(self.episodes, rows[name] + first if first else rows[name])

    def close(self, complete: bool) -> None:
        """Write the rest, and whether that is all there should be.

        Raises:
            OSError: it cannot be written, or something could not be before; what is counted is
                there to stay.
        """
        try:
            self.flush()
            with self._writing():
                self._tell(complete)
        finally:
            self._let_go()

    def remove(self) -> None:
        """Let go of a folder in which nothing is to stay, so that its name is free again."""
        self._let_go()
        for name in (LISTING, *(f"{name}.npy" for name in (*self._of_steps, *self._of_episodes))):
            (self._path / name).unlink(missing_ok=True)
        with suppress(OSError):  # others have put something into it
            self._path.rmdir()

    def _let_go(self) -> None:
        self._beside.shutdown()
        for array in (*self._of_steps.values(), *self._of_episodes.values()):
            array.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            kept = f"; {self.episodes} episodes in it are whole" if self.episodes else ""
            why = error.strerror or error
            raise OSError(f"{self._path} cannot be written: {why}{kept}") from None

    def _tell(self, complete: bool) -> None:
        counts = dict(zip(_COUNTS, (complete, self.episodes, self.steps), strict=True))
        arrays = {name: array.told(self.steps) for name, array in self._of_steps.items()}
        for name, bounds in self._bounds.items():
            arrays[name] |= bounds
        arrays |= {name: array.told(self.episodes) for name, array in self._of_episodes.items()}
        # a line for each array, which json.dumps is slower to make than the steps of a chunk
        told = (f"    {json.dumps(name)}: {json.dumps(about)}" for name, about in arrays.items())
        parts = _lines(counts), self._about, '  "arrays": {\n' + ",\n".join(told) + "\n  }"
        with atomic_write(self._path / LISTING) as draft:
            draft.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def rows_of(episodes: Sequence[FinishedEpisode]) -> dict[str, Any]:
    """The arrays of some episodes that kept their steps, by their names in a folder that has no
    others."""
    lengths = np.array([episode.length for episode in episodes])
    told = [each.steps for each in episodes if each.steps is not None]
    return {
        **{
            name: np.concatenate([piece for steps in told for piece in steps.pieces(name)])
            for name in told[0]
        },
        "episode_start": np.cumsum(lengths) - lengths,
        "episode_seed": np.array([episode.seed for episode in episodes]),
        "episode_member": np.array([episode.member for episode in episodes]),
        "episode_success": np.array([episode.success for episode in episodes]),
        **{
            f"last_{name}": np.stack([episode.last[name] for episode in episodes])
            for name in episodes[0].last
        },
    }


def _bounds(space: Any) -> dict[str, Any]:
    """The bounds of a space, as `rollout.json` has them: without the first axes along which they
    are all the same."""
    if isinstance(space, Discrete):
        return {"low": int(space.start), "high": int(space.start + space.n - 1)}
    low, high = space.low, space.high
    while low.ndim and (low == low[:1]).all() and (high == high[:1]).all():
        low, high = low[0], high[0]
    return {"low": low.tolist(), "high": high.tolist()}


def _be_same(path: Path, about: dict[str, Any], known: dict[str, Any]) -> None:
    """Make sure that a folder is of the same rollout: that it says nothing else, and no more.

    Raises:
        RolloutError: it is not.
    """
    there, asked = (
        {
            **found,
            **{
                f"{name}.npy": {key: kind[key] for key in ("dtype", "shape")}
                for name, kind in found["arrays"].items()
            },
        }
        for found in (known, json.loads(json.dumps(about)))
    )
    for name in dict.fromkeys((*asked, *there)):
        if name not in ("arrays", *_COUNTS) and _compared(name, there) != _compared(name, asked):
            values = (json.dumps(of.get(name), ensure_ascii=False) for of in (there, asked))
            told = (shorten(value, 60) for value in values)
            raise RolloutError(
                f"{path} is of another rollout: its {name} is {', not '.join(told)}; go on with "
                "the options that it was made with"
            )


def _compared(name: str, about: dict[str, Any]) -> Any:
    """What is the same in all of a rollout: of files what is in them, not where they are."""
    value: Any = about.get(name)
    if name == "scenario":
        return value["digest"]
    if name == "levels":
        return about.get("level_seeds")
    return without_files(str(value)) if name == "policy" and "policy_digest" in about else value


def _lines(about: dict[str, Any]) -> str:
    """The lines between the braces of an object in JSON."""
    return json.dumps(about, indent=2)[2:-2]


def read(path: str | Path, check: bool = True) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """A rollout, also of a process that is still at it or was killed.

    Args:
        path: the folder.
        check: whether to read all of it now and compare it with its checksums, a GB a second.

    Returns:
        Its arrays by name, mapped into memory and cut to what is valid, and `rollout.json`.

    Raises:
        RolloutError: the folder holds no rollout, or something in it is damaged.
    """
    path = Path(path)
    about = _about(path)
    arrays = {name: _array(path, name, about) for name in sorted(about["arrays"])}
    for name, array in arrays.items() if check else ():
        if zlib.crc32(array.data) != about["arrays"][name]["crc32"]:
            raise RolloutError(f"{path / name}.npy is damaged: its checksum is another one")
    starts = arrays["episode_start"]
    if starts.dtype != np.int64 or starts.ndim != 1:
        raise RolloutError(f"{path} is damaged: episode_start is no list of numbers")
    if len(starts) and (starts[0] != 0 or (np.diff(starts, append=about["steps"]) <= 0).any()):
        raise RolloutError(f"{path} is damaged: its episodes do not begin one behind the other")
    return arrays, about


def _about(path: Path) -> dict[str, Any]:
    """What `rollout.json` says, as far as the arrays need it."""
    try:
        about = parse_json(read_bytes(path / LISTING, _LONGEST_ABOUT, "descriptions of rollouts"))
        for name in ("steps", "episodes"):
            if type(about[name]) is not int or not 0 <= about[name] < 2**62:
                raise ValueError(f"{name} is {about[name]!r}")
        for name, kind in about["arrays"].items():
            if not is_file_name(name) or len(name) > _LONGEST_NAME:
                raise ValueError(f"{shorten(name, 100)!r} is no name of an array")
            if type(kind.get("crc32")) is not int:
                raise ValueError(f"the crc32 of {name} is {kind.get('crc32')!r}")
            if len(kind["shape"]) > _MOST_AXES:
                raise ValueError(f"a row of {name} has {len(kind['shape'])} axes")
            row = np.dtype((kind["dtype"], tuple(kind["shape"])))
            if row.base.kind in "iuf":
                bounds_of(kind)
        if missing := _NEEDED - about["arrays"].keys():
            raise ValueError(f"{min(missing)} is missing among its arrays")
        check_reference(about["scenario"])
    except FileNotFoundError:
        raise RolloutError(f"{path} holds no rollout of GV Engine: there is no {LISTING}") from None
    except OSError as error:
        raise RolloutError(f"{path} holds no rollout of GV Engine: {error}") from None
    except Exception as error:  # whatever comes of values that may be anything
        why = shorten(f"{type(error).__name__}: {error}", 200)
        raise RolloutError(f"{path / LISTING} is damaged, or of another version: {why}") from None
    return dict(about)


def bounds_of(kind: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the largest numbers that a row may have, both of its shape.

    Args:
        kind: what `rollout.json` says of an array of numbers; without bounds, those of its dtype.

    Raises:
        ValueError: they are none, or of another shape.
    """
    row = np.dtype((kind["dtype"], tuple(kind["shape"])))
    most: Any = np.finfo(row.base) if row.base.kind == "f" else np.iinfo(row.base)
    low, high = (
        np.array(kind.get(name, end), row.base)
        for name, end in (("low", most.min), ("high", most.max))
    )
    if low.ndim and high.ndim and low.shape != high.shape:  # compared, they could be a huge table
        raise ValueError(f"bounds of two shapes: {low.shape} and {high.shape}")
    if not (low <= high).all():
        raise ValueError(f"no bounds: {low.tolist()} to {high.tolist()}")
    return np.broadcast_to(low, row.shape), np.broadcast_to(high, row.shape)


def _array(path: Path, name: str, about: dict[str, Any]) -> NDArray[Any]:
    """What is valid of an array, mapped into memory.

    Raises:
        RolloutError: it is not there, not all there, or another one.
    """
    file = path / f"{name}.npy"
    number = about["episodes" if name.startswith(("episode_", "last_")) else "steps"]
    row = np.dtype((about["arrays"][name]["dtype"], tuple(about["arrays"][name]["shape"])))
    try:
        size = check_file_size(file, sys.maxsize, "arrays")
        with file.open("rb") as opened:
            head = read_npy_header(opened)
            begin = opened.tell()
    except OSError as error:
        raise RolloutError(error_text(error)) from None
    except ArrayError as error:
        raise RolloutError(f"{file} is damaged: {error}") from None
    if (head.dtype, head.shape[1:]) != (row.base, row.shape) or not head.shape:
        raise RolloutError(f"{file} is no array of {row}, as {LISTING} says")
    if min(head.shape[0], (size - begin) // max(1, row.itemsize)) < number:
        raise RolloutError(f"{file} is cut: {LISTING} counts {number} rows")
    if not number or not row.itemsize:  # an empty file cannot be mapped
        return np.zeros((number, *row.shape), row.base)
    return np.memmap(file, row.base, "r", begin, (number, *row.shape))


def _state(path: Path) -> str:
    """The message about a folder that is there, if it is an unfinished rollout."""
    try:
        about = _about(path)
    except RolloutError:
        return ""
    if about.get("complete"):
        return ""
    return f", an unfinished rollout of which {about['episodes']} episodes are whole"
