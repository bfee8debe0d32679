/** Conversion by a real webhook over HTTPS, and by webhooks that misbehave. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { asyncListener, createTestAuthority, type TestAuthority } from "@kcp-ts/testkit";
import {
  type AnyObject,
  condition,
  conditionOf,
  definitionsPath,
  install,
  TestServer,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly AnyObject[];
  };
}
type Answer = (review: Review) => object | string | Promise<object | string>;

let directory: string;
let authority: TestAuthority;
let webhook: Server;
let server: TestServer;
let answer: Answer;
const reviews: Review[] = [];

/** v1 has spec.size, v2 has spec.width: the same number. */
function convertObject(object: AnyObject, apiVersion: string): AnyObject {
  const { size, width, ...rest } = object["spec"] as { size?: number; width?: number };
  const value = size ?? width;
  const spec = apiVersion.endsWith("v1") ? { ...rest, size: value } : { ...rest, width: value };
  return { ...object, apiVersion, spec };
}

function converted(
  review: Review,
  change: (object: AnyObject) => object = (object) => object,
): object {
  const { uid, desiredAPIVersion, objects } = review.request;
  const convertedObjects = objects.map((object) =>
    change(convertObject(object, desiredAPIVersion)),
  );
  return {
    ...review,
    request: undefined,
    response: { uid, result: { status: "Success" }, convertedObjects },
  };
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "webhook-"));
  authority = createTestAuthority(directory);
  const { key, cert } = authority.issue("localhost", ["DNS:localhost", "IP:127.0.0.1"]);
  webhook = createServer(
    { key, cert },
    asyncListener(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
      const review = JSON.parse(Buffer.concat(parts).toString("utf8")) as Review;
      reviews.push(review);
      const result = await answer(review);
      if (typeof result === "string") response.statusCode = result === "" ? 503 : 200;
      response.end(typeof result === "string" ? result : JSON.stringify(result));
    }),
  );
  webhook.listen(0, "localhost");
  await once(webhook, "listening");
});
after(async () => {
  webhook.closeAllConnections();
  webhook.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  answer = (review) => converted(review);
  reviews.length = 0;
  server = await TestServer.start();
});

const group = "/clusters/a/apis/stable.example.com";
const v1 = `${group}/v1/namespaces/default/crontabs`;
const v2 = `${group}/v2/namespaces/default/crontabs`;

function definition(): AnyObject {
  const version = (name: string, field: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    selectableFields: [{ jsonPath: `.spec.${field}` }],
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { [field]: { type: "integer" }, text: { type: "string" } },
          },
        },
      },
    },
  });
  const { port } = webhook.address() as AddressInfo;
  const caBundle = Buffer.from(authority.ca).toString("base64");
  return cronTabs({
    spec: {
      versions: [version("v1", "size", true), version("v2", "width", false)],
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { url: `https://localhost:${port}/convert`, caBundle },
        },
      },
    },
  });
}

async function filled(t: { after(body: () => Promise<void>): void }): Promise<void> {
  t.after(() => server.close());
  await install(server, definition());
  await server.requestOk("POST", v1, { body: { metadata: { name: "one" }, spec: { size: 3 } } });
}

