/** Subresources with their own implementation, and kinds with graceful deletion. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { int32, map, message, objectMeta, string } from "@kcp-ts/machinery/shape";
import { simpleResource } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import { TestServer } from "../testing/index.ts";

const shape = message("example.dev.Engine", { metadata: [1, objectMeta], spec: [2, map(string)] });
const order = message("example.dev.Order", { metadata: [1, objectMeta], gear: [2, int32] });
const orderKind = { group: "example.dev", version: "v1", kind: "Order", shape: order };

const plain = simpleResource({ group: "example.dev", version: "v1", kind: "Engine", shape });

function text(status: number, body: string): ApiResponse {
  return {
    status,
    headers: { "content-type": "text/plain" },
    body: new TextEncoder().encode(body),
  };
}

const engines: typeof plain = {
  ...plain,
  strategy: { ...plain.strategy, gracePeriodSeconds: (_object, asked) => asked ?? 30 },
  subresources: new Map([
    [
      "sound",
      {
        verbs: ["get"],
        prepareForUpdate: () => {},
        validateUpdate: () => [],
        connect: ({ object, query, user }) =>
          text(
            200,
            `${String((object["spec"] as { sound: string }).sound)} ${query.get("loud")} ${user.username}`,
          ),
      },
    ],
    [
      "shift",
      {
        verbs: ["create"],
        prepareForUpdate: () => {},
        validateUpdate: () => [],
        async connect(call) {
          const { gear } = await call.body(orderKind);
          await call.update((present) => ({ ...present, spec: { sound: `gear ${String(gear)}` } }));
          return text(201, "shifted");
        },
      },
    ],
  ]),
};

const path = "/clusters/a/apis/example.dev/v1/namespaces/default/engines";
const ofB = path.replace("/a/", "/b/");

describe("subresources with their own implementation", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ resources: [engines] });
    for (const [at, sound] of [
      [path, "brumm"],
      [ofB, "secret"],
    ] as const)
      await server.requestOk("POST", at, { body: { metadata: { name: "e" }, spec: { sound } } });
  });
  after(() => server.close());

  it("receive the object, the query and the user", async () => {
    const answer = await server.get(`${path}/e/sound?loud=very`, { user: "a" });
    assert.equal(answer.status, 200);
    assert.match(answer.text, /^brumm very /);
  });

  it("decode a body of their own kind and change the object", async () => {
    const body = { apiVersion: "example.dev/v1", kind: "Order", gear: 3 };
    const answer = await server.request("POST", `${path}/e/shift`, { body, user: "a" });
    assert.equal(answer.text, "shifted");
    const changed = await server.requestOk("GET", `${path}/e`);
    assert.deepEqual(changed["spec"], { sound: "gear 3" });
  });

  it("reject other kinds, other verbs, and objects that do not exist", async () => {
    const body = { apiVersion: "v1", kind: "Pod" };
    assert.equal((await server.request("POST", `${path}/e/shift`, { body })).status, 400);
    assert.equal((await server.request("POST", `${path}/e/sound`, { body })).status, 405);
    assert.equal((await server.get(`${path}/none/sound`)).status, 404);
    assert.equal((await server.get(`${path}/e/nothing`)).status, 404);
  });

  it("are authorized: a tenant has no access to those of another tenant", async () => {
    for (const [method, target] of [
      ["GET", `${ofB}/e/sound`],
      ["POST", `${ofB}/e/shift`],
    ] as const) {
      const body = method === "POST" ? { gear: 1 } : undefined;
      const answer = await server.request(method, target, { user: "a", body });
      assert.equal(answer.status, 403);
      assert.ok(!answer.text.includes("secret"));
    }
    assert.deepEqual((await server.requestOk("GET", `${ofB}/e`))["spec"], { sound: "secret" });
    const ofAll = `${path.replace("/a/", "/*/")}/e/sound`;
    assert.equal((await server.get(ofAll, { user: "masters" })).status, 405);
  });
});

describe("graceful deletion", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start({ resources: [engines] });
  });
  after(() => server.close());

  async function created(name: string): Promise<string> {
    await server.requestOk("POST", path, { body: { metadata: { name } } });
    return `${path}/${name}`;
  }

  it("sets the deletionTimestamp and the grace period, and deletes the object at 0", async () => {
    const engine = await created("slow");
    const before = server.clock.now();
    const marked = await server.requestOk("DELETE", engine);
    assert.equal(marked.metadata["deletionGracePeriodSeconds"], 30);
    assert.equal(
      Date.parse(String(marked.metadata["deletionTimestamp"])),
      Math.floor(before / 1000) * 1000 + 30_000,
    );
    assert.equal((await server.get(engine)).status, 200);
    await server.requestOk("DELETE", `${engine}?gracePeriodSeconds=0`);
    assert.equal((await server.get(engine)).status, 404);
  });

  it("can be shortened, not extended", async () => {
    const engine = await created("patient");
    const ask = async (gracePeriodSeconds: number) => {
      const body = { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds };
      return (await server.requestOk("DELETE", engine, { body })).metadata[
        "deletionGracePeriodSeconds"
      ];
    };
    assert.equal(await ask(20), 20);
    assert.equal(await ask(60), 20);
    assert.equal(await ask(5), 5);
  });

  it("of an object with finalizers waits for both", async () => {
    const metadata = { name: "held", finalizers: ["example.dev/x"] };
    await server.requestOk("POST", path, { body: { metadata } });
    await server.requestOk("DELETE", `${path}/held`);
    await server.requestOk("DELETE", `${path}/held?gracePeriodSeconds=0`);
    assert.equal((await server.get(`${path}/held`)).status, 200);
    await server.patch(`${path}/held`, "merge", { metadata: { finalizers: null } });
    assert.equal((await server.get(`${path}/held`)).status, 404);
  });
});
