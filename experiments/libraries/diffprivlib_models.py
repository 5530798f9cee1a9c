from entry import Entry

ENTRIES: tuple[Entry, ...] = ()
