"""A data set card for people and programs: tables in the terminal, a page of its own, or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.errors import UnknownName, UsageError
from amemgym.quality.card import Card
from amemgym.quality.gates import Gate, Verdict
from amemgym.report import charts
from amemgym.report.charts import Look, Scale, Svg
from amemgym.report.facts import GATE_HEADER, LENGTH_HEADER, LENGTHS, bars, facts, gate_row, length_row, notes
from amemgym.report.page import render
from amemgym.report.table import print_whole
from amemgym.report.write import check_out, is_folder, place_of
from amemgym.secrets import redact

FORMATS = ("html", "json")
#: how a gate is drawn: by marker besides colour
LOOKS = {
    Verdict.PASSES: Look("gate-passes", 0),
    Verdict.FAILS: Look("gate-fails", 2),
    Verdict.UNTOLD: Look("gate-untold", 1),
}
_STYLES = {Verdict.PASSES: "", Verdict.FAILS: "bold red", Verdict.UNTOLD: "dim"}


def print_card(console: Console, card: Card) -> None:
    """Print the facts, the lengths, the gates, and what the gates mean."""
    sha256 = f" (sha256 {card.sha256[:12]}…)" if card.sha256 else ""
    _say(console, f"{card.name}{sha256}", "bold")
    for part in facts(card):
        _say(console, f"\n{part.title}", "bold")
        for name, said in part.rows:
            _say(console, f"  {name}: {said}")
    console.print()
    print_whole(console, _table(LENGTH_HEADER, [length_row(kind, card.wording.lengths[kind]) for kind in LENGTHS]))
    console.print()
    print_whole(console, _table(GATE_HEADER, [gate_row(gate) for gate in card.gates], [g.verdict for g in card.gates]))
    for sentence in card.advice:
        _say(console, f"  {sentence}", "yellow" if card.failing else "")
    for note in notes(card):
        _say(console, f"  {note}", "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(escape(files.printable(redact(text))), style=style, highlight=False, soft_wrap=True)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]], verdicts: list[Verdict] | None = None) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, name in enumerate(header):
        right = number > 0 and name != "verdict"
        table.add_column(name, no_wrap=True, justify="right" if right else "left")
    for number, row in enumerate(rows):
        table.add_row(*map(escape, row), style=_STYLES[verdicts[number]] if verdicts else "")
    return table


def card_page(card: Card) -> str:
    """The self-contained page, in HTML."""
    values = [end for gate in card.gates for end in (gate.difference, *(gate.interval or ()))]
    scale = Scale.about_zero(values)
    most = max((max(place.gold, place.expected) / place.n for place in card.places), default=1)
    return render(
        "card.html",
        card=card,
        facts=facts(card),
        gates=[(gate, gate_row(gate), _drawn(gate, scale)) for gate in card.gates],
        gate_header=GATE_HEADER,
        axis=charts.axis(scale),
        legend=[(verdict, LOOKS[verdict].swatch()) for verdict in Verdict],
        places=[(p, p.gold / p.n / most, p.expected / p.n / most) for p in card.places],
        lengths=[length_row(kind, card.wording.lengths[kind]) for kind in LENGTHS],
        length_header=LENGTH_HEADER,
        histograms=_histograms(card),
        notes=notes(card),
        failing=len(card.failing),
        untold=sum(gate.verdict is Verdict.UNTOLD for gate in card.gates),
    )


def _drawn(gate: Gate, scale: Scale) -> Svg:
    look = LOOKS[gate.verdict]
    return charts.interval_row(
        gate.label, gate.difference, gate.interval, look, scale, [0.0], "difference from chance, interval"
    )


def _histograms(card: Card) -> list[tuple[str, str, list[Any]]]:
    """Title, what is counted, rows."""
    size, change = card.size, card.change
    return [
        ("Options", "questions by number of options", bars(size.options)),
        ("Dwell", "stretches by the periods a value holds", bars(change.dwell)),
        ("Changes", "variables by how often they change", bars(change.changes)),
        ("Updates", "periods after the first by their updates", bars(change.updates)),
        ("Sessions", "periods by their sessions", bars(size.sessions)),
        ("Values", "variables by how many values they can have", bars(size.values)),
    ]


def format_of(out: str) -> str:
    """The format that a file's name says; a page where it is a folder's. Raises UsageError where it says none."""
    format = {".json": "json", ".html": "html", ".htm": "html"}.get(Path(out).suffix.lower())
    if format is None and not is_folder(out):
        raise UsageError(f"--out {out} does not say what to write; let it end in .html or .json, or add --format")
    return format or "html"


def check_card(format: str, out: str | Path | None) -> None:
    """Raises UsageError where the format is none, or the file's name says another."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    check_out(format, out, FORMATS)


def write(card: Card, format: str, out: str | Path | None) -> Path:
    """Write the card, whole or not at all, to `out`, else into the working folder; returns the file.

    Raises StorageError.
    """
    readable = files.slug(card.name).rpartition("-")[0] or files.slug(card.name)
    path = place_of(out, Path(), f"card-{readable}.{format}")
    text = card_page(card) if format == "html" else files.pretty_json(card.as_dict())
    files.write_atomically(path, redact(text))
    return path
