"""Reading model text: the shared cases, further forms as a table, and properties that hold for any text."""

import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.tasks.choice import Choice, parse_choice
from amemgym.tasks.parse import Status, parse_object, parse_text, strip_reasoning

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "choice_replies.jsonl"
OPTIONS = (
    "Plan a small indoor dinner.",
    "Book a large venue outside town.",
    "Go hiking with close friends.",
    "Stay home and read.",
)
PREFIXES = ("Go", "Go hiking", "Go hiking with friends", "Stay home")
NUMERIC = ("10", "3", "2")
LETTERS = ("B", "A", "Neither")
DIGITS = ("Invite 2 friends.", "Invite 3 friends.", "Book 1 table.")

OK, REPAIRED, AMBIGUOUS, INVALID, EMPTY = Status


def shared_cases() -> list[Any]:
    if not CASES.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{CASES} is absent"))]
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["note"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize("case", shared_cases())
def test_shared_case(case: dict[str, Any]) -> None:
    assert parse_choice(case["reply"], case["options"]) == Choice(case["choice"], Status(case["status"]))


JSON_REPLIES = [
    # the asked-for form among other things
    ('{"answer": 2, "reason": "not 3"}', 2, OK),
    ('{"reason": "as {they} said: }{", "answer": 2}', 2, OK),
    ('{"reason": "{\\"answer\\": 1}", "answer": 2}', 2, OK),
    ('{"answer": 2}\n{"answer": 2}', 2, OK),
    ('Reply as {"answer": <int>}. So:\n{"answer": 2}', 2, OK),
    ('{{"answer": 2}}', 2, OK),
    ('{"confidence": 3}\n{"answer": 2}', 2, OK),
    ('{"answer": 2}\n{"reasoning": "it was cut o', 2, OK),
    ('He said "yes {"answer": 2}', 2, OK),
    ('[{"answer": 2}]', 2, OK),
    ('<answer>{"answer": 2}</answer>', 2, OK),
    ('{"answer": 2, "option": "b"}', 2, OK),
    ('{"answer": 2, "reason": "the <think> tag"}', 2, OK),
    ('<think>1?</think> {"answer": 2, "reason": "the <think> tag"}', 2, OK),
    ('<THINK >{"answer": 1}</THINK >{"answer": 2}', 2, OK),
    ('{"answer": 2}<think>or {"answer": 1}', 2, OK),
    # mended
    ('For example {"answer": 1}. My reply: {"answer": 2}', 2, REPAIRED),
    ('{"answer": 9}\n{"answer": 2}', 2, REPAIRED),
    ('{"answer": 1, "answer": 2}', 2, REPAIRED),
    ('{"choice": 2}', 2, REPAIRED),
    ('{"option": 2}', 2, REPAIRED),
    ('{"response": "2"}', 2, REPAIRED),
    ('{"Final_Answer": 2}', 2, REPAIRED),
    ('{"result": {"answer": 2}}', 2, REPAIRED),
    ('{"answer": {"option": 2}}', 2, REPAIRED),
    ('{"answer": "Option 2"}', 2, REPAIRED),
    ('{"answer": "(b)"}', 2, REPAIRED),
    ('{"answer": "book a large venue outside town"}', 2, REPAIRED),
    ('{"answer": "2", "reason": null}', 2, REPAIRED),
    ('{"answer": ["2"]}', 2, REPAIRED),
    ('{"answer": 2 // the venue\n}', 2, REPAIRED),
    ("{“answer”: 2}", 2, REPAIRED),
    ("{'answer': 2, 'sure': True, 'why': \"it's\"}", 2, REPAIRED),
    ("{'why': 'it\\'s \"large\"', 'answer': 2,}", 2, REPAIRED),
    ('{"reason": "two\nlines", "answer": 2}', 2, REPAIRED),
    ('{"reason": "it\\\'s {", "answer": 2}', 2, REPAIRED),
    ('{"score": NaN, "answer": 2}', 2, REPAIRED),
    ('{"answer": 2, "reason": "because he lik', 2, REPAIRED),
    ('{"reason": "he said "no" to it", "answer": 2}', 2, REPAIRED),
    ("{answer: 2}", 2, REPAIRED),
    ('"answer": 2}', 2, REPAIRED),
    ('{"answer": "{\\"answer\\": 2}"}', 2, REPAIRED),
    ("[3]", 3, REPAIRED),
    ('["C"]', 3, REPAIRED),
    ('"C"', 3, REPAIRED),
    # unreadable
    ('{"answer": 2', None, INVALID),
    ('{"draft": {"answer": 1}, "answer": ', None, INVALID),
    ('{"draft": {"answer": 1}, "fin', None, INVALID),
    ('{"answer": 1} no, {"answer": ', None, INVALID),
    ('{"answer": 1} no, {"answer": three}', None, INVALID),
    ('{"answer": 1}\n{"answer": null}', None, INVALID),
    ('{"answer": null, "choice": 2}', None, INVALID),
    ('{"answer": <int>}', None, INVALID),
    ('{"answer": ""}', None, INVALID),
    ('{"answer": "none of them"}', None, INVALID),
    ('{"answer": {}}', None, INVALID),
    ('{"answer": []}', None, INVALID),
    ('{"answer": [[3]]}', None, INVALID),
    ('{"answer": "-1"}', None, INVALID),
    ('{"answer": "2.5"}', None, INVALID),
    ('{"answer": 1e999}', None, INVALID),
    ('{"answer": NaN}', None, INVALID),
    ('{"answer": Infinity}', None, INVALID),
    ('{"answer": ' + "9" * 10_000 + "}", None, INVALID),
    ('{"answer": "' + "9" * 10_000 + '"}', None, INVALID),
    ('{"number": 2}', None, INVALID),
    ('{"example": {"answer": 1}, "note": "so"}', None, INVALID),
    ('{"properties": {"answer": {"type": "integer"}}}', None, INVALID),
    ('{"reason": "the answer is 3"}', None, INVALID),
    ('{"reasoning": "I choose option 3 because', None, INVALID),
    ("{}", None, INVALID),
    ("[]", None, INVALID),
    ('[{"answer": 1}, {"answer": 2}]', None, INVALID),
    # two options
    ('{"answer": [1, null]}', None, AMBIGUOUS),
    ('{"answer": "1 or 2"}', None, AMBIGUOUS),
    ('{"answer": 2, "choice": 3}', None, AMBIGUOUS),
    ('{"answer": "2: Go hiking with close friends."}', None, AMBIGUOUS),
    ("[1, " + "9" * 10_000 + "]", None, INVALID),
    ("[1, 2]", None, AMBIGUOUS),
]

PROSE_REPLIES = [
    # a number or letter alone
    ("Option 2", 2, REPAIRED),
    ("option: 2.", 2, REPAIRED),
    ("The answer: 2", 2, REPAIRED),
    ("My final answer: 2", 2, REPAIRED),
    ("(b)", 2, REPAIRED),
    ("B.", 2, REPAIRED),
    ("#2", 2, REPAIRED),
    ("- 2", 2, REPAIRED),
    ("3.0", 3, REPAIRED),
    ("2️⃣", 2, REPAIRED),
    ("③", 3, REPAIRED),
    ("٣", 3, REPAIRED),
    ("३", 3, REPAIRED),
    ("```\n3\n```", 3, REPAIRED),
    ("Answer: **2**", 2, REPAIRED),
    ("**Answer:**\n\n2", 2, REPAIRED),
    ("<answer>2</answer>", 2, REPAIRED),
    ("He is shy. <answer>\n2\n</answer>", 2, REPAIRED),
    (r"Thus \boxed{2}", 2, REPAIRED),
    ("2<|im_end|>", 2, REPAIRED),
    ("2 because he likes crowds of 3 or 4", 2, REPAIRED),
    ("2\nBecause the others do not fit.", 2, REPAIRED),
    ("He does not like crowds.\n\n2", 2, REPAIRED),
    # with the text of the option
    ("3) Go hiking…", 3, REPAIRED),
    ("3. Go hiking with close friends.", 3, REPAIRED),
    ("C: go hiking with close friends", 3, REPAIRED),
    ("Option 3: Go hiking with close friends. It fits.", 3, REPAIRED),
    ("3) Go hiking with close friends.\n\nThis suits you best.", 3, REPAIRED),
    ('"Go hiking with close friends."', 3, REPAIRED),
    ("**Go hiking with close friends**", 3, REPAIRED),
    ("“Go hiking  with\nclose friends”", 3, REPAIRED),
    ("The answer is: Go hiking with close friends.", 3, REPAIRED),
    ("I would suggest: Go hiking with close friends.", 3, REPAIRED),
    # a claim in a sentence
    ("I choose option 3 because option 1 is too small.", 3, REPAIRED),
    ("I'd go with option 3, not option 1.", 3, REPAIRED),
    ("I would pick 3.", 3, REPAIRED),
    ("Since he doesn't like crowds, the answer is 3.", 3, REPAIRED),
    ("I would not choose option 1. I choose option 3.", 3, REPAIRED),
    ("Option 3 is the best choice.", 3, REPAIRED),
    ("It is not option 1. It is not option 2. The answer is 3. It suits him.", 3, REPAIRED),
    ("Here is my choice:\n\n3. Go hiking with close friends.", 3, REPAIRED),
    ("The correct option is (C).", 3, REPAIRED),
    ("Answer: 3\nConfidence: 4", 3, REPAIRED),
    ("The answer is 3, a good pick.", 3, REPAIRED),
    # two options
    ("1, 2", None, AMBIGUOUS),
    ("1/2", None, AMBIGUOUS),
    ("Either 1 or 2", None, AMBIGUOUS),
    ("A and B", None, AMBIGUOUS),
    ("Option 1 or option 2", None, AMBIGUOUS),
    ("The answer is 1 or 2.", None, AMBIGUOUS),
    ("Answer: 3-4", None, AMBIGUOUS),
    ("Answer: 3,4", None, AMBIGUOUS),
    ("You could pick 1. The answer is 2. The answer is 3.", None, AMBIGUOUS),
    ("\n".join(f"{number}. {text}" for number, text in enumerate(OPTIONS, 1)), None, AMBIGUOUS),
    (" ".join(f"{number}. {text}" for number, text in enumerate(OPTIONS, 1)), None, AMBIGUOUS),
    ("I suggest: Go hiking with close friends, or stay home and read.", None, AMBIGUOUS),
    ("2\nThe answer is 3.", None, AMBIGUOUS),
    ("1.\nWalk\n2.\nRead", None, AMBIGUOUS),
    ("Answer:\n1. Walk\n2. Read", None, AMBIGUOUS),
    ("I suggest 1) a walk and 2) a book", None, AMBIGUOUS),
    ("1. Go hiking with close friends.", None, AMBIGUOUS),
    ("A, or rather B", None, INVALID),
    # numbers that are no choice
    ("I have 2 kids, so it is hard to say", None, INVALID),
    ("I would choose 2 activities", None, INVALID),
    ("The answer is 3 friends", None, INVALID),
    ("The answer is 2.5", None, INVALID),
    ("The answer is -1", None, INVALID),
    ("The answer is not 3.", None, INVALID),
    ("I can't choose option 3.", None, INVALID),
    ("Do not pick 3.", None, INVALID),
    ("If it rains, the answer is 3.", None, INVALID),
    ("The wrong answer is 3.", None, INVALID),
    ("Not suitable:\n2", None, INVALID),
    ("I would avoid:\n3. Go hiking with close friends.", None, INVALID),
    ("Option 3 is the best choice only if it is dry.", None, INVALID),
    ("Is option 3 the best?", None, INVALID),
    ("Answer: 1" + "0" * 10_000, None, INVALID),
    ("Should I choose 3?", None, INVALID),
    ("The answer is a walk", None, INVALID),
    ("The answer isn't clear", None, INVALID),
    ("The answer is 3:45", None, INVALID),
    ("Answer: 3%", None, INVALID),
    ("The answer is 9.", None, INVALID),
    ("Z", None, INVALID),
    ("0", None, INVALID),
    ("-3", None, INVALID),
    ("−3", None, INVALID),
    ("3?", None, INVALID),
    ("½", None, INVALID),
    ("three", None, INVALID),
    ("1<think>hm</think>2", None, INVALID),
    ("12345678901234567890", None, INVALID),
    ("3: the weather is mild", None, INVALID),
    ("1. Walk in the park", None, INVALID),
    ("None of the options fits.", None, INVALID),
    ("true", None, INVALID),
    ("<answer></answer>", None, INVALID),
    # nothing but reasoning or fences
    ("<think>the answer is 3", None, EMPTY),
    ("<think>the answer is 3</think>", None, EMPTY),
    ("```json\n```", None, EMPTY),
]


@pytest.mark.parametrize(("reply", "option", "status"), JSON_REPLIES + PROSE_REPLIES)
def test_form_of_choice(reply: str, option: int | None, status: Status) -> None:
    assert parse_choice(reply, OPTIONS) == Choice(option, status)


@pytest.mark.parametrize(
    ("reply", "options", "option", "status"),
    [
        ("Go hiking", PREFIXES, 2, REPAIRED),
        ("2: Go hiking", PREFIXES, 2, REPAIRED),
        ("The answer is Go hiking with friends.", PREFIXES, 3, REPAIRED),
        ("2: Go hiking with friends", PREFIXES, None, AMBIGUOUS),
        ("Go hiking with", PREFIXES, None, INVALID),
        ("10", NUMERIC, 1, REPAIRED),
        ("3", NUMERIC, None, AMBIGUOUS),
        ('{"answer": 3}', NUMERIC, 3, OK),
        ('{"answer": 10}', NUMERIC, None, INVALID),
        ("A", LETTERS, None, AMBIGUOUS),
        ("C", LETTERS, 3, REPAIRED),
        ("The answer is neither here nor there", LETTERS, None, INVALID),
        ("Invite 2 friends.", DIGITS, 1, REPAIRED),
        ("1. Invite 2 friends.", DIGITS, 1, REPAIRED),
        ("Book 1 table", DIGITS, 3, REPAIRED),
        ("Same", ("Same", "Same"), None, AMBIGUOUS),
        ("12", [f"plan {number}" for number in range(1, 13)], 12, REPAIRED),
        ("1", (), None, INVALID),
        ('{"answer": 1}', (), None, INVALID),
        ("", ("", ""), None, EMPTY),
        ("...", ("", "..."), None, INVALID),
    ],
)
def test_options_that_mislead(reply: str, options: list[str], option: int | None, status: Status) -> None:
    assert parse_choice(reply, options) == Choice(option, status)


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        ('{"a": 1}', {"a": 1}, OK),
        ('Here:\n```json\n{"a": {"b": [1, "}"]}}\n```\nDone {really}.', {"a": {"b": [1, "}"]}}, OK),
        ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}, OK),
        ('{"a": 1} {"a": 1}', {"a": 1}, OK),
        ("{}", {}, OK),
        ('{"a": "</think>"}', {"a": "</think>"}, OK),
        ('{"a": 1} {"a": 2}', {"a": 2}, REPAIRED),
        ("{'a': None, 'b': [True, False,],}", {"a": None, "b": [True, False]}, REPAIRED),
        ("{'a': 'say \"it\\'s\" {'}", {"a": 'say "it\'s" {'}, REPAIRED),
        ('{"a": "None, True,}"}', {"a": "None, True,}"}, OK),
        ('{"a": "None, True,}", }', {"a": "None, True,}"}, REPAIRED),
        ('{"a": "http://x", "b": 1,}', {"a": "http://x", "b": 1}, REPAIRED),
        ('{"a": "it\\\'s \\"so\\" \\\\"}', {"a": 'it\'s "so" \\'}, REPAIRED),
        ('{"a": NaN, "b": -Infinity}', {"a": None, "b": None}, REPAIRED),
        ('{"a": 1, "a": 2}', {"a": 2}, REPAIRED),
        ('{"a": 1', None, INVALID),
        ('{"a": 1} {"b": ', None, INVALID),
        ('{"a": 1} {"b": <int>}', None, INVALID),
        ('[{"a": 1}, {"a": 2}]', None, INVALID),
        ("{'a': __import__('os')}", None, INVALID),
        ('{"a": ' + "9" * 5_000 + "}", None, INVALID),
        ("no {object} here", None, INVALID),
        ("<think>hm</think>", None, EMPTY),
        (None, None, EMPTY),
    ],
)
def test_parse_object(reply: str | None, value: dict[str, Any] | None, status: Status) -> None:
    parsed = parse_object(reply)
    assert (parsed.value, parsed.status) == (value, status)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("  Hello.\n", "Hello."),
        ("<think>well</think>\n\nHello.", "Hello."),
        ("well</reasoning>Hello.", "Hello."),
        ("Hello.<thinking>and now", "Hello."),
        ("```markdown\n# A\n\n- b\n```", "# A\n\n- b"),
        ("~~~~\na ~~~ b\n~~~~", "a ~~~ b"),
        ("```Hello there.```", "Hello there."),
        ("```\na\n```\nb\n```\nc\n```", "```\na\n```\nb\n```\nc\n```"),
        ("```\ncut off", "```\ncut off"),
        ("```", "```"),
        ("", None),
        (" \n ", None),
        ("```\n\n```", None),
        ("<think>all of it", None),
        (None, None),
    ],
)
def test_parse_text(reply: str | None, value: str | None) -> None:
    parsed = parse_text(reply)
    assert (parsed.value, parsed.status) == (value, EMPTY if value is None else OK)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a", "a"),
        ("<think>a</think>b", "b"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<Thinking>a</THINKING>b", "b"),
        ("a</think>b</think>c", "c"),
        ("a<reasoning>b", "a"),
        ("a <think>b</think>c", "a  c"),
        ("1 < 2 and <thinker> stay", "1 < 2 and <thinker> stay"),
    ],
)
def test_strip_reasoning(text: str, rest: str) -> None:
    assert strip_reasoning(text) == rest


