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

describe("local targets", () => {
  it("local targets are all clusters without an agent, connected before or after the subscription", () => {
    const targets = new Targets();
    const early = connection("early", "agent");
    targets.add(early);
    targets.add(connection("early-here"));
    const told: string[] = [];
    targets.localTargets.subscribe({
      connected: ({ name }) => told.push(`+${name}`),
      disconnected: ({ name }) => told.push(`-${name}`),
    });
    const late = connection("late", "here");
    targets.add(late);
    targets.add(connection("late-agent", "agent"));
    targets.remove(early);
    targets.remove(late);
    assert.deepEqual(told, ["+early-here", "+late", "-late"]);
    assert.equal(targets.size, 2);
  });

  it("drain hooks hold a SyncTarget that is being deleted", async () => {
    const targets = new Targets();
    const target = { apiVersion: "", kind: "", metadata: { name: "a" } };
    const context = {
      cluster: "root" as ClusterName,
      connection: undefined,
      signal: new AbortController().signal,
    };
    const take = targets.localTargets.onDrain(async () => "pending");
    assert.equal(await targets.drain(target, context), "pending");
    take();
    assert.equal(await targets.drain(target, context), "done");
    targets.onDrain(async () => "pending");
    assert.equal(await targets.drain(target, context), "pending");
  });
});
