/** For tests: the kinds of tenancy, some users, and short ways to make and await workspaces. */
import assert from "node:assert/strict";
import type { UserInfo } from "@kcp-ts/apiserver";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";

const cluster = (group: string, version: string, resource: string, kind: string) =>
  defineResource<DynamicObject>({ group, version, resource, kind, namespaced: false });
const namespaced = (resource: string, kind: string) =>
  defineResource<DynamicObject>({ group: "", version: "v1", resource, kind, namespaced: true });
const rbac = "rbac.authorization.k8s.io";

export const kinds = {
  workspaces: cluster("tenancy.kcp.io", "v1alpha1", "workspaces", "Workspace"),
  types: cluster("tenancy.kcp.io", "v1alpha1", "workspacetypes", "WorkspaceType"),
  logicalClusters: cluster("core.kcp.io", "v1alpha1", "logicalclusters", "LogicalCluster"),
  shards: cluster("core.kcp.io", "v1alpha1", "shards", "Shard"),
  namespaces: cluster("", "v1", "namespaces", "Namespace"),
  configMaps: namespaced("configmaps", "ConfigMap"),
  clusterRoles: cluster(rbac, "v1", "clusterroles", "ClusterRole"),
  clusterRoleBindings: cluster(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding"),
  definitions: cluster(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
  ),
};

const authenticated = "system:authenticated";
export const alice: UserInfo = { username: "alice", groups: [authenticated] };
export const bob: UserInfo = { username: "bob", groups: [authenticated] };
export const admin: UserInfo = {
  username: "kcp-admin",
  groups: ["system:kcp:admin", authenticated],
};
export const master: UserInfo = { username: "master", groups: ["system:masters", authenticated] };

export class WorkspaceFixture {
  readonly plane: TestControlPlane;

  private constructor(plane: TestControlPlane) {
    this.plane = plane;
  }

  static async start(options: TestControlPlaneOptions = {}): Promise<WorkspaceFixture> {
    return new WorkspaceFixture(await startTestControlPlane(options));
  }

  close(): Promise<void> {
    return this.plane.close();
  }

  at(path: string, user?: UserInfo): Client {
    return this.plane.clientFor(path, user);
  }

  /** Makes a workspace and returns it when it is ready. */
  async workspace(
    parent: string,
    name: string,
    { user, type }: { user?: UserInfo; type?: string } = {},
  ): Promise<DynamicObject> {
    const spec = type === undefined ? {} : { type: typeOf(type) };
    await this.at(parent, user).resource(kinds.workspaces).create({ metadata: { name }, spec });
    return this.ready(parent, name);
  }

  ready(parent: string, name: string): Promise<DynamicObject> {
    return eventually(async () => {
      const found = await this.at(parent).resource(kinds.workspaces).get({ name });
      assert.equal(phaseOf(found), "Ready");
      return found;
    });
  }

  async gone(parent: string, name: string): Promise<void> {
    const workspaces = this.at(parent).resource(kinds.workspaces);
    await eventually(async () => assert.equal(await workspaces.find({ name }), undefined));
  }

  /** Lets somebody who may enter nothing enter, and do what a role of theirs says. */
  async grant(path: string, user: UserInfo, roles: readonly string[]): Promise<void> {
    for (const [index, name] of roles.entries()) {
      await this.at(path)
        .resource(kinds.clusterRoleBindings)
        .create({
          metadata: { name: `grant-${user.username}-${index}` },
          roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
          subjects: [{ apiGroup: rbac, kind: "User", name: user.username }],
        });
    }
  }
}

function typeOf(text: string): { name: string; path?: string } {
  const at = text.lastIndexOf(":");
  return at < 0 ? { name: text } : { path: text.slice(0, at), name: text.slice(at + 1) };
}

export function phaseOf(object: DynamicObject): unknown {
  return (object["status"] as { phase?: string } | undefined)?.phase;
}

export function specOf(object: DynamicObject): Record<string, unknown> {
  return object["spec"] as unknown as Record<string, unknown>;
}

export function conditionOf(
  object: DynamicObject,
  type: string,
): Record<string, string> | undefined {
  const { conditions } = object["status"] as unknown as { conditions?: Record<string, string>[] };
  return conditions?.find((one) => one["type"] === type);
}

/** What a request is refused with. */
export async function statusOfRejection(
  pending: Promise<unknown>,
): Promise<{ code: number; message: string }> {
  try {
    await pending;
  } catch (error) {
    const { status } = error as { status?: { code: number; message: string } };
    if (status !== undefined) return { code: status.code, message: status.message };
    throw error;
  }
  return { code: 200, message: "" };
}

export function isNotFound(error: unknown): boolean {
  return isStatusError(error, "NotFound");
}
