"""Random actions and steps of many worlds in compiled code, for `CompiledRandomPolicy`."""

from __future__ import annotations

from typing import Any

from gv_engine.compiler.addresses import call_program, copy_bytes
from gv_engine.compiler.rng import random
from gv_engine.world.simulation import DISABLED

_GROUP = 16
"""Number of worlds in a group, which takes all its steps before the next group does, so that its
worlds stay in the CPU cache."""


def play_random_steps(
    program: Any, steps: int, sampling: Any, results: Any, is_playing: Any, sums: Any, recorded: Any
) -> tuple[int, int, int]:
    """Take up to `steps` random actions in each world where `is_playing` (N,) is True; set it to
    False where an episode ends. `program` has the addresses that call the compiled batch,
    `sampling` the random generators and action masks, `results` the arrays of a step. Reward terms
    are added to `sums`, and each step is copied into the columns `recorded`. This function is
    compiled.

    Args:
        program: (address of the program's loop, address of its arrays, (N,) actions to fill), see
            `CompiledBatch.run_loop`.
        sampling: (N,) states of random number generators, the number of actions, and action masks:
            (N, actions), updated by the program, or (0, actions) to allow all.
        results: terminated, truncated (N,) and reward terms (N, F) of a step.
        sums: (N, F), to which the reward terms are added.
        recorded: columns that are recorded before each step and after it, see `copy_row`; the first
            step is row 0.

    Returns:
        (0, start, stop) of the last group of worlds, or (error code, start, stop) of a failed one.
    """
    loop, address, actions = program
    generators, num_actions, allowed = sampling
    terminated, truncated, terms = results
    before, after = recorded
    start = stop = 0
    for start in range(0, len(actions), _GROUP):
        stop = min(start + _GROUP, len(actions))
        for row in range(steps):
            num_playing = 0
            for i in range(start, stop):
                if is_playing[i]:
                    num_playing += 1
                    if len(allowed) == 0:
                        actions[i] = int(random(generators[i]) * num_actions)
                    else:
                        actions[i] = sample_allowed_action(generators[i], allowed[i])
                    copy_row(before, i, row)
            if num_playing == 0:
                break
            failed = call_program(loop, address, start, stop, DISABLED)  # no autoreset
            if failed != 0:
                return failed, start, stop
            for i in range(start, stop):
                if is_playing[i]:
                    copy_row(after, i, row)
                    for k in range(terms.shape[1]):
                        sums[i, k] += terms[i, k]
                    is_playing[i] = not (terminated[i] or truncated[i])
    return 0, start, stop


def copy_row(columns: Any, world: int, row: int) -> None:
    """Copy the current results of a world into row `row` of the arrays in which its steps are
    recorded. This function is compiled, without bounds checks.

    Args:
        columns: (C, 5) int64, for each column: address of the value of world 0; bytes from the
            value of a world to that of the next; address of row 0 of world 0; bytes from row 0 of a
            world to that of the next; bytes of a row, as many as are copied.
        world, row: indices.
    """
    for k in range(len(columns)):
        size = columns[k, 4]
        source = columns[k, 0] + world * columns[k, 1]
        target = columns[k, 2] + world * columns[k, 3] + row * size
        if size == 1:  # a constant size needs no call
            copy_bytes(target, source, 1)
        elif size == 8:
            copy_bytes(target, source, 8)
        else:
            copy_bytes(target, source, size)


def sample_allowed_actions(generators: Any, allowed: Any, actions: Any) -> None:
    """Write a random action for each of N worlds into `actions`, sampled with the states of random
    number `generators`: an action that is not 0 in `allowed`, (N, actions), or any action in a
    world where all are 0. Runs as compiled code."""
    for i in range(len(generators)):
        actions[i] = sample_allowed_action(generators[i], allowed[i])


def sample_allowed_action(generator: Any, allowed: Any) -> int:
    """Return a random action for one world among those where `allowed`, its action mask, is 1; any
    action if all are 0. `generator` is the record of the world's random generator."""
    num_allowed = 0
    for is_allowed in allowed:
        num_allowed += is_allowed != 0
    num_allowed = num_allowed or len(allowed)
    rank = int(random(generator) * num_allowed)  # among the allowed actions
    if num_allowed == len(allowed):
        return rank
    for action in range(len(allowed)):
        if allowed[action] != 0:
            if rank == 0:
                return action
            rank -= 1
    return 0  # never reached
