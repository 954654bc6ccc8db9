"""Hooks of MkDocs: the order of the folders, and links to files outside docs/."""

import os
import posixpath
import re

SOURCE = "https://github.com/seriatimq/seriatim/blob/main/"
FOLDERS = ["tutorials", "how-to", "operate", "reference", "explanation", "results", "internals"]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?((?:\s+\"[^\"]*\")?\))")
FENCE = re.compile(r"^\s*(```|~~~)")


def on_files(files, config):
    """Put the folders into the order of the documentation's first page."""
    present = {}
    for file in files.documentation_pages():
        present.setdefault(file.src_uri.split("/")[0], []).append(file.src_uri)
    nav = [{"Home": "README.md"}] if "README.md" in present else []
    folders = [f for f in present if "." not in f]
    for folder in [f for f in FOLDERS if f in folders] + sorted(f for f in folders if f not in FOLDERS):
        pages = sorted(present[folder], key=lambda uri: (uri.count("/"), not uri.endswith("/README.md"), uri))
        nav.append({folder.replace("-", " ").capitalize(): pages})
    config["nav"] = nav
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links that leave docs/ to the repository, if the file is there."""
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))
    root = os.path.join(config["docs_dir"], os.pardir)

    def outside(match):
        before, target, fragment, after = match.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        known = files.get_file_from_path(path[len("docs/"):]) if path.startswith("docs/") else None
        if "://" in target or target.startswith("mailto:") or known or not os.path.exists(os.path.join(root, path)):
            return match.group(0)
        if before.startswith("!"):
            return match.group(0)
        return before + SOURCE + path + (fragment or "") + after

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else LINK.sub(outside, line))
    return "\n".join(lines)
