/**
 * Goal: the Placement of root is for workspaces with clusters of their own, and for those that use
 * the clusters of others.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterLabel, locations, placements, syncTargets } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { deployment, deployments, eventually } from "./fixture.ts";
import { bind, sharedNameOf, startSharedCompute, untilReplicas } from "./tenants.ts";

async function untilIn(client: Client, clusters: readonly string[]): Promise<void> {
  await eventually(async () => {
    const { items } = await client.resource(deployments).list({ namespace: "default" });
    const found = items.flatMap(({ metadata }) => metadata.labels?.[clusterLabel] ?? []);
    assert.deepEqual(found.sort(), [...clusters].sort());
  });
}

describe("the Placement of root, for a workspace that uses the clusters of another one", () => {
  it("says where among the Locations of that one, and an edit moves what is there", async (t) => {
    const { plane, compute } = await startSharedCompute(t, { resources: ["deployments.apps"] });
    for (const name of ["east", "west"]) {
      const patch = { metadata: { labels: { region: name } } };
      await compute.resource(syncTargets).patch({ name }, { type: "merge", patch });
      await compute
        .resource(locations)
        .create({
          metadata: { name, labels: { region: name } },
          spec: { instanceSelector: { matchLabels: { region: name } } },
        } as never);
    }
    const root = plane.clientFor("root").resource(placements);
    const selects = (region: string) => [{ matchLabels: { region } }];
    const spec = { namespaceSelector: {}, locationSelectors: selects("east") };
    await root.create({ metadata: { name: "default" }, spec } as never);
    const tenant = plane.clientFor("tenant");
    await bind(tenant, "compute");
    await tenant.resource(deployments).create(deployment("web"));
    await untilReplicas(tenant, "web", 2);
    await untilIn(tenant, [sharedNameOf("compute", "east")]);
    const edit = async (patch: object) =>
      await root.patch({ name: "default" }, { type: "merge", patch: { spec: patch } as never });
    await edit({ locationSelectors: selects("west"), locationWorkspace: "compute" });
    await untilIn(tenant, [sharedNameOf("compute", "west")]);
    // The Locations of a workspace that is not bound select nothing: all clusters, as without it.
    await edit({ locationWorkspace: "elsewhere" });
    await untilIn(tenant, [sharedNameOf("compute", "east"), sharedNameOf("compute", "west")]);
    await untilReplicas(tenant, "web", 2);
  });
});
