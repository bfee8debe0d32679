/**
 * A tenant never reads, counts, changes or deletes the objects of another tenant.
 *
 * Method: cluster b is full of objects with names that cluster a has, too, and others. Every verb
 * of every served resource is then requested in cluster a, in every spelling that names a cluster,
 * by a's owner and by administrators, which pass every authorizer. Afterwards b's part of the store
 * must be byte for byte unchanged, and no response may hold anything of b's. The table of attacks
 * is checked against the handlers' verbs and the served resources: a new verb or resource without a
 * row fails.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type RequestOptions,
  type SampleKind,
  sampleObject,
  servedVerbs,
  type TestUser,
} from "@kcp-ts/apiserver/testing";
import {
  allKinds,
  common,
  fillTwoTenants,
  onlyInB,
  secretOfB,
  stateOfB,
  TestServer,
} from "./testing/index.ts";

type Resource = SampleKind;

const resources = allKinds;

/** The spellings of "in cluster a". */
const addresses: readonly [name: string, prefix: string, headers: Record<string, string>][] = [
  ["path", "/clusters/a", {}],
  ["encoded path", "/clusters/%61", {}],
  ["header", "", { "x-kubernetes-cluster": "a" }],
  ["path and header", "/clusters/a", { "x-kubernetes-cluster": "a" }],
];

const users: readonly TestUser[] = ["a", "admin", "masters"];

interface Attack {
  readonly verb: string;
  readonly method: string;
  /** The paths below the base of the group and version. */
  readonly paths: (resource: Resource) => readonly string[];
  readonly body?: (resource: Resource) => object;
  readonly headers?: Record<string, string>;
  readonly only?: (resource: Resource) => boolean;
}

function collection({ resource, isNamespaced }: Resource, namespace = common): string {
  return isNamespaced ? `/namespaces/${namespace}/${resource}` : `/${resource}`;
}

function objects(resource: Resource): string[] {
  return [
    `${collection(resource)}/${onlyInB}`,
    `${collection(resource, onlyInB)}/${common}`,
    ...(resource.isNamespaced ? [`${collection(resource)}/${common}`] : []),
  ];
}

function collections(resource: Resource): string[] {
  return [
    collection(resource),
    collection(resource, onlyInB),
    ...(resource.isNamespaced ? [`/${resource.resource}`] : []),
  ];
}

/** Selectors, limits and versions with which a reader could try to reach further. */
const queries: readonly string[] = [
  "",
  "limit=1",
  "limit=1000000000",
  "resourceVersion=0",
  "resourceVersion=1",
  `fieldSelector=metadata.name%3D${onlyInB}`,
  `fieldSelector=metadata.name!%3Dx`,
  `fieldSelector=metadata.name%3D..%2F..%2Fb%2F${common}%2F${onlyInB}`,
  `labelSelector=owner%3D${secretOfB}`,
  `labelSelector=owner`,
  "labelSelector=!nothing",
];

function draft(resource: Resource, name: string): object {
  return {
    ...sampleObject(resource, name, common),
    metadata: {
      name,
      labels: { attacker: "a" },
      annotations: { "kcp.io/cluster": "b", "kcp.io/path": "root:b" },
    },
  };
}

const attacks: readonly Attack[] = [
  { verb: "get", method: "GET", paths: objects },
  { verb: "get", method: "HEAD", paths: objects },
  {
    verb: "list",
    method: "GET",
    paths: (resource) =>
      collections(resource).flatMap((path) => queries.map((query) => `${path}?${query}`)),
  },
  {
    verb: "watch",
    method: "GET",
    paths: (resource) =>
      [...collections(resource), ...objects(resource)].flatMap((path) =>
        queries
          .filter((query) => !query.startsWith("limit"))
          .map((query) => `${path}?watch=1&allowWatchBookmarks=1&${query}`),
      ),
  },
  {
    verb: "watch",
    method: "GET",
    paths: (resource) => collections(resource).map((path) => `/watch${path}`),
  },
  {
    verb: "create",
    method: "POST",
    paths: (resource) => collections(resource),
    body: (resource) => draft(resource, onlyInB),
  },
  { verb: "update", method: "PUT", paths: objects, body: (resource) => draft(resource, onlyInB) },
  {
    verb: "update",
    method: "PUT",
    paths: (resource) => objects(resource).map((path) => `${path}?fieldValidation=Ignore`),
    body: (resource) => draft(resource, common),
  },
  {
    verb: "patch",
    method: "PATCH",
    paths: objects,
    headers: { "content-type": "application/merge-patch+json" },
    body: () => ({ metadata: { annotations: { "kcp.io/cluster": "b", attacked: "yes" } } }),
  },
  {
    verb: "patch",
    method: "PATCH",
    paths: objects,
    headers: { "content-type": "application/json-patch+json" },
    body: () => [{ op: "replace", path: "/metadata/annotations/kcp.io~1cluster", value: "b" }],
  },
  {
    verb: "patch",
    method: "PATCH",
    paths: objects,
    headers: { "content-type": "application/strategic-merge-patch+json" },
    body: () => ({ metadata: { labels: { attacked: "yes" } } }),
  },
  { verb: "delete", method: "DELETE", paths: objects },
  {
    verb: "deletecollection",
    method: "DELETE",
    only: ({ resource }) => resource !== "namespaces",
    paths: (resource) =>
      collections(resource).flatMap((path) => queries.map((query) => `${path}?${query}`)),
  },
];

async function started(t: TestContext): Promise<TestServer> {
  const server = await TestServer.start();
  t.after(() => server.close());
  await fillTwoTenants(server);
  return server;
}

