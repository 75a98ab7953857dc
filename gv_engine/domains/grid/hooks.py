"""DomainPlugin of the domain of gridworlds; see `gv_engine.scenario.plugin.DomainPlugin`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gv_engine.domains.grid.episode import GridEpisode
from gv_engine.envs import environment
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rollout.policy import Policy, load_policy, policies_by_agent
from gv_engine.rules.errors import (
    BuiltInDoesNotCompileError,
    DoesNotCompileError,
    SeveralAgentsError,
)
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
)
from gv_engine.scenario.calls import ENDING_KEYS, TURN_KEYS, built_in
from gv_engine.scenario.document import Document
from gv_engine.scenario.grid_reader import FROM_VISIBILITY, GRID_KEYS, VIEW
from gv_engine.scenario.json_schema import Format, Functions, object_schema
from gv_engine.scenario.mixture import MIXTURE_KEYS
from gv_engine.scenario.plugin import CheckReport, Schedules, Systems, listed
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.sprite_paths import find_broken_sprites
from gv_engine.validation.differential import find_broken_contracts
from gv_engine.validation.differential import run_differential_test as compare
from gv_engine.validation.lint import find_mistakes
from gv_engine.validation.solver import Survey, Verdict, check_solution
from gv_engine.validation.solver_process import ShortestPathHints
from gv_engine.vector.backend import make_batch
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.world.simulation import Simulation

# ---- format --------------------------------------------------------------------------------------

FORMAT = Format(
    GRID_KEYS,
    {
        "reset_function": Functions(RESET, built_in(RESET)),
        "transition_function": Functions(TRANSITION, built_in(TRANSITION), TURN_KEYS),
        "reward_function": Functions(REWARD, built_in(REWARD), TURN_KEYS),
        "terminating_function": Functions(
            TERMINATING, built_in(TERMINATING), {**ENDING_KEYS, **TURN_KEYS}
        ),
        "visibility_function": Functions(VISIBILITY, built_in(VISIBILITY)),
        "observation_function": Functions(
            OBSERVATION, built_in(VISIBILITY), VIEW, (object_schema(FROM_VISIBILITY),), bare=False
        ),
    },
    MIXTURE_KEYS,
)


# ---- hooks ---------------------------------------------------------------------------------------

_LEVELS = 20
"""So many are looked at by `gv-engine check`."""


def read(document: Document) -> Scenario:
    """The scenario of a document."""
    return Scenario.read(document)


def make_env(scenario: Scenario, **options: Any) -> GridEnv:
    """Its Gymnasium environment."""
    return GridEnv(scenario, **options)


def make_vector_env(
    scenario: Scenario, num_envs: int, workers: int = 1, **options: Any
) -> GridVectorEnv:
    """Its Gymnasium vector environment; workers are threads."""
    return GridVectorEnv(scenario, num_envs, num_threads=workers, **options)


def make_worlds(
    scenario: Scenario, num_envs: int, workers: int = 1, **options: Any
) -> GridVectorEnv | AgentsVectorEnv:
    """Its worlds for rollouts, with an axis of agents if there are several."""
    made = GridVectorEnv if scenario.layout.agents == 1 else AgentsVectorEnv
    return made(scenario, num_envs, num_threads=workers, copy=False, **options)


adviser = ShortestPathHints


def compile(scenario: Scenario) -> str:
    """Compile its programs into the cache."""
    worlds = CompiledBatch(scenario, 1)
    if worlds.load():
        return "kept already"
    worlds.prepare()
    return "compiled"


def frames(scenario: Scenario, policy: str, seed: int, steps: int) -> Iterator[Frame]:
    """The frames of an episode."""
    if scenario.layout.agents > 1:
        return _frames_together(scenario, policy, seed, steps)
    env = GridVectorEnv(scenario, 1, world="object", autoreset_mode="Disabled")
    return _frames(
        env, load_policy(policy, 1, len(scenario.actions), scenario=scenario), seed, steps
    )


def _frames(env: GridVectorEnv, policy: Policy, seed: int, steps: int) -> Iterator[Frame]:
    mirror = Simulation(env.scenario)
    policy.begin([0], seed, [0])
    observation, info = env.reset(seed=seed)
    over = False
    for step in range(steps + 1):
        if step:
            if over:
                return
            actions = policy.act(observation, info)
            observation, _, terminated, truncated, info = env.step(actions)
            over = bool(terminated[0] or truncated[0])
        mirror.world.restore(env.snapshot(0))
        terms = info["reward_terms"]
        mirror.terms = [float(terms[name][0]) for name in env.scenario.reward_names]
        found: list[Frame] = []
        mirror.render(found.append, observation["grid"][0])
        yield found[-1]


def _frames_together(scenario: Scenario, policy: str, seed: int, steps: int) -> Iterator[Frame]:
    episode, sharing = GridEpisode(scenario), scenario.sharing
    for name, own in policies_by_agent(policy, sharing).items():
        episode.partners[name] = load_policy(own, 1, len(scenario.actions), scenario=scenario)
    episode.reset(seed)
    yield episode.frame("")
    for _ in range(steps):
        if episode.outcome:
            return
        episode.step(episode.joint_action(episode.wait))
        yield episode.frame("")


def limited(scenario: Scenario, max_steps: int | None) -> Scenario:
    """The scenario with another limit of steps, its own if None.

    Raises:
        ValueError: it has none.
    """
    found = environment.grid_scenario(scenario, max_steps)
    if found.max_steps is None:
        raise ValueError(f"{scenario.name} has no max_steps, so that an episode may go on for ever")
    return found


def size(scenario: Scenario) -> str:
    """Height × width of the first level; of a mixture, those of all its members."""
    found: dict[str, None] = {}
    for member in scenario.members:
        simulation = Simulation(member)
        simulation.reset(np.random.default_rng(0))
        found[f"{simulation.world.height}×{simulation.world.width}"] = None
    return ", ".join(found)


def schedules(scenario: Scenario) -> Schedules:
    """The calls of every member in their order."""
    return [
        (member.name, {phase: member.calls(phase) for phase in Phase})
        for member in scenario.members
    ]


def systems(scenario: Scenario) -> Systems:
    """The systems of every member in their order."""
    return [(name, listed(schedule)) for name, schedule in schedules(scenario)]


def examine(
    scenario: Scenario,
    episodes: int,
    seed: int,
    limit: float,
    quick: bool = False,
    policy: str = "",
) -> CheckReport:
    """Compare the object world with the compiled one, look for broken promises and drawings."""
    promises = find_broken_contracts(scenario, seed=seed)  # first, as it can be stopped
    compiles = "not tried" if quick else _compiles(scenario)
    report = compare(scenario, episodes, seed, compiles == "yes", limit, policy)
    facts: list[tuple[str, object]] = [("compiles", compiles)]
    facts += [("episodes", report.episodes), ("steps", f"{report.steps:,}")]
    faults = [*promises, *filter(None, [report.fault]), *find_broken_sprites(scenario)]
    if not faults:
        facts += find_mistakes(scenario)
        told, faults = check_solution(scenario)
        facts += told
    but = ", with nothing compiled or searched" if quick else ""
    try:
        survey = None if faults or quick else Survey(scenario, range(_LEVELS), limit, checked=True)
    except SeveralAgentsError as error:
        survey, but = None, ", and nothing searched"
        facts.append(("searched", f"no: {error}"))
    if survey:
        facts += [("searched", survey.extent), ("can be won", survey)]
        verdicts = {solution.verdict for solution in survey.solutions.values()}
        if scenario.tells_success and verdicts == {Verdict.LOST}:
            faults = [
                f"{scenario.name}: none of the levels of {len(survey.solutions)} seeds can be won"
            ]
        if Verdict.LOST in verdicts:
            but = " but levels that cannot be won"
        elif verdicts != {Verdict.WON} or len(survey.solutions) < _LEVELS:
            but = ", as far as levels were searched"
    if not faults:
        both = "object world equals compiled world, and " if compiles == "yes" else ""
        facts.append(("found", f"{both}nothing wrong{but}"))
    return CheckReport(facts, faults)


def _compiles(scenario: Scenario) -> str:
    """Whether it does, in words."""
    try:
        make_batch(scenario, 1, "compiled", checked=True)
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError as error:
        return f"no: {error}"
    return "yes"
