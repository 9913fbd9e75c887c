"""What one document of a memory is: a message, or a session.

Here is how documents are made of messages; how they are found again (by nearness or by words) is the store's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from amemgym.memory.protocol import Item
from amemgym.messages import Message


class Store(Protocol):
    """Items under numbers, in the order in which they were added."""

    items: dict[int, Item]

    def add(self, item: Item) -> int: ...

    def replace(self, key: int, item: Item) -> None: ...


def as_item(message: Message, now: datetime) -> Item:
    """`role: content`, with the message's own time where it has one."""
    return Item(f"{message.role}: {message.content}", message.time or now)


def add_messages(store: Store, messages: Sequence[Message], now: datetime) -> None:
    """A document a message."""
    for message in messages:
        store.add(as_item(message, now))


def add_sessions(store: Store, messages: Sequence[Message], now: datetime) -> None:
    """A document a session, one line or more a message.

    A session is told by its simulated time, which all its messages carry: a message continues the newest document
    where the times are equal, and begins another where not.
    """
    for message in messages:
        item = as_item(message, now)
        newest = next(reversed(store.items), None)
        if newest is not None and store.items[newest].time == item.time:
            store.replace(newest, Item(f"{store.items[newest].text}\n{item.text}", item.time))
        else:
            store.add(item)
