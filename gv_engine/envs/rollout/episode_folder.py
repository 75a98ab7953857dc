"""Rollouts on disk: a folder of `.npy` files that grow while episodes are played.

Over the T steps of all episodes, one after the other:

- `grid.npy` (T, h, w, 3) uint8, `item.npy` (T, 3) uint8, `mission.npy` (T, k) int32 if the
  scenario has missions, and `state.npy` (T, k) int32 or float32 if it has a state vector: the
  observation before each action; in algebra `nodes.npy` (T, L) int64, `values.npy` (T, L) float32,
  `mask.npy` (T, L, rules) int8, `time.npy` (T, 1) float32;
- `action_mask.npy` (T, actions) int8, optional: the actions that have an effect;
- `action.npy` (T,) uint8 or wider, `reward.npy` (T,) float64, `reward_terms.npy` (T, F) float64;
- `terminated.npy`, `truncated.npy` (T,) bool: whether the episode ended with the step.

Over the E episodes:

- `episode_start.npy` (E,) int64: index of the first step;
- `episode_seed.npy` (E,) int64: seed of `reset(seed=…)`;
- `episode_member.npy` (E,) int64: member of a mixture;
- `episode_success.npy` (E,) bool: whether the episode was a success, if the scenario defines it;
- `last_grid.npy` (E, h, w, 3) uint8, `last_item.npy` (E, 3) uint8, and so on: the observation at
  the end.

A compressed rollout has files such as `grid.gz` in place of `grid.npy`: gzip members that hold the
bytes of the rows, without a header. `rollout.json` names the `compression`, and the `bytes` of each
file.

With A agents, arrays of steps have an axis of agents behind the first: `reward.npy` is (T, A) and
`grid.npy` (T, A, h, w, 3); so has `last_grid.npy`. `rollout.json` names the `agents`.

`rollout.json` has the number of valid `steps` and `episodes`, whether the rollout is `complete`,
dtype and shape of a row of each of the `arrays` and the `crc32` of its bytes, the `low` and `high`
bounds of observations, `action_names` (in algebra `rule_names`), `reward_names`, a reference to
the `scenario`, and further entries. It is written last, so the rows that it counts exist at any
time.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.policy import remove_file_names
from gv_engine.envs.rollout.rollout import FinishedEpisode, describe_step_arrays
from gv_engine.envs.rollout.step_history import RowSpec
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.scenario.documents.loading import check_reference, make_reference
from gv_engine.scenario.storage import files
from gv_engine.scenario.storage.array_files import ArrayError, read_npy_header
from gv_engine.scenario.storage.resources import ASSETS

try:  # faster, with the same results
    from isal import isal_zlib as fast_zlib
except ImportError:
    import zlib as fast_zlib  # type: ignore[no-redef]

# ---- growing array -------------------------------------------------------------------------------


class GrowingArray:
    """A file to which rows (entries on the first axis) are appended: a `.npy` file, whose header
    leaves room for the number of rows to grow, or gzip members.

    Args:
        path: new file, or an existing one to continue if `state` is given. Its rows are compressed
            if its name ends in `.gz`.
        dtype, shape: dtype and shape of a row.
        state: result of `describe`, and the number of rows at that time.

    Attributes:
        about: dtype and shape of a row, as in `rollout.json`.
    """

    def __init__(
        self,
        path: Path,
        dtype: Any,
        shape: tuple[int, ...] = (),
        state: tuple[dict[str, Any], int] | None = None,
    ) -> None:
        """Create the file `path` for rows of this dtype and shape. With `state`, open an existing
        file to append to it: `state` is the array's entry in `rollout.json`, and its number of
        rows."""
        self._dtype, self._shape = np.dtype(dtype), shape
        self._is_compressed = path.suffix == _GZIP_SUFFIX
        self.about = describe_row(dtype, shape)
        about, num_rows = state or ({"crc32": 0}, 0)
        mode = "r+b" if state else "xb"
        # without a buffer, which would keep what does not fit on a full disk; closed by `close`
        self._file = open(path, mode, 0, opener=files.open_regular_file)  # noqa: SIM115
        self.set_count(num_rows)
        end = about.get("bytes", 0)
        if not self._is_compressed:
            end = self._file.tell() + num_rows * self._dtype.itemsize * int(np.prod(shape))
        self._file.truncate(end)
        self._ends = {num_rows: (int(about["crc32"]), end)}  # checksum and bytes by number of rows
        self._buffer = np.empty((0, *shape), dtype)

    def write(self, start: int, pieces: Sequence[NDArray[Any]]) -> None:
        """Write new rows into the file, after its first `start` rows. They come in several arrays,
        `pieces`, one after the other. Readers see them only after `set_count`."""
        count = sum(map(len, pieces))
        if count > len(self._buffer):  # reused, as new memory is slow
            self._buffer = np.empty((count, *self._shape), self._dtype)
        data = np.concatenate(pieces, out=self._buffer[:count])
        checksum, end = self._ends[start]
        rest = data.reshape(-1).view(np.uint8).data
        if self._is_compressed:
            rest = memoryview(fast_zlib.compress(data.data, 1, wbits=31))
        self._ends[start + count] = fast_zlib.crc32(data.data, checksum), end + len(rest)
        self._file.seek(end)
        while rest:
            rest = rest[self._file.write(rest) :]

    def set_count(self, num_rows: int) -> None:
        """Write the number of rows into the header of the file, so that readers see them."""
        if self._is_compressed:
            return
        self._file.seek(0)
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (num_rows, *self._shape),
        }
        np.lib.format.write_array_header_1_0(self._file, header)

    def describe(self, num_rows: int) -> dict[str, Any]:
        """Return the entry in `rollout.json` for the first `num_rows` rows of the array: dtype,
        shape and checksum. The next `write` must begin after these rows."""
        self._ends = {num_rows: self._ends[num_rows]}
        checksum, end = self._ends[num_rows]
        return {**self.about, "crc32": checksum} | ({"bytes": end} if self._is_compressed else {})

    def close(self) -> None:
        """Close the file and ignore errors; what was not written yet is lost if the disk is
        full."""
        with suppress(OSError):
            self._file.close()


def describe_row(dtype: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return dtype and shape of a row, as in `rollout.json`."""
    return {"dtype": np.dtype(dtype).str, "shape": list(shape)}


