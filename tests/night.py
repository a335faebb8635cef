"""What `make test` leaves to `make test-nightly`, so that continuous integration takes less than an hour on two cores.

A name stands for a test function, or for one of its cases. Its number says how many cases there are for each one that
`make test` runs; `ALL` leaves them all. Odd numbers meet both sides of a test that has pairs of cases. With
`FRAZIL_NIGHTLY` nothing is left out.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

__all__ = ["LEFT", "NIGHTLY", "leave"]

NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")
"""Set by `make test-nightly`: all of what `make test` only samples."""

ALL = 0

LEFT: dict[str, int] = {
    # Statements of the documentation, each on tables of its own: 2 to 3 seconds of Spark each.
    "python/test_spark_statements.py::test_statement": 11,
    "python/test_spark_scenarios.py::test_scenario": 17,
    # Processes, drivers and clusters that are started and killed.
    "python/test_spark_failures.py::test_tasks_that_die_after_they_have_written": ALL,
    "python/test_spark_failures.py::test_a_stream_whose_driver_is_killed_goes_on": ALL,
    "python/test_spark_failures.py::test_a_driver_that_is_killed_around_its_commit": ALL,
    "python/test_spark_native_writes.py::test_tasks_that_die_and_run_again": ALL,
    "python/test_spark_sql_kills.py::test_a_pipeline_that_is_killed_at_random_times": ALL,
    "python/test_spark_native_writes.py::test_files_are_those_of_frazils_writer": 2,
    "python/test_spark_rest.py::test_a_stream_that_outlives_its_credentials": ALL,
    "python/test_spark_rest.py::test_a_write_that_outlives_its_credentials": ALL,
    "python/test_spark_rest.py::test_spark_shows_no_secrets": ALL,
    "python/test_spark_streams.py::test_a_batch_that_runs_again_is_recognised": ALL,
    "python/test_spark_streams.py::test_complete_mode_overwrites": 2,
    "python/test_spark_streams.py::test_from_paimon_to_both_formats": ALL,
    "python/test_spark_maintain.py::test_the_same_as_here": 2,
    "python/test_spark_row_changes.py::test_any_sequence_comes_to_what_a_model_says": 4,
    "python/test_spark_row_changes.py::test_commits_of_others": 2,
    "python/test_spark_maintain.py::test_what_holds_without_spark_holds_with_it": 3,
    "python/test_interrupts.py::test_ctrl_c_ends_a_verb_and_changes_nothing": 5,
    "python/test_far_interrupts.py::test_ctrl_c_while_a_store_says_nothing": 3,
    "python/test_far_interrupts.py::test_ctrl_c_with_a_far_store": 7,
    "python/test_far_interrupts.py::test_ctrl_c_with_a_slow_catalog": 5,
    "python/test_spark_interrupts.py::test_ctrl_c_at_any_moment_of_a_verb": 5,
    "python/test_spark_interrupts.py::test_ctrl_c_cancels_the_jobs_of_a_verb": 5,
    "python/test_spark_interrupts.py::test_ctrl_c_with_spark_connect": ALL,
    "python/test_bad_input.py::test_a_large_chunk_is_taken_as_it_is": ALL,
    # Servers, whose answers and failures are gone through one by one.
    "python/test_rest_answers.py::test_every_value_of_an_answer_may_be_wrong[updateTable]": ALL,
    "python/test_rest_faults.py::test_appends_of_four_writers": 7,
    "python/test_rest_faults.py::test_rows_that_move_between_tables": 7,
    "python/test_rest_faults.py::test_row_changes_of_four_writers": 7,
    "python/test_rest_faults.py::test_transactions_over_tables_of_four_writers": 7,
    "python/test_rest_faults.py::test_what_is_said_is_so": 7,
    "python/test_rest_planning_java.py::test_the_rows_are_those_of_own_plans": 9,
    "python/test_real_catalogs.py::test_four_writers[hive]": ALL,
    "python/test_real_catalogs.py::test_pyiceberg_goes_on": 2,
    "python/test_real_catalogs.py::test_several_tables": 2,
    "python/test_pyiceberg_register.py::test_of_four_who_move_it_one_wins[hive]": ALL,
    # Both directions between Java and Frazil, for each partitioning, mode of writing and format.
    "interop/test_inspect.py::test_evolved_and_changed": 3,
    "interop/test_paimon_buckets.py::test_dynamic_buckets": 2,
    "interop/test_paimon_buckets.py::test_file_indexes": 3,
    "interop/test_paimon_changelogs.py::test_twins": 3,
    "interop/test_paimon_compact.py::test_appended": 5,
    "interop/test_row_level.py::test_the_same_changes_by_both": 2,
    "interop/test_spark_lanes.py::test_each_lane_gives_javas_rows": 7,
    "interop/test_spark_lanes.py::test_java_reads_and_changes_files_of_sparks_writer": 3,
    "interop/test_spark_row_changes.py::test_the_same_changes_by_both": 3,
    "interop/test_statistics.py::test_the_same_sketches_as_javas": 3,
    "interop/test_written_formats.py::test_every_type_in_partitions_and_both_in_turn": 5,
    "interop/test_written_formats.py::test_java_skips_by_the_row_index": 2,
    # Kills at each file operation of a commit.
    "python/test_crash_points.py::test_a_commit_happens_or_not": 2,
    "python/test_paimon_crash_points.py::test_a_commit_happens_or_not": 2,
    # Types and formats: one shows most of what the others would.
    "python/test_arguments.py::test_odd_arguments": 3,
    "python/test_computed_filters.py::test_rows_are_those_of_duckdb": 2,
    "python/test_spark_sql_rows.py::test_members_of_structs_are_set_by_name": 2,
    "python/test_spark_lanes.py::test_deleted_rows_are_left_out_by_a_join": 2,
    "python/test_spark_habits.py::test_numbers_become_other_numbers_or_an_error": 3,
}


def leave(items: list[pytest.Item], root: str) -> list[pytest.Item]:
    """Marks and returns what is left to the night."""
    seen: Counter[str] = Counter()
    left = []
    for item in items:
        name = os.path.relpath(item.path, root).replace(os.sep, "/") + item.nodeid[item.nodeid.index("::") :]
        function = name.partition("[")[0]
        share = LEFT.get(name, LEFT.get(function, 1))
        place = seen[function]
        seen[function] += 1
        if share == ALL or place % share:
            item.add_marker(pytest.mark.night)
            left.append(item)
    return left
