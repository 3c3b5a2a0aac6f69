"""Two pictures, each as PNG and SVG: ratios by workload, and a roofline of the workloads whose cost is counted."""

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    plt = None


def draw(rows, limits, folder):
    if plt is None:
        print("missing: matplotlib; no pictures are drawn")
        return
    ratios(rows, folder)
    roofline([r for r in rows if r.get("flops")], limits, folder)


def save(figure, folder, name):
    for kind in ("png", "svg"):
        figure.savefig(folder / f"{name}.{kind}", bbox_inches="tight", dpi=120)
    plt.close(figure)
    print(f"-> {folder / name}.png, .svg")


def ratios(rows, folder):
    """Every row with its interval, on a logarithmic axis; right of 1 Tiga is faster."""
    figure, axes = plt.subplots(figsize=(9, 0.22 * len(rows) + 1))
    for k, row in enumerate(rows):
        ratio, low, high = row["ratio"]
        axes.plot([low, high], [k, k], color="tab:blue" if low >= 1 else "tab:red", linewidth=3)
        axes.plot([ratio], [k], "o", color="black", markersize=3)
    axes.set_yticks(range(len(rows)), [f"{r['workload']}, F = {r['features']}, {r['peer']}" for r in rows], fontsize=6)
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("time of the peer / time of Tiga (median and 95 % interval)")
    axes.invert_yaxis()
    save(figure, folder, "ratios")


def roofline(rows, limits, folder):
    """Counted flops a second over counted flops a byte, under what the machine was measured to do."""
    figure, axes = plt.subplots(figsize=(7, 5))
    x = [2.0**k for k in range(-5, 6)]
    for name, style in (("triad_gb_s", "-"), ("gather_gb_s", "--")):
        axes.plot(x, [min(i * limits[name], limits["fma_gflop_s"]) for i in x], style, label=name.replace("_", " "))
    seen = set()
    for row in rows:
        point = row["flops"] / row["bytes"], row["flops"] / row["tiga_ms"][0] / 1e6
        label = f"{row['workload']}, F = {row['features']}"
        if label not in seen:
            axes.plot(*point, "o", markersize=4, label=label)
        seen.add(label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("flops a byte (counted: kernel.cost)")
    axes.set_ylabel("Gflop/s")
    axes.legend(fontsize=5, ncol=2)
    save(figure, folder, "roofline")
