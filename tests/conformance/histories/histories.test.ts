/**
 * Goal: whatever happens to servers and stores, what clients see could have happened to one of them
 * after the other, and watches keep their promises. Method: histories recorded over HTTP under
 * faults, and checked; docs/internals/histories.md tells how. HISTORIES=<number> records more of
 * them on each configuration, HISTORIES_SEED=<seed> begins with another seed,
 * HISTORIES_CONFIG=<name> takes one configuration alone. A violation prints its seed and what shows
 * it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { etcdMissing } from "@kcp-ts/testkit";
import { configurations } from "./environment.ts";
import { findingText } from "./findings.ts";
import { runHistories } from "./run-histories.ts";

const histories = Number(process.env["HISTORIES"] ?? 6);
const seed = Number(process.env["HISTORIES_SEED"] ?? 1);
const wanted = process.env["HISTORIES_CONFIG"];

describe("clients and watchers, under faults", () => {
  for (const configuration of configurations) {
    if (wanted !== undefined && wanted !== configuration) continue;
    const skip = (configuration.startsWith("etcd") ? etcdMissing() : undefined) ?? false;
    it(`see one history on ${configuration}`, { skip }, async () => {
      const concurrency = Math.min(3, histories);
      const summary = await runHistories({ configuration, seed, histories, concurrency });
      assert.equal(summary.histories, histories);
      assert.ok(summary.operations > histories * 20, `only ${summary.operations} operations`);
      assert.ok(summary.events > histories * 20, `only ${summary.events} events`);
      const found = summary.findings.map((finding) => findingText(configuration, finding));
      assert.equal(found.length, 0, `\n${found.join("\n")}`);
    });
  }
});
