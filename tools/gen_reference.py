"""gen_reference.py PAGE HEADER...: the public headers as one page of HTML. Fails when it misses a function.

A section comment ("/* ---- graphs ---- */") is a heading; a comment belongs to the declarations that follow it up to the
next blank line; a declaration can be linked to by its name. Text is the header's, not one word more.
"""

import html
import re
import sys
from pathlib import Path

STYLE = """
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; color: #222; }
nav { columns: 3; font-size: 14px; } nav a { display: block; }
pre { background: #f4f4f2; padding: .6rem .8rem; overflow-x: auto; font-size: 14px; line-height: 1.4; }
pre.text { background: none; padding: 0; white-space: pre-wrap; font: inherit; }
pre.code { border-left: 3px solid #9ab; } a { color: #246; } h2 { margin-top: 2.5rem; }
"""
SECTION = re.compile(r"/\* ---- (.*?)(?: ---- \*/|\. (.*?)---- \*/)\s*", re.S)
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
NAME = re.compile(r"\b(tg_\w+)\b(?=\s*\()|^} (tg_\w+);|typedef [^;{]*?\b(tg_\w+);|#define ((?:TG|tg)_\w+)", re.M)
DECLARED = re.compile(r"(?:TG_API|static inline) [^;{]*?\b(tg_\w+)\(")
HIDDEN = re.compile(r"^#define TG_\w+_\b(?:[^\n]*\\\n)*[^\n]*\n?|^#(?:ifn?def __cplusplus|endif)\n?", re.M)
PRIVATE = re.compile(r"\w+_$|TG_API|TIGA_")


def escape(text):
    return html.escape(text, quote=False)


def prose(comment):
    """A comment's text: paragraphs, and indented lines as code."""
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip().split("\n")]
    parts, code = [], None
    for line in lines:
        is_code = line.startswith("    ") or bool(code and not line.strip())
        if is_code != code:
            parts.append((is_code, []))
            code = is_code
        parts[-1][1].append(line)
    return "\n".join(
        f'<pre class="{"code" if is_code else "text"}">{escape(chr(10).join(body).strip(chr(10)))}</pre>'
        for is_code, body in parts
        if any(line.strip() for line in body)
    )


def names_in(code):
    found = [next(filter(None, groups)) for groups in NAME.findall(code)]
    return [n for n in dict.fromkeys(found) if not PRIVATE.match(n)]


def blocks(text):
    """(heading, None, None), or (None, comment or "", code): what blank lines part."""
    for chunk in re.split(r"\n\s*\n", text):
        heading = SECTION.match(chunk)
        if heading:
            yield heading[1].strip(), None, None
            chunk = (heading[2] and f"/* {heading[2].strip()} */\n" or "") + chunk[heading.end() :]
        if chunk.strip():
            yield from declarations(chunk.strip("\n"))


def declarations(chunk):
    """A chunk with several comments at the left margin is several blocks."""
    for part in re.split(r"(?m)^(?=/\*)", chunk):
        comment = COMMENT.match(part)
        code = part[comment.end() :] if comment else part
        if part.strip():
            yield None, comment[1] if comment else "", code.strip("\n")


def is_plumbing(code):
    """What compilers need and readers do not."""
    lines = [line for line in code.split("\n") if line.strip()]
    plumbing = re.compile(r"#(if|ifdef|ifndef|else|elif|endif|include)|extern \"C\"|}$|#define (TIGA_|TG_API|TG_\w+_\b)")
    return all(plumbing.match(line) for line in lines)


def page(headers):
    body, index, seen = [], [], set()
    for header in headers:
        body.append(f"<h1>{escape(header.name)}</h1>")
        text = re.sub(r"#ifdef __cplusplus\n(?!extern|}).*", "", header.read_text(), flags=re.S)
        for heading, comment, code in blocks(text):
            if heading:
                body.append(f"<h2>{escape(heading)}</h2>")
                continue
            if comment:
                body.append(prose(comment))
            if not code or is_plumbing(code):
                continue
            names = [n for n in names_in(code) if n not in seen]
            seen.update(names)
            index += names
            body += [f'<a id="{n}"></a>' for n in names]
            body.append(f"<pre>{escape(HIDDEN.sub('', code).replace('TG_API ', '').replace('TG_NOT_READ_ ', ''))}</pre>")
    links = "\n".join(f'<a href="#{n}">{n}</a>' for n in sorted(index))
    head = f"<!doctype html><meta charset=utf-8><title>Tiga in C</title><style>{STYLE}</style>"
    return "\n".join([head, f"<nav>{links}</nav>", *body]), seen


def main(path, headers):
    text, seen = page(headers)
    declared = {n for h in headers for n in DECLARED.findall(COMMENT.sub("", h.read_text()))}
    if declared - seen:
        sys.exit(f"not on the page: {', '.join(sorted(declared - seen))}")
    path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(p) for p in sys.argv[2:]])