describe("a conversion webhook", () => {
  it("is called for every verb, and not for the storage version", async (t) => {
    await filled(t);
    assert.deepEqual((await server.requestOk("GET", `${v1}/one`))["spec"], { size: 3 });
    assert.equal(reviews.length, 0);
    assert.deepEqual((await server.requestOk("GET", `${v2}/one`))["spec"], { width: 3 });
    assert.equal(reviews[0]?.request.desiredAPIVersion, "stable.example.com/v2");
    const created = await server.requestOk("POST", v2, {
      body: { metadata: { name: "two" }, spec: { width: 5 } },
    });
    assert.deepEqual(created["spec"], { width: 5 });
    assert.deepEqual((await server.requestOk("GET", `${v1}/two`))["spec"], { size: 5 });
    const patched = await server.patch(`${v2}/two`, "merge", { spec: { width: 6 } });
    assert.deepEqual(patched.object["spec"], { width: 6 });
    const put = await server.requestOk("PUT", `${v2}/two`, {
      body: { ...patched.object, spec: { width: 7 } },
    });
    assert.deepEqual(put["spec"], { width: 7 });
    assert.deepEqual((await server.requestOk("GET", `${v1}/two`))["spec"], { size: 7 });
    const { items } = await server.get(v2);
    assert.deepEqual(
      items.map(({ spec }) => spec),
      [{ width: 3 }, { width: 7 }],
    );
    assert.equal((await server.request("DELETE", `${v2}/two`)).status, 200);
  });

  it("is called once for a whole list", async (t) => {
    await filled(t);
    for (const name of ["a", "b", "c"])
      await server.requestOk("POST", v1, { body: { metadata: { name }, spec: { size: 1 } } });
    reviews.length = 0;
    assert.equal((await server.get(v2)).items.length, 4);
    assert.deepEqual(
      reviews.map(({ request }) => request.objects.length),
      [4],
    );
  });

  it("is called once for each large object of a collection that is deleted", async (t) => {
    await filled(t);
    // Converted objects of this size are not kept.
    const spec = { size: 3, text: "x".repeat(70_000) };
    for (const name of ["a", "b"])
      await server.requestOk("POST", v1, { body: { metadata: { name }, spec } });
    reviews.length = 0;
    const { items } = await server.request("DELETE", v2);
    assert.deepEqual(
      items.map((item) => (item["spec"] as { width: number }).width),
      [3, 3, 3],
    );
    assert.equal(reviews.flatMap(({ request }) => request.objects).length, 3);
  });

  it("is not asked for objects of a deleted collection that the response does not show", async (t) => {
    await filled(t);
    const spec = { size: 3, text: "x".repeat(900_000) };
    for (let i = 0; i < 8; i++)
      await server.requestOk("POST", v1, { body: { metadata: { name: `large${i}` }, spec } });
    reviews.length = 0;
    const { items, object } = await server.request("DELETE", v2);
    const { remainingItemCount } = object.metadata as unknown as { remainingItemCount: number };
    assert.ok(remainingItemCount >= 4);
    assert.equal(items.length + remainingItemCount, 9);
    // The response is full with the last object that does not fit.
    assert.ok(reviews.flatMap(({ request }) => request.objects).length <= items.length + 1);
    assert.deepEqual((await server.get(v1)).items, []);
  });

  it("is asked for an object whose deletion is answered with a Status, in other versions", async (t) => {
    await filled(t);
    await server.requestOk("POST", v1, { body: { metadata: { name: "two" } } });
    reviews.length = 0;
    assert.equal((await server.request("DELETE", `${v1}/two`)).status, 200);
    assert.equal(reviews.length, 0);
    const { object } = await server.request("DELETE", `${v2}/one`);
    assert.equal(object.kind, "Status");
    assert.equal(reviews.length, 1);
    assert.equal((await server.get(`${v1}/one`)).status, 404);
  });

  it("prevents a deletion through its version when it fails, and none through that of the store", async (t) => {
    await filled(t);
    answer = () => "";
    for (const path of [`${v2}/one`, `${v2}/one?dryRun=All`, v2]) {
      const { status, object } = await server.request("DELETE", path);
      assert.equal(status, 500, path);
      assert.match(object.message ?? "", /^conversion webhook for .*CronTab failed: /);
    }
    assert.equal((await server.get(`${v1}/one`)).status, 200);
    assert.equal((await server.request("DELETE", `${v1}/one`)).status, 200);
    assert.equal((await server.get(`${v1}/one`)).status, 404);
  });

  it("is asked for a deleted object that gets a deletionTimestamp", async (t) => {
    await filled(t);
    const large = { text: "x".repeat(70_000) };
    await server.patch(`${v1}/one`, "merge", { metadata: { finalizers: ["a.b/c"] }, spec: large });
    const { object } = await server.request("DELETE", `${v2}/one`);
    assert.deepEqual(object["spec"], { ...large, width: 3 });
    assert.notEqual(object.metadata?.deletionTimestamp, undefined);
    assert.deepEqual((await server.get(`${v1}/one`)).object["spec"], { ...large, size: 3 });
    await server.patch(`${v1}/one`, "merge", { metadata: { finalizers: null } });
    assert.equal((await server.get(`${v1}/one`)).status, 404);
  });

  it("converts the objects of a watch", async (t) => {
    await filled(t);
    const watch = await server.watch(`${v2}?watch=1`);
    assert.deepEqual((await watch.take(1))[0]?.object["spec"], { width: 3 });
    await server.patch(`${v1}/one`, "merge", { spec: { size: 4 } });
    const [event] = await watch.take(1);
    assert.equal(event?.type, "MODIFIED");
    assert.equal(event?.object.apiVersion, "stable.example.com/v2");
    assert.deepEqual(event?.object["spec"], { width: 4 });
    await server.requestOk("DELETE", `${v1}/one`);
    assert.equal((await watch.take(1))[0]?.type, "DELETED");
    await watch.leave();
  });

  it("cannot move an object to another logical cluster", async (t) => {
    answer = (review) =>
      converted(review, (object) => {
        const metadata = object["metadata"] as AnyObject["metadata"];
        const annotations = { ...metadata.annotations, "kcp.io/cluster": "b", seen: "yes" };
        return { ...object, metadata: { ...metadata, annotations } };
      });
    await filled(t);
    const live = await server.watch(`${v2}?watch=1&fieldSelector=spec.width!%3D9`);
    const shown = [...(await live.take(1)).map(({ object }) => object)];
    shown.push(
      await server.requestOk("POST", v2, { body: { metadata: { name: "two" }, spec: {} } }),
    );
    shown.push(...(await live.take(1)).map(({ object }) => object));
    shown.push((await server.patch(`${v2}/two`, "merge", { spec: { width: 4 } })).object);
    shown.push(
      await server.requestOk("GET", `${v2}/one`),
      await server.requestOk("GET", `${v1}/two`),
    );
    shown.push(...(await server.get(v2)).items);
    for (const { metadata } of shown) {
      assert.equal(metadata.annotations?.["kcp.io/cluster"], "a");
      assert.equal(metadata.annotations?.["seen"], "yes");
    }
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const everywhere = "/clusters/*/apis/stable.example.com/v1/crontabs";
    const { items } = await server.get(everywhere, { headers: { accept }, user: "masters" });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.annotations?.["kcp.io/cluster"]),
      ["a", "a"],
    );
    await live.leave();
  });

  it("lists and deletes by the fields of the requested version", async (t) => {
    await filled(t);
    await server.requestOk("POST", v2, { body: { metadata: { name: "two" }, spec: { width: 5 } } });
    const selected = async (path: string) =>
      (await server.get(path)).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(await selected(`${v2}?fieldSelector=spec.width%3D5`), ["two"]);
    assert.deepEqual(await selected(`${v2}?fieldSelector=spec.width!%3D5`), ["one"]);
    assert.deepEqual(await selected(`${v1}?fieldSelector=spec.size%3D3`), ["one"]);
    assert.deepEqual(await selected(`${v2}?fieldSelector=spec.width%3D5,metadata.name%3Done`), []);
    const page = await server.get(`${v2}?fieldSelector=spec.width%3D5&limit=1`);
    assert.deepEqual(page.items, []);
    const { continue: token, remainingItemCount } = page.object.metadata as AnyObject;
    assert.equal(remainingItemCount, undefined);
    const next = `fieldSelector=spec.width%3D5&limit=1&continue=${token}`;
    assert.deepEqual(await selected(`${v2}?${next}`), ["two"]);
    await server.requestOk("DELETE", `${v2}?fieldSelector=spec.width%3D5`);
    assert.deepEqual(await selected(v1), ["one"]);
  });

  it("watches by the fields of the requested version", async (t) => {
    await filled(t);
    const { metadata } = (await server.get(v2)).object as AnyObject;
    const version = `resourceVersion=${metadata["resourceVersion"]}`;
    const fromNow = await server.watch(`${v2}?watch=1&${version}&fieldSelector=spec.width%3D3`);
    const fromStart = await server.watch(`${v2}?watch=1&fieldSelector=spec.width%3D4`);
    const change = (size: number) => server.patch(`${v1}/one`, "merge", { spec: { size } });
    for (const size of [4, 5, 3]) await change(size);
    await server.patch(`${v1}/one`, "merge", { spec: { text: "same" } });
    await server.requestOk("DELETE", `${v1}/one`);
    const told = (events: readonly { type: string; object: AnyObject }[]) =>
      events.map(({ type, object }) => [type, (object["spec"] as AnyObject)["width"]]);
    assert.deepEqual(told(await fromNow.take(4)), [
      ["DELETED", 3],
      ["ADDED", 3],
      ["MODIFIED", 3],
      ["DELETED", 3],
    ]);
    assert.deepEqual(told(await fromStart.take(2)), [
      ["ADDED", 4],
      ["DELETED", 4],
    ]);
    await fromNow.leave();
    await fromStart.leave();
  });

  it("may change labels and annotations, and no other metadata", async (t) => {
    await filled(t);
    answer = (review) =>
      converted(review, (object) => ({
        ...object,
        metadata: {
          ...object.metadata,
          labels: { added: "1" },
          annotations: { kept: "2" },
          creationTimestamp: "1999-01-01T00:00:00Z",
          finalizers: ["evil/one"],
        },
      }));
    const read = await server.requestOk("GET", `${v2}/one`);
    assert.deepEqual(read.metadata.labels, { added: "1" });
    assert.equal(read.metadata.annotations?.["kept"], "2");
    assert.notEqual(read.metadata["creationTimestamp"], "1999-01-01T00:00:00Z");
    assert.equal(read.metadata["finalizers"], undefined);
  });
});

