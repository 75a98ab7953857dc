"""Plugin functions of the grid domain, which the engine calls; see
`gv_engine.scenario.domains.DomainPlugin`."""

from __future__ import annotations

from typing import Any

from gv_engine.envs import environment
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.rollout.policy import load_policies
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.play.grid.policy_map import PolicyMaker, PolicyMapper
from gv_engine.play.session.sprite_paths import find_broken_sprites
from gv_engine.play.validation import survey as surveys
from gv_engine.play.validation.contracts import find_broken_contracts
from gv_engine.play.validation.differential import run_differential_test as compare
from gv_engine.play.validation.lint import find_placed_mistakes
from gv_engine.play.validation.solver import Verdict
from gv_engine.play.validation.solver_worker import ShortestPathHints
from gv_engine.play.validation.survey import Survey
from gv_engine.rules import errors
from gv_engine.rules.system import Phase
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.domains import CheckPlan, CheckReport, Schedules
from gv_engine.scenario.mixture import MIXTURE_KEYS
from gv_engine.scenario.readers.calls import (
    ENDING_KEYS,
    PAYING_KEYS,
    TURN_KEYS,
    list_built_in,
)
from gv_engine.scenario.readers.grid_keys import FROM_VISIBILITY, GRID_KEYS, VIEW
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.syntax.json_schema import FunctionSchema, ScenarioFormat, object_schema
from gv_engine.world.simulation import make_level

# ---- format --------------------------------------------------------------------------------------

FORMAT = ScenarioFormat(
    GRID_KEYS,
    {
        "reset_function": FunctionSchema(Phase.RESET, list_built_in(Phase.RESET)),
        "transition_function": FunctionSchema(
            Phase.TRANSITION, list_built_in(Phase.TRANSITION), TURN_KEYS
        ),
        "reward_function": FunctionSchema(
            Phase.REWARD, list_built_in(Phase.REWARD), {**PAYING_KEYS, **TURN_KEYS}
        ),
        "terminating_function": FunctionSchema(
            Phase.TERMINATING, list_built_in(Phase.TERMINATING), {**ENDING_KEYS, **TURN_KEYS}
        ),
        "visibility_function": FunctionSchema(Phase.VISIBILITY, list_built_in(Phase.VISIBILITY)),
        "observation_function": FunctionSchema(
            Phase.OBSERVATION,
            list_built_in(Phase.VISIBILITY),
            VIEW,
            (object_schema(FROM_VISIBILITY),),
            allows_bare_name=False,
        ),
    },
    MIXTURE_KEYS,
)


# ---- hooks ---------------------------------------------------------------------------------------

_LEVELS = 20
"""Number of levels that `gv-engine check` searches for a solution."""
_GOALS = "terminating_function", "success_function"
"""Keys whose functions have to be met in some level: findings about them are faults."""


def read_scenario(document: Document) -> Scenario:
    """Return the scenario of a document."""
    return Scenario.read(document)


def make_vector_env(
    scenario: Scenario, num_envs: int, workers: int = 1, **options: Any
) -> GridVectorEnv:
    """Return a Gymnasium vector environment with `num_envs` worlds of a scenario, stepped by
    `workers` threads."""
    return GridVectorEnv(scenario, num_envs, num_threads=workers, **options)


def make_rollout_env(
    scenario: Scenario, num_envs: int, workers: int = 1, **options: Any
) -> GridVectorEnv | AgentsVectorEnv:
    """Return a vector environment for recording rollouts, with `num_envs` worlds stepped by
    `workers` threads. With several agents, its arrays have an axis of agents."""
    is_single_agent = scenario.layout.agents == 1
    env_class = GridVectorEnv if is_single_agent else AgentsVectorEnv
    return env_class(scenario, num_envs, num_threads=workers, copy=False, **options)


make_hint_provider = ShortestPathHints
make_env = GridEnv


def make_policy_mapper(
    scenario: Scenario, policy: str | PolicyMaker, agent: int = 1
) -> PolicyMapper | None:
    """Return an object that computes the policy maps of an agent; None if it is not on the
    board."""
    return None if scenario.layout.is_bodiless else PolicyMapper(scenario, policy, agent)


def compile_scenario(scenario: Scenario) -> str:
    """Compile a scenario's rules; return "compiled"."""
    make_batch(scenario, 1, "compiled")
    return "compiled"


