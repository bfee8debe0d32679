/** For tests: an API that a tenant offers and others bind to, made by these tenants themselves. */
import type { UserInfo } from "@kcp-ts/apiserver";
import { eventually } from "@kcp-ts/testkit";
import {
  type AnyResponse,
  apisOf,
  bindRule,
  groupSubject,
  type WorkspaceRequests,
} from "./workspace-requests.ts";

export const cowboysIn = (cluster: string, prefix = "/clusters/") =>
  `${prefix}${cluster}/apis/wildwest.dev/v1/namespaces/default/cowboys`;

export const cowboy = (name: string, spec: object = { intent: "ride" }) => ({
  apiVersion: "wildwest.dev/v1",
  kind: "Cowboy",
  metadata: { name },
  spec,
});

/** `more` replaces members of the schema's spec. */
export const cowboySchema = (name: string, more: object = {}) => ({
  metadata: { name: `${name}.cowboys.wildwest.dev` },
  spec: {
    group: "wildwest.dev",
    names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          type: "object",
          properties: { spec: { type: "object", properties: { intent: { type: "string" } } } },
        },
      },
    ],
    ...more,
  },
});

/** Offered to everybody who is known. Returns the identity. */
export async function exportCowboys(
  workspaceRequests: WorkspaceRequests,
  owner: UserInfo,
  cluster: string,
  spec: object = {},
): Promise<string> {
  const schemas = `${apisOf(cluster, "v1alpha1")}/apiresourceschemas`;
  await workspaceRequests.expectSuccess(owner, "POST", schemas, cowboySchema("today"));
  const schema = "today.cowboys.wildwest.dev";
  await workspaceRequests.expectSuccess(owner, "POST", `${apisOf(cluster)}/apiexports`, {
    metadata: { name: "cowboys" },
    spec: { resources: [{ name: "cowboys", group: "wildwest.dev", schema }], ...spec },
  });
  const everybody = [groupSubject("system:authenticated")];
  await workspaceRequests.allow(owner, cluster, "bind-cowboys", {
    rules: [bindRule],
    subjects: everybody,
  });
  return identityOf(workspaceRequests, owner, cluster, "cowboys");
}

export function identityOf(
  workspaceRequests: WorkspaceRequests,
  user: UserInfo,
  cluster: string,
  name: string,
): Promise<string> {
  return eventually(async () => {
    const exported = await workspaceRequests.expectSuccess(
      user,
      "GET",
      `${apisOf(cluster)}/apiexports/${name}`,
    );
    const hash = exported["status"]?.identityHash as string | undefined;
    if (hash === undefined) throw new Error(`${name} has no identity yet`);
    return hash;
  });
}

export function bindingTo(path: string, name: string, permissionClaims: readonly object[] = []) {
  return { metadata: { name }, spec: { reference: { export: { path, name } }, permissionClaims } };
}

export function bind(
  workspaceRequests: WorkspaceRequests,
  user: UserInfo,
  cluster: string,
  binding: ReturnType<typeof bindingTo>,
): Promise<AnyResponse> {
  return workspaceRequests.expectSuccess(user, "POST", `${apisOf(cluster)}/apibindings`, binding);
}
