"""Recorded algebra beside ours: `python -m tests.mathy_conformance` prints what is equal.

Whatever is compared is one check: a text, a mask, a reward, an end. Checks that differ on purpose
are counted by their reason.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gv_engine.plugins.algebra import (
    ENVIRONMENTS,
    MathyEnv,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    MathyEnvState,
)
from gv_engine.plugins.algebra.library import util
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.rule_set import to_library
from tests import DATA

EPISODES = DATA / "mathy" / "episodes.json.gz"
RECORDED: dict[str, Any] = json.loads(gzip.decompress(EPISODES.read_bytes()))

FREE = "an invalid move takes none of the moves"
FRESH = "a fresh state is a plain step"
ON_PURPOSE = {FREE: {"special-invalid-penalize", "special-index-out-of-range"}}
"""Which episodes differ on purpose, by reason."""


class Check(NamedTuple):
    """One comparison: of what, in which recording, both values, and why they may differ."""

    what: str
    where: str
    ours: Any
    recorded: Any
    reason: str = ""


def checks() -> Iterator[Check]:
    """All comparisons."""
    for kind in (episodes, applications, expressions, observations, problems, signals):
        yield from kind()


def environment(name: str, **options: Any) -> MathyEnv:
    """An environment as it was recorded."""
    if name == "PolyHaystackLikeTerms":
        options.setdefault("preferred_term_commute", False)
    known: dict[str, type[MathyEnv]] = {**ENVIRONMENTS, "MathyEnv": MathyEnv}
    return known[name](**options)


def actions(env: MathyEnv, state: MathyEnvState) -> list[list[int]]:
    """Sorted pairs [rule, node] of the valid actions."""
    return sorted([int(rule), int(node)] for node, rule in np.argwhere(env.mask(state)))


def shown(env: MathyEnv, state: MathyEnvState) -> dict[str, Any]:
    """A state, as it is recorded."""
    nodes = to_library(state.root).root.to_list()
    return {
        "text": state.agent.problem,
        "canonical": state.root.text,
        "moves_remaining": state.agent.moves_remaining,
        "num_nodes": state.root.size,
        "inorder": [node.name for node in state.root.in_order()],
        "preorder_type_ids": [node.type_id for node in nodes],
        "valid_rules": env.get_valid_rules(state),
        "valid_actions": actions(env, state),
    }


def episodes() -> Iterator[Check]:
    for episode in RECORDED["episodes"]:
        where = episode["id"]
        reason = FREE if where in ON_PURPOSE[FREE] else ""
        env = environment(episode["env"], **episode["ctor"])
        state = MathyEnvState(episode["problem"], episode["max_moves"], episode["namespace"])
        yield Check("rules", where, [rule.code for rule in env.rules], episode["rules"])
        for name, value in shown(env, state).items():
            yield Check(f"episode {name}", where, value, episode["initial"][name])
        for number, step in enumerate(episode["steps"]):
            at = f"{where}, step {number}"
            node = env.get_token_at_index(to_library(state.root).root, step["action"][1])
            if node is not None:
                yield Check("acted node", at, str(node), step["node_text"])
            state, timestep, change = env.get_next_state(state, tuple(step["action"]))
            for name, value in shown(env, state).items():
                yield Check(f"episode {name}", at, value, step["after"][name], reason)
            if change.result is not None:
                text = str(change.result.get_root())
                yield Check("printed change", at, text, step["after"]["text"])
            reward = round(timestep.reward, 9), timestep.discount, int(timestep.step_type)
            recorded = round(step["reward"], 9), step["discount"], step["step_type"]
            yield Check("episode reward, discount and end", at, reward, recorded, reason)
        try:
            env.finalize_state(state)
            said = "ok"
        except ValueError as error:
            said = str(error)
        yield Check("finalize", where, said, episode["finalize"])


def applications() -> Iterator[Check]:
    env = MathyEnv()
    by_text: dict[str, list[list[int]]] = {text: [] for text in RECORDED["texts_without_actions"]}
    for row in RECORDED["rule_applications"]:
        by_text.setdefault(row["text"], []).append(row["action"])
        number, node = row["action"]
        root = parse(row["text"])
        where = f"{row['text']}, {row['rule']} at {node}"
        yield Check(
            "rule application", where, env.rules.apply(root, node, number)[0], row["result"]
        )
        changed = env.rules.change(root, node, number).result
        assert changed is not None
        yield Check("rule application, whole", where, str(changed.get_root()), row["result"])
    for text, valid in by_text.items():
        yield Check("mask", text, actions(env, MathyEnvState(text)), sorted(valid))


def expressions() -> Iterator[Check]:
    env = environment("PolySimplify")
    for row in RECORDED["expressions"]:
        text = row["text"]
        state = MathyEnvState(text)
        root = to_library(state.root).root
        terms = util.get_terms(root)
        ours = {
            "canonical": state.root.text,
            "preorder": [node.name for node in root.to_list()],
            "preorder_type_ids": [node.type_id for node in root.to_list()],
            "inorder": [node.name for node in state.root.in_order()],
            "terms": [str(term) for term in terms],
            "has_like_terms": util.has_like_terms(root),
            "all_terms_preferred": all(map(util.is_preferred_term_form, terms)),
            "poly_simplify_terminal": env.is_terminal_state(state),
        }
        for name, value in ours.items():
            yield Check(f"expression {name}", text, value, row[name])
        reward = env.get_state_transition(state).reward
        recorded = row["poly_simplify_initial_reward"]
        yield Check("expression reward at the start", text, reward, recorded, FRESH)


def observations() -> Iterator[Check]:
    for row in RECORDED["observations"]:
        length, rules = row["max_seq_len"], row["num_rules"]
        env = MathyEnv(max_seq_len=length)
        flat = np.zeros(row["flat"]["shape"])
        for place, value in row["flat"]["nonzero"]:
            flat[place] = value
        mask = flat[5 + 2 * length :].reshape(rules, length).T
        ours = env.state_to_observation(MathyEnvState(row["text"])).mask
        yield Check("observed mask", row["text"], ours.tolist(), mask.tolist())


def problems() -> Iterator[Check]:
    for row in RECORDED["generated_problems"]:
        env = environment(row["env"])
        config = MathyEnvProblemArgs(row["difficulty"])
        problem = MathyEnvProblem(row["text"], row["complexity"], env.get_env_namespace())
        where = f"{row['env']}, {row['difficulty']}, {row['draw']}"
        yield Check("problem type", where, problem.type, row["type"])
        yield Check("problem moves", where, env.max_moves_fn(problem, config), row["max_moves"])
        begun = env.begin(problem, row["max_moves"])
        yield Check("problem is open", where, env.is_terminal_state(begun), False)


def signals() -> Iterator[Check]:
    env = MathyEnv()
    for row in RECORDED["win_signal"]:
        state = MathyEnvState("x", row["max_moves"])
        state.agent.moves_remaining = row["moves_remaining"]
        where = f"{row['moves_remaining']} of {row['max_moves']}"
        ours, recorded = env.get_win_signal(state), row["win_signal"]
        yield Check("win signal", where, round(ours, 9), round(recorded, 9))


def main(show: Callable[[str], None] = print) -> int:
    """Print the counts; 1 if something differs that should not."""
    equal: Counter[str] = Counter()
    on_purpose: Counter[tuple[str, str]] = Counter()
    different: list[Check] = []
    for check in checks():
        if check.ours == check.recorded:
            equal[check.what] += 1
        elif check.reason:
            on_purpose[check.reason, check.what] += 1
        else:
            different.append(check)
    for what, count in equal.items():
        show(f"{count:6} equal      {what}")
    for (reason, what), count in on_purpose.items():
        show(f"{count:6} on purpose {what}: {reason}")
    for check in different:
        show(f"different: {check.what}, {check.where}: {check.ours!r}, recorded {check.recorded!r}")
    show(
        f"{equal.total()} equal, {on_purpose.total()} different on purpose, "
        f"{len(different)} different"
    )
    return bool(different)


if __name__ == "__main__":
    raise SystemExit(main())
