"""What archives of MemoryBench results look like to people: tables in every format, and what an archive holds.

`result_table_text` makes the text of a format, `write_result_table` the file of any; `result_frame` a data frame.
"""

from amemgym.report.archive.contents import print_cell, print_contents
from amemgym.report.archive.frame import result_frame
from amemgym.report.archive.terminal import print_result_table
from amemgym.report.archive.verification import print_verification, write_verification
from amemgym.report.archive.write import (
    FIGURES,
    FORMATS,
    TEXTS,
    check_result_table,
    format_of,
    result_table_text,
    write_result_table,
)

__all__ = [
    "FIGURES",
    "FORMATS",
    "TEXTS",
    "check_result_table",
    "format_of",
    "print_cell",
    "print_contents",
    "print_result_table",
    "print_verification",
    "result_frame",
    "result_table_text",
    "write_result_table",
    "write_verification",
]
