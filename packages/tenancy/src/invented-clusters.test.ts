/**
 * Any client can request logical clusters that do not exist, under any number of names. The server
 * keeps nothing of a name after the response.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RequestOptions } from "@kcp-ts/apiserver/testing";
import { TestServer } from "./testing/index.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

type Attempt = readonly [
  title: string,
  status: number,
  method: string,
  target: (name: string) => string,
  options: RequestOptions | ((name: string) => RequestOptions),
];

const configMaps = "/api/v1/namespaces/default/configmaps";
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
const review = {
  apiVersion: "authorization.k8s.io/v1",
  kind: "SelfSubjectAccessReview",
  spec: { resourceAttributes: { verb: "get", resource: "configmaps" } },
};

/** Requests of users without access. */
const strangers: readonly Attempt[] = [
  ["nobody's list", 403, "GET", (name) => `/clusters/${name}${configMaps}`, { user: "nobody" }],
  ["nobody's get", 403, "GET", (name) => `/clusters/${name}${configMaps}/x`, { user: "nobody" }],
  ["a stranger's get", 403, "GET", (name) => `/clusters/${name}${configMaps}/x`, { user: "a" }],
  ["without a name", 403, "GET", (name) => `/clusters/${name}/api`, { user: "anonymous" }],
  [
    "nobody's create",
    403,
    "POST",
    (name) => `/clusters/${name}${configMaps}`,
    { user: "nobody", body: configMap },
  ],
  ["by header", 403, "GET", () => configMaps, (name) => inHeader(name, "nobody")],
  ["by path", 403, "GET", (name) => `/clusters/root:org:${name}${configMaps}`, { user: "a" }],
];

/** Requests of users with access to every logical cluster, which see a nonexistent one as empty. */
const administrators: readonly Attempt[] = [
  ["an empty list", 200, "GET", (name) => `/clusters/${name}${configMaps}`, { user: "admin" }],
  ["a get", 404, "GET", (name) => `/clusters/${name}${configMaps}/x`, { user: "admin" }],
  ["a deletion", 404, "DELETE", (name) => `/clusters/${name}${configMaps}/x`, { user: "admin" }],
  ["discovery", 200, "GET", (name) => `/clusters/${name}/apis`, { user: "admin" }],
  ["OpenAPI", 200, "GET", (name) => `/clusters/${name}/openapi/v3`, { user: "admin" }],
  [
    "a kind that is not there",
    404,
    "GET",
    (name) => `/clusters/${name}/apis/example.com/v1/widgets`,
    { user: "admin" },
  ],
  [
    "a create that is no object",
    400,
    "POST",
    (name) => `/clusters/${name}${configMaps}`,
    { user: "admin", body: "{" },
  ],
  [
    "a create that only pretends",
    201,
    "POST",
    (name) => `/clusters/${name}${configMaps}?dryRun=All`,
    { user: "admin", body: configMap },
  ],
  [
    "a review",
    201,
    "POST",
    (name) => `/clusters/${name}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
    { user: "admin", body: review },
  ],
];

function inHeader(name: string, user: RequestOptions["user"]): RequestOptions {
  return { ...(user === undefined ? {} : { user }), headers: { "x-kubernetes-cluster": name } };
}

/** Names that no earlier request has used. */
function namesFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `invented-${first + i}`);
}

async function tryAll(
  server: TestServer,
  attempts: readonly Attempt[],
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    for (const [title, status, method, target, given] of attempts) {
      const options = typeof given === "function" ? given(name) : given;
      const answer = await server.request(method, target(name), options);
      assert.equal(answer.status, status, `${title}: ${answer.text}`);
    }
  }
}

async function watchAll(server: TestServer, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const target = `/clusters/${name}${configMaps}?watch=true`;
    const watch = await server.watch(target, { user: "admin" });
    await watch.leave();
  }
}

async function heapBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Names and labels of all series. */
async function seriesOf(server: TestServer): Promise<string[]> {
  const look = () => server.get("/metrics", { user: "masters" });
  // Stored objects are counted on the first scrape, and reported a moment later.
  while (!(await look()).text.includes("apiserver_storage_objects{"))
    await new Promise((resolve) => setImmediate(resolve));
  // The first scrape is a request, too.
  await look();
  return (await look()).text.split("\n").map((line) => line.replace(/ \S+$/, ""));
}

describe("logical clusters that do not exist", () => {
  const warmUps = 1200;
  const count = 2400;

  it("leave no series, no log line and no memory behind, under any number of names that unauthenticated clients request", async (t) => {
    const server = await TestServer.start();
    t.after(() => server.close());
    // More names than the cache of policies without roles holds.
    await tryAll(server, strangers, namesFrom(0, warmUps));
    const series = await seriesOf(server);
    const before = await heapBytes();
    await tryAll(server, strangers, namesFrom(warmUps, count));
    const perName = ((await heapBytes()) - before) / count;
    assert.deepEqual(await seriesOf(server), series);
    assert.ok(!series.join().includes("invented"));
    assert.ok(perName < 500, `${perName.toFixed(0)} bytes of each name`);
    assert.deepEqual(server.logged, []);
  });

  it("leave no series and no listener behind when administrators list them, and little memory in bounded tables", async (t) => {
    const collectionBytesMax = 100_000;
    const server = await TestServer.start({ collectionBytesMax });
    t.after(() => server.close());
    const names = namesFrom(0, 200);
    await tryAll(server, administrators, names);
    await watchAll(server, names);
    const series = await seriesOf(server);
    const before = await heapBytes();
    const more = namesFrom(200, 400);
    await tryAll(server, administrators, more);
    await watchAll(server, more);
    const perName = ((await heapBytes()) - before) / more.length;
    assert.deepEqual(await seriesOf(server), series);
    assert.ok(!series.join().includes("invented"));
    assert.ok(perName < 3000, `${perName.toFixed(0)} bytes of each name`);
  });
});
