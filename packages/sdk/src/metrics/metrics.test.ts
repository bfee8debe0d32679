import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clientMetrics } from "./client-metrics.ts";
import { MetricsRegistry, seriesPerMetricMax } from "./registry.ts";

describe("metrics", () => {
  it("are written in Prometheus' text format", () => {
    const registry = new MetricsRegistry();
    registry.counter({ name: "adds_total", help: 'a "b"\nc' }).with({}).increment(3);
    registry
      .gauge({ name: "depth", help: "d", labels: ["name"] })
      .with({ name: 'x"\\\n' })
      .set(2.5);
    const seconds = registry
      .histogram({ name: "seconds", help: "s", labels: ["name"], buckets: [0.1, 1] })
      .with({ name: "q" });
    for (const value of [0.1, 0.5, 7]) seconds.observe(value);
    assert.equal(
      registry.text(),
      `# HELP adds_total a "b"\\nc
# TYPE adds_total counter
adds_total 3
# HELP depth d
# TYPE depth gauge
depth{name="x\\"\\\\\\n"} 2.5
# HELP seconds s
# TYPE seconds histogram
seconds_bucket{name="q",le="0.1"} 1
seconds_bucket{name="q",le="1"} 2
seconds_bucket{name="q",le="+Inf"} 3
seconds_sum{name="q"} 7.6
seconds_count{name="q"} 3
`,
    );
  });

  it("are shared by name, and reject a second definition", () => {
    const registry = new MetricsRegistry();
    const first = registry.counter({ name: "n", help: "h", labels: ["a"] });
    assert.equal(registry.counter({ name: "n", help: "h", labels: ["a"] }), first);
    assert.throws(() => registry.gauge({ name: "n", help: "h", labels: ["a"] }), /another type/);
    assert.throws(() => registry.counter({ name: "n", help: "h", labels: ["b"] }), /other labels/);
  });

  it("count series beyond the limit in one", () => {
    const registry = new MetricsRegistry();
    const family = registry.counter({ name: "n", help: "h", labels: ["cluster"] });
    for (let i = 0; i < seriesPerMetricMax; i++) family.with({ cluster: `c${i}` }).increment();
    assert.equal(family.with({ cluster: `c${seriesPerMetricMax - 1}` }).value, 1);
    family.with({ cluster: "one more" }).increment();
    family.with({ cluster: "and another" }).increment();
    assert.equal(family.with({ cluster: "overflow" }).value, 2);
    assert.equal(registry.text().split("\n").length, seriesPerMetricMax + 4);
  });

  it("count the client's requests under client-go's names", () => {
    const registry = new MetricsRegistry();
    const observe = clientMetrics(registry, "h:1");
    const get = { method: "GET", path: "/" } as const;
    observe(get, { status: 200, durationMs: 20, attempt: 1 });
    observe(get, { status: 0, durationMs: 0, attempt: 1 });
    observe(get, { status: 200, durationMs: 0, attempt: 2 });
    assert.match(
      registry.text(),
      /rest_client_requests_total\{code="200",method="GET",host="h:1"\} 2/,
    );
    assert.match(registry.text(), /requests_total\{code="<error>",method="GET",host="h:1"\} 1/);
    assert.match(registry.text(), /retries_total\{code="200",verb="GET",host="h:1"\} 1/);
    assert.match(registry.text(), /duration_seconds_sum\{verb="GET",host="h:1"\} 0.02/);
  });
});
