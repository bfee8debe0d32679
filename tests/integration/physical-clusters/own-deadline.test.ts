import assert from "node:assert/strict";
import { it } from "node:test";
import { syncTargets } from "@kcp-ts/multicluster";
import { registerReady } from "./debugging/fixture.ts";
import {
  deployment,
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "./fixture.ts";

interface DeploymentStatus {
  readonly status?: { readonly availableReplicas?: number };
}

it("replicas that one cluster cannot schedule move after the Deployment's own deadline, without an annotation", async (t) => {
  const clusters = await Promise.all(
    ["east", "west"].map((name) => startPhysicalCluster(t, { name })),
  );
  const { client } = await startControlPlaneWithClusters(t);
  for (const [at, name] of ["east", "west"].entries()) {
    await registerReady(client, name, clusters[at]?.kubeconfig ?? "");
    const patch = { metadata: { labels: { region: name } } };
    await client.resource(syncTargets).patch({ name }, { type: "merge", patch });
  }
  const nowhere = [
    { op: "add", path: "/spec/template/spec/nodeSelector", value: { disk: "none" } },
  ];
  const overrides = [{ clusterSelector: { matchLabels: { region: "east" } }, patches: nowhere }];
  const made = deployment("web");
  const { metadata } = await client
    .resource(deployments)
    .create({
      ...made,
      metadata: {
        ...made.metadata,
        annotations: { "workload.kcp.io/overrides": JSON.stringify(overrides) },
      },
      spec: { ...made.spec, replicas: 4, progressDeadlineSeconds: 3 },
    } as never);
  const name = { namespace: "default", name: metadata.name };
  await eventually(async () => {
    const { status } = (await client.resource(deployments).get(name)) as DeploymentStatus;
    assert.equal(status?.availableReplicas, 4);
  });
  const { items } = await (clusters[1] as NonNullable<(typeof clusters)[1]>).client
    .resource(deployments)
    .list();
  const west = items.find(({ metadata: { name } }) => name === "web--west");
  assert.equal(west?.spec?.replicas, 4);
});
