/**
 * Goal: how long after a cluster is not Ready its endpoints are withdrawn. Method: the controller alone, on a clock that stands still; what syncers would bring up
 * and what the cluster controller would say, the test writes.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { serviceExports, syncTargets, traffic } from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource, timestamp } from "@kcp-ts/sdk";
import { settle } from "@kcp-ts/testkit";
import { startTestControlPlane } from "../testing/index.ts";
import { eventually } from "./fixture.ts";
import { endpointSlices, namespace, readyBySource, services } from "./traffic-stage.ts";

const definitions = defineResource<DynamicObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

function definition(group: string, resource: string, kind: string) {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const approved = { "api-approved.kubernetes.io": "unapproved, for a test" };
  const version: JsonObject = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: anything },
  };
  return {
    metadata: { name: `${resource}.${group === "" ? "core" : group}`, annotations: approved },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [version],
    },
  };
}

async function startTraffic(t: TestContext) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const { client, clock } = plane;
  await client.resource(definitions).create(definition("", "services", "Service"));
  await client
    .resource(definitions)
    .create(definition("discovery.k8s.io", "endpointslices", "EndpointSlice"));
  const stop = new AbortController();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const running = traffic({ client: plane.clientFor("*"), clock, onError }).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advanceAndSettle(60_000);
    await running;
    await plane.close();
  });
  return { client, clock, errors };
}

async function report(client: Client, nowMs: number, name: string, status: "True" | "False") {
  const lastTransitionTime = timestamp(nowMs);
  const condition = { type: "Ready", status, reason: "ForTest", message: "", lastTransitionTime };
  const patch = { status: { conditions: [condition], syncedResources: ["services"] } };
  await client.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
}

function copyOf(cluster: string) {
  const labels = {
    "kubernetes.io/service-name": "web",
    [`state.workload.kcp.io/${cluster}`]: "Upsync",
  };
  return {
    metadata: { name: `web-1--${cluster}`, namespace, labels },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

describe("endpoints of a cluster that is not Ready", () => {
  it("are withdrawn within ten seconds of that moment, and come back when it is Ready", async (t) => {
    const { client, clock, errors } = await startTraffic(t);
    const states = Object.fromEntries(
      ["east", "west"].map((name) => [`state.workload.kcp.io/${name}`, "Sync"]),
    );
    for (const name of ["east", "west"]) {
      await client.resource(syncTargets).create({ metadata: { name }, spec: {} });
      await report(client, clock.now(), name, "True");
      await eventually(() => client.resource(endpointSlices).create(copyOf(name) as never));
    }
    const spec = { ports: [{ name: "http", port: 80 }] };
    const metadata = { name: "web", namespace, labels: states };
    await eventually(() => client.resource(services).create({ metadata, spec }));
    await client.resource(serviceExports).create({ metadata: { name: "web", namespace } });
    const untilBoth = () =>
      eventually(async () => {
        await clock.advanceAndSettle(1000);
        assert.deepEqual(await readyBySource(client), { east: 1, west: 1 });
      });
    await untilBoth();

    const lostAtMs = clock.now();
    await report(client, lostAtMs, "west", "False");
    await settle();
    let withdrawnAtMs: number | undefined;
    while (withdrawnAtMs === undefined && clock.now() < lostAtMs + 60_000) {
      await clock.advanceAndSettle(100);
      const counts = await readyBySource(client);
      assert.equal(counts["east"], 1);
      if (counts["west"] === 0) withdrawnAtMs = clock.now();
    }
    assert.ok(withdrawnAtMs !== undefined);
    const tookMs = withdrawnAtMs - lostAtMs;
    assert.ok(tookMs <= 10_000, `withdrawn after ${tookMs} ms`);
    // A silence that is over sooner changes nothing.
    assert.ok(tookMs >= 4000, `withdrawn after ${tookMs} ms`);

    await report(client, clock.now(), "west", "True");
    await untilBoth();
    await report(client, clock.now(), "west", "False");
    await clock.advanceAndSettle(3000);
    await report(client, clock.now(), "west", "True");
    for (let step = 0; step < 100; step++) {
      await clock.advanceAndSettle(100);
      assert.deepEqual(await readyBySource(client), { east: 1, west: 1 });
    }
    assert.deepEqual(errors, []);
  });
});
