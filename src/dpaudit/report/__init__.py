"""What a user reads about a result: text, pages and figures."""

from dpaudit.report.changes import Change, changes_between, is_past_claim, summary
from dpaudit.report.code import event_code
from dpaudit.report.figures.canvas import as_svg
from dpaudit.report.figures.search import thinned
from dpaudit.report.files import refuse_special_file, write_whole
from dpaudit.report.html import notebook_cell, report_page, write_report, write_suite
from dpaudit.report.page import page_of
from dpaudit.report.pairs import compared
from dpaudit.report.pinning import Pin, pin_of
from dpaudit.report.plots import Plots
from dpaudit.report.progress import progress_line
from dpaudit.report.raw import raw_json
from dpaudit.report.regions import delta_lower, error_box, last_level, trade_off
from dpaudit.report.showing import apart, dataset, lower, one_line, upper
from dpaudit.report.source import laid_out, source_of
from dpaudit.report.table import Row, row_of
from dpaudit.report.text import (
    failure,
    headline,
    no_evidence,
    pair_to_pin,
    render,
    replayed,
    replayed_headline,
)
