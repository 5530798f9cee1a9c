"""Arrays in files: what a header says is checked against the file before anything is allocated."""

from __future__ import annotations

import ast
import os
import struct
import zlib
from math import prod
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile, is_zipfile

MOST_HEADER = 10_000  # bytes: what NumPy itself reads
MOST_ENTRIES = 2**40  # along one axis, also where another has none
MOST_PACKED = 1_100  # bytes in one byte of an archive: DEFLATE reaches 1,032
_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}  # of the header, by version


def read_npy(path: Path) -> Any:
    """The array in a .npy file."""
    with path.open("rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size)


def read_npz(path: Path) -> Any:
    """The only array in a .npz file."""
    with path.open("rb") as file:
        if not is_zipfile(file):
            raise ValueError("it is no archive of arrays")
        most = MOST_PACKED * os.fstat(file.fileno()).st_size
        try:
            with ZipFile(file) as archive:
                return _only_array(archive, most)
        except (RuntimeError, zlib.error) as error:  # a password, a way of packing, damage
            raise ValueError(str(error)) from error


def _only_array(archive: ZipFile, most: int) -> Any:
    names = archive.namelist()
    if len(names) != 1:
        shown = ", ".join(name.removesuffix(".npy") for name in names) or "none"
        raise ValueError(f"it must hold one array, got {len(names)} ({shown})")
    size = archive.getinfo(names[0]).file_size
    if size > most:
        raise ValueError(f"it promises {size:,} bytes, more than can be packed in it")
    with archive.open(names[0]) as file:
        return _read(file, size)


def _read(file: Any, size: int) -> Any:
    """Read an array of a file of so many bytes; never a pickle, which can run any code."""
    import numpy as np

    _check_header(file, size)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _check_header(file: BinaryIO, size: int) -> None:
    """Raise a `ValueError` unless the header tells of an array that the file can hold."""
    import numpy as np

    fields = _header(file)
    left = size - file.tell()
    try:
        dtype = np.lib.format.descr_to_dtype(fields["descr"])
    except Exception as error:  # whatever NumPy raises on nonsense
        raise ValueError(f"its header names no type of numbers: {error}") from error
    shape = fields["shape"]
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole:
        raise ValueError(f"its header has the shape {str(shape)[:80]}, which is none")
    if dtype.hasobject:
        return  # nothing is allocated: NumPy says why it loads no pickle
    if dtype.itemsize == 0 or max(shape, default=0) > MOST_ENTRIES:
        raise ValueError(f"its header promises outputs of shape {str(shape)[:80]} in no room")
    if prod(shape) * dtype.itemsize > left:
        raise ValueError(
            f"its header promises {prod(shape) * dtype.itemsize:,} bytes of outputs, but the file "
            f"has {left:,}"
        )


def _header(file: BinaryIO) -> dict[str, Any]:
    """The header of an array, as the dictionary that it is."""
    start = file.read(len(_MAGIC) + 2)
    if len(start) < len(_MAGIC) + 2 or not start.startswith(_MAGIC):
        raise ValueError("it is no array of NumPy")
    form = _LENGTHS.get(start[-2])
    if form is None:
        raise ValueError(f"it is an array of NumPy's format {start[-2]}, which is not known")
    length = file.read(struct.calcsize(form))
    if len(length) < struct.calcsize(form):
        raise ValueError("its header is not whole")
    wanted = struct.unpack(form, length)[0]
    if wanted > MOST_HEADER:
        raise ValueError(f"its header has {wanted:,} bytes; at most {MOST_HEADER:,} are read")
    try:
        fields = ast.literal_eval(file.read(wanted).decode("utf-8").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("its header cannot be read") from error
    if not isinstance(fields, dict) or not {"descr", "shape"} <= set(fields):
        raise ValueError("its header does not say what it holds")
    return fields
