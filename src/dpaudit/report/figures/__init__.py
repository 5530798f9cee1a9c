"""The figures of an audit, one file each: `draw` makes it, `alt` says what it shows."""
