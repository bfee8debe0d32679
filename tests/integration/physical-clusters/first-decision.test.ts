/**
 * Goal: after a restart, or a change of leader, no workload is scheduled before the caches of all
 * kinds are complete: the replicas of a kind whose list is late count against the limits, too.
 * Method: the controllers run twice over one control plane, the second time with a client that
 * holds the list of one kind back.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type MulticlusterController,
  placements,
  runMulticluster,
  syncTargets,
} from "@kcp-ts/multicluster";
import { Client, findCondition, type TransportRequest } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { deployment, deployments, eventually } from "./fixture.ts";
import { defineKinds } from "./traffic-clock-fixture.ts";
import { kinds, namespace, workload } from "./workload-fixture.ts";

const controllers: ReadonlySet<MulticlusterController> = new Set([
  "scheduler",
  "deployment-splitter",
]);
const podsMax = 5;

interface Gate {
  /** Whether the held request has arrived. */
  isReached: boolean;
  open(): void;
}

/** The client of a server whose answers to requests of `held` wait until the gate is open. */
function clientBehindGate(plane: TestControlPlane, held: RegExp): { client: Client; gate: Gate } {
  const { transport, basePath, clock, random } = plane.clientFor("*");
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gate: Gate = { isReached: false, open };
  const holding = {
    send: async (request: TransportRequest) => {
      if (request.method === "GET" && held.test(request.path)) {
        gate.isReached = true;
        await opened;
      }
      return await transport.send(request);
    },
    close: () => transport.close(),
  };
  return { client: new Client({ transport: holding, basePath, clock, random }), gate };
}

function run(t: TestContext, client: Client) {
  const stop = new AbortController();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const running = runMulticluster({ client, controllers, onError }, stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  t.after(end);
  return { end };
}

/** A control plane with one cluster, which has as many Pods of a StatefulSet as it may have. */
async function startFull(t: TestContext) {
  const plane = await startTestControlPlane({ controlLoops: false });
  t.after(() => plane.close());
  const { client } = plane;
  await defineKinds(client, [
    ["apps", "deployments", "Deployment"],
    ["apps", "statefulsets", "StatefulSet"],
  ]);
  await client
    .resource(syncTargets)
    .create({ metadata: { name: "east" }, spec: { resourceLimits: { pods: podsMax } } });
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const ready = { type: "Ready", status: "True", reason: "ClusterReady", message: "" } as const;
  const status = {
    conditions: [{ ...ready, lastTransitionTime }],
    syncedResources: ["deployments.apps", "statefulsets.apps"],
  };
  await client
    .resource(syncTargets)
    .patchStatus({ name: "east" }, { type: "merge", patch: { status } });
  const first = run(t, plane.clientFor("*"));
  const sets = client.resource(kinds.statefulSets);
  await eventually(() => sets.create(workload("db", { replicas: podsMax }) as never));
  await eventually(async () => {
    const { spec } = await sets.get({ namespace, name: "db--east" });
    assert.equal(spec?.["replicas"], podsMax);
  });
  await first.end();
  return { plane, client };
}

async function copiesOf(client: Client): Promise<readonly string[]> {
  const { items } = await client.resource(deployments).list({ namespace });
  return items.map(({ metadata }) => metadata.name).filter((name) => name.includes("--"));
}

describe("the first decision after a restart", () => {
  const cases = [
    ["StatefulSets", /\/statefulsets\?/],
    ["Placements", new RegExp(`/${placements.resource}\\?`)],
    ["WorkloadPlacements", /\/workloadplacements\?/],
    ["SyncTargets", new RegExp(`/${syncTargets.resource}\\?`)],
    ["namespaces", /\/api\/v1\/namespaces\?/],
  ] as const;
  for (const [late, path] of cases) {
    it(`waits for the list of ${late}`, async (t) => {
      const { plane, client } = await startFull(t);
      const { metadata, spec } = deployment("web");
      await client
        .resource(deployments)
        .create({ metadata, spec: { ...spec, replicas: podsMax } } as never);
      const { client: held, gate } = clientBehindGate(plane, path);
      t.after(() => gate.open());
      run(t, held);
      await eventually(() => assert.ok(gate.isReached, `no list of ${late}`));
      // Long enough for a decision without the list.
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.deepEqual(await copiesOf(client), []);
      gate.open();
      await eventually(async () => {
        const found = await client.resource(deployments).get({ namespace, name: "web" });
        const { status } = found as { status?: { conditions?: never } };
        const { reason, message = "" } = findCondition(status?.conditions, "Scheduled") ?? {};
        assert.equal(reason, "Unschedulable");
        assert.match(message, /pod limit reached: 5\/5 \(SyncTarget east\)/);
      });
      assert.deepEqual(await copiesOf(client), []);
    });
  }
});
