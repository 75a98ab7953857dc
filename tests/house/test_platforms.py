"""What Windows and macOS do differently, simulated, and the files for services that run the tests
there."""

from __future__ import annotations

import errno
import json
import os
import sys
import tomllib
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine import Scenario, Simulation
from gv_engine.cli import streams
from gv_engine.envs.rollout import policy
from tests import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_rules_of_a_level_on_another_drive_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Any, start: Any) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    built_in = Scenario.load("hunt")
    (tmp_path / "own.yaml").write_text("extends: hunt\nmax_steps: 7\n", "utf-8")
    monkeypatch.setattr(os.path, "relpath", refuse)
    level = Scenario.load(tmp_path / "own.yaml")
    assert level.max_steps == 7
    assert level.reward_names == built_in.reward_names
    Simulation(level).reset(np.random.default_rng(0))


def test_the_colon_of_a_drive_names_no_function(monkeypatch: pytest.MonkeyPatch):
    class WindowsPath(PureWindowsPath):
        def absolute(self) -> PureWindowsPath:
            return PureWindowsPath(r"D:\here", self)

    monkeypatch.setattr(policy, "Path", WindowsPath)
    for text, absolute in (
        (r"C:\runs\one", r"C:\runs\one"),
        (r"C:\runs\one:greedy", r"C:\runs\one:greedy"),
        (r"C:\own.py:act", r"C:\own.py:act"),
        (r"runs\one", r"D:\here\runs\one"),
        (r".\own.py:act", r"D:\here\own.py:act"),
    ):
        assert policy.with_absolute_paths(text) == absolute


@pytest.mark.parametrize(
    ("platform", "number", "told"),
    [
        ("win32", errno.EINVAL, False),
        ("win32", errno.ENOSPC, True),
        ("linux", errno.EINVAL, True),
        ("linux", errno.EPIPE, False),
    ],
)
def test_a_reader_that_goes_away_is_no_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    number: int,
    told: bool,
):
    class Output:
        def write(self, text: str) -> None:
            raise OSError(number, os.strerror(number))

        def fileno(self) -> int:
            return file.fileno()

    with (tmp_path / "pipe").open("w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Output())
        patch.setattr(sys, "platform", platform)
        assert not streams.flush_output("text")
    assert ("the output cannot be written" in capsys.readouterr().err) is told


def test_no_file_of_the_checkout_is_impossible_elsewhere():
    """File systems of macOS and Windows do not tell upper from lower case."""
    seen: dict[str, Path] = {}
    folders = ("assets", "components", "docs", "examples", "gv_engine", "scenarios", "systems")
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*")):
        name = file.relative_to(ROOT).as_posix()
        assert not set(name) & set('<>:"|?*\\'), name
        assert seen.setdefault(name.lower(), file) == file


# ---- files for services --------------------------------------------------------------------------


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_have_few_rights_and_pinned_actions(file: Path):
    workflow = yaml.safe_load(file.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert set(job.get("permissions", {})) <= {"id-token", "pages"}
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if "uses" in step:
                assert "@v" in step["uses"] or step["uses"].endswith("@release/v1")


def test_the_workflow_runs_every_supported_python():
    classifiers = (text.rpartition(" :: ")[2] for text in PROJECT["classifiers"])
    supported = [text for text in classifiers if text.startswith("3.")]
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == supported


def test_the_citation_is_that_of_the_project():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"] == "GV Engine"
    for key in ("version", "license", "authors", "keywords"):
        assert citation[key] == PROJECT[key]


def test_forms_of_issues_ask_for_something():
    for name in ("bug", "feature"):
        form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text("utf-8"))
        assert form["name"]
        assert form["description"]
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields)
        assert all(field["attributes"]["label"] for field in fields)
        assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_container_has_what_the_package_is_built_from():
    """`.dockerignore` leaves out all but some names, which are there."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    built_from = {*wheel["targets"]["wheel"]["only-include"], "pyproject.toml"}
    assert kept == built_from | {PROJECT["readme"], *PROJECT["license-files"]}
    assert all((ROOT / name).exists() for name in kept)
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert "--terminal" in container["postAttachCommand"]