const failures: [title: string, answer: Answer, message: string | RegExp][] = [
  [
    "another name",
    (review) =>
      converted(review, (object) => ({ ...object, metadata: { ...object.metadata, name: "x" } })),
    "returned invalid object: must have the same name: one != x",
  ],
  [
    "another uid",
    (review) =>
      converted(review, (object) => ({ ...object, metadata: { ...object.metadata, uid: "x" } })),
    /returned invalid object: must have the same UID: [0-9a-f-]+ != x/,
  ],
  [
    "another namespace",
    (review) =>
      converted(review, (object) => ({
        ...object,
        metadata: { ...object.metadata, namespace: "x" },
      })),
    "returned invalid object: must have the same namespace: default != x",
  ],
  [
    "another kind",
    (review) => converted(review, (object) => ({ ...object, kind: "X" })),
    "returned invalid object: must have the same kind: CronTab != X",
  ],
  [
    "another version",
    (review) => converted(review, (object) => ({ ...object, apiVersion: "stable.example.com/v3" })),
    "returned invalid object: invalid groupVersion (expected stable.example.com/v2, received stable.example.com/v3)",
  ],
  [
    "bad labels",
    (review) =>
      converted(review, (object) => ({
        ...object,
        metadata: { ...object.metadata, labels: { a: 1 } },
      })),
    "returned invalid metadata: metadata.labels[a] must be a string in converted object",
  ],
  [
    "no metadata",
    (review) =>
      converted(review, ({ metadata: _, ...object }) => object as typeof object & AnyObject),
    "returned invalid object: must have the same name: one != ",
  ],
  [
    "labels that are none",
    (review) =>
      converted(review, (object) => ({
        ...object,
        metadata: { ...object.metadata, labels: "a" as unknown as Record<string, string> },
      })),
    "returned invalid metadata: invalid metadata.labels in converted object",
  ],
  [
    "no objects",
    (review) => ({
      ...converted(review),
      response: { uid: review.request.uid, result: { status: "Success" } },
    }),
    "returned 0 objects, expected 1",
  ],
  [
    "another review's uid",
    (review) => ({ ...review, response: { uid: "x", result: { status: "Success" } } }),
    /failed: expected response\.uid="[0-9a-f-]+", got "x"/,
  ],
  [
    "a refusal with words",
    (review) => ({
      ...review,
      response: { uid: review.request.uid, result: { status: "Failure", message: "not today" } },
    }),
    "failed: not today",
  ],
  [
    "a refusal without words",
    (review) => ({
      ...review,
      response: { uid: review.request.uid, result: { status: "Failure" } },
    }),
    "failed: response.result.status was 'Failure', not 'Success'",
  ],
  [
    "another uid for the review",
    (review) => ({ ...review, response: { uid: "x", result: { status: "Success" } } }),
    /^failed: expected response.uid="[0-9a-f-]{36}", got "x"$/,
  ],
  ["no response", (review) => ({ ...review }), "failed: no response provided"],
  [
    "another kind of answer",
    () => ({ kind: "Status", apiVersion: "v1" }),
    "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got v1, Kind=Status",
  ],
  ["no JSON", () => "<html>", /failed: couldn't get version\/kind; json parse error: /],
  ["an error", () => "", /failed: the server is currently unable to handle the request/],
];

describe("a webhook that responds with", () => {
  for (const [title, wrong, message] of failures) {
    it(`${title} fails the request`, async (t) => {
      await filled(t);
      answer = wrong;
      for (const path of [`${v2}/one`, v2]) {
        const { status, object } = await server.get(path);
        assert.equal(status, 500);
        const text = object.message ?? "";
        const start = "conversion webhook for stable.example.com/v1, Kind=CronTab ";
        assert.ok(text.startsWith(start), text);
        if (typeof message === "string") assert.equal(text.slice(start.length), message);
        else assert.match(text.slice(start.length), message);
      }
      const watch = await server.watch(`${v2}?watch=1`);
      const events = await watch.rest();
      assert.deepEqual(
        events.map(({ type }) => type),
        ["ERROR"],
      );
      assert.equal(
        (await server.get(`${v1}/one`)).status,
        200,
        "the storage version needs no webhook",
      );
    });
  }

  it("nothing at all fails the request after a timeout", async (t) => {
    await filled(t);
    answer = () => new Promise(() => {});
    const pending = server.get(`${v2}/one?timeout=50s`);
    while (reviews.length === 0) await new Promise((resolve) => setImmediate(resolve));
    server.clock.advance(30_000);
    const { status, object } = await pending;
    assert.equal(status, 500);
    assert.match(object.message ?? "", /failed: Post ".*": context deadline exceeded$/);
    webhook.closeAllConnections();
  });
});

describe("a webhook with an untrusted certificate", () => {
  it("is rejected", async (t) => {
    t.after(() => server.close());
    const other = createTestAuthority(await mkdtemp(join(directory, "other-")), "other");
    const object = definition();
    const spec = object["spec"] as {
      conversion: { webhook: { clientConfig: { caBundle: string } } };
    };
    spec.conversion.webhook.clientConfig.caBundle = Buffer.from(other.ca).toString("base64");
    await install(server, object);
    await server.requestOk("POST", v1, { body: { metadata: { name: "one" }, spec: { size: 3 } } });
    const answered = await server.get(`${v2}/one`);
    assert.equal(answered.status, 500);
    assert.match(answered.object.message ?? "", /certificate/);
    assert.equal(reviews.length, 0);
  });

  it("keeps its definition from being established when the CA bundle is invalid", async (t) => {
    t.after(() => server.close());
    const object = definition();
    const spec = object["spec"] as {
      conversion: { webhook: { clientConfig: { caBundle: string } } };
    };
    spec.conversion.webhook.clientConfig.caBundle = Buffer.from("nonsense").toString("base64");
    await server.requestOk("POST", `/clusters/a${definitionsPath}`, { body: object });
    const refused = await condition(server, "crontabs.stable.example.com", "Established", "False");
    assert.equal(conditionOf(refused, "Established")?.reason, "InvalidCABundle");
  });
});
