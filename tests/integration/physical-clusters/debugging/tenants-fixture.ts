/**
 * For the tests of this folder: two workspaces that use one cluster of a third one, each with a
 * Deployment of the same name whose log has a treasure in it.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import {
  type KubeconfigOptions,
  startAgent,
  type TestControlPlane,
} from "@kcp-ts/testing/internal";
import {
  deployments,
  fastProbes,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "../fixture.ts";
import { bind, exportCompute, untilComputeExported, untilReady } from "../tenants.ts";
import { networkClient, type Pod, runningPods, webDeployment } from "./fixture.ts";

export type Mode = "Push" | "Pull";
export const modes: readonly Mode[] = ["Push", "Pull"];
export const tenants = ["one", "two"] as const;
export type Tenant = (typeof tenants)[number];

/** What distinguishes the metrics of one cluster from those of the other. */
export const usage: Readonly<Record<Tenant, string>> = { one: "111m", two: "222m" };

const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false };
const clusterRoles = defineResource<DynamicObject>(kinds.clusterRoles);
export const clusterRoleBindings = defineResource<DynamicObject>(kinds.clusterRoleBindings);

const resources = ["deployments.apps", "replicasets.apps", "jobs.batch", "pods"];
export const everything: readonly JsonObject[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

export interface TenantsFixture {
  readonly plane: TestControlPlane;
  readonly east: SimulatedCluster;
  /** The Pod of each. */
  readonly pods: Readonly<Record<Tenant, Pod>>;
  /**
   * Of the administrator of a workspace, who is nobody elsewhere; over the network, in no logical
   * cluster.
   */
  readonly admin: (cluster: string) => Promise<Client>;
  /** The same in that logical cluster. */
  readonly physicalClient: (cluster: string) => Promise<Client>;
  /** Of another user of that workspace. */
  readonly as: (cluster: string, user: User) => Promise<Client>;
}

type User = NonNullable<KubeconfigOptions["user"]>;

/** Roles of a user in one workspace. */
export async function grant(
  plane: TestControlPlane,
  cluster: string,
  username: string,
  rules: readonly JsonObject[],
): Promise<void> {
  const client = plane.clientFor(cluster);
  const name = `of-${username}`;
  await client.resource(clusterRoles).create({ metadata: { name }, rules });
  await client
    .resource(clusterRoleBindings)
    .create({
      metadata: { name },
      subjects: [{ kind: "User", name: username, apiGroup: rbac.group }],
      roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name },
    });
}

export async function startTenantsFixture(
  t: Pick<TestContext, "after">,
  mode: Mode,
  gracePeriods: object = { settleMs: 0 },
): Promise<TenantsFixture> {
  const plane = await startControlPlaneWithClusters(t as TestContext, {
    ...fastProbes,
    gracePeriods,
  });
  const east = await startPhysicalCluster(t as TestContext, { name: "east" });
  const compute = plane.clientFor("compute");
  const { kubeconfig } = east;
  if (mode === "Push") await register(compute, "east", { kubeconfig, resources });
  else {
    const agent = await startAgent(plane, kubeconfig, {
      cluster: "compute",
      name: "east",
      resources,
    });
    t.after(() => agent.stop());
  }
  await exportCompute(compute);
  await untilComputeExported(compute, ...resources);
  await untilReady(compute, "east");
  const found = await Promise.all(
    tenants.map(async (name) => {
      const client = plane.clientFor(name);
      await bind(client, "compute");
      await client
        .resource(deployments)
        .create(
          webDeployment("web", 1, {
            "sim.kcp.io/log": `treasure of ${name}`,
            "sim.kcp.io/usage": `cpu=${usage[name]}`,
          }),
        );
      const [pod] = await runningPods(client, "web", 1);
      assert.ok(pod !== undefined);
      return [name, pod] as const;
    }),
  );
  const known = new Map<string, Client>();
  const admin = async (cluster: string) => {
    const there = known.get(cluster);
    if (there !== undefined) return there;
    const username = `admin-of-${cluster}`;
    await grant(plane, cluster, username, everything);
    const user = { username, groups: ["system:authenticated"] };
    const client = (await networkClient(t, plane, { cluster, user })).withBasePath("");
    known.set(cluster, client);
    return client;
  };
  const physicalClient = async (cluster: string) =>
    (await admin(cluster)).withBasePath(`/clusters/${cluster}`);
  const pods = Object.fromEntries(found) as Record<Tenant, Pod>;
  const as = (cluster: string, user: User) => networkClient(t, plane, { cluster, user });
  return { plane, east, pods, admin, physicalClient, as };
}
