/**
 * The Kubernetes conformance tests of webhooks that convert, and of selectable fields behind them,
 * step by step.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { parseClusterName } from "@kcp-ts/machinery/names";
import { defineResource, Informer, type KubernetesObject } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import type { ResponseObject } from "./api.ts";
import type { Reviewed } from "./local-webhooks.ts";
import { eventuallyPasses, thingDefinition, version, WebhookFixture } from "./webhook-fixture.ts";

let plane: TestControlPlane;
let fixture: WebhookFixture;
let cluster = "";
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());

let tests = 0;
beforeEach(async () => {
  cluster = `v${tests++}`;
  fixture = await WebhookFixture.open(plane.client.transport, `/clusters/${cluster}`);
  fixture.webhooks.serveConversion("/crdconvert", split);
});
afterEach(() => fixture.close());

const group = "stable.example.com";
const things = (of: "v1" | "v2") => `/apis/${group}/${of}/namespaces/default/things`;

/** v1 has `hostPort`, v2 has `host` and `port`. */
function split(object: Reviewed, apiVersion: string): object {
  const { hostPort, host, port, ...rest } = object;
  if (apiVersion.endsWith("/v1"))
    return { ...rest, apiVersion, hostPort: hostPort ?? `${host}:${port}` };
  const [ofHost, ofPort] = String(hostPort ?? `${host}:${port}`).split(":");
  return { ...rest, apiVersion, host: ofHost, port: ofPort };
}

const text = { type: "string" };
const schemaOf = (properties: object) => ({ openAPIV3Schema: { type: "object", properties } });
const v1 = version("v1", {
  schema: schemaOf({ hostPort: text }),
  selectableFields: [{ jsonPath: ".hostPort" }],
});
const v2 = version("v2", {
  schema: schemaOf({ host: text, port: text }),
  selectableFields: [{ jsonPath: ".host" }, { jsonPath: ".port" }],
});
const install = () =>
  fixture.install(
    thingDefinition({
      group,
      versions: [v1, v2],
      conversion: {
        strategy: "Webhook",
        webhook: {
          clientConfig: fixture.webhooks.at("/crdconvert"),
          conversionReviewVersions: ["v1", "v1beta1"],
        },
      },
    }),
  );
const first = (name: string) => ({
  apiVersion: `${group}/v1`,
  kind: "Thing",
  metadata: { name },
  hostPort: "localhost:8080",
});
const second = (name: string, host: string, port: string) => ({
  apiVersion: `${group}/v2`,
  kind: "Thing",
  metadata: { name },
  host,
  port,
});

function isFirst({ apiVersion, hostPort, host, port }: ResponseObject): void {
  assert.equal(apiVersion, `${group}/v1`);
  assert.deepEqual([hostPort, host, port], ["localhost:8080", undefined, undefined]);
}

function isSecond({ apiVersion, hostPort, host, port }: ResponseObject): void {
  assert.equal(apiVersion, `${group}/v2`);
  assert.deepEqual([hostPort, host, port], [undefined, "localhost", "8080"]);
}

describe("a webhook converts", () => {
  it("a custom resource from v1 to v2", async () => {
    await install();
    await fixture.expectSuccess("POST", things("v1"), first("a"));
    isSecond(await fixture.expectSuccess("GET", `${things("v2")}/a`));
    isFirst(await fixture.expectSuccess("GET", `${things("v1")}/a`));
  });

  it("a list of objects that are stored in different versions", async () => {
    const definition = await install();
    await fixture.expectSuccess("POST", things("v1"), first("a"));
    const versions = [
      { ...v1, storage: false },
      { ...v2, storage: true },
    ];
    await fixture.merge(definition, { spec: { versions } });
    await eventuallyPasses(async () => {
      const { status } = await fixture.expectSuccess("GET", definition);
      assert.match(JSON.stringify(status), /"storedVersions":\["v1","v2"\]/);
    });
    await fixture.expectSuccess("POST", things("v2"), second("b", "localhost", "8080"));
    const lists = {
      v1: await fixture.expectSuccess("GET", things("v1")),
      v2: await fixture.expectSuccess("GET", things("v2")),
    };
    assert.deepEqual([lists.v1.items?.length, lists.v2.items?.length], [2, 2]);
    for (const item of lists.v1.items ?? []) isFirst(item);
    for (const item of lists.v2.items ?? []) isSecond(item);
  });
});

