import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TopTenants, topTenantsSampling } from "./server-metrics.ts";

const record = (top: TopTenants, cluster: string, samples: number) => {
  for (let i = 0; i < samples * topTenantsSampling; i++) top.record(cluster);
};
const shown = (top: TopTenants) =>
  [...top.render().matchAll(/cluster="([^"]+)"\} (\d+)/g)].map(([, name, count]) => [
    name,
    Number(count),
  ]);

describe("the logical clusters with the most requests", () => {
  it("are listed by their requests, ten at most", () => {
    const top = new TopTenants();
    for (let i = 0; i < 20; i++) record(top, `small-${i}`, 1);
    record(top, "large", 50);
    record(top, "medium", 10);
    const list = shown(top);
    assert.equal(list.length, 10);
    assert.deepEqual(list.slice(0, 2), [
      ["large", 50 * topTenantsSampling],
      ["medium", 10 * topTenantsSampling],
    ]);
  });

  it("include the largest one among ten thousand others", () => {
    const top = new TopTenants();
    for (let i = 0; i < 10_000; i++) {
      record(top, `c${i}`, 1);
      if (i % 10 === 0) record(top, "large", 1);
    }
    assert.equal(shown(top)[0]?.[0], "large");
  });

  it("are counted one by one where there are few", () => {
    const top = new TopTenants({ name: "throttled", help: "few", sampling: 1 });
    top.record("a");
    top.record("a");
    assert.match(top.render(), /^throttled\{cluster="a"\} 2$/m);
  });

  it("are forgotten when they send no more requests", () => {
    const top = new TopTenants();
    record(top, "old", 100);
    for (let i = 0; i < 9; i++) top.render();
    assert.deepEqual(shown(top), []);
  });
});
