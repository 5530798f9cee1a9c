"""What a user reads about a result: text, pages and figures."""

from dpaudit.report.briefs import (
    AGAINST_THE_CLAIM,
    CANNOT_FOLLOW,
    NOT_REFUTED,
    PROBLEMS,
    SUSPECTED,
    TOO_WEAK,
    UNDECIDED,
    Brief,
    brief_of,
    is_past_claim,
    name_of_test,
    no_verdict,
    out_of_time,
    problem_of,
    saved_brief,
    too_weak,
    unexpected,
    unsettled,
)
from dpaudit.report.cells import inside_cell, notebook_cell
from dpaudit.report.code import event_code
from dpaudit.report.exports import annotation, as_json, badge, markdown, sarif
from dpaudit.report.figures import CURVE, EVIDENCE, OUTPUTS, SEARCH, TRADE_OFF, InsidePlots, Plots
from dpaudit.report.figures.canvas import as_svg
from dpaudit.report.figures.curves import error_box, last_level, trade_off
from dpaudit.report.figures.draws import place_of_strongest, thinned
from dpaudit.report.files import refuse_special_file, write_whole
from dpaudit.report.inside import (
    inside_failure,
    inside_headline,
    inside_in_words,
    inside_no_evidence,
    is_inside,
)
from dpaudit.report.inside_pages import inside_page
from dpaudit.report.live import counts_followed, followed, in_terminal, inside_followed
from dpaudit.report.methods import methods_of
from dpaudit.report.pages import page_of, report_page, tried_pairs, write_report, write_suite
from dpaudit.report.pinning import Pin, laid_out, pin_of, source_of
from dpaudit.report.plain import claim_in_words, summary_of
from dpaudit.report.printing import as_pdf
from dpaudit.report.progress import inside_line, progress_line
from dpaudit.report.provenance import provenance_facts
from dpaudit.report.releases import shown_release, shown_releases
from dpaudit.report.showing import (
    apart,
    chance_in_words,
    compared,
    dataset,
    duration,
    lower,
    one_in,
    one_line,
    upper,
)
from dpaudit.report.tables import (
    Change,
    Row,
    change_table,
    changes_between,
    row_of,
    run_table,
    summary,
)
from dpaudit.report.terms import glossary_of, linked
from dpaudit.report.tested import steps_of, untested_by
from dpaudit.report.text import (
    failure,
    headline,
    no_evidence,
    pair_to_pin,
    render,
    replayed,
    replayed_headline,
)
from dpaudit.report.verification import (
    NOT_COMPARED,
    PARTS,
    PARTS_INSIDE,
    Line,
    verification_headline,
    verification_in_words,
)
