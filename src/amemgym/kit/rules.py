"""Every rule of the kit, in the order they are tried."""

from __future__ import annotations

from amemgym.kit.again import deterministic, deterministic_new_process, write_is_finished
from amemgym.kit.apart import parallel_apart, users_apart
from amemgym.kit.asking import exam_changes_nothing, reading_changes_nothing
from amemgym.kit.copies import snapshot_detached, snapshot_new_process, snapshot_round_trip
from amemgym.kit.faults import errors_are_errors, unreadable_replies
from amemgym.kit.keeping import clear_empties, empty_memory, k_respected, update_wins, written_comes_back
from amemgym.kit.rule import Rule
from amemgym.kit.secrecy import no_ground_truth
from amemgym.kit.texts import any_text
from amemgym.kit.times import simulated_time

RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        # first, as what one memory leaves in another would hide it from a later rule
        users_apart,
        parallel_apart,
        written_comes_back,
        update_wins,
        empty_memory,
        clear_empties,
        k_respected,
        any_text,
        write_is_finished,
        snapshot_round_trip,
        snapshot_detached,
        snapshot_new_process,
        reading_changes_nothing,
        exam_changes_nothing,
        simulated_time,
        no_ground_truth,
        errors_are_errors,
        unreadable_replies,
        deterministic,
        deterministic_new_process,
    )
}
