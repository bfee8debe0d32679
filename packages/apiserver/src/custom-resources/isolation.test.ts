/**
 * Definitions and their objects belong to one logical cluster: another cluster sees neither, even
 * if it has a definition of the same name.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { definitionsPath, install, TestServer, type TestUser } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const secret = "bbbsecretbbb";
const text = { type: "string" };
const schemaOf = (field: string) => ({
  type: "object",
  properties: { spec: { type: "object", properties: { [field]: text } } },
});
const names = { plural: `${secret}s`, singular: secret, kind: "OnlyInB", shortNames: [] };
const resources = "/apis/stable.example.com/v1";
const instances = `${resources}/namespaces/default/crontabs`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  await install(server, cronTabs({ schema: schemaOf("ofa") }), "a");
  await install(
    server,
    cronTabs({
      schema: schemaOf(secret),
      version: {
        additionalPrinterColumns: [{ name: secret, type: "string", jsonPath: ".spec.x" }],
      },
    }),
    "b",
  );
  await install(
    server,
    cronTabs({ names, schema: schemaOf(secret), group: `${secret}.example.com` }),
    "b",
  );
  for (const name of ["shared", `${secret}-name`]) {
    await server.requestOk("POST", `/clusters/b${instances}`, {
      body: { metadata: { name, labels: { owner: secret } }, spec: { [secret]: secret } },
    });
  }
  await server.requestOk("POST", `/clusters/a${instances}`, {
    body: { metadata: { name: "shared" }, spec: { ofa: "a" } },
  });
});
after(() => server.close());

async function ofB(): Promise<string> {
  const { signal } = new AbortController();
  const { entries } = await server.storage.list("/" as never, { signal, entriesMax: 1000 });
  return entries
    .filter(({ key }) => key.split("/")[4] === "b")
    .map(({ key, modifiedAt }) => `${key} ${modifiedAt}`)
    .join("\n");
}

const aggregated = {
  accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
};
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const reads: [path: string, headers?: Record<string, string>][] = [
  ["/api"],
  ["/apis"],
  ["/apis", aggregated],
  ["/apis/stable.example.com"],
  [resources],
  ["/openapi/v3"],
  ["/openapi/v3/apis/stable.example.com/v1"],
  ["/openapi/v2"],
  [definitionsPath],
  [definitionsPath, table],
  [`${resources}/crontabs`],
  [instances],
  [instances, table],
  [`${instances}?limit=500`],
  [`${instances}?labelSelector=owner`],
  [`${instances}?resourceVersion=0`],
  [`${instances}/shared`],
];
const absent = [
  `/apis/${secret}.example.com`,
  `/apis/${secret}.example.com/v1`,
  `/apis/${secret}.example.com/v1/${secret}s`,
  `${definitionsPath}/${secret}s.${secret}.example.com`,
  `${instances}/${secret}-name`,
];

describe("cluster a, next to cluster b", () => {
  for (const user of ["a", "admin", "masters"] as TestUser[]) {
    for (const [path, headers = {}] of reads) {
      it(`${user} reads nothing of b at ${path} ${headers["accept"] ?? ""}`, async () => {
        const { text } = await server.get(`/clusters/a${path}`, { user, headers });
        assert.ok(!text.includes(secret), text);
      });
    }
    for (const path of absent) {
      it(`${user} finds nothing at ${path}`, async () => {
        const paths = path.replaceAll("\n", "");
        assert.equal((await server.get(`/clusters/a${paths}`, { user })).status, 404);
      });
    }
    it(`${user} watches nothing of b`, async () => {
      const watch = await server.watch(`/clusters/a${resources}/crontabs?watch=1`, { user });
      await server.patch(`/clusters/b${instances}/shared`, "merge", {
        metadata: { labels: { t: user } },
      });
      await server.patch(`/clusters/a${instances}/shared`, "merge", {
        metadata: { labels: { t: user } },
      });
      const [added, modified] = await watch.take(2);
      assert.equal(added?.object.metadata.annotations?.["kcp.io/cluster"], "a");
      assert.equal(modified?.object.metadata.annotations?.["kcp.io/cluster"], "a");
      await watch.leave();
    });
    it(`${user} changes nothing of b`, async () => {
      const before = await ofB();
      const options = { user };
      const one = `/clusters/a${instances}/${secret}-name`;
      await server.request("PUT", one, {
        ...options,
        body: { metadata: { name: `${secret}-name` } },
      });
      await server.patch(one, "merge", { spec: { x: "1" } }, options);
      await server.request("DELETE", one, options);
      await server.patch(`${one}/status`, "merge", { status: {} }, options);
      assert.equal(await ofB(), before);
    });
  }

  it("each cluster has its own schema for the same name", async () => {
    const body = (name: string) => ({ metadata: { name }, spec: { ofa: "1", [secret]: "2" } });
    const inA = await server.requestOk("POST", `/clusters/a${instances}`, { body: body("own") });
    assert.deepEqual(inA["spec"], { ofa: "1" });
    const inB = await server.requestOk("POST", `/clusters/b${instances}`, { body: body("own") });
    assert.deepEqual(inB["spec"], { [secret]: "2" });
  });

  it("deleting a's definition, with all its objects, does not affect b", async () => {
    const before = await ofB();
    await server.requestOk("DELETE", `/clusters/a${instances}`);
    const watch = await server.watch(`/clusters/a${definitionsPath}?watch=1`);
    await server.requestOk("DELETE", `/clusters/a${definitionsPath}/crontabs.stable.example.com`);
    for (;;) if ((await watch.take(1))[0]?.type === "DELETED") break;
    await watch.leave();
    assert.equal(await ofB(), before);
    assert.equal((await server.get(`/clusters/b${instances}/shared`)).status, 200);
    assert.equal((await server.get(`/clusters/a${instances}`)).status, 404);
  });

  it("clusters with equal definitions share compiled schemas, and nothing else", async () => {
    await install(server, cronTabs({ schema: schemaOf("same") }), "c");
    await install(server, cronTabs({ schema: schemaOf("same") }), "d");
    await server.requestOk("POST", `/clusters/c${instances}`, {
      body: { metadata: { name: "x" } },
    });
    assert.deepEqual((await server.get(`/clusters/d${instances}`)).items, []);
    const documents = await Promise.all(
      ["c", "d"].map((name) => server.get(`/clusters/${name}/apis`, { headers: aggregated })),
    );
    assert.equal(documents[0]?.headers["etag"], documents[1]?.headers["etag"]);
  });

  it("metadata of objects in all clusters is served to users with access to all clusters", async () => {
    const headers = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };
    const everywhere = `/clusters/*${resources}/crontabs`;
    assert.equal((await server.get(everywhere, { user: "a", headers })).status, 403);
    const { items, object } = await server.get(everywhere, { user: "masters", headers });
    assert.equal(object.kind, "PartialObjectMetadataList");
    const clusters = items.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]);
    assert.ok(clusters.includes("b") && clusters.includes("c"), clusters.join(" "));
    assert.ok(items.every((item) => item["spec"] === undefined));
    assert.equal(
      items[0]?.metadata.annotations?.["kcp.io/original-api-version"],
      "stable.example.com/v1",
    );
    const watch = await server.watch(
      `${everywhere}?watch=1&resourceVersion=${object.metadata.resourceVersion}`,
      {
        user: "masters",
        headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
      },
    );
    await server.patch(`/clusters/b${instances}/shared`, "merge", {
      metadata: { labels: { w: "1" } },
    });
    const [event] = await watch.take(1);
    assert.equal(event?.object.metadata.annotations?.["kcp.io/cluster"], "b");
    assert.equal(event?.object["spec"], undefined);
    await watch.leave();
  });

  it("complete objects of custom resources cannot be listed over all clusters", async () => {
    const { status } = await server.get(`/clusters/*${resources}/crontabs`, { user: "masters" });
    assert.equal(status, 404);
  });
});