/**
 * CRDs have a suite of their own, and so have shared APIs, and LogicalClusters, of which each
 * cluster has one.
 */
function isElsewhere(path: string): boolean {
  const suites = [definitions, "/apis/core.kcp.io/", "/apis/apis.kcp.io/", "/apis/cache.kcp.io/"];
  return suites.some((prefix) => path.startsWith(prefix));
}

describe("cluster a and cluster b", () => {
  it("the table of attacks has a row for every verb and every served resource", async (t) => {
    const server = await started(t);
    assert.deepEqual([...new Set(attacks.map(({ verb }) => verb))].sort(), [...servedVerbs].sort());
    assert.deepEqual(
      (await servedResources(server)).filter((path) => !isElsewhere(path)).sort(),
      resources.map(({ base, resource }) => `${base}/${resource}`).sort(),
      "a new kind needs a row in testing/sample-objects.ts",
    );
  });

  for (const user of users) {
    for (const [spelling, prefix, clusterHeaders] of addresses) {
      for (const { verb, method, paths, body, headers, only } of attacks) {
        it(`${verb} by ${method} in a, by ${user}, cluster in the ${spelling}, leaves b alone`, async (t) => {
          const server = await started(t);
          const stateBefore = await stateOfB(server);
          for (const resource of resources.filter((each) => only?.(each) ?? true)) {
            for (const path of paths(resource)) {
              const options: RequestOptions = {
                user,
                headers: { ...clusterHeaders, ...headers },
                body: body?.(resource),
              };
              await play(
                server,
                method,
                `${prefix}${resource.base}${path}`,
                options,
                verb === "watch",
              );
            }
          }
          if (verb !== "watch") assert.equal(await stateOfB(server), stateBefore);
        });
      }
    }
  }

  it("a's owner is rejected in b, in all clusters and in root, in every spelling", async (t) => {
    const server = await started(t);
    const forbidden: [path: string, headers?: Record<string, string>][] = [
      ["/clusters/b/api/v1/secrets"],
      ["/clusters/%62/api/v1/secrets"],
      ["/clusters/*/api/v1/secrets"],
      ["/clusters/%2a/api/v1/secrets"],
      ["/clusters/*/api/v1/secrets?watch=1"],
      ["/api/v1/secrets"],
      ["/api/v1/secrets", { "x-kubernetes-cluster": "b" }],
      ["/api/v1/secrets", { "x-kubernetes-cluster": "*" }],
      [`/clusters/b/api/v1/namespaces/${common}/secrets/${common}`],
      ["/clusters/b/api/v1/watch/secrets"],
    ];
    for (const [path, headers = {}] of forbidden) {
      const answer = await server.get(path, { user: "a", headers });
      assert.equal(answer.status, 403, path);
      assert.ok(!answer.text.includes(secretOfB), path);
    }
  });

  it("writes across all clusters are rejected, also for administrators", async (t) => {
    const server = await started(t);
    const stateBefore = await stateOfB(server);
    const path = `/clusters/*/api/v1/namespaces/${common}/configmaps`;
    for (const [method, target, body] of [
      ["GET", `${path}/${common}`, undefined],
      ["POST", path, draft(resources[0] as Resource, "x")],
      ["PUT", `${path}/${common}`, draft(resources[0] as Resource, common)],
      ["PATCH", `${path}/${common}`, {}],
      ["DELETE", `${path}/${common}`, undefined],
      ["DELETE", path, undefined],
    ] as const) {
      const { status, object } = await server.request(method, target, { user: "masters", body });
      assert.equal(status, 405, `${method} ${target}`);
      assert.match(object.message ?? "", /in the `\*` logical cluster$/);
    }
    assert.equal(await stateOfB(server), stateBefore);
  });
});

/**
 * The names of CRDs follow from their content; CRDs and their custom resources have a table of
 * their own, in custom-resources/.
 */
const definitions = "/apis/apiextensions.k8s.io/";

async function servedResources(server: TestServer): Promise<string[]> {
  const { groups } = await server.requestOk("GET", "/apis");
  const versions = (groups as { versions: { groupVersion: string }[] }[]).flatMap((group) =>
    group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  );
  const served: string[] = [];
  for (const base of ["/api/v1", ...versions]) {
    const { resources: all } = await server.requestOk("GET", base);
    // Reviews are not stored: b has none to reach. Reviews have a test of their own.
    for (const { name, verbs } of all as { name: string; verbs: string[] }[])
      if (!name.includes("/") && verbs.includes("list")) served.push(`${base}/${name}`);
  }
  return served;
}

/** Sends the request, reads a watch to its end, and searches the response for content of b. */
async function play(
  server: TestServer,
  method: string,
  target: string,
  options: RequestOptions,
  isWatch: boolean,
): Promise<void> {
  const leaving = new AbortController();
  const answering = server.request(method, target, { ...options, signal: leaving.signal });
  if (isWatch) {
    // Changes in b and a bookmark while the watch is open; then the client closes the watch.
    const touched = `/clusters/b/api/v1/namespaces/${common}/configmaps/${common}`;
    await server.patch(touched, "merge", {
      data: { touched: `${secretOfB}${server.clock.now()}` },
    });
    server.clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
  }
  const answer = await answering;
  assert.notEqual(answer.status, 500, `${method} ${target}: ${answer.text}`);
  // An error message may repeat the content of the request itself.
  const said = answer.text.replaceAll(onlyInB, "").replaceAll("root:b", "");
  assert.ok(!said.includes(secretOfB), `${method} ${target} shows: ${answer.text}`);
  assert.ok(!said.includes('"kcp.io/cluster":"b"'), `${method} ${target} is marked as b's`);
}