describe("selectable fields of a kind that a webhook converts", () => {
  const resource = (of: "v1" | "v2") =>
    defineResource({ group, version: of, resource: "things", kind: "Thing", namespaced: true });
  type Seen = { readonly added: Set<string>; readonly deleted: Set<string> };
  const seen = (): Seen => ({ added: new Set(), deleted: new Set() });

  /** What a watch tells, by name. */
  const watched = async (of: "v1" | "v2", fieldSelector: string, signal: AbortSignal) => {
    const events = seen();
    const client = plane.clientFor(cluster).resource(resource(of));
    const { resourceVersion } = (await client.list({ namespace: "default" })).metadata;
    const stream = client.watch({ namespace: "default", fieldSelector, resourceVersion, signal });
    const reading = (async () => {
      for await (const { type, object } of stream)
        if (type !== "BOOKMARK") note(events, type, (object as KubernetesObject).metadata.name);
    })().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return { events, reading };
  };
  /** What an informer tells, by name. */
  const informed = (fieldSelector: string, signal: AbortSignal) => {
    const events = seen();
    const name = parseClusterName(cluster);
    assert.ok(name !== undefined);
    const informer = new Informer({
      client: plane.clientFor(cluster),
      resource: resource("v2"),
      scope: { cluster: name },
      selector: { namespace: "default", fieldSelector },
    });
    informer.addHandler({
      added: ({ metadata }) => note(events, "ADDED", metadata.name),
      deleted: ({ metadata }) => note(events, "DELETED", metadata.name),
    });
    return { events, reading: informer.run(signal) };
  };
  const note = ({ added, deleted }: Seen, type: string, name: string | undefined) => {
    if (type === "ADDED") added.add(name ?? "");
    if (type === "DELETED") deleted.add(name ?? "");
  };

  it("select in lists, watches and informers, in both versions", async () => {
    await install();
    const ending = new AbortController();
    const { signal } = ending;
    const followers = {
      host: await watched("v2", "host=host1", signal),
      hostAndPort: await watched("v2", "host=host1,port=80", signal),
      hostPort: await watched("v1", "hostPort=host1:80", signal),
      informedOfHost: informed("host=host1", signal),
      informedOfBoth: informed("host=host1,port=80", signal),
    };
    await fixture.expectSuccess("POST", things("v2"), second("a", "host1", "80"));
    await fixture.expectSuccess("POST", things("v2"), second("b", "host1", "8080"));
    await fixture.expectSuccess("POST", things("v2"), second("c", "host2", "80"));
    const names = async (of: "v1" | "v2", fields: string) => {
      const query = `?fieldSelector=${encodeURIComponent(fields)}`;
      const { items = [] } = await fixture.expectSuccess("GET", things(of) + query);
      return items.map(({ metadata }) => metadata.name);
    };
    assert.deepEqual(await names("v2", "host=host1"), ["a", "b"]);
    assert.deepEqual(await names("v2", "host=host1,port=80"), ["a"]);
    assert.deepEqual(await names("v1", "hostPort=host1:80"), ["a"]);
    assert.deepEqual(await names("v1", "hostPort=host1:8080"), ["b"]);
    const told = (part: keyof Seen) =>
      Object.fromEntries(
        Object.entries(followers).map(([name, { events }]) => [name, [...events[part]].sort()]),
      );
    const expected = {
      host: ["a", "b"],
      hostAndPort: ["a"],
      hostPort: ["a"],
      informedOfHost: ["a", "b"],
      informedOfBoth: ["a"],
    };
    await eventuallyPasses(async () => assert.deepEqual(told("added"), expected));
    await fixture.expectSuccess("DELETE", `${things("v2")}/b`);
    await fixture.merge(`${things("v2")}/a`, { host: "host2" });
    assert.deepEqual(await names("v2", "host=host1"), []);
    assert.deepEqual(await names("v2", "host=host1,port=80"), []);
    await eventuallyPasses(async () => assert.deepEqual(told("deleted"), expected));
    ending.abort();
    await Promise.all(Object.values(followers).map(({ reading }) => reading));
  });
});
