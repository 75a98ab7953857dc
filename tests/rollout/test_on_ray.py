"""Rollouts on a cluster of Ray with several nodes; needs the extra ray, see `make ray`."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.envs.rollout import episode_folder
from gv_engine.plugins.learning.cli import train

ray: Any = pytest.importorskip("ray")

from gv_engine.envs.rollout import on_ray  # noqa: E402
from tests.screen import PATIENCE  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.compiled,
    pytest.mark.filterwarnings("default"),  # Ray's own
]

OWN = """
import time
def first(observation, info, rngs):
    return info["action_mask"].argmax(1)
def slow(observation, info, rngs):
    time.sleep(0.02)
    return first(observation, info, rngs)
def fails(observation, info, rngs):
    return info["oops"]
def wrong(observation, info, rngs):
    return [99] * len(rngs)
"""
WORDS = ("rollout", "keydoor-5x5", "--max-steps", "30", "--episodes", "200", "--seed", "7")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that plays nothing, and two machines of one core, in a folder of their own: in Ray's
    usual one it is written down, and other programs that start Ray would join it."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="ray") as folder:
        patch.setenv("RAY_TMPDIR", folder)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        made.nodes_to_play = [made.add_node(wait=False, num_cpus=1) for _ in range(2)]
        made.wait_for_nodes(timeout=PATIENCE)  # Ray would wait for 30 s
        ray.init(made.address, log_to_driver=False)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setattr(on_ray, "_SHARD", 9)
    return tmp_path


def whole(*words: str) -> Path:
    """The rollout, as one process plays it."""
    assert main([*WORDS, *words, "--out", "one"]) == 0
    return Path("one")


def lose_a_machine(cluster: Any) -> None:
    """Let a machine die, and another one come."""
    cluster.remove_node(cluster.nodes_to_play.pop(), allow_graceful=False)
    cluster.nodes_to_play.append(cluster.add_node(wait=False, num_cpus=1))


def assert_same_bytes(one: Path, other: Path) -> None:
    assert episode_folder.read(other)[1]["complete"]
    names = sorted(file.name for file in one.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize(
    "words",
    [("--policy", "valid"), ("--levels", "test"), ("--policy", "./own.py:first", "--first", "5")],
    ids=" ".join,
)
def test_the_bytes_are_those_of_one_process(cluster, here, words):
    one = whole(*words)
    assert main([*WORDS, *words, "--out", "many", "--ray", cluster.address]) == 0
    assert_same_bytes(one, Path("many"))


def test_policies_of_agents_act_there_too(cluster, here):
    words = ["rollout", "hunt", "--max-steps", "20", "--episodes", "20"]
    words += ["--policy", "hunters=./own.py:first"]
    assert main([*words, "--out", "one"]) == 0
    assert main([*words, "--out", "many", "--ray", cluster.address]) == 0
    assert_same_bytes(Path("one"), Path("many"))


def test_sigterm_is_told_while_others_play(cluster, here, monkeypatch, capsys):
    extend = episode_folder.EpisodeFolder.extend

    def watched(folder: Any, rows: Any) -> None:
        extend(folder, rows)
        if folder.episodes == 9:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    monkeypatch.setattr(episode_folder.EpisodeFolder, "extend", watched)
    words = ["--policy", "./own.py:slow", "--out", "many", "--ray", cluster.address]
    assert main([*WORDS, *words]) == 143
    assert "of 200 episodes, " in capsys.readouterr().err
    assert not episode_folder.read("many")[1]["complete"]


def test_what_fails_there_says_where_in_its_file(cluster, here, capsys):
    words = [*WORDS, "--policy", "./own.py:fails", "--out", "many", "--ray", cluster.address]
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("own.py:9: KeyError: 'oops'\n")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:9", "no cluster at 127.0.0.1:9: "),
        ("ray://127.0.0.1:9", "no cluster at 127.0.0.1:9: "),
        ("127.0.0.1", "no cluster is named '127.0.0.1' (allowed: HOST:PORT, "),
        ("127.0.0.1:70000", "no cluster is named '127.0.0.1:70000'"),
    ],
)
def test_an_address_where_nobody_listens_is_told_at_once(monkeypatch, capsys, address, says):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda *_, **__: pytest.fail("Ray would wait for minutes"))
    assert main([*WORDS, "--ray", address]) == 2
    assert f"gv-engine: {says}" in capsys.readouterr().err


def test_a_cluster_that_is_not_reached_is_told_before_anything_is_written(monkeypatch, capsys):
    def refused(*_: Any, **__: Any) -> None:
        raise ConnectionError("Failed to connect to Ray cluster")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refused)
    assert main([*WORDS, "--out", "many", "--ray", "auto"]) == 2
    assert "Failed to connect to Ray cluster" in capsys.readouterr().err
    assert not Path("many").exists()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert main([*WORDS, "--ray", address]) == 2
    said = capsys.readouterr().err
    assert "gv-engine: Failed to connect to Ray cluster; somebody listens there: if it" in said
    assert "RAY_AUTH_MODE=token" in said


def test_a_machine_that_dies_is_replaced(cluster, monkeypatch):
    one = whole()
    extend, number = episode_folder.EpisodeFolder.extend, 0

    def watched(folder: Any, rows: Any) -> None:
        nonlocal number
        extend(folder, rows)
        number += 1
        if number == 5:
            lose_a_machine(cluster)

    monkeypatch.setattr(episode_folder.EpisodeFolder, "extend", watched)
    assert main([*WORDS, "--out", "many", "--ray", cluster.address]) == 0
    assert number == 23
    assert_same_bytes(one, Path("many"))


def test_what_was_interrupted_goes_on(cluster, monkeypatch, capsys):
    one = whole()
    shards = on_ray.play_shards

    def interrupted(*given: Any) -> Iterator[Any]:
        for number, shard in enumerate(shards(*given)):
            if number == 4:
                raise KeyboardInterrupt
            yield shard

    monkeypatch.setattr(on_ray, "play_shards", interrupted)
    again = [*WORDS, "--out", "many", "--ray", cluster.address]
    assert main(again) == 130
    assert "interrupted after 36 of 200 episodes, 36 of them in many" in capsys.readouterr().err
    monkeypatch.setattr(on_ray, "play_shards", shards)
    assert main([*again, "--resume"]) == 0
    assert_same_bytes(one, Path("many"))


def test_parts_of_the_protocol_are_the_same_wherever_they_are_made(cluster, here):
    words = ["--policy", "./own.py:first", "--scenario", "keydoor-5x5", "--seeds", "0:4"]
    assert main(["benchmark", "one", *words]) == 0
    assert main(["benchmark", "many", *words, "--ray", cluster.address]) == 0
    one, many = (Path(name, "parts.jsonl").read_text().splitlines() for name in ("one", "many"))
    assert len(one) == 4
    assert sorted(many) == one  # in the order in which they came


def test_runs_that_learn_on_several_machines_are_those_of_one(cluster, here, monkeypatch):
    """Stretch by stretch, one of which is lost with its machine; interrupted, and resumed."""
    run_folder: Any = pytest.importorskip("gv_engine.plugins.learning.run_folder")  # by torch
    monkeypatch.setattr(train, "_SLICE_SECONDS", 0.0)
    whole = ["train", "keydoor-5x5", "--max-steps", "20", "--num-envs", "16", "--seeds", "0:3"]
    steps = "--steps", str(16 * 32 * 6)
    assert main([*whole, *steps, "--out", "one"]) == 0
    write_run_files, number = run_folder.write_run_files, 0

    def watched(*given: Any) -> None:
        nonlocal number
        write_run_files(*given)
        number += 1
        if number == 4:
            lose_a_machine(cluster)
        if number == 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "write_run_files", watched)
    far = "--ray", cluster.address
    assert main([*whole, "--steps", "1", "--out", "many", *far]) == 0
    assert main(["train", "--resume", "many", *steps, *far]) == 130
    assert main(["train", "--resume", "many", *far]) == 0  # to what was asked for last
    assert 18 <= number <= 20  # those that were whole before it was resumed come back once more
    for seed in "012":
        for name in ("policy.npz", "run.json"):
            assert Path("one", seed, name).read_bytes() == Path("many", seed, name).read_bytes()
        one, many = (Path(out, seed, "progress.csv").read_text() for out in ("one", "many"))
        without = [[line.split(",")[1:] for line in text.splitlines()] for text in (one, many)]
        assert without[0] == without[1]


def test_results_come_in_order_or_as_soon_as_they_are_there(cluster):
    """One long part does not keep others from being written down."""

    def after(seconds: float, name: str) -> str:
        time.sleep(seconds)
        return name

    parts = [(2.0, "long"), *((0.0, str(k)) for k in range(6))]
    names = [name for _, name in parts]
    assert list(on_ray.run_parts(after, parts, cluster.address)) == names
    found = list(on_ray.run_parts(after, parts, cluster.address, in_order=False))
    assert sorted(found) == sorted(names)
    assert found[0] != "long"


def test_an_error_on_another_machine_is_told_as_here(cluster, here, capsys):
    words = [*WORDS, "--policy", "./own.py:wrong", "--ray", cluster.address]
    assert main(words) == 2
    assert "returned the action 99: allowed are 0 to 7" in capsys.readouterr().err


def test_episodes_are_counted_without_a_folder(cluster, capsys):
    assert main([*WORDS]) == 0
    one = capsys.readouterr().out
    assert main([*WORDS, "--ray", cluster.address]) == 0
    many = capsys.readouterr().out
    texts = [[line for line in text.splitlines() if "second" not in line] for text in (one, many)]
    assert texts[0] == texts[1]
