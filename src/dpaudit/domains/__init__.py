"""What a record may be, and how datasets are shown and saved.

`floats`, `integers`, `categories`, `dates` and `texts` are single values; `vectors`, `lists`,
`records` and `tables` are made of them. A domain knows the records worth trying first (`edges`),
how to draw one (`draw`), and how records become the data that a mechanism receives (`dataset`, and
`unpack` back). Ours also know the way from one record to another (`Explorable`), and can be refined
by `filter`, `map` and `with_odd_values` (`Refinable`).
"""

from dpaudit.architecture import Chooser, Domain, Explorable
from dpaudit.domains.categories import Categories, categories
from dpaudit.domains.domain import (
    MAX_EDGES,
    MAX_SIMPLER,
    Refinable,
    Unsuitable,
    explorable,
    is_domain,
    one_of,
    refinable,
)
from dpaudit.domains.json_values import (
    UNREADABLE,
    Unsaved,
    decoded,
    encoded,
    encoded_float,
    is_whole,
)
from dpaudit.domains.parsing import parse_domain
from dpaudit.domains.ranges import (
    DateRange,
    FloatRange,
    IntegerRange,
    chosen_whole,
    dates,
    floats,
    integers,
)
from dpaudit.domains.records import Records, records
from dpaudit.domains.sequences import Lists, Texts, Vectors, lists, texts, vectors
from dpaudit.domains.showing import Frame, built, canonical, frame_of, shown
from dpaudit.domains.tables import TABLE_FORMS, Tables, tables
