"""Queries of the system that are known by their whole argument list. They run as they are, and no shell is asked."""

from __future__ import annotations

import re

from quarterdeck.engine.policy.command import Judged

_SYSTEM = (
    "arch", "cat /etc/debian_version", "cat /etc/os-release", "cat /proc/cpuinfo", "cat /proc/loadavg",
    "cat /proc/meminfo", "cat /proc/uptime", "cat /proc/version", "date", "date -I", "date -R", "date -u",
    "date <format>", "date -u <format>", "df", "df -T", "df -Th", "df -h", "df -hT", "df -i", "df -k", "free",
    "free -b", "free -g", "free -h", "free -k", "free -m", "getconf LONG_BIT", "getconf PAGE_SIZE",
    "getconf _NPROCESSORS_ONLN", "groups", "hostname", "hostname -I", "hostname -s", "id", "id -G", "id -Gn", "id -g",
    "id -gn", "id -u", "id -un", "ip a", "ip addr", "ip link", "ip route", "locale", "logname", "lsb_release -a",
    "lsb_release -cs", "lsb_release -d", "lsblk", "lsblk -f", "lscpu", "nproc", "nproc --all", "sw_vers", "tty",
    "uname", "uname -a", "uname -m", "uname -n", "uname -o", "uname -p", "uname -r", "uname -s", "uname -sr",
    "uname -srm", "uname -v", "uptime", "uptime -p", "uptime -s", "vmstat", "which <program>", "who", "whoami",
    "bash --version", "cmake --version", "gcc --version", "git --version", "git version", "jq --version",
    "make --version", "node --version", "node -v", "python --version", "python -V", "python3 --version", "python3 -V",
)  # fmt: skip
_PACKAGES = (
    "apt --version", "apt list", "apt list --installed", "apt list --upgradable", "apt list <package>",
    "apt list --installed <package>", "apt show <package>", "apt-cache policy", "apt-cache policy <package>",
    "apt-cache show <package>", "dpkg --version", "dpkg -l", "dpkg -l <package>", "dpkg -L <package>",
    "dpkg -s <package>", "dpkg --print-architecture", "dpkg-query -W", "dpkg-query -W <package>", "pip --version",
    "pip list", "pip show <package>", "pip3 --version", "pip3 list", "pip3 show <package>", "rpm -q <package>",
    "rpm -qa",
)  # fmt: skip
_SLOTS = {
    "<package>": re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}"),
    "<program>": re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}"),
    # No widths: `%999999999d` is a gigabyte of blanks.
    "<format>": re.compile(r"\+(?:%[A-Za-z]|[:_.,T/-]){1,40}"),
}

_ACTIONS = {tuple(text.split(" ")): "system_info" for text in _SYSTEM}
_ACTIONS |= {tuple(text.split(" ")): "package_check" for text in _PACKAGES}
_SLOTTED = tuple(form for form in _ACTIONS if not _SLOTS.keys().isdisjoint(form))


def known_query(words: tuple[str, ...]) -> Judged | None:
    form = words if words in _ACTIONS else next((form for form in _SLOTTED if _fits(words, form)), None)
    if form is None:
        return None
    return Judged("low", _ACTIONS[form], "direct", words, "It is a query that is known word for word.")


def _fits(words: tuple[str, ...], form: tuple[str, ...]) -> bool:
    return len(words) == len(form) and all(
        _SLOTS[part].fullmatch(word) if part in _SLOTS else part == word for word, part in zip(words, form, strict=True)
    )
