import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countedReads } from "@kcp-ts/testkit";
import { aggregateAddresses } from "./aggregate-addresses.ts";

const from = (cluster: string, count: number) => ({
  cluster,
  isVisible: true,
  addresses: Array.from({ length: count }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })),
});

describe("aggregated addresses", () => {
  it("are those of all clusters, each once, in the order of the clusters", () => {
    const [west, east] = [from("west", 3), from("east", 2)];
    assert.deepEqual(
      aggregateAddresses([west, east]).map(({ ip }) => ip),
      ["10.0.0.0", "10.0.0.1", "10.0.0.2"],
    );
  });

  it("take twice the reads for twice as many addresses, which clusters choose", () => {
    const readsFor = (count: number) => {
      const { object, reads } = countedReads([from("east", count), from("west", count)]);
      assert.equal(aggregateAddresses(object).length, count);
      return reads();
    };
    const [one, two] = [readsFor(100), readsFor(200)];
    assert.ok(two < 2.2 * one, `${one} and ${two} reads`);
  });
});
