/**
 * Goal: every dependency is propagated, and nothing else. Method: generated namespaces, compared
 * with a plain search for the names in the templates.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { SeededRandom } from "@kcp-ts/testkit";
import { clusterLabel, propagatedToAnnotation, stateLabel } from "../../api/index.ts";
import { dependencyTargetsOf, type Referrer } from "./dependency-closure.ts";
import { isPropagated, withPropagatedTargets } from "./propagated-targets.ts";
import { podReferences } from "./references.ts";

const named = (name: string, metadata: object = {}, rest: object = {}): KubernetesObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, namespace: "demo", ...metadata },
  ...rest,
});

const placed = (cluster: string, template: JsonObject): Referrer => ({
  object: named(`web--${cluster}`, { labels: { [clusterLabel]: cluster } }),
  template,
});

const nothing = { ingresses: [], accounts: [], budgets: [] };

const template = (spec: JsonObject, labels: JsonObject = { app: "web" }): JsonObject => ({
  metadata: { labels },
  spec,
});

describe("dependencies of a Pod template", () => {
  it("dependencies are found in every field in which a Pod can name them", () => {
    const container = {
      env: [
        { name: "a", valueFrom: { configMapKeyRef: { name: "env-map", key: "a" } } },
        { name: "b", valueFrom: { secretKeyRef: { name: "env-secret", key: "b" } } },
        { name: "c", value: "secrets/plain" },
      ],
      envFrom: [{ configMapRef: { name: "from-map" } }, { secretRef: { name: "from-secret" } }],
    };
    const spec = {
      serviceAccountName: "robot",
      imagePullSecrets: [{ name: "pull" }],
      containers: [container],
      initContainers: [{ envFrom: [{ secretRef: { name: "init-secret" } }] }],
      volumes: [
        { name: "a", configMap: { name: "volume-map" } },
        { name: "b", secret: { secretName: "volume-secret" } },
        {
          name: "c",
          projected: {
            sources: [
              { configMap: { name: "projected-map" } },
              { secret: { name: "projected-secret" } },
              { configMap: { name: "kube-root-ca.crt" } },
              { serviceAccountToken: { path: "token" } },
            ],
          },
        },
        { name: "d", csi: { driver: "x", nodePublishSecretRef: { name: "csi-secret" } } },
        { name: "e", cephfs: { monitors: [], secretRef: { name: "ceph-secret" } } },
        { name: "f", persistentVolumeClaim: { claimName: "data" } },
      ],
    };
    assert.deepEqual([...podReferences(template(spec))].sort(), [
      "configmaps/env-map",
      "configmaps/from-map",
      "configmaps/projected-map",
      "configmaps/volume-map",
      "secrets/ceph-secret",
      "secrets/csi-secret",
      "secrets/env-secret",
      "secrets/from-secret",
      "secrets/init-secret",
      "secrets/projected-secret",
      "secrets/pull",
      "secrets/volume-secret",
      "serviceaccounts/robot",
    ]);
  });

  it("an invalid Pod template has no dependencies", () => {
    for (const odd of [
      undefined,
      {},
      template({ containers: "many", volumes: [null, 3], serviceAccountName: 7 } as never),
      { spec: [] } as never,
    ]) {
      assert.deepEqual([...podReferences(odd)], []);
    }
    assert.deepEqual([...podReferences(template({ serviceAccountName: "default" }))], []);
  });
});

describe("closure of a namespace", () => {
  it("the closure is complete and minimal, for generated namespaces", () => {
    for (let seed = 0; seed < 300; seed++) check(seed);
  });

  it("the closure includes the dependencies of ServiceAccounts and of per-cluster Ingresses", () => {
    const closure = dependencyTargetsOf({
      referrers: [placed("east", template({ serviceAccountName: "robot" }))],
      accounts: [
        named("robot", {}, { imagePullSecrets: [{ name: "pull" }], secrets: [{ name: "token" }] }),
        named("other", {}, { imagePullSecrets: [{ name: "unused" }] }),
      ],
      ingresses: [
        named(
          "web--west",
          { labels: { [clusterLabel]: "west" } },
          { spec: { tls: [{ secretName: "tls" }] } },
        ),
      ],
      budgets: [],
    });
    assert.deepEqual([...closure.keys()].sort(), [
      "secrets/pull",
      "secrets/tls",
      "serviceaccounts/robot",
    ]);
    assert.deepEqual([...(closure.get("secrets/tls") ?? [])], ["west"]);
  });

  it("a PodDisruptionBudget is propagated to the clusters of the Pods that it selects", () => {
    const budget = (name: string, selector: unknown) => named(name, {}, { spec: { selector } });
    const closure = dependencyTargetsOf({
      ...nothing,
      referrers: [placed("east", template({}))],
      budgets: [
        budget("web", { matchLabels: { app: "web" } }),
        budget("db", { matchLabels: { app: "db" } }),
        budget("odd", { matchExpressions: [{ key: "app", operator: "Near" }] }),
      ],
    });
    assert.deepEqual([...(closure.get("poddisruptionbudgets/web") ?? [])], ["east"]);
    assert.equal(closure.get("poddisruptionbudgets/db")?.size ?? 0, 0);
    assert.equal(closure.get("poddisruptionbudgets/odd")?.size ?? 0, 0);
  });

  it("a workload that leaves a cluster keeps its dependencies there until it is deleted there", () => {
    const finalizers = ["workload.kcp.io/syncer-east"];
    const object = named("web--east", { finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" });
    const spec = { volumes: [{ configMap: { name: "settings" } }] };
    const closure = dependencyTargetsOf({
      ...nothing,
      referrers: [{ object, template: template(spec) }],
    });
    assert.deepEqual([...(closure.get("configmaps/settings") ?? [])], ["east"]);
  });
});

function check(seed: number): void {
  const random = new SeededRandom(seed);
  const clusters = ["east", "north", "west"] as const;
  const names = ["a", "b", "c", "d"] as const;
  const expected = new Map<string, Set<string>>();
  const referrers = Array.from({ length: random.integer(6) }, () => {
    const cluster = random.pick(clusters);
    const volumes = Array.from({ length: random.integer(4) }, () => {
      const [kind, name] = [random.pick(["configmaps", "secrets"] as const), random.pick(names)];
      const known = expected.get(`${kind}/${name}`) ?? new Set();
      expected.set(`${kind}/${name}`, known.add(cluster));
      return kind === "secrets" ? { secret: { secretName: name } } : { configMap: { name } };
    });
    return placed(cluster, template({ volumes }));
  });
  const closure = dependencyTargetsOf({ ...nothing, referrers });
  const sorted = (map: ReadonlyMap<string, ReadonlySet<string>>) =>
    [...map].map(([name, targets]) => `${name}: ${[...targets].sort()}`).sort();
  assert.deepEqual(sorted(closure), sorted(expected), `seed ${seed}`);
}

describe("propagated object", () => {
  it("a propagated object is assigned and unassigned, and records its assignments", () => {
    const object = named("settings", { labels: { app: "web" }, annotations: { note: "mine" } });
    const there = withPropagatedTargets(object, new Set(["west", "east"]));
    assert.deepEqual(there.metadata.labels, {
      app: "web",
      [stateLabel("east")]: "Sync",
      [stateLabel("west")]: "Sync",
    });
    assert.equal(there.metadata.annotations?.[propagatedToAnnotation], "east,west");
    assert.equal(withPropagatedTargets(there, new Set(["east", "west"])), there);
    const gone = withPropagatedTargets(there, new Set());
    assert.deepEqual(gone.metadata.labels, { app: "web" });
    assert.deepEqual(gone.metadata.annotations, { note: "mine" });
  });

  it("an object that a user has assigned, or that is unmanaged, stays unchanged", () => {
    for (const metadata of [
      { labels: { [clusterLabel]: "north" } },
      { labels: { [stateLabel("north")]: "Sync" } },
      { annotations: { "workload.kcp.io/managed": "false" } },
    ]) {
      const object = named("settings", metadata);
      assert.equal(isPropagated(object), false);
      assert.equal(withPropagatedTargets(object, new Set(["east"])), object);
    }
  });
});