# ---- episode folder ------------------------------------------------------------------------------

DATASETS = ASSETS / "datasets"
"""Folder of the recorded rollouts that come with the package."""
LISTING = "rollout.json"
"""File of a rollout folder that describes its content."""
# Keys of `rollout.json` that change while episodes are played
_COUNTS = "complete", "episodes", "steps"
# Arrays that every folder has
_REQUIRED = frozenset({"action", "reward", "episode_start", "episode_seed"})
# Steps that are written at once, and their bytes
_CHUNK, _MAX_CHUNK_BYTES = 2**14, 2**25
_MAX_UNCOUNTED = 2**18  # steps that are written before `rollout.json` counts them
_MAX_WAITING_BYTES = 2**27  # bytes of steps that wait to be written, or a single chunk
_MAX_AXES = 16
_MAX_NAME = 100  # maximum length of an array's name
_MAX_LISTING = 2**22  # maximum bytes of `rollout.json`
_GZIP, _GZIP_SUFFIX = "gzip", ".gz"
_MAX_RATIO = 1032  # a bit of deflated bytes stands for at most 129 bytes


class RolloutError(GVEngineError):
    """Error of a folder that holds no rollout, or a damaged one."""


class EpisodeFolder:
    """Writes finished episodes with all their steps into a folder.

    Args:
        path: new or empty folder.
        env: environment that plays the episodes.
        more: further content of `rollout.json`.
        go_on: whether to continue an existing folder of the same rollout.
        masks: whether to write action masks.
        compress: whether to write compressed files.

    Attributes:
        episodes, steps: numbers of episodes and steps that are safely written.

    Raises:
        OSError: the folder cannot be written, or is not empty.
        RolloutError: the folder to continue holds no rollout, or another one.
    """

    def __init__(
        self,
        path: Path,
        env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv,
        extra_entries: dict[str, Any],
        resume: bool = False,
        masks: bool = False,
        compress: bool = False,
    ) -> None:
        """Create a folder for episodes played in `env`, or with `resume` open the folder of an
        unfinished rollout. `extra_entries` are written into `rollout.json`. With `masks`, action
        masks are stored, too."""
        if resume:
            files.remove_stale_drafts(path)
        else:
            check_new_folder(path)
        self._path = path
        old: dict[str, Any] | None = _read_listing(path) if resume else None
        self.episodes: int = old["episodes"] if old else 0
        self.steps: int = old["steps"] if old else 0
        self._written_counts = self.steps, self.episodes  # those that are counted, and later ones
        with self._writing():
            path.mkdir(exist_ok=True)
        self._pending: list[FinishedEpisode] = []  # of the next chunk
        self._num_pending_steps = 0
        self._chunks: deque[list[FinishedEpisode]] = deque()  # for the thread that writes
        self._tasks: deque[Future[None]] = deque()
        self._executor = ThreadPoolExecutor(1, "gv-engine-writer")
        scenario, space = env.scenario, cast(Any, env.single_observation_space)
        step_specs = describe_step_arrays(env, masks)
        step_bytes = sum(np.dtype(spec).itemsize for spec in step_specs.values())
        self._chunk_steps = max(1, min(_CHUNK, _MAX_CHUNK_BYTES // step_bytes))
        self._max_waiting = max(1, _MAX_WAITING_BYTES // (self._chunk_steps * step_bytes))
        self._bounds = {name: _describe_bounds(space[name]) for name in env.recorded}
        names = "episode_start", "episode_seed", "episode_member"
        episode_specs: dict[str, RowSpec] = dict.fromkeys(names, (np.int64, ()))
        if scenario.tells_success:
            episode_specs["episode_success"] = np.bool_, ()
        episode_specs |= {f"last_{name}": step_specs[name] for name in env.recorded}
        about = {"format": 1, "scenario": make_reference(scenario), **env.labels}
        about |= {"compression": _GZIP} if compress else {}
        self._suffix = _get_suffix(about)
        about |= {"reward_names": list(scenario.reward_names), **extra_entries}
        if old:
            _check_continued_folder(path, old, about, step_specs | episode_specs)
        self._constant_lines = _format_json_entries(about)
        with self._writing():
            self._step_arrays = self._open_arrays(step_specs, self.steps, old)
            self._episode_arrays = self._open_arrays(episode_specs, self.episodes, old)
            self._write_listing(complete=False)

    def _open_arrays(
        self, specs: dict[str, RowSpec], num_rows: int, old: dict[str, Any] | None
    ) -> dict[str, GrowingArray]:
        """Create a file for each array in `specs`, which has its dtype and shape by name. If `old`,
        the content of `rollout.json`, is given, open the existing files with `num_rows` rows
        instead."""
        return {
            name: GrowingArray(
                self._path / f"{name}{self._suffix}",
                *spec,
                (old["arrays"][name], num_rows) if old else None,
            )
            for name, spec in specs.items()
        }

    def append(self, episode: FinishedEpisode) -> None:
        """Add a finished episode. A background thread writes many episodes at once.

        Raises:
            OSError: as for `flush`, also about earlier episodes.
        """
        self._pending.append(episode)
        self._num_pending_steps += episode.length
        if self._num_pending_steps >= self._chunk_steps:
            self._queue_pending()
            self._tasks.append(self._executor.submit(self._write_chunk))
            self._wait_for_writer(max_tasks=self._max_waiting)

    def _queue_pending(self) -> None:
        self._chunks.append(self._pending)
        self._pending, self._num_pending_steps = [], 0

    def _wait_for_writer(self, max_tasks: int) -> None:
        """Wait until at most `max_tasks` tasks of the background thread are left. If it could not
        write a chunk of episodes, the next task tries that chunk again.

        Raises:
            OSError: an episode could not be written.
        """
        while self._tasks and (len(self._tasks) > max_tasks or self._tasks[0].done()):
            wait([self._tasks[0]])
            with self._writing():
                self._tasks.popleft().result()

    def flush(self) -> None:
        """Write all episodes that `append` got and that are not written yet. After an interruption
        it can be called again.

        Raises:
            OSError: an episode cannot be written; earlier ones are safe.
        """
        self._wait_for_writer(max_tasks=0)
        if self._pending:
            self._queue_pending()
        with self._writing():
            while self._chunks:
                self._write_chunk()
            if self._written_counts != (self.steps, self.episodes):
                self._update_counts()

    def _write_chunk(self) -> None:
        """Write the oldest chunk of waiting episodes to the files. Let readers see what is written
        if no chunk is left, or if many steps have been written since they last could."""
        try:
            self._write(_collect_pieces(self._chunks[0]))
        except OSError:
            with suppress(OSError):
                self._update_counts()  # of the chunks before
            raise
        self._chunks.popleft()
        if not self._chunks or self._written_counts[0] - self.steps >= _MAX_UNCOUNTED:
            self._update_counts()

    def extend(self, rows: Mapping[str, Any]) -> None:
        """Write many episodes at once. `rows` are their arrays by name, as `episode_rows` returns
        them.

        Raises:
            OSError: as for `flush`.
        """
        self.flush()
        with self._writing():
            self._write({name: [array] for name, array in rows.items()})
            self._update_counts()

    def _write(self, pieces: dict[str, list[NDArray[Any]]]) -> None:
        """Append arrays to the files. `pieces` has for each file, by name, a list of arrays to be
        written one after the other. Readers see them only after `_update_counts`."""
        steps, episodes = self._written_counts
        pieces["episode_start"] = [starts + steps for starts in pieces["episode_start"]]
        for arrays, start in ((self._step_arrays, steps), (self._episode_arrays, episodes)):
            for name, array in arrays.items():
                array.write(start, pieces[name])
        num_steps = sum(map(len, pieces["action"]))
        num_episodes = sum(map(len, pieces["episode_seed"]))
        self._written_counts = steps + num_steps, episodes + num_episodes

    def _update_counts(self) -> None:
        """Let readers see everything written so far: write the numbers of steps and episodes into
        the files' headers and into `rollout.json`."""
        steps, episodes = self._written_counts
        for arrays, num_rows in ((self._step_arrays, steps), (self._episode_arrays, episodes)):
            for array in arrays.values():
                array.set_count(num_rows)
        self.steps, self.episodes = steps, episodes
        self._write_listing(complete=False)

    def close(self, complete: bool) -> None:
        """Write the remaining episodes, note in `rollout.json` if the rollout is `complete`, and
        close all files.

        Raises:
            OSError: an episode cannot be written, now or earlier; counted ones are safe.
        """
        try:
            self.flush()
            with self._writing():
                self._write_listing(complete)
        finally:
            self._close_files()

    def remove(self) -> None:
        """Delete the files of the rollout, and the folder if it is then empty. Only called while it
        has no episodes."""
        self._close_files()
        (self._path / LISTING).unlink(missing_ok=True)
        for name in (*self._step_arrays, *self._episode_arrays):
            (self._path / f"{name}{self._suffix}").unlink(missing_ok=True)
        with suppress(OSError):  # it has other files
            self._path.rmdir()

    def _close_files(self) -> None:
        self._executor.shutdown()
        for array in (*self._step_arrays.values(), *self._episode_arrays.values()):
            array.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Context manager: if writing fails, raise an OSError whose message names the folder and
        says how many episodes are intact."""
        try:
            yield
        except OSError as error:
            kept = f"; {self.episodes} episodes in it are whole" if self.episodes else ""
            raise OSError(f"{files.make_write_error(self._path, error)}{kept}") from None

    def _write_listing(self, complete: bool) -> None:
        """Write `rollout.json`, with the numbers of episodes and steps, checksums, and whether the
        rollout is `complete`."""
        counts = dict(zip(_COUNTS, (complete, self.episodes, self.steps), strict=True))
        arrays = {name: array.describe(self.steps) for name, array in self._step_arrays.items()}
        for name, bounds in self._bounds.items():
            arrays[name] |= bounds
        for name, array in self._episode_arrays.items():
            arrays[name] = array.describe(self.episodes)
        # by hand, as an indented json.dumps is slower than the steps of a chunk
        lines = (f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in arrays.items())
        array_lines = '  "arrays": {\n' + ",\n".join(lines) + "\n  }"
        entries = _format_json_entries(counts), self._constant_lines, array_lines
        text = "{\n" + ",\n".join(entries) + "\n}\n"
        files.write_file(self._path / LISTING, text, follow_links=False)


def check_new_folder(path: Path) -> None:
    """Raise FileExistsError unless `path` does not exist or is an empty folder. Temporary files
    that crashed processes left there are deleted first."""
    files.remove_stale_drafts(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        unfinished = _describe_unfinished(path)
        fix = "continue it with --resume, or " if unfinished else ""
        raise FileExistsError(
            f"{path} is there already{unfinished}; {fix}give the name of a new folder"
        )


def episode_rows(episodes: Sequence[FinishedEpisode]) -> dict[str, Any]:
    """Return these episodes, with their steps, as arrays by name, in the form in which a folder
    stores them."""
    return {name: np.concatenate(pieces) for name, pieces in _collect_pieces(episodes).items()}


def _collect_pieces(episodes: Sequence[FinishedEpisode]) -> dict[str, list[NDArray[Any]]]:
    """Return the arrays of many episodes by name, each as a list with one array per episode."""
    lengths = np.array([episode.length for episode in episodes])
    all_steps = [episode.steps for episode in episodes if episode.steps is not None]
    pieces = {"episode_start": [np.cumsum(lengths) - lengths]}
    for name in ("seed", "member", "success"):
        pieces[f"episode_{name}"] = [np.array([getattr(episode, name) for episode in episodes])]
    for name in all_steps[0]:
        pieces[name] = [piece for steps in all_steps for piece in steps.pieces(name)]
    for name in episodes[0].last:
        pieces[f"last_{name}"] = [np.stack([episode.last[name] for episode in episodes])]
    return pieces


def _describe_bounds(space: Any) -> dict[str, Any]:
    """Return the smallest and largest values of a Gymnasium space, to be stored in `rollout.json`.
    If all entries along a leading axis have the same bounds, the axis is left out."""
    if isinstance(space, Discrete):
        return {"low": int(space.start), "high": int(space.start + space.n - 1)}
    low, high = space.low, space.high
    while low.ndim and (low == low[:1]).all() and (high == high[:1]).all():
        low, high = low[0], high[0]
    return {"low": low.tolist(), "high": high.tolist()}


def _check_continued_folder(
    path: Path, old: dict[str, Any], about: dict[str, Any], specs: dict[str, RowSpec]
) -> None:
    """Raise an error unless the folder can be continued: `old`, the content of its `rollout.json`,
    must describe the same rollout as `about`, and all arrays in `specs` must be there.

    Raises:
        RolloutError: the folder is of another rollout, or damaged.
        OSError: a file cannot be written.
    """
    arrays = {name: describe_row(*spec) for name, spec in specs.items()}
    _check_same_rollout(path, old, {**about, "arrays": arrays})
    files.check_regular_file(path / LISTING)
    for name in arrays:  # all of them before the first one is written
        _map_array(path, name, old)
        os.close(files.open_regular_file(path / f"{name}{_get_suffix(old)}", os.O_RDWR))


def _check_same_rollout(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise a RolloutError if `old`, the content of `rollout.json` in the folder `path`, describes
    another rollout than `new`."""
    old, new = old.copy(), json.loads(json.dumps(new))
    for listing in (old, new):
        for name, entry in listing.pop("arrays").items():
            listing[f"{name}.npy"] = {key: entry[key] for key in ("dtype", "shape")}
    for name in dict.fromkeys((*new, *old)):
        if name not in _COUNTS and _get_comparable(old, name) != _get_comparable(new, name):
            texts = (json.dumps(listing.get(name), ensure_ascii=False) for listing in (old, new))
            shown = (shorten(text, 60) for text in texts)
            raise RolloutError(
                f"{path} is of another rollout: its {name} is {', not '.join(shown)}; go on with "
                "the options that it was made with"
            )


def _get_comparable(listing: dict[str, Any], name: str) -> Any:
    """Return the entry `name` of `listing`, the content of a `rollout.json`, in a form to be
    compared with another one: without paths of files."""
    value: Any = listing.get(name)
    if name == "scenario":
        return value["digest"]
    if name == "levels":
        return listing.get("level_seeds")
    if name == "policy" and "policy_digest" in listing:
        return remove_file_names(str(value))
    return value


def _format_json_entries(entries: dict[str, Any]) -> str:
    lines = []
    for name, value in entries.items():
        text = json.dumps(value, indent=2 if isinstance(value, dict) else None)
        lines.append(f"  {json.dumps(name)}: " + text.replace("\n", "\n  "))
    return ",\n".join(lines)


def read(path: str | Path, check: bool = True) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return (arrays by name, description) of a rollout that is saved in a folder. It may be
    unfinished, or still being written.

    Args:
        path: folder, or the name of a rollout that comes with the package, such as
            "keydoor-5x5-solver".
        check: whether to compare all files with their checksums, which takes a second per GB.

    Returns:
        Arrays by name, cut to the counted rows, and memory-mapped if they are not compressed; and
        the content of `rollout.json`.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
    """
    path = _find_rollout_folder(path)
    about = _read_listing(path)
    arrays = {name: _map_array(path, name, about) for name in sorted(about["arrays"])}
    for name, array in arrays.items():
        if check and fast_zlib.crc32(array.data) != about["arrays"][name]["crc32"]:
            file = path / f"{name}{_get_suffix(about)}"
            raise RolloutError(f"{file} is damaged: its checksum is another one")
    starts = arrays["episode_start"]
    if starts.dtype != np.int64 or starts.ndim != 1:
        raise RolloutError(f"{path} is damaged: episode_start is no list of numbers")
    if len(starts) and (starts[0] != 0 or (np.diff(starts, append=about["steps"]) <= 0).any()):
        raise RolloutError(f"{path} is damaged: its episodes do not begin one behind the other")
    return arrays, about


def _find_rollout_folder(path: str | Path) -> Path:
    """Return `path` if it exists, else the rollout of this name that comes with the package, if
    there is one."""
    shipped = DATASETS / path
    is_name = len(Path(path).parts) == 1 and not Path(path).exists()
    return shipped if is_name and shipped.is_dir() else Path(path)


def _read_listing(path: Path) -> dict[str, Any]:
    """Return the content of a folder's `rollout.json`. Raise an error if an entry that is needed to
    read the arrays is missing or wrong.

    Raises:
        RolloutError: the file is missing or damaged.
    """
    try:
        data = files.read_bytes(path / LISTING, _MAX_LISTING, "descriptions of rollouts")
        about = files.parse_json(data)
        for name in ("steps", "episodes"):
            if type(about[name]) is not int or not 0 <= about[name] < 2**62:
                raise ValueError(f"{name} is {about[name]!r}")
        if about.get("compression") not in (None, _GZIP):
            raise ValueError(f"compression is {about['compression']!r}")
        for name, entry in about["arrays"].items():
            _check_array_entry(name, entry)
        if missing := _REQUIRED - about["arrays"].keys():
            raise ValueError(f"{min(missing)} is missing among its arrays")
        check_reference(about["scenario"])
    except FileNotFoundError:
        names = ", ".join(sorted(folder.name for folder in DATASETS.glob("*")))
        with_us = "" if path.exists() else f"; those that come with the package are {names}"
        raise RolloutError(
            f"{path} holds no rollout of GV Engine: there is no {LISTING}{with_us}"
        ) from None
    except OSError as error:
        raise RolloutError(f"{path} holds no rollout of GV Engine: {error}") from None
    except Exception as error:  # any error of invalid values
        why = shorten(f"{type(error).__name__}: {error}", 200)
        raise RolloutError(f"{path / LISTING} is damaged, or of another version: {why}") from None
    return dict(about)


def _check_array_entry(name: str, entry: dict[str, Any]) -> None:
    """Raise an error of any class unless `entry`, which describes the array `name` in
    `rollout.json`, is valid."""
    if not files.is_file_name(name) or len(name) > _MAX_NAME:
        raise ValueError(f"{shorten(name, 100)!r} is no name of an array")
    if type(entry.get("crc32")) is not int:
        raise ValueError(f"the crc32 of {name} is {entry.get('crc32')!r}")
    if type(entry.get("bytes", 0)) is not int or not 0 <= entry.get("bytes", 0) < 2**62:
        raise ValueError(f"the bytes of {name} are {entry['bytes']!r}")
    if len(entry["shape"]) > _MAX_AXES:
        raise ValueError(f"a row of {name} has {len(entry['shape'])} axes")
    if _get_row_dtype(entry).base.kind in "iuf":
        read_bounds(entry)


def _get_row_dtype(entry: dict[str, Any]) -> np.dtype[Any]:
    return np.dtype((entry["dtype"], tuple(entry["shape"])))


def read_bounds(entry: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (smallest, largest) values of an array's rows, both with the shape of a row. `entry`
    describes the array in `rollout.json`.

    Args:
        entry: entry of the array in `rollout.json`; without bounds, those of the dtype.

    Raises:
        ValueError: the bounds are invalid, or of another shape.
    """
    row = _get_row_dtype(entry)
    limits: Any = np.finfo(row.base) if row.base.kind == "f" else np.iinfo(row.base)
    low = np.array(entry.get("low", limits.min), row.base)
    high = np.array(entry.get("high", limits.max), row.base)
    # comparing arrays of two shapes could need too much memory
    if low.ndim and high.ndim and low.shape != high.shape:
        raise ValueError(f"bounds of two shapes: {low.shape} and {high.shape}")
    if not (low <= high).all():
        raise ValueError(f"no bounds: {low.tolist()} to {high.tolist()}")
    return np.broadcast_to(low, row.shape), np.broadcast_to(high, row.shape)


def _get_suffix(about: Mapping[str, Any]) -> str:
    return _GZIP_SUFFIX if about.get("compression") else ".npy"


def _map_array(path: Path, name: str, about: dict[str, Any]) -> NDArray[Any]:
    """Return the array `name` of a saved rollout, memory-mapped if it is not compressed, without
    steps of unfinished episodes. `about` is the content of `rollout.json`.

    Raises:
        RolloutError: the file is missing, cut, or of another kind.
    """
    file = path / f"{name}{_get_suffix(about)}"
    num_rows = about["episodes" if name.startswith(("episode_", "last_")) else "steps"]
    row = _get_row_dtype(about["arrays"][name])
    shape = num_rows, *row.shape
    try:
        num_bytes = files.check_file_size(file, sys.maxsize, "arrays")
        if file.suffix == _GZIP_SUFFIX:
            data = _decompress(file, num_rows * row.itemsize, num_bytes)
            return np.frombuffer(data, row.base).reshape(shape)
        with file.open("rb") as stream:
            header = read_npy_header(stream)
            data_start = stream.tell()
    except OSError as error:
        raise RolloutError(error_text(error)) from None
    except ArrayError as error:
        raise RolloutError(f"{file} is damaged: {error}") from None
    if (header.dtype, header.shape[1:]) != (row.base, row.shape) or not header.shape:
        raise RolloutError(f"{file} is no array of {row}, as {LISTING} says")
    num_stored_rows = (num_bytes - data_start) // max(1, row.itemsize)
    if min(header.shape[0], num_stored_rows) < num_rows:
        raise RolloutError(f"{file} is cut: {LISTING} counts {num_rows} rows")
    if not num_rows or not row.itemsize:  # an empty file cannot be mapped
        return np.zeros(shape, row.base)
    return np.memmap(file, row.base, "r", data_start, shape)


def _decompress(file: Path, size: int, num_bytes: int) -> bytes:
    """Return the first `size` decompressed bytes of a file of `num_bytes` bytes.

    Raises:
        ArrayError: the file is damaged, or has fewer bytes.
        OSError: it cannot be read.
    """
    if size > num_bytes * _MAX_RATIO:  # before so much memory is taken
        raise ArrayError(f"it is cut: {LISTING} counts {size} bytes")
    try:
        with gzip.open(file) as stream:
            data = stream.read(size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ArrayError(str(error)) from None
    if len(data) < size:
        raise ArrayError(f"it has {len(data)} bytes, and {LISTING} counts {size}")
    return data


def _describe_unfinished(path: Path) -> str:
    """Return the end of an error message about a folder: that it holds an unfinished rollout, or ""
    if it does not."""
    try:
        about = _read_listing(path)
    except RolloutError:
        return ""
    if about.get("complete"):
        return ""
    return f", an unfinished rollout of which {about['episodes']} episodes are whole"
