import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client } from "@kcp-ts/sdk";
import { type TargetConnection, Targets } from "./targets.ts";

const connection = (name: string, worker?: "here" | "agent"): TargetConnection => ({
  cluster: "root" as ClusterName,
  name,
  uid: name,
  client: {} as Client,
  signal: new AbortController().signal,
  ...(worker === undefined ? {} : { worker }),
});

describe("the clusters that this process works in", () => {
  it("are those that no agent works in, whether they were there before or came later", () => {
    const targets = new Targets();
    const early = connection("early", "agent");
    targets.add(early);
    targets.add(connection("early-here"));
    const told: string[] = [];
    targets.workedInHere.subscribe({
      connected: ({ name }) => told.push(`+${name}`),
      gone: ({ name }) => told.push(`-${name}`),
    });
    const late = connection("late", "here");
    targets.add(late);
    targets.add(connection("late-agent", "agent"));
    targets.remove(early);
    targets.remove(late);
    assert.deepEqual(told, ["+early-here", "+late", "-late"]);
    assert.equal(targets.size, 2);
  });

  it("hold a SyncTarget that is being deleted, too", async () => {
    const targets = new Targets();
    const target = { apiVersion: "", kind: "", metadata: { name: "a" } };
    const context = {
      cluster: "root" as ClusterName,
      connection: undefined,
      signal: new AbortController().signal,
    };
    const take = targets.workedInHere.onDrain(async () => "pending");
    assert.equal(await targets.drain(target, context), "pending");
    take();
    assert.equal(await targets.drain(target, context), "done");
    targets.onDrain(async () => "pending");
    assert.equal(await targets.drain(target, context), "pending");
  });
});
