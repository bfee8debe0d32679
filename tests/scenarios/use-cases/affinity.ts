/**
 * Workloads with affinity or anti-affinity, which an application team declares in a Placement, and
 * applies. Written once, for every kind of cluster.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { TestEnvironment } from "../test-environments/index.ts";
import { eventually, namespace, region, UseCaseFixture } from "./use-case-fixture.ts";

const group = { apiVersion: "scheduling.kcp.io/v1alpha1" };

function placement(name: string, app: string, more: object): object {
  return {
    ...group,
    kind: "Placement",
    metadata: { name },
    spec: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      workloadSelector: { matchLabels: { app } },
      ...more,
    },
  };
}

function deployment(name: string, replicas: number): object {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name, image: "nginx:1.27" }] } },
    },
  };
}

const toDatabase = { workloadSelector: { matchLabels: { app: "db" } }, required: true };

export function affinityUseCases(environment: TestEnvironment): void {
  it("affinity: a cache goes to the cluster of its database, and a standby to any other", async (t) => {
    const stage = await UseCaseFixture.start(t, environment);
    await stage.write(
      "placements.yaml",
      placement("db", "db", { locationSelectors: [{ matchLabels: { [region]: "west" } }] }),
      placement("cache", "cache", { affinity: [toDatabase] }),
      placement("standby", "standby", { antiAffinity: [toDatabase] }),
      ...["east", "west"].map((name) => ({
        ...group,
        kind: "Location",
        metadata: { name, labels: { [region]: name } },
        spec: { instanceSelector: { matchLabels: { [region]: name } } },
      })),
    );
    await stage.write("db.yaml", deployment("db", 1));
    await stage.write("others.yaml", deployment("cache", 2), deployment("standby", 2));
    await stage.types(`
$ kubectl apply -f placements.yaml
...
$ kubectl apply -f db.yaml
deployment.apps/db created
$ kubectl rollout status deployment/db --timeout=170s
...
deployment "db" successfully rolled out
$ kubectl apply -f others.yaml
deployment.apps/cache created
deployment.apps/standby created
`);
    await stage.untilCounts({ db: "1/1", west: "1/1" }, "db");
    await stage.untilCounts({ cache: "2/2", west: "2/2" }, "cache");
    await stage.untilCounts({ standby: "2/2", east: "2/2" }, "standby");
    await eventually(async () => {
      const of = async (cluster: string) => {
        const found = await stage.inCluster("pods", cluster);
        return found.map((name) => name.replace(/-.*/, "")).sort();
      };
      assert.deepEqual(await of("west"), ["cache", "cache", "db"]);
      assert.deepEqual(await of("east"), ["standby", "standby"]);
    });
  });
}
