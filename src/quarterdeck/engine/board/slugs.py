"""Slugs: the short names that members and projects go by."""

from __future__ import annotations

import re

from quarterdeck.kernel.errors import Invalid

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")


def checked_slug(slug: str) -> str:
    if not _SLUG.fullmatch(slug):
        raise Invalid(
            "`slug` must be 1 to 64 small letters, digits, - or _, and begin and end with a letter or digit.",
            code="bad_slug",
        )
    return slug


def slug_of(name: str, ident: str, what: str) -> str:
    """A slug made of a name; of one that has no letters we can use, of the id."""
    letters = "".join(each if each.isascii() and each.isalnum() else "-" for each in name.lower())
    plain = "-".join(part for part in letters.split("-") if part)[:48].strip("-")
    return plain or f"{what}-{ident.replace('-', '')[-12:]}"
