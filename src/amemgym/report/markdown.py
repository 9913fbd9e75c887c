"""The scores as GitHub-flavoured Markdown, to be pasted into an issue or an appendix: each with interval and n, and
before them what was run and what is odd about it.

Names and texts of others are escaped: they are shown, and make no cell, no markup and no HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from amemgym.report import costs
from amemgym.report.table import SCORES, ranked, remarks, warnings
from amemgym.report.wording import arm
from amemgym.secrets import redact

Scores = Mapping[str, Any]
Agents = Sequence[tuple[str, Mapping[str, Any]]]
NONE = "–"


def markdown_report(scores: Scores, manifest: Mapping[str, Any]) -> str:
    """The whole report. `scores` as in scores.json."""
    agents = ranked(scores)
    sections = [
        _head(scores, agents),
        _section("What was run", "", [_table(["", ""], _what_was_run(scores, manifest))]),
        _section("Notes", "", ["\n".join(_notes(scores))]),
        _scores(scores, agents),
        _periods(agents),
        _diagnosis(agents),
        _errors(agents),
        _recall(agents),
        _pairs(scores.get("pairs") or []),
        _tokens(agents),
        _costs(scores, agents),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def text(value: object) -> str:
    """Any text as one line of Markdown that shows it, but for known keys: once escaped, none could be found again."""
    line = " ".join(redact(str(value)).split())
    line = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", line)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # what would begin a heading, a rule or a list
    return re.sub(r"^(\d*)([.)](?=\s|$)|(?<!\d)[#+\-=])", r"\1\\\2", line)


def _head(scores: Scores, agents: Agents) -> str:
    title = f"# Memory scores: {text(scores['data']['name'])}, {text(scores['model'])}"
    if scores["finished"]:
        return title
    finished, planned = (sum(agent["episodes"][what] for _, agent in agents) for what in ("finished", "planned"))
    what = f"{finished} of {planned} episodes" if finished < planned else "all episodes, but not every upper bound,"
    return f"{title}\n\n> **Unfinished run:** {what} are there; every number below is over these alone."


def _what_was_run(scores: Scores, manifest: Mapping[str, Any]) -> Iterator[list[str]]:
    data, protocol, compared = scores["data"], scores["protocol"], manifest["compared"]
    yield ["data", f"{text(data['name'])}, sha256 {text(data['sha256'])}"]
    yield ["size", f"{data['users']} users, {data['questions']} questions, {data['exams']} exams an agent and trial"]
    yield ["protocol", f"{text(protocol['name'])}, version {protocol['version']}"]
    yield ["seed, trials", f"{scores['seed']}, {scores['trials']}"]
    yield ["model", text(scores["model"])]
    yield ["simulated user", text(scores["user_model"])]
    yield ["embedder, language", f"{text(compared.get('embedder'))}, {text(compared.get('language'))}"]
    if off_policy := compared.get("off_policy"):
        whose = f"conversations of {text(off_policy['agent'])} in run {text(off_policy['run'])}"
        yield ["off-policy", f"all agents were given the {whose}"]
    yield ["amemgym", text(scores["amemgym"])]
    yield ["fingerprint", text(scores["fingerprint"])]


def _notes(scores: Scores) -> Iterator[str]:
    yield from (f"- **Warning:** {text(warning)}" for warning in warnings(scores))
    yield from (f"- {text(remark)}" for remark in remarks(scores))


def _scores(scores: Scores, agents: Agents) -> str:
    first = scores["first_score"]
    second = next(name for name in SCORES if name != first)
    rows = []
    for name, agent in agents:
        score = agent["memory_score"]
        # the interval is that of the ratio of means
        shown = [_value(score[kind], score["intervals"][kind]) for kind in (first, second)]
        row = [_name(name, agent), _value(agent["overall"], agent["interval"]), str(agent["n"]), *shown]
        rows.append([*row, str(score["n"]), str(agent["invalid"]), str(agent["failed"])])
    bound = _value(scores["upper_bound"], scores["upper_bound_interval"])
    rows.append(["*upper bound*", bound, str(scores["upper_bound_n"]), *[""] * 5])
    rows.append(["*random*", _value(scores["random"]), str(scores["random_n"]), *[""] * 5])
    header = ["agent", "overall", "n", f"memory score ({SCORES[first]})", SCORES[second], "n", "invalid", "errors"]
    said = (
        "Overall: share of answers that are right. Memory score: (overall − random) / (upper bound − random). In"
        " brackets: 95% intervals, clustered by user. Invalid: replies that name no option, which count as wrong."
        " Errors: exams without a reply, which count in no score. In italics: agents that show what a number means."
    )
    return _section("Scores", said, [_table(header, rows)])


def _periods(agents: Agents) -> str:
    periods = max((len(agent["by_period"]) for _, agent in agents), default=0)
    rows = [[_name(name, agent), *_padded(_by_period(agent), periods), _counts(agent)] for name, agent in agents]
    header = ["agent", *map(str, range(periods)), "n a period"]
    return _section(
        "Overall by period",
        "Share of right answers after each period; ±: 95%, clustered by user.",
        [_table(header, rows)],
    )


def _by_period(agent: Mapping[str, Any]) -> list[str]:
    pairs = zip(agent["by_period"], agent["by_period_intervals"], strict=True)
    return [_value(value) + (f" {arm(pair, value, 3)}" if pair else "") for value, pair in pairs]


def _counts(agent: Mapping[str, Any]) -> str:
    """How many answers a period has: one number where all have as many."""
    counts = [str(count) for count in agent["by_period_n"]]
    return ", ".join(counts if len(set(counts)) > 1 else counts[:1]) or NONE


def _diagnosis(agents: Agents) -> str:
    probed = [(name, agent) for name, agent in agents if agent.get("diagnosis")]
    kinds = list(probed[0][1]["diagnosis"]) if probed else []
    rows = [
        [_name(name, agent), *_shares(agent, "diagnosis", kinds), str(agent["undiagnosed"]), str(agent["diagnosis_n"])]
        for name, agent in probed
    ]
    said = (
        "Shares of all answers. Write: a required state was not known when it was new. Read: it was then, and is not"
        " now. Utilization: all are known, the answer is wrong. Unparsed: the reply names no option. Undiagnosed:"
        " wrong answers (a count) that no probe explains."
    )
    return _section(
        "Why answers are wrong", said, [_table(["agent", *kinds, "undiagnosed", "n"], rows)] if rows else []
    )


def _errors(agents: Agents) -> str:
    graded = [(name, agent) for name, agent in agents if agent.get("errors")]
    kinds = list(graded[0][1]["errors"]) if graded else []
    rows = [[_name(name, agent), *_shares(agent, "errors", kinds), str(agent["errors_n"])] for name, agent in graded]
    said = "Shares of all answers. The chosen option was right after an earlier period, after a later one, or never is."
    return _section("What wrong options are", said, [_table(["agent", *kinds, "n"], rows)] if rows else [])


def _shares(agent: Mapping[str, Any], what: str, kinds: Iterable[str]) -> list[str]:
    return [_value(agent[what][kind], agent[f"{what}_intervals"][kind]) for kind in kinds]


def _recall(agents: Agents) -> str:
    rows = [
        [
            _name(name, agent),
            *(_mean(agent["recall"][when]) for when in ("at_write", "now")),
            *(_mean(agent["update_lag"][what]) for what in ("known", "mean")),
        ]
        for name, agent in agents
        if agent.get("recall")
    ]
    said = (
        "Of single states, corrected for guessing: 0 is chance, 1 is all known. At write: in the period a state was"
        " given its value. Changes known: ever, while they held; lag: periods until then, of those (neither is"
        " corrected)."
    )
    header = ["agent", "recall at write", "recall now", "changes known", "mean lag"]
    return _section("What is remembered", said, [_table(header, rows)] if rows else [])


def _pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            f"{text(pair['a'])} − {text(pair['b'])}",
            _value(pair["difference"], pair["interval"], signed=True),
            _p(pair["p"]) + (f" (at least {_p(pair['smallest_p'])})" if pair["smallest_p"] is not None else ""),
            _p(pair["p_adjusted"]),
            NONE if pair["effect_size"] is None else f"{pair['effect_size']:.2f}",
            f"{pair['only_a']} / {pair['only_b']}",
            _value(pair["memory_score_difference"], pair["memory_score_interval"], signed=True),
            str(pair["n"]),
            str(pair["users"]),
            ", ".join(f"{NONE if n is None else n} for {float(d):.2f}" for d, n in pair["users_needed"].items())
            or NONE,
        ]
        for pair in pairs
    ]
    header = ["pair", "difference", "p", "p adjusted", "effect size", "right alone", "memory score", "n", "users"]
    said = (
        "Difference in overall, and in memory score, on the exams both have; intervals and p paired by user. p: sign"
        " flips over users, in parentheses the smallest that so many users can give; adjusted for the number of pairs"
        " by Benjamini and Hochberg. Users needed to find a difference that large in four of five runs."
    )
    return _section("Pairs of agents", said, [_table([*header, "users needed"], rows)] if rows else [])


def _p(p: float | None) -> str:
    if p is None:
        return NONE
    return "&lt;0.001" if p < 0.001 else f"{p:.3f}"


def _tokens(agents: Agents) -> str:
    rows = [
        [
            text(name),
            *_cost(agent["agent_calls"], agent["agent_tokens"]),
            *_cost(agent["memory_calls"], agent["memory_tokens"]),
            *_cost(agent["probe_calls"], agent["probe_tokens"]),
            *_cost(agent["user_calls"], agent["user_tokens"]),
        ]
        for name, agent in agents
        if not agent["reference"]
    ]
    header = [
        "agent",
        *(f"{who}{what}" for who in ("", "memory ", "probe ", "user ") for what in ("calls", "input", "output")),
    ]
    said = "Calls and tokens of the assistant itself, its memory, the probes and the simulated user. ≈: estimated."
    return _section("Tokens", said, [_table(header, rows)] if rows else [])


def _costs(scores: Scores, agents: Agents) -> str:
    """By role, and the prices; nothing where nothing has a price."""
    if not costs.costs_something(scores):
        return ""
    rows = [
        [text(row.name), text(row.role) if row.role else "**all**", *row.cells] for row in costs.rows(scores, agents)
    ]
    said = (
        " ".join(f"{text(sentence)}." for sentence in costs.sentences(scores))
        + " Cached tokens are part of the input, reasoning of the output. A user: one episode, on average."
        " ≥: not every call told; ~: estimated. Prices are US dollars per million tokens."
    )
    prices = [[text(cell) for cell in row] for row in costs.price_rows(scores)]
    tables = [_table(["agent", "role", *costs.ROW_HEADER], rows), _table(costs.PRICE_HEADER, prices)]
    return _section("What it cost", said, tables)


def _cost(calls: int | None, tokens: Mapping[str, Any] | None) -> list[str]:
    if tokens is None:
        return [NONE] * 3
    mark = "≈" if tokens["estimated"] else ""
    return [str(calls), f"{mark}{tokens['input']}", f"{mark}{tokens['output']}"]


def _name(name: str, agent: Mapping[str, Any]) -> str:
    shown = text(name) + ("" if agent["episodes"]["finished"] == agent["episodes"]["planned"] else " (unfinished)")
    return f"*{shown}*" if agent["reference"] else shown


def _mean(mean: Mapping[str, Any]) -> str:
    return f"{_value(mean['value'], mean['interval'])} (n {mean['n']})"


def _value(value: float | None, interval: Sequence[float] | None = None, signed: bool = False) -> str:
    if value is None:
        return NONE
    sign = "+" if signed else ""
    return f"{value:{sign}.3f}" + (f" [{interval[0]:{sign}.3f}, {interval[1]:{sign}.3f}]" if interval else "")


def _padded(cells: list[str], length: int) -> list[str]:
    return [*cells, *[NONE] * (length - len(cells))]


def _section(title: str, said: str, parts: Sequence[str]) -> str:
    """A section, or nothing where it has no parts."""
    return "\n\n".join([f"## {title}", *([said] if said else []), *parts]) if any(parts) else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is text, the others are numbers unless there are only two."""
    rule = ["---", *["---" if len(header) == 2 else "---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])