def with_step_limit(scenario: Scenario, max_steps: int | None) -> Scenario:
    """Return the scenario with the step limit `max_steps`; None leaves its own limit. Raise
    ValueError if there is no limit.

    Raises:
        ValueError: there is no step limit.
    """
    limited_scenario = environment.resolve_grid_scenario(scenario, max_steps)
    if limited_scenario.max_steps is None:
        raise ValueError(f"{scenario.name} has no max_steps, so that an episode may go on for ever")
    return limited_scenario


def describe_size(scenario: Scenario) -> str:
    """Return the size of the level of seed 0 as text, such as "7×9"; for a mixture of scenarios,
    the different sizes."""
    levels = (make_level(member, 0) for member in scenario.members)
    return ", ".join(dict.fromkeys(f"{world.height}×{world.width}" for world in levels))


def list_schedules(scenario: Scenario) -> Schedules:
    """Return (name, rule calls by phase in the order in which they run) of the scenario, or of each
    scenario of a mixture."""
    return [(part.name, {phase: part.calls(phase) for phase in Phase}) for part in scenario.members]


def check_scenario(scenario: Scenario, plan: CheckPlan) -> CheckReport:
    """Check a scenario for errors: compare episodes in object worlds with those in compiled worlds,
    test rules and sprites, and search for solutions. `plan` gives the number of episodes and the
    limits."""
    if plan.policy:  # an unknown one fails before anything compiles
        load_policies(plan.policy, scenario, 1, len(scenario.actions))
    # first, as it can be interrupted
    broken_contracts = find_broken_contracts(scenario, seed=plan.seed)
    compiles = "not tried" if plan.quick else _compile_result(scenario)
    is_compiled = compiles == "yes"
    report = compare(scenario, plan.episodes, plan.seed, is_compiled, plan.limit, plan.policy)
    facts: list[tuple[str, object]] = [("compiles", compiles)]
    facts += [("episodes", report.episodes), ("steps", f"{report.steps:,}")]
    faults = [*broken_contracts, *filter(None, [report.fault]), *find_broken_sprites(scenario)]
    exception = ""
    if not faults:
        mistakes = find_placed_mistakes(scenario)
        facts += [finding for finding, place in mistakes if place.path not in _GOALS]
        faults = [finding.message for finding, place in mistakes if place.path in _GOALS]
        solution_facts, solution_faults = surveys.check_solution(scenario)
        facts, faults = facts + solution_facts, faults + solution_faults
        if mistakes:
            exception = f" but {errors.format_count(len(mistakes), 'likely mistake')} above"
    if plan.quick:
        exception += ", with nothing compiled or searched"
    elif not faults:
        try:
            survey = Survey(scenario, range(_LEVELS), plan.limit, checked=True)
        except errors.SeveralAgentsError as error:
            facts.append(("searched", f"no: {error}"))
            exception = ", and nothing searched"
        else:
            facts += [("searched", survey.extent), ("can be won", survey)]
            par_facts, par_faults = surveys.check_par(scenario, survey)
            facts, faults = facts + par_facts, [*_find_unsolvable(scenario, survey), *par_faults]
            exception += _describe_survey_limits(survey)
    if not faults:
        other = "else " if scenario.warnings else ""
        both = "object world equals compiled world, and " if is_compiled else ""
        facts.append(("found", f"{both}nothing {other}wrong{exception}"))
    return CheckReport(facts, faults)


def _find_unsolvable(scenario: Scenario, survey: Survey) -> list[str]:
    """Return an error message if `survey` has found that no level can be won, else []."""
    if not scenario.tells_success or _verdicts(survey) != {Verdict.LOST}:
        return []
    if survey.all_alike:
        return [f"{scenario.name}: the level cannot be won"]
    return [f"{scenario.name}: none of the levels of {len(survey.solutions)} seeds can be won"]


def _describe_survey_limits(survey: Survey) -> str:
    """Return a phrase on levels that cannot be won or were not searched to the end; "" if all
    levels can be won."""
    verdicts = _verdicts(survey)
    if Verdict.LOST in verdicts:
        return ", but levels that cannot be won"
    if verdicts != {Verdict.WON} or len(survey.solutions) < _LEVELS:
        return ", as far as levels were searched"
    return ""


def _verdicts(survey: Survey) -> set[Verdict]:
    return {solution.verdict for solution in survey.solutions.values()}


def _compile_result(scenario: Scenario) -> str:
    """Return "yes" if the scenario's rules compile, else "no: " and the reason."""
    try:
        make_batch(scenario, 1, "compiled", checked=True)
    except errors.BuiltInDoesNotCompileError:
        raise
    except errors.DoesNotCompileError as error:
        return f"no: {error}"
    return "yes"
