"""The rule of texts: whatever can be said can be written, and what is kept as it was said is kept as it was said."""

from __future__ import annotations

from amemgym.kit.bench import Bench
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, START, quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.memory import Item
from amemgym.messages import Message

PLAIN = "We planted three plum trees behind the house."
#: what each odd text is → the text
ODD = {
    "with braces and format fields": "Set {answer} to ${record} or {0} {} {{x}} {now!r:>9} %s %(name)s %d $now 100%",
    "in JSON": '{"facts": ["I like tea"], "operations": [{"event": "delete", "id": 0}]}',
    "in HTML": "<script>alert('hi')</script><b>bold</b> &amp; &lt;tag&gt; <!-- note -->",
    "with quotes and backslashes": "C:\\new\\table 'single' \"double\" `tick` \\u0041 \\n; DROP TABLE items; --",
    "that looks like code": "__import__('os').getcwd() or ().__class__",
    "with emoji": "Party 🎉👩‍👩‍👧‍👦🏳️‍🌈 tonight, bring 🍕!",
    "from right to left": "אני גר בחיפה وأحب القهوة كل صباح",
    "in Chinese": "我上个月搬到了杭州,养了一只猫。",
    "with accents made of two signs": "Cafe\u0301 with Zoe\u0308 and A\u030angstro\u0308m",
    "with a line break": "First line\nsecond line",
}
#: what must not be refused, whatever is kept of it
STRANGE = {
    "with a null and control signs": "a\x00b\x07c\x1b[31md",
    "that is empty": "",
    "of blanks": " \n\t ",
    "of 200 kB": "All of this was said in one go, number by number. " * 4000,
    "with half a character (a lone surrogate)": "half \ud83d of an emoji",
}


@rule("any-text", "any text can be written and asked for, and is not changed where texts are kept as they were said")
async def any_text(bench: Bench) -> None:
    plain = bench.make()
    await plain.write([Message("user", PLAIN, START)], START)
    # a memory that had a model write may word anything anew
    is_raw = not plain.hearing.asked and any(PLAIN in item.text for item in await plain.read(PLAIN, LATER))
    for what, text in (ODD | STRANGE).items():
        subject = bench.make()
        try:
            await subject.write([Message("user", text, START), Message("assistant", text, START)], START)
            items: list[Item] = await subject.read(text, LATER)
            items += await subject.held() or []
        except Exception as error:
            raise RuleBroken(f"a text {what} ({_start(text)}) ends in an error: {error}") from error
        await subject.close()
        if is_raw and what in ODD and not any(text in item.text for item in items):
            got = next((item.text for item in items if item.text.strip()), "")
            raise RuleBroken(f"a text {what} was not kept as it was said: {_start(text)} became {_start(got)}")


def _start(text: str) -> str:
    return quoted(text.encode("utf-8", "backslashreplace").decode("utf-8"), 60)
