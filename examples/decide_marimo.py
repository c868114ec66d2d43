"""Which ranker shall we ship? A marimo notebook: marimo edit examples/decide_marimo.py, or run it
as a script."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import rankframe as rf

    return mo, rf


@app.cell
def _(mo):
    mo.md(
        """
        # Which ranker shall we ship?

        Handwritten digits are searched with handwritten digits, 120 queries. In use is the comparison of six principal
        components; the candidate compares all pixels. How far down do users look, and how much may they lose at most?
        """
    )
    return


@app.cell
def _(mo):
    k = mo.ui.slider(1, 30, value=10, label="users look at the first")
    budget = mo.ui.slider(0.0, 0.1, step=0.01, value=0.02, label="nDCG may fall by")
    mo.hstack([k, budget])
    return budget, k


@app.cell
def _(k, rf):
    df = rf.load_example()
    runs = ["score_pca", "score"]
    metric = f"ndcg@{k.value}"
    comparison = df.rank.compare(metric, runs=runs, baseline="score_pca")
    comparison
    return comparison, df, metric, runs


@app.cell
def _(df, k, mo, runs):
    shares = df.rank.mean(f"judged@{k.value}", runs=runs).rows()
    mo.md(
        f"Judged down to that rank: {', '.join(f'{share:.0%} for {run}' for run, share in shares)}."
    )
    return


@app.cell
def _(df, metric, runs):
    df.rank.plot.differences(metric, runs=runs, baseline="score_pca")
    return


@app.cell
def _(df, metric, runs):
    slices = df.rank.compare(metric, runs=runs, baseline="score_pca", by="digit")
    slices
    return


@app.cell
def _(budget, df, metric, runs):
    verdict = df.rank.gate({metric: budget.value}, runs=runs, baseline="score_pca")
    return (verdict,)


@app.cell
def _(comparison, metric, mo, verdict):
    found = comparison.table.row(0, named=True)
    mo.md(
        f"""
        ## The decision

        {metric} changes by **{found["difference"]:+.3f}** (95% interval {found["ci_low"]:+.3f} to {found["ci_high"]:+.3f};
        {found["wins"]} queries gain, {found["losses"]} lose). The loss is within the budget with 95% confidence:
        **{"yes: ship all pixels" if verdict.passed else "no: keep the components"}.**
        """
    )
    return


if __name__ == "__main__":
    app.run()
