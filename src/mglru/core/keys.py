# SPDX-License-Identifier: GPL-2.0-only
"""Keys of the cache: what decides a content in, a name for it out."""

from __future__ import annotations

import hashlib

KEY_LENGTH = 12


def sha256_of(*parts: str | bytes) -> str:
    """Return the sha256 of parts, one after the other; text is UTF-8."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
    return found.hexdigest()


def key_of(*parts: str | bytes, length: int = KEY_LENGTH) -> str:
    """Return what names a content in the cache: the begin of the digest of all that decides it.

    Parts are not told from one another: whoever gives several separates them.

    Args:
        parts: in this order.
        length: of the key, in hexadecimal digits.
    """
    return sha256_of(*parts)[:length]
