import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { samplesOf, sumOf } from "./samples.ts";

const text = `# HELP requests Requests.
# TYPE requests counter
requests{cluster="a",verb="get"} 3
requests{cluster="b \\"quoted\\"",verb="get"} 4
requests_total{cluster="a"} 100
open 1.5e3
`;

describe("samples of a metric", () => {
  it("have their labels and values, and are those of this metric only", () => {
    assert.deepEqual(samplesOf(text, "requests"), [
      { labels: { cluster: "a", verb: "get" }, value: 3 },
      { labels: { cluster: 'b "quoted"', verb: "get" }, value: 4 },
    ]);
    assert.deepEqual(samplesOf(text, "open"), [{ labels: {}, value: 1500 }]);
  });

  it("have a sum, which a metric without samples has not", () => {
    assert.equal(sumOf(text, "requests"), 7);
    assert.equal(sumOf(text, "absent"), undefined);
  });
});
