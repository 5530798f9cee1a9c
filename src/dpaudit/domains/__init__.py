"""What a record may be: one file per domain.

`floats`, `integers`, `categories`, `dates` and `texts` are single values; `vectors`, `lists`,
`records` and `tables` are made of them. A domain knows the records worth trying first (`edges`),
how to draw one (`draw`), and how records become the data that a mechanism receives (`dataset`, and
`unpack` back); ours also know the way from one record to another (`Explorable`), and what
`filter`, `map` and `with_odd_values` make of them.
"""

from dpaudit.domains.categories import Categories, categories
from dpaudit.domains.chooser import Chooser, Unsuitable
from dpaudit.domains.dataframes import Frame, built, frame_of
from dpaudit.domains.dates import Dates, dates
from dpaudit.domains.domain import EDGE_SHARE, MOST_EDGES, Domain, Explorable
from dpaudit.domains.filtered import Filtered
from dpaudit.domains.guests import explorable, refinable
from dpaudit.domains.json_values import (
    UNREADABLE,
    Unsaved,
    decoded,
    encoded,
    encoded_float,
    is_whole,
)
from dpaudit.domains.lists import Lists, lists
from dpaudit.domains.mapped import Mapped
from dpaudit.domains.numbers import Floats, Integers, floats, integers
from dpaudit.domains.odd import WithOdd
from dpaudit.domains.parsing import FORMS, parse_domain
from dpaudit.domains.reasons import reason_against
from dpaudit.domains.records import Records, records
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.showing import canonical, shown
from dpaudit.domains.tables import Tables, tables
from dpaudit.domains.texts import Texts, texts
from dpaudit.domains.vectors import Vectors, vectors
from dpaudit.errors import InvalidDomain
