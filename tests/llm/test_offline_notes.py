"""The offline model on memories of notes and of whole conversations: what it notes, links, and takes for said."""

from __future__ import annotations

from amemgym.messages import opening
from amemgym.tasks import ChooseOption, Context, DescribeNote, Evolution, EvolveNotes, Labels, NoteUpdate
from tests.llm.helpers import NOW
from tests.llm.test_offline import note_of, solve


def test_a_note_is_described_by_its_own_words() -> None:
    said = opening("My garden is small. I grow tomatoes and beans in the garden. Any ideas?", NOW)
    about = solve(DescribeNote(f"user: {said}")).value
    assert about.context == "I grow tomatoes and beans in the garden."
    assert {"garden", "tomatoes"} <= set(about.keywords[:3]) and not {"user", "time", "the"} & set(about.keywords)
    assert "garden" in about.tags and len(about.tags) <= 5


def test_notes_are_linked_and_tagged_by_nearness() -> None:
    new = note_of("user: I no longer take the city bus to work every day.", "work", "bus")
    same, near, far = (
        note_of("user: I take the city bus to work every day.", "transport"),
        note_of("user: The bus to the city is late.", "transport"),
        note_of("user: My sister plays the cello.", "music"),
    )
    value = Evolution((0, 1), ("work", "bus"), (NoteUpdate(0, None, ("transport", "work", "bus")),))
    assert solve(EvolveNotes(new, (same, near, far))).value == value


def test_a_conversation_is_read_line_by_line_without_what_the_assistant_said() -> None:
    labels: Labels = ({"travel": "bicycle_pedalling"}, {"travel": "city_bus_top_deck"})
    said = [
        "[2022-03-01] user: [Current Time: 2022-03-01 09:30:00]",
        "travel: city_bus_top_deck",
        "assistant: First:",
        "travel: bicycle_pedalling",
        "user: Thanks.",
    ]
    task = ChooseOption("How do I get there?", ("A.", "B."), Context(("\n".join(said),)), NOW)
    assert solve(task, labels).value == 2
    taken_back = ChooseOption(
        "How do I get there?", ("A.", "B."), Context(("\n".join([*said, "travel: bicycle_pedalling"]),)), NOW
    )
    assert solve(taken_back, labels).value == 1


def test_what_a_note_is_found_by_is_no_statement() -> None:
    labels: Labels = ({"travel": "bicycle_pedalling"}, {"travel": "city_bus_top_deck"})
    note = "user: I go there by city bus.\ncontext: The bus.\nkeywords: travel bicycle_pedalling\ntags: bicycle"
    task = ChooseOption("How do I travel there?", ("A.", "B."), Context((note,)), NOW)
    assert solve(task, labels).value == 2
