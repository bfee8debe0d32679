/** The reference of metrics is what a server serves, and dashboards and alerts use nothing else. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, describe, it } from "node:test";
import { type Metric, metricsPage, metricsPagePath, servedMetrics } from "./metrics.ts";

let metrics: readonly Metric[];
before(async () => {
  metrics = await servedMetrics();
});

/** Names in an expression: what is followed by a selector, a range, an operator or an end. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\b(by|without|on) \([^)]*\)/g, "")
    .replaceAll(/\[[^\]]*\]/g, "");
  return [...bare.matchAll(/[a-z_:][a-z0-9_:]*/g)]
    .map(([name]) => name)
    .filter((name) => name.includes("_") && !functions.has(name));
}

const functions = new Set(["histogram_quantile", "min_over_time"]);

function unknownIn(expressions: readonly string[]): readonly string[] {
  const known = new Set(
    metrics.flatMap(({ name, type }) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
  return expressions.flatMap(metricsIn).filter((name) => !known.has(name));
}

describe("metrics", () => {
  it("are listed in the reference", async () => {
    const written = await readFile(metricsPagePath, "utf8");
    assert.equal(written, metricsPage(metrics), "run npm run docs");
  });

  it("of the Grafana dashboard exist", async () => {
    const text = await readFile("deploy/monitoring/grafana-dashboard.json", "utf8");
    const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    assert.ok(expressions.length > 10);
    assert.deepEqual(unknownIn(expressions), []);
    assert.deepEqual(unknownIn(["rate(no_such_metric[5m])"]), ["no_such_metric"]);
  });

  it("of the alert rules exist, and each rule has a runbook with that heading", async () => {
    const text = await readFile("deploy/monitoring/alerts.yaml", "utf8");
    const expressions = [...text.matchAll(/^ +expr: (.*)$/gm)].map(([, expr = ""]) => expr);
    assert.ok(expressions.length > 5);
    assert.deepEqual(unknownIn(expressions), []);
    const guide = await readFile("docs/guides/operating.md", "utf8");
    const headings = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, words = ""]) =>
      words
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, "")
        .replaceAll(" ", "-"),
    );
    const runbooks = [...text.matchAll(/runbook: (\S+)#(\S+)$/gm)];
    assert.equal(runbooks.length, expressions.length);
    for (const [, path, heading = ""] of runbooks) {
      assert.equal(path, "docs/guides/operating.md");
      assert.ok(headings.includes(heading), heading);
    }
  });
});
