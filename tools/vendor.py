"""Renew what the control room takes from others: `python tools/vendor.py`.

Each module is taken out of its package as the npm registry has it, its imports are pointed at its neighbours here, and
MANIFEST.json tells where it came from. `--check` only compares what is here with what the manifest says.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1] / "src/quarterdeck/server/static/vendor"
MANIFEST = HERE / "MANIFEST.json"
# Our name for it: package, version, the file in it.
MODULES = {
    "preact.js": ("preact", "11.2.0", "dist/preact.mjs"),
    "hooks.js": ("preact", "11.2.0", "hooks/dist/hooks.mjs"),
    "signals-core.js": ("@preact/signals-core", "1.14.5", "dist/signals-core.mjs"),
    "signals.js": ("@preact/signals", "2.11.4", "dist/signals.mjs"),
    "htm.js": ("htm", "3.1.1", "dist/htm.mjs"),
    "marked.js": ("marked", "18.2.1", "lib/marked.esm.js"),
}
NEIGHBOURS = {
    "preact": "./preact.js",
    "preact/hooks": "./hooks.js",
    "@preact/signals-core": "./signals-core.js",
}
LICENSES = re.compile(r"(?i)^package/(licen[cs]e)(\.md|\.txt)?$")


def renew() -> None:
    told = {}
    for name, (package, version, place) in MODULES.items():
        with tempfile.TemporaryDirectory() as folder:
            pack = ["npm", "pack", "--silent", f"{package}@{version}", "--pack-destination", folder]
            subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
            [archive] = Path(folder).glob("*.tgz")
            told[name] = taken(archive, name, package, version, place)
    MANIFEST.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", "utf-8")


def taken(archive: Path, name: str, package: str, version: str, place: str) -> dict[str, str]:
    with tarfile.open(archive) as files:
        text = read(files, f"package/{place}")
        about = json.loads(read(files, "package/package.json"))
        licences = [member.name for member in files.getmembers() if LICENSES.match(member.name)]
        if licences:
            (HERE / f"{package.rpartition('/')[2]}.LICENSE").write_text(read(files, licences[0]), "utf-8")
    text = re.sub(r'\bfrom\s*"([^"./][^"]*)"', lambda found: f'from"{NEIGHBOURS[found[1]]}"', text)
    text = re.sub(r"\n?//# sourceMappingURL=.*\s*$", "\n", text)
    (HERE / name).write_text(text, "utf-8")
    return {"package": package, "version": version, "file": place, "license": about["license"], "sha256": digest(name)}


def read(files: tarfile.TarFile, name: str) -> str:
    member = files.extractfile(name)
    assert member is not None, name
    return member.read().decode("utf-8")


def digest(name: str) -> str:
    return hashlib.sha256((HERE / name).read_bytes()).hexdigest()


def check() -> list[str]:
    """What is here and is not as the manifest says."""
    told = json.loads(MANIFEST.read_text("utf-8"))
    here = {path.name for path in HERE.glob("*.js")}
    strange = [f"{name} is not listed" for name in sorted(here - set(told))]
    return strange + [f"{name} was changed" for name in sorted(told) if digest(name) != told[name]["sha256"]]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(check()) or 0)
    renew()
