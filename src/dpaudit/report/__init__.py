"""What a user reads about a result: text, pages and figures."""

from dpaudit.report.code import event_code
from dpaudit.report.figures import CURVE, EVIDENCE, OUTPUTS, SEARCH, TRADE_OFF, Plots
from dpaudit.report.figures.canvas import as_svg
from dpaudit.report.figures.curves import error_box, last_level, trade_off
from dpaudit.report.figures.draws import thinned
from dpaudit.report.files import refuse_special_file, write_whole
from dpaudit.report.inside import inside_in_words
from dpaudit.report.pages import notebook_cell, page_of, report_page, write_report, write_suite
from dpaudit.report.pinning import Pin, laid_out, pin_of, source_of
from dpaudit.report.showing import apart, compared, dataset, lower, one_line, upper
from dpaudit.report.tables import (
    Change,
    Row,
    change_table,
    changes_between,
    is_past_claim,
    row_of,
    run_table,
    summary,
)
from dpaudit.report.text import (
    failure,
    headline,
    no_evidence,
    pair_to_pin,
    progress_line,
    render,
    replayed,
    replayed_headline,
)
