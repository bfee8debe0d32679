/**
 * The response of a webhook is untrusted: bounded in bytes, values, operations and time, and parsed
 * while yielding to the event loop.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { runSync } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { createTestAuthority } from "@kcp-ts/testkit";
import { FakeClock, register, rulesFor, TestServer, WebhookServer } from "../testing/index.ts";
import { WebhookClient } from "./webhook-client.ts";
import { parseResponseObject } from "./webhook-response.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

describe("the response of an admission webhook", () => {
  let server: TestServer;
  let webhooks: WebhookServer;
  before(async () => {
    server = await TestServer.start();
    webhooks = await WebhookServer.start();
    const clientConfig = webhooks.client("/hook");
    const rules = rulesFor("configmaps");
    await register(server, "mutating", { name: "hook.example.com", clientConfig, rules });
  });
  after(async () => {
    await server.close();
    await webhooks.close();
  });
  afterEach(() => webhooks.reset());

  const created = async () => {
    const data = { a: "x".repeat(1000) };
    const body = { metadata: { generateName: "m-" }, data };
    const { status, object } = await server.request("POST", configmaps, { body });
    return { status, message: object.message ?? "" };
  };

  const refused: Readonly<Record<string, readonly [raw: () => object, words: RegExp]>> = {
    "30 MB of text": [() => ({ text: "x".repeat(30 << 20) }), /limit is 6291456 bytes/],
    "a million values": [() => ({ l: Array(1_000_000).fill(0) }), /limit is 10000 values/],
    "very many empty objects": [() => ({ l: Array(500_000).fill({}) }), /limit is 10000 values/],
    "an object with very many members": [
      () => Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])),
      /limit is 2000 members/,
    ],
  };
  for (const [title, [raw, words]] of Object.entries(refused))
    it(`with ${title} is refused`, async () => {
      webhooks.respondWith("/hook", () => ({ raw: raw() }));
      const { status, message } = await created();
      assert.equal(status, 500);
      assert.match(message, words);
    });

  it("that is nested too deeply is rejected", () => {
    const text = `{"a":${"[".repeat(100)}${"]".repeat(100)}}`;
    const answer = { code: 200, contentType: "", text };
    assert.throws(
      () => runSync(parseResponseObject(answer, bounds.admissionAnswer)),
      /limit is 64 levels/,
    );
  });

  const patches: Readonly<Record<string, readonly [patch: () => object[], words: RegExp]>> = {
    "too many operations": [
      () =>
        Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" })),
      /maximum operations in a JSON patch is 10000, got 10001/,
    ],
    "too many values": [
      () => [{ op: "add", path: "/data/l", value: Array(120_000).fill(0) }],
      /limit is 100000 values/,
    ],
    "copies that double the object": [
      () =>
        Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "/data", path: `/data/${i}` })),
      /accumulated size increase of copy/,
    ],
  };
  for (const [title, [patch, words]] of Object.entries(patches))
    it(`with a patch of ${title} is refused`, async () => {
      webhooks.respondWith("/hook", () => ({ allowed: true, patch: patch() }));
      const { status, message } = await created();
      assert.equal(status, 500);
      assert.match(message, words);
    });

  it("with a large patch within the limits is accepted", async () => {
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "v"]));
    webhooks.respondWith("/hook", () => ({
      allowed: true,
      patch: [{ op: "add", path: "/data", value: data }],
    }));
    assert.equal((await created()).status, 201);
  });
});

describe("the admission webhooks of one request", () => {
  let server: TestServer;
  let webhooks: WebhookServer;
  before(async () => {
    server = await TestServer.start();
    webhooks = await WebhookServer.start();
    const clientConfig = webhooks.client("/hook");
    for (let i = 0; i < 22; i++) {
      const name = `hook${i}.example.com`;
      await register(server, "mutating", { name, clientConfig, rules: rulesFor("configmaps") });
    }
  });
  after(async () => {
    await server.close();
    await webhooks.close();
  });
  afterEach(() => webhooks.reset());

  const created = async (data: object) => {
    const body = { metadata: { generateName: "m-" }, data };
    const { status, object } = await server.request("POST", configmaps, { body });
    return { status, message: object.message ?? "" };
  };

  it("share the limit of their responses", async () => {
    webhooks.respondWith("/hook", () => ({ status: { message: "x".repeat(5 << 20) } }));
    const { status, message } = await created({});
    assert.equal(status, 500);
    assert.match(message, /admission webhook answers of a request: limit is 8388608 units/);
    assert.equal(webhooks.receivedReviews.length, 2);
  });

  it("receive an object that none of them changes, however large", async () => {
    webhooks.respondWith("/hook", () => ({}));
    const data = Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`k${i}`, "v"]));
    assert.equal((await created(data)).status, 201);
    assert.equal(webhooks.receivedReviews.length, 22);
    for (const { request } of webhooks.receivedReviews)
      assert.equal(Object.keys(request.object?.["data"] as object).length, 15_000);
  });

  it("receive a limited number of values when each of them changes the object", async () => {
    webhooks.respondWith("/hook", ({ uid }) => ({
      patch: [{ op: "add", path: `/data/${uid}`, value: "v" }],
    }));
    const data = Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`k${i}`, "v"]));
    const { status, message } = await created(data);
    assert.equal(status, 500);
    assert.match(message, /objects in admission reviews of a request: limit is 300000 units/);
    const sizes = webhooks.receivedReviews.map(
      ({ request }) => Object.keys(request.object?.["data"] as object).length,
    );
    assert.deepEqual(
      sizes,
      sizes.map((_, i) => 15_000 + i),
      "each receives what the previous ones made",
    );
    assert.ok(sizes.length > 15 && sizes.length < 20, `${sizes.length} received it`);
  });
});

describe("a webhook client", () => {
  let directory: string;
  let caBundle: string;
  let answered: (response: import("node:http").ServerResponse) => void;
  let close: () => void;
  let url: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "webhook-"));
    const authority = createTestAuthority(directory);
    const server = createServer(
      authority.issue("localhost", ["DNS:localhost"]),
      (request, response) => {
        request.resume();
        request.on("end", () => answered(response));
      },
    );
    server.listen(0, "localhost");
    await once(server, "listening");
    url = `https://localhost:${(server.address() as AddressInfo).port}/`;
    caBundle = Buffer.from(authority.ca).toString("base64");
    close = () => {
      server.closeAllConnections();
      server.close();
    };
  });
  after(async () => {
    close();
    await rm(directory, { recursive: true });
  });

  const answer = bounds.admissionAnswer;
  const config = () => ({ url, service: undefined, caBundle });

  it("aborts a response that arrives byte by byte when its timeout passes", async (t) => {
    const clock = new FakeClock();
    const client = new WebhookClient({ clock });
    t.after(() => client.close());
    let isClosed: Promise<unknown> | undefined;
    const dripping = new Promise<void>((resolve) => {
      answered = (response) => {
        isClosed = once(response, "close");
        response.write("{");
        resolve();
      };
    });
    const pending = client.post(config(), {}, { answer, timeoutMs: 1000 });
    const rejected = assert.rejects(pending, /context deadline exceeded$/);
    await dripping;
    clock.advance(1000);
    await rejected;
    await isClosed;
  });

  it("does not decompress a response: it did not accept any compression", async (t) => {
    const client = new WebhookClient({ clock: new FakeClock() });
    t.after(() => client.close());
    answered = (response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync(Buffer.alloc(64 << 20, 0x20)));
    };
    await assert.rejects(client.post(config(), {}, { answer }), /json parse error/);
  });

  it("limits the response bytes in flight of a logical cluster, and releases them when they are parsed", async (t) => {
    const limits = { bytesPerTenantMax: 1000, bytesMax: 1500 };
    const client = new WebhookClient({ clock: new FakeClock(), bytesInFlight: limits });
    t.after(() => client.close());
    const call = (cluster: string) =>
      client.post(config(), {}, { answer, cluster: cluster as ClusterName });
    const say = (bytes: number) => {
      answered = (response) => response.end(`{"a":"${"x".repeat(bytes - 8)}"}`);
    };
    say(1001);
    await assert.rejects(call("a"), /take too much memory$/);
    say(1000);
    for (const cluster of ["a", "a", "b", "c"]) assert.ok(await call(cluster));
  });
});
