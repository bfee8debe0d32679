import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { timestamp } from "@kcp-ts/sdk";
import { clusterInfoOf } from "../coordination/index.ts";
import type { Service } from "./objects.ts";
import { backendsOf, type Ingress, type IngressState, splitIngress } from "./split-ingress.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const backend = (name: string) => ({ backend: { service: { name, port: { number: 80 } } } });
const root: Ingress = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: {
    name: "web",
    namespace: "default",
    uid: "whole",
    labels: { tier: "front" },
    annotations: { "example.io/a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
  },
  spec: { rules: [{ http: { paths: [backend("web"), backend("api")] } }] },
};

function service(name: string, ...clusters: string[]): Service {
  const labels = Object.fromEntries(
    clusters.map((one) => [`state.workload.kcp.io/${one}`, "Sync"]),
  );
  return { apiVersion: "v1", kind: "Service", metadata: { name, labels } };
}

function target(name: string, isReady = true, changedAtMs = 0) {
  const lastTransitionTime = timestamp(changedAtMs);
  const status = isReady ? "True" : "False";
  const condition = { type: "Ready", status, reason: "", message: "", lastTransitionTime } as const;
  return clusterInfoOf({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name },
    status: { conditions: [condition] },
  });
}

const leafOf = (base: IngressState, cluster: string, ...ips: string[]): Ingress => {
  const found = splitIngress({ ...base, leaves: [], services: [service("web", cluster)] });
  const [made] = found.creations;
  assert.ok(made !== undefined);
  const ingress = ips.map((ip) => ({ ip }));
  return { ...made, status: { loadBalancer: { ingress } } } as unknown as Ingress;
};

function state(more: Partial<IngressState> = {}): IngressState {
  return {
    cluster: "root",
    root,
    leaves: [],
    services: [],
    takenNames: new Set(),
    targets: new Map(["east", "west"].map((name) => [name, target(name)])),
    gracePeriods: { withdrawMs: 5000, returnMs: 2000 },
    nowMs,
    ...more,
  };
}

const addresses = (status: object | undefined) =>
  JSON.stringify((status as { loadBalancer?: { ingress?: unknown } })?.loadBalancer?.ingress ?? []);

describe("Ingress over several clusters", () => {
  it("the backends are the Services of its paths, and the default backend", () => {
    const spec = { ...root.spec, defaultBackend: { service: { name: "rest" } } };
    assert.deepEqual([...backendsOf({ spec })].sort(), ["api", "rest", "web"]);
    assert.deepEqual([...backendsOf({ spec: { rules: "nonsense" } })], []);
  });

  it("leaves are created in all clusters of its Services, with the labels of their root", () => {
    const services = [service("web", "east"), service("api", "west")];
    const { creations } = splitIngress(state({ services, cluster: "root:org" }));
    assert.deepEqual(
      creations.map(({ metadata }) => metadata.name),
      ["web--east", "web--west"],
    );
    assert.deepEqual(creations[0]?.metadata.labels, {
      tier: "front",
      "workload.kcp.io/cluster": "east",
      "workload.kcp.io/owned-by": "web",
      "workload.kcp.io/ingress-root-cluster": "root.org",
      "workload.kcp.io/ingress-root-name": "web",
      "workload.kcp.io/ingress-root-namespace": "default",
    });
    assert.deepEqual(creations[0]?.metadata.annotations, { "example.io/a": "b" });
    assert.equal(creations[0]?.metadata.ownerReferences?.[0]?.uid, "whole");
    assert.deepEqual(creations[0]?.spec, root.spec);
  });

  it("leaves follow edits of the root, changes by others are reverted, and nothing is written when nothing changes", () => {
    const services = [service("web", "east")];
    const leaf = leafOf(state(), "east");
    const settled = splitIngress(state({ services, leaves: [leaf] }));
    assert.deepEqual([settled.creations, settled.updates, settled.removals], [[], [], []]);
    const edited = { ...leaf, spec: {} };
    assert.deepEqual(splitIngress(state({ services, leaves: [edited] })).updates, [leaf]);
  });

  it("the status has the addresses of all leaves, each once", () => {
    const services = [service("web", "east", "west")];
    const leaves = [
      leafOf(state(), "west", "192.0.2.2", "192.0.2.1"),
      leafOf(state(), "east", "192.0.2.1"),
    ];
    const { status } = splitIngress(state({ services, leaves }));
    assert.equal(addresses(status), '[{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}]');
    const written = { ...root, ...(status === undefined ? {} : { status }) };
    assert.equal(splitIngress(state({ services, leaves, root: written })).status, written.status);
  });

  it("addresses of a cluster that is not Ready are withdrawn, unless they are the last", () => {
    const services = [service("web", "east", "west")];
    const leaves = [leafOf(state(), "east", "192.0.2.1"), leafOf(state(), "west", "192.0.2.2")];
    const lost = (...names: string[]) =>
      new Map(["east", "west"].map((name) => [name, target(name, !names.includes(name), nowMs)]));
    const at = (ms: number, ...names: string[]) =>
      splitIngress(state({ services, leaves, targets: lost(...names), nowMs: nowMs + ms }));
    assert.equal(at(0, "west").requeueAtMs, nowMs + 5000);
    assert.equal(addresses(at(4999, "west").status), '[{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}]');
    assert.equal(addresses(at(5000, "west").status), '[{"ip":"192.0.2.1"}]');
    assert.equal(
      addresses(at(5000, "east", "west").status),
      '[{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}]',
    );
    assert.deepEqual(at(5000, "west").removals, []);
  });

  it("an obsolete leaf is deleted when a new leaf has an address, and not before", () => {
    const services = [service("web", "west")];
    const old = leafOf(state(), "east", "192.0.2.1");
    const making = splitIngress(state({ services, leaves: [old] }));
    assert.equal(making.creations.length, 1);
    assert.deepEqual(making.removals, []);
    assert.equal(addresses(making.status), '[{"ip":"192.0.2.1"}]');
    const unready = [old, leafOf(state(), "west")];
    assert.deepEqual(splitIngress(state({ services, leaves: unready })).removals, []);
    const ready = [old, leafOf(state(), "west", "192.0.2.2")];
    const made = splitIngress(state({ services, leaves: ready }));
    assert.deepEqual(made.removals, [old]);
    assert.equal(addresses(made.status), '[{"ip":"192.0.2.2"}]');
  });

  it("the leaves stay when its Services are in no cluster", () => {
    const old = leafOf(state(), "east", "192.0.2.1");
    const { removals, events } = splitIngress(state({ leaves: [old] }));
    assert.deepEqual(removals, []);
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ["ServiceNotFound"],
    );
  });

  it("other objects with the names of leaves are unchanged, and the conflict is reported", () => {
    const services = [service("web", "east"), service("api")];
    const { creations, events } = splitIngress(
      state({ services, takenNames: new Set(["web--east"]) }),
    );
    assert.deepEqual(creations, []);
    assert.match(events[0]?.message ?? "", /web--east/);
  });
});
