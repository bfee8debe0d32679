import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Attributes, anonymousUser, type UserInfo } from "../request/index.ts";
import { bootstrapAuthorizer, ClusterPolicy, RbacAuthorizer, unionAuthorizer } from "./index.ts";

const empty = new ClusterPolicy();
const authorizer = unionAuthorizer([
  bootstrapAuthorizer,
  new RbacAuthorizer({ peek: () => empty, load: async () => empty }),
]);

const users = {
  anonymous: anonymousUser,
  alice: { username: "alice", groups: ["developers", "system:authenticated"] },
  "kcp-admin": { username: "kcp-admin", groups: ["system:kcp:admin", "system:authenticated"] },
  "shard-admin": { username: "shard-admin", groups: ["system:masters", "system:authenticated"] },
  /** Has the names of privileged users, not their groups. */
  impostor: { username: "system:masters", groups: ["system:authenticated", "masters", ""] },
} satisfies Record<string, UserInfo>;

const masters = ["shard-admin"];
const administrators = ["kcp-admin", "shard-admin"];
const authenticated = ["alice", "impostor", ...administrators];
const everybody = ["anonymous", ...authenticated];

function path(verb: string, value: string, cluster: string): Omit<Attributes, "user"> {
  return {
    verb,
    cluster: cluster as ClusterName,
    path: value,
    isResourceRequest: false,
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
  };
}

function resource(verb: string, cluster: string): Omit<Attributes, "user"> {
  return {
    ...path(verb, "/api/v1/namespaces/default/configmaps", cluster),
    isResourceRequest: true,
    version: "v1",
    resource: "configmaps",
    namespace: "default",
  };
}

describe("authorization without any role", () => {
  const cases: readonly (readonly [Omit<Attributes, "user">, readonly string[]])[] = [
    ...["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/etcd", "/version", "/version/"]
      .flatMap((value) => [path("get", value, "root"), path("get", value, "system:admin")])
      .map((request) => [request, everybody] as const),
    ...["/healthzz", "/version/x", "/versions", "/x/healthz", "/", "/metrics", "/logs", "healthz"]
      .map((value) => path("get", value, "root"))
      .map((request) => [request, administrators] as const),
    ...["/api", "/api/", "/api/v1", "/apis", "/apis/apps", "/openapi", "/openapi/v3/apis/apps/v1"]
      .map((value) => path("get", value, "team-a"))
      .map((request) => [request, authenticated] as const),
    ...["/apisx", "/open", "/x/api"]
      .map((value) => path("get", value, "team-a"))
      .map((request) => [request, administrators] as const),
    [path("get", "/apis", "*"), masters],
    [path("get", "/apis", "system:admin"), masters],
    [path("post", "/healthz", "root"), administrators],
    [path("post", "/apis", "root"), administrators],
    [resource("get", "root"), administrators],
    [resource("list", "*"), masters],
    [resource("create", "system:admin"), masters],
    // A resource with the name of a public path is still a resource.
    [{ ...resource("get", "root"), path: "/healthz" }, administrators],
  ];
  for (const [request, expected] of cases) {
    const what = request.isResourceRequest ? `${request.resource} (${request.path})` : request.path;
    it(`${request.verb} ${what} in ${request.cluster} is for ${expected.join(", ")}`, () => {
      const allowed = Object.entries(users).filter(([, user]) => {
        const decision = authorizer.authorize({ ...request, user });
        assert.ok(!(decision instanceof Promise));
        return decision.allowed;
      });
      assert.deepEqual(allowed.map(([name]) => name).sort(), [...expected].sort());
    });
  }
});
