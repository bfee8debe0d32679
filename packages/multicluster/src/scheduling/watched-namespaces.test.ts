/**
 * Goal: the scheduler caches no namespaces with default labels only, and evaluates them as if it
 * did.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Clusters, KubernetesObject, ObjectKey } from "@kcp-ts/sdk";
import { type Placement, placementAnnotation } from "../api/index.ts";
import {
  informerPolicyLister,
  type Namespace,
  namespaceInfoOf,
  namespaceInformer,
  type PolicyStores,
} from "./policies.ts";

const idle = "idle" as ClusterName;
const placed = "placed" as ClusterName;
const nameLabel = "kubernetes.io/metadata.name";

/** Logical clusters, one of which has a Placement. */
const clusters = {
  source: () => ({
    store: {
      byIndex: (_: string, { cluster }: { readonly cluster: ClusterName }) =>
        cluster === placed ? [{} as Placement] : [],
    },
  }),
} as unknown as Clusters;

function namespaceIn(
  cluster: ClusterName,
  metadata: Partial<KubernetesObject["metadata"]> = {},
  conditions: readonly { readonly type: string; readonly status: "True" }[] = [],
): Namespace {
  const annotations = { "kcp.io/cluster": cluster, ...metadata.annotations };
  const labels = { [nameLabel]: "default", ...metadata.labels };
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "default", ...metadata, annotations, labels },
    status: { conditions: conditions as never },
  };
}

describe("namespaces that the scheduler watches", () => {
  const { filter } = namespaceInformer(clusters);

  it("a namespace with default labels is not cached in a workspace without a Placement", () => {
    assert.equal(filter(namespaceIn(idle)), false);
  });

  it("a namespace with other labels is cached", () => {
    const own = [
      namespaceIn(idle, { labels: { team: "a" } }),
      namespaceIn(idle, { labels: { [nameLabel]: "another" } }),
      namespaceIn(idle, { annotations: { [placementAnnotation]: "" } }),
      namespaceIn(idle, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      namespaceIn(idle, {}, [{ type: "NamespaceScheduled", status: "True" }]),
    ];
    for (const namespace of own) assert.ok(filter(namespace), JSON.stringify(namespace));
  });

  it("every namespace is cached in a workspace with a Placement", () => {
    assert.ok(filter(namespaceIn(placed)));
  });

  it("a namespace has its labels, cached or not", () => {
    const labelled = namespaceInfoOf(namespaceIn(idle, { labels: { team: "a" } }));
    const stores = {
      namespaces: { get: ({ name }: ObjectKey) => (name === "labelled" ? labelled : undefined) },
    } as unknown as PolicyStores;
    const facts = informerPolicyLister(stores);
    assert.deepEqual(facts.namespaceLabels(idle, "labelled"), {
      [nameLabel]: "default",
      team: "a",
    });
    assert.deepEqual(facts.namespaceLabels(idle, "ordinary"), { [nameLabel]: "ordinary" });
  });
});
