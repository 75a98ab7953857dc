"""Spaces and attributes of our environments before their first reset, compared with MiniGrid's.

Runs by `make peers` with MiniGrid's package.
"""

from functools import partial
from typing import Any

import gymnasium
import pytest
from minigrid import wrappers
from minigrid_ids import THEIRS

WRAPPERS = {
    "none": lambda env: env,
    **{
        name: getattr(wrappers, name)
        for name in (
            *("FullyObsWrapper", "RGBImgObsWrapper", "SymbolicObsWrapper", "ImgObsWrapper"),
            *("OneHotPartialObsWrapper", "RGBImgPartialObsWrapper", "DictObservationSpaceWrapper"),
        )
    },
    "FlatObsWrapper": wrappers.FlatObsWrapper,
    "ViewSizeWrapper": partial(wrappers.ViewSizeWrapper, agent_view_size=5),
}
OF_PYTHON = {"metadata", "np_random", "np_random_seed", "spec", "unwrapped"}
COMPARED = {"actions", "mission", "observation_space"}
"""Attributes that differ, objects of Python; and those that tests compare on their own."""


def both(name: str) -> tuple[Any, Any]:
    """MiniGrid's environment and ours, without a reset."""
    return THEIRS[name].make(disable_env_checker=True), gymnasium.make(
        name, disable_env_checker=True
    )


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", THEIRS)
def test_spaces(name, wrapper):
    theirs, ours = map(WRAPPERS[wrapper], both(name))
    assert ours.action_space == theirs.action_space
    if isinstance(theirs.observation_space, gymnasium.spaces.Dict):
        spaces, expected = ours.observation_space.spaces, dict(theirs.observation_space.spaces)
        assert [*spaces] == [*expected]
        if wrapper != "DictObservationSpaceWrapper":  # a space of texts, MiniGrid's with a function
            assert ours.unwrapped.mission in expected.pop("mission")
        assert {key: spaces[key] for key in expected} == expected
    else:
        assert ours.observation_space == theirs.observation_space


@pytest.mark.parametrize("name", THEIRS)
def test_attributes(name):
    theirs, ours = (env.unwrapped for env in both(name))
    assert [(a.name, a.value) for a in ours.actions] == [(a.name, a.value) for a in theirs.actions]
    different: dict[str, Any] = {}
    for attribute in {*dir(theirs)} - OF_PYTHON - COMPARED:
        try:
            expected = getattr(theirs, attribute)
        except (AttributeError, TypeError):  # only after a reset
            continue
        if attribute.startswith("_") or callable(expected):
            continue
        try:
            if getattr(ours, attribute) != expected:
                different[attribute] = getattr(ours, attribute), expected
        except AttributeError as error:
            if not str(error).startswith(f"MiniGrid's {attribute} does not exist here: "):
                different[attribute] = error
    assert different == {}
