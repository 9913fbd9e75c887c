"""The small user broken in one way at a time: the edits, the place that is named, and a part of what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.scenario.build import Edit, drop, put, question


def case(name: str, edits: Edit | Sequence[Edit], place: str, fragment: str) -> Any:
    return pytest.param([edits] if callable(edits) else edits, place, fragment, id=name)


ERRORS = [
    # --- states ---
    case(
        "state outside its schema",
        [
            put("periods.3.state.pet", "yak"),
            put("periods.3.updates.pet.new", "yak"),
            put("periods.3.sessions.1.exposed_states.pet", "yak"),
        ],
        "period 3",
        "state 'pet' is 'yak'; the schema lists cat, dog, none",
    ),
    case(
        "state without a value in the last period",
        drop("periods.3.state.language"),
        "period 3",
        "state 'language' has no value; the schema lists english, french",
    ),
    case(
        "state without a value in between",
        drop("periods.1.state.language"),
        "period 1",
        "state 'language' has no value",
    ),
    case(
        "state without a value before its update",
        drop("periods.2.state.pet"),
        "period 2",
        "state 'pet' has no value",
    ),
    case(
        "state that the schema does not know",
        [
            put("periods.3.state.boat", "sloop"),
            put("periods.3.updates.boat", {"old": None, "new": "sloop"}),
            put("periods.3.sessions.0.exposed_states.boat", "sloop"),
        ],
        "period 3",
        "state 'boat' is not in the schema",
    ),
    case("schema lists a value twice", put("state_schema.pet.2", "cat"), "", "the schema of 'pet' lists 'cat' 2 times"),
    # --- updates against states ---
    case(
        "update to another value than the state",
        put("periods.1.updates.home.new", "farm"),
        "period 1",
        "update of 'home' to 'farm', but its state is 'coast'",
    ),
    case(
        "update from another value than the state before",
        put("periods.1.updates.home.old", "farm"),
        "period 1",
        "update of 'home' from 'farm', but before it was 'city'",
    ),
    case(
        "update from nothing in a later period",
        put("periods.3.updates.job.old", None),
        "period 3",
        "update of 'job' from",
    ),
    case(
        "update from something in period 0",
        put("periods.0.updates.home.old", "farm"),
        "period 0",
        "update of 'home' from 'farm', but before it was not set",
    ),
    case(
        "state that changes without an update",
        [drop("periods.1.updates.home"), drop("periods.1.sessions.0.exposed_states.home")],
        "period 1",
        "state 'home' changes from 'city' to 'coast' without an update",
    ),
    case(
        "first state without an update",
        [drop("periods.0.updates.home"), drop("periods.0.sessions.0.exposed_states.home")],
        "period 0",
        "state 'home' changes to 'city' without an update",
    ),
    # --- exposed states against updates ---
    case(
        "exposed states miss an update",
        drop("periods.3.sessions.1.exposed_states.pet"),
        "period 3",
        "no session exposes the update of 'pet' to 'dog'",
    ),
    case(
        "exposed states exceed the updates",
        put("periods.1.sessions.0.exposed_states.pet", "cat"),
        "period 1, session 0",
        "exposes 'pet', which no update of this period changes",
    ),
    case(
        "exposed states exceed the updates of a quiet period",
        put("periods.2.sessions.0.exposed_states.home", "coast"),
        "period 2, session 0",
        "exposes 'home', which no update of this period changes",
    ),
    case(
        "exposed state has another value",
        put("periods.3.sessions.1.exposed_states.pet", "cat"),
        "period 3, session 1",
        "exposes 'pet' as 'cat', but its state is 'dog'",
    ),
    case(
        "exposed state is no state",
        put("periods.0.sessions.2.exposed_states.boat", "sloop"),
        "period 0, session 2",
        "exposes 'boat', which is no state of this period",
    ),
    # --- times ---
    case(
        "session before the one before",
        put("periods.3.sessions.1.session_time", "2021-06-25 09:00:00"),
        "period 3, session 1",
        "time goes backwards: 2021-06-25 09:00:00 after 2021-06-25 20:00:00 (period 3, session 0)",
    ),
    case(
        "session before one of the period before",
        [put("periods.1.sessions.0.session_time", "2020-09-28 09:00:00"), put("periods.1.period_start", None)],
        "period 1, session 0",
        "time goes backwards",
    ),
    case(
        "session before a late one of the period before",
        # the last session of period 0 is on the evening of the day on which the period ends
        [
            put("periods.0.sessions.3.session_time", "2020-10-01 19:08:40"),
            put("periods.1.sessions.0.session_time", "2020-10-01 10:00:00"),
        ],
        "period 1, session 0",
        "time goes backwards: 2020-10-01 10:00:00 after 2020-10-01 19:08:40 (period 0, session 3)",
    ),
    case(
        "session before the one before, in the middle",
        put("periods.0.sessions.2.session_time", "2020-09-27 09:00:00"),
        "period 0, session 2",
        "time goes backwards: 2020-09-27 09:00:00 after 2020-09-27 20:00:00 (period 0, session 1)",
    ),
    case(
        "session before the exam of the period before",
        # after the last session of period 0 (29 September), but that period's exam is on 1 October
        [put("periods.1.sessions.0.session_time", "2020-09-30 09:00:00"), put("periods.1.period_start", None)],
        "period 1, session 0",
        "time goes backwards",
    ),
    case(
        "period ends before it starts",
        put("periods.1.period_start", "2021-01-05"),
        "period 1",
        "it ends (2020-12-30) before it starts (2021-01-05)",
    ),
    case(
        "period ends before the one before",
        [put("periods.2.period_start", None), put("periods.2.period_end", "2020-12-01")],
        "period 2",
        "time goes backwards: it ends at 2020-12-01, the period before at 2020-12-30",
    ),
    case(
        "period starts before the one before",
        put("periods.2.period_start", "2019-01-01"),
        "period 2",
        "time goes backwards",
    ),
    # --- what is said ---
    case("nothing is said", put("periods.1.sessions.0.query", " \n"), "period 1, session 0", "'query' is empty"),
    # --- questions and options ---
    case("no questions", put("qas", []), "", "there are no questions"),
    case("question is empty", put("qas.1.query", " "), "question 1", "'query' is empty"),
    case(
        "required info is unknown",
        put("qas.1.required_info.0", "hoem"),
        "question 1",
        "required info 'hoem' is not in the schema",
    ),
    case(
        "no option for a gold variant",
        drop("qas.0.answer_choices.2"),
        "question 0",
        "no option has the variant (coast, pilot), which is true after period 3",
    ),
    case(
        "no option for a gold variant of two periods",
        drop("qas.0.answer_choices.1"),
        "question 0",
        "no option has the variant (coast, nurse), which is true after period 1",
    ),
    case(
        "two options for a gold variant",
        put("qas.0.answer_choices.3.state", ["coast", "nurse"]),
        "question 0",
        "2 options have the variant (coast, nurse), which is true after period 1",
    ),
    case(
        "option's value outside the schema",
        put("qas.0.answer_choices.3.state.1", "monk"),
        "question 0, option 3",
        "'job' is 'monk'; the schema lists nurse, pilot, baker",
    ),
    case(
        "option with too few values",
        drop("qas.0.answer_choices.3.state.1"),
        "question 0, option 3",
        "its variant has 1 values for 2 required info",
    ),
    case("option without text", put("qas.1.answer_choices.0.answer", " "), "question 1, option 0", "'answer' is empty"),
    case(
        "two options with one text",
        [put("qas.1.answer_choices.0.answer", "Walk."), put("qas.1.answer_choices.2.answer", "Walk.")],
        "question 1",
        "2 options have the same text: 'Walk.'",
    ),
    case(
        "only one option",
        put("qas.1", question("Which words?", ["language"], ("english",))),
        "question 1",
        "there are 1 options; a choice needs at least 2",
    ),
    # --- the user ---
    case("no periods", put("periods", []), "", "there are no periods"),
    case("id is empty", put("id", " "), "", "'id' is empty"),
]

WRONG_TYPES = [
    case("id", put("id", 7), "", "'id'"),
    case("missing questions", drop("qas"), "", "'qas' is missing"),
    case("missing profile", drop("user_profile"), "", "'user_profile' is missing"),
    case("profile", put("user_profile", []), "", "'user_profile'"),
    case("name", put("user_profile.name", 7), "", "'user_profile.name'"),
    case("schema", put("state_schema", [["pet"]]), "", "'state_schema'"),
    case("value of the schema", put("state_schema.pet.1", 7), "", "'state_schema.pet.1'"),
    case("start", put("start_time", "October"), "", "'October' is no time"),
    case("period", put("periods.2", "quiet"), "period 2", 'found "quiet"'),
    case("missing state", drop("periods.2.state"), "period 2", "'state' is missing"),
    case("missing end", drop("periods.1.period_end"), "period 1", "'period_end' is missing"),
    case("end", put("periods.1.period_end", "2020-13-01"), "period 1", "'2020-13-01' is no time"),
    case("state", put("periods.0.state.pet", 7), "period 0", "'state.pet'"),
    case("state is null", put("periods.0.state.pet", None), "period 0", "'state.pet'"),
    case("updates", put("periods.1.updates", ["home"]), "period 1", "'updates'"),
    case("update", put("periods.1.updates.home", "coast"), "period 1", "'updates.home'"),
    case("update without new", drop("periods.1.updates.home.new"), "period 1", "'updates.home.new' is missing"),
    case("counts", put("periods.1.update_cnts.home", "1"), "period 1", "'update_cnts.home'"),
    case("sessions", put("periods.1.sessions", {}), "period 1", "'sessions'"),
    case("session", put("periods.0.sessions.3", []), "period 0, session 3", "found []"),
    case("missing query", drop("periods.3.sessions.1.query"), "period 3, session 1", "'query' is missing"),
    case("query", put("periods.3.sessions.1.query", ["Hello."]), "period 3, session 1", "'query'"),
    case("session time", put("periods.3.sessions.1.session_time", 1600), "period 3, session 1", "'session_time'"),
    case("exposed", put("periods.3.sessions.1.exposed_states.pet", 7), "period 3, session 1", "'exposed_states.pet'"),
    case("question", put("qas.1", None), "question 1", "found null"),
    case("required info", put("qas.0.required_info", "home"), "question 0", "'required_info'"),
    case("one required info", put("qas.0.required_info.1", 7), "question 0", "'required_info.1'"),
    case("options", put("qas.0.answer_choices", "ABCD"), "question 0", "'answer_choices'"),
    case("missing answer", drop("qas.1.answer_choices.2.answer"), "question 1, option 2", "'answer' is missing"),
    case("answer", put("qas.1.answer_choices.2.answer", True), "question 1, option 2", "'answer'"),
    case("variant", put("qas.1.answer_choices.2.state", "city"), "question 1, option 2", "'state'"),
    case("a state variable called sessions", put("state_schema.sessions", [7]), "", "'state_schema.sessions.0'"),
]

WARNINGS = [
    case(
        "update that changes nothing",
        [
            put("periods.2.updates.home", {"old": "coast", "new": "coast"}),
            put("periods.2.sessions.0.exposed_states.home", "coast"),
        ],
        "period 2",
        "update of 'home' changes nothing ('coast')",
    ),
    case("period without sessions", put("periods.2.sessions", []), "period 2", "there are no sessions"),
    case(
        "required info listed twice",
        put("qas.1", question("Where?", ["home", "home"], ("city", "city"), ("coast", "coast"))),
        "question 1",
        "required info 'home' is listed 2 times",
    ),
    case(
        "two questions alike",
        put("qas.1.query", "What shall I do on Sunday?"),
        "",
        "2 questions ask the same: 'What shall I do on Sunday?'",
    ),
]