LONG = [
    ["{", "}", "[", '"', "'", "`", "~~~\n", " ", "\n", "{}", "{{}", "{ ", '{"', "{'", "{“", '\\"', '{"\\"'],
    ['{"a":', '{"a":{}', '{"a":[', '[{"a":1},', "{x:", '{"a"://}', ",", "/*", "//", "<", "< ", "</a", "<|"],
    ['{"answer":', '{"answer":1}', '{"answer":"x"}', '{"answer":1,', "{'answer':}", '"answer":'],
    ["<think>", "</think>", "<think></think>", "<answer>", "stay home and read. ", "3. stay home and read. "],
    [
        "1",
        "1,",
        "1 or ",
        "1\n",
        "a ",
        "3.0",
        "(",
        "- ",
        "go ",
        "not, ",
        "'' ",
        "\u0301\u0323",
        "\ufdfa",
        "٣",
        "¼",
    ],
    ["answer: ", "answer: 1. ", "option 1 is ", "option 1 is best ", "pick ", "option ", "because "],
]


@pytest.mark.parametrize("unit", [unit for units in LONG for unit in units])
def test_long_replies_are_read_to_their_end(unit: str) -> None:
    """Also where every byte is a trap; benchmarks/parser.py shows that time stays linear."""
    reply = unit * (50_000 // len(unit))
    assert parse_choice(reply, OPTIONS).status in Status
    assert parse_choice(reply + '{"answer": 2}', OPTIONS).option in (None, 2)
    assert parse_object(reply).status in Status
    assert parse_text(reply).status in (Status.OK, Status.EMPTY)


@pytest.mark.parametrize("depth", [500, 5_000, 50_000])
def test_deep_nesting_is_no_error(depth: int) -> None:
    reply = '{"answer":' * depth + "1" + "}" * depth
    assert parse_choice(reply, OPTIONS).option is None
    assert parse_object("[" * depth + reply + "]" * depth).status in Status
