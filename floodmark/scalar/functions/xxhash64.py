"""The 64-bit xxHash of a text, as Spark's `xxhash64` computes it for one STRING.

Algorithm: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md; Spark's seed is 42.
"""

from __future__ import annotations

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MASK = (1 << 64) - 1
SPARK_SEED = 42


def xxhash64(text: str, seed: int = SPARK_SEED) -> int:
    """Return the hash of the text's UTF-8 bytes as an unsigned number of 64 bits.

    >>> hex(xxhash64("", 0))
    '0xef46db3751d8e999'
    >>> hex(xxhash64("abc", 0))
    '0x44bc2cf5ad770999'
    """
    data = text.encode()
    whole = len(data) // 32 * 32
    state = _long(data[:whole], seed) if whole else (seed + _P5) & _MASK
    return _avalanche(_tail(data[whole:], (state + len(data)) & _MASK))


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _long(data: bytes, seed: int) -> int:
    lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
    for start in range(0, len(data), 32):
        for i in range(4):
            word = int.from_bytes(data[start + 8 * i : start + 8 * i + 8], "little")
            lanes[i] = _round(lanes[i] & _MASK, word)
    state = sum(_rotate(v, b) for v, b in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        state = ((state ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return state


def _tail(data: bytes, state: int) -> int:
    at = 0
    while at + 8 <= len(data):
        word = int.from_bytes(data[at : at + 8], "little")
        state = (_rotate(state ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        word = int.from_bytes(data[at : at + 4], "little")
        state = (_rotate(state ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        state = _rotate(state ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    return state


def _avalanche(state: int) -> int:
    state = (state ^ (state >> 33)) * _P2 & _MASK
    state = (state ^ (state >> 29)) * _P3 & _MASK
    return state ^ (state >> 32)
