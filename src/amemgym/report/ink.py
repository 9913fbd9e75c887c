"""How figures look, and how they become files: the same bytes for the same scores, fit to be printed.

Names come from data, so they are drawn as plain text; in an SVG they stay text. Matplotlib's settings are changed only
while a figure is drawn and saved, and nothing of pyplot is used.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from amemgym.errors import UsageError
from amemgym.secrets import redact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, QUIET, LINE, ACCENT = "#1a1d21", "#6b7480", "#d0d5db", "#0072b2"
#: Okabe and Ito's palette, which the colour-blind tell apart, without black and yellow, which not every ground shows
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
#: besides the font that matplotlib brings, where the system has one
FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "Arial Unicode MS")
#: characters of a name that are shown
LONGEST = 32
DPI = 200


def check_figures() -> None:
    """Raises UsageError where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("figures need matplotlib; install it with: pip install 'amemgym[figures]'") from None


def drawn(draw: Callable[[Figure], None], format: str) -> bytes:
    """The file of a figure that `draw` fills; `format` is png or svg."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_style())
        # a sign that no font has is drawn as a box, which is remark enough
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.* missing from")
        figure = Figure(layout="constrained")
        draw(figure)
        file = io.BytesIO()
        metadata = {"Date": None} if format == "svg" else None
        figure.savefig(file, format=format, dpi=DPI, metadata=metadata)
    return file.getvalue()


def _style() -> dict[str, Any]:
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return {
        "font.family": ["DejaVu Sans", *(font for font in FONTS if font in there)],
        "font.size": 8,
        "text.parse_math": False,
        "text.color": INK,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "xtick.color": QUIET,
        "xtick.labelcolor": INK,
        "ytick.color": QUIET,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "amemgym",
    }


def plain(name: str) -> str:
    """A name as it is drawn: one line, without signs that cannot be drawn, its middle left out where it is long."""
    line = _drawable(name)
    if len(line) <= LONGEST:
        return line
    half = (LONGEST - 1) // 2
    return f"{line[:half]}…{line[-half:]}"


def _drawable(text: str) -> str:
    """One line, without keys and without signs that cannot be drawn: many of them may not stand in an SVG either."""
    line = " ".join(redact(text).split())
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)


def width_of(text: str) -> float:
    """About how many inches wide a text is."""
    from rich.cells import cell_len  # signs of two columns are counted so

    return 0.068 * cell_len(text)


def footnote(figure: Figure, said: str) -> None:
    """A small text below everything, in as many lines as it needs."""
    lines = textwrap.wrap(_drawable(said), int(figure.get_figwidth() * 20))
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color=QUIET)
