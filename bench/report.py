"""docs/performance.md's tables and picture out of bench/out/*.json: `python bench/report.py` writes the tables
between the page's two marks, and performance.svg beside it. A row has the fastest of a workload's peers; what is not raced but compared ("its forward pass",
"half the size") has rows of its own."""

import json
import re
from pathlib import Path

import charts

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- tables: bench/report.py -->", "<!-- end of tables -->"
ALONE = ("by hand in C", "tiga", "half the size", "its forward pass")
SUITES = ("weighted_sum", "limit", "messages", "reductions", "algebras", "pointwise", "training")


def read(name):
    path = HERE / "out" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def chosen(rows):
    """Of each workload and width the fastest peer, and every one that is not raced."""
    fastest, kept = {}, []
    for row in rows:
        key = row["workload"], str(row["features"])
        if row["peer"].startswith(ALONE):
            kept.append(row)
        elif key not in fastest or row["peer_ms"][0] < fastest[key]["peer_ms"][0]:
            fastest[key] = row
    return [r for r in rows if r in kept or fastest.get((r["workload"], str(r["features"]))) is r]


def table(rows):
    lines = ["| workload | F | against | Tiga ms | its ms | ratio | 95 % | rounds |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        ratio, low, high = r["ratio"]
        sign = "**" if low >= 1 else ""
        lines.append(
            f"| {r['workload']} | {r['features']} | {r['peer']} | {r['tiga_ms'][0]:.3g} | {r['peer_ms'][0]:.3g}"
            f" | {sign}{ratio:.2f}{sign} | {low:.2f}-{high:.2f} | {r['rounds']} |"
        )
    return "\n".join(lines)


def machine():
    found = read("machine")
    if not found:
        return ""
    versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
    limits = ", ".join(f"{k.replace('_', ' ')} {v:.1f}" for k, v in found["limits"].items())
    return f"{found['cpu']}, {found['threads']} threads; {limits}. {versions}."


def latency():
    found = read("latency")
    if not found:
        return ""
    lines = ["| latency, 10 nodes | median | fastest | unit |", "|---|---|---|---|"]
    lines += [f"| {r['name']} | {r['median']:.2f} | {r['min']:.2f} | {r['unit']} |" for r in found["rows"]]
    return "### latency\n\n" + "\n".join(lines)


def picture(rows):
    if charts.plt is None:
        return
    charts.plt.rcParams["svg.fonttype"] = "none"
    charts.ratios(rows, HERE / "out")
    (PAGE.parent / "performance.svg").write_bytes((HERE / "out" / "ratios.svg").read_bytes())


def main():
    parts, shown = [machine()], []
    for name in SUITES:
        if found := read(name):
            rows = chosen(found["rows"])
            parts.append(f"### {name}\n\n{table(rows)}")
            shown += rows
    picture(shown)
    parts.append(latency())
    text = "\n\n".join(p for p in parts if p)
    page = PAGE.read_text()
    made = f"{BEGIN}\n\n{text}\n\n{END}"
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: made, page, flags=re.DOTALL))
    print(f"-> {PAGE}")


if __name__ == "__main__":
    main()
