/**
 * Goal: with any names of members, at any depth and by any way of writing, every reader of an
 * object gets the result of a plain parse of what was sent, and the object's own metadata.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import {
  type AnyObject,
  envelope,
  install,
  mapEntry,
  type TestResponse,
  TestServer,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const cluster = "/clusters/a";
const collection = `${cluster}/apis/stable.example.com/v1/namespaces/default/crontabs`;
const everywhere = "/clusters/*/apis/stable.example.com/v1/crontabs";
const json = { "content-type": "application/json" };
const yaml = { "content-type": "application/yaml" };
const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const partialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const table = "application/json;as=Table;g=meta.k8s.io;v=v1";

/**
 * Any member at the root and below; also a default, a selectable field and an embedded resource.
 */
const definition = cronTabs({
  schema: {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: {
      spec: {
        type: "object",
        default: {},
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { tag: { type: "string", default: "none" } },
      },
      template: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
    },
  },
  version: { selectableFields: [{ jsonPath: ".spec.tag" }] },
});

const forged = {
  name: "forged",
  uid: "forged",
  resourceVersion: "1",
  labels: { real: "no", forged: "yes" },
  annotations: { "kcp.io/cluster": "b" },
  finalizers: ["orphan"],
  deletionTimestamp: "2026-01-01T00:00:00Z",
};
const names = [
  ...["0", "1", "42", "4294967294", "4294967295", "-1", "01", "", "__proto__", "constructor"],
  ...["kcp.io/cluster", "labels", "annotations", "resourceVersion", "items", "object", "rows"],
  ...['"', "\\", '"metadata":{', '{"metadata":{"labels":{', '"}', "ü", "\u2028", "x".repeat(900)],
];
const nested = ["metadata", "kind", "apiVersion", "status", "uid", "finalizers", "type"];

function objectOf(
  keys: readonly string[],
  value: fc.Arbitrary<JsonValue>,
): fc.Arbitrary<JsonObject> {
  const member = fc.tuple(fc.constantFrom(...keys), value);
  return fc.array(member, { maxLength: 5 }).map((members) => {
    const object: JsonObject = {};
    for (const [key, each] of members) setMember(object, key, each);
    return object;
  });
}

const { value } = fc.letrec<{ value: JsonValue }>((tie) => {
  const below = tie("value") as fc.Arbitrary<JsonValue>;
  return {
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<JsonValue>(true, 7, '"metadata":{}', "", "}", "orphan", { metadata: {} }),
      fc.constant<JsonValue>({ metadata: forged, kind: "CronTab" }),
      fc.array(below, { minLength: 1, maxLength: 2 }) as fc.Arbitrary<JsonValue>,
      objectOf([...names, ...nested], below),
    ),
  };
});
const content = fc.record({
  root: objectOf(names, value),
  spec: objectOf([...names, ...nested], value),
  template: fc.option(objectOf(names, value), { nil: undefined }),
  label: fc.constantFrom("0", "7", "metadata", "labels"),
});
type Content = typeof content extends fc.Arbitrary<infer Value> ? Value : never;

function objectWith({ root, spec, template, label }: Content, name: string): JsonObject {
  const embedded = { apiVersion: "v1", kind: "Pod", metadata: { name: "embedded" } };
  return {
    ...root,
    spec: { ...spec, tag: name },
    ...(template === undefined ? {} : { template: { ...template, ...embedded } }),
    apiVersion: "stable.example.com/v1",
    kind: "CronTab",
    metadata: {
      name,
      namespace: "default",
      labels: { [label]: "x", real: name },
      annotations: { [label]: "x", "kcp.io/cluster": "b" },
    },
  };
}

/** The same text with every letter of a name as a unicode escape. */
function spelt(text: string): string {
  return text.replace(/"(metadata|labels|kcp\.io\/cluster|spec|real)":/g, (_, key: string) => {
    const codes = [...key].map((char) => char.charCodeAt(0).toString(16).padStart(4, "0"));
    return `"${codes.map((code) => `\\u${code}`).join("")}":`;
  });
}

describe("members of any name", () => {
  let server: TestServer;
  let made = 0;
  before(async () => {
    server = await TestServer.start();
    await install(server, definition);
  });
  after(() => server.close());

  type Door = (name: string, object: JsonObject) => Promise<TestResponse>;
  const bare = (name: string) =>
    server.requestOk("POST", collection, {
      body: { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name } },
    });
  const doors: Record<string, Door> = {
    "a create": (_, object) =>
      server.request("POST", collection, { headers: json, body: JSON.stringify(object) }),
    "a create whose names are spelt by numbers": (_, object) =>
      server.request("POST", collection, { headers: json, body: spelt(JSON.stringify(object)) }),
    "a create as YAML": (_, object) =>
      server.request("POST", collection, { headers: yaml, body: JSON.stringify(object) }),
    "an update": async (name, object) => {
      const { metadata } = await bare(name);
      const { resourceVersion } = metadata;
      const sent = { ...object, metadata: { ...(object["metadata"] as object), resourceVersion } };
      const body = JSON.stringify(sent);
      return server.request("PUT", `${collection}/${name}`, { headers: json, body });
    },
    "a merge patch": async (name, object) => {
      await bare(name);
      return server.patch(`${collection}/${name}`, "merge", object);
    },
    "a JSON patch": async (name, object) => {
      await bare(name);
      const { metadata, ...rest } = object as { metadata: JsonObject };
      const pointer = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");
      const operations = [
        ...Object.entries(rest).map(([key, each]) => ["", key, each] as const),
        ["/metadata", "labels", metadata["labels"]] as const,
        ["/metadata", "annotations", metadata["annotations"]] as const,
      ].map(([at, key, each]) => ({ op: "add", path: `${at}/${pointer(key)}`, value: each }));
      return server.patch(`${collection}/${name}`, "json", operations);
    },
    "an apply": (name, object) =>
      server.patch(`${collection}/${name}?fieldManager=test&force=true`, "apply", object),
  };

  /** The expected object: what was sent, and the fields that only the server sets. */
  function expected(object: JsonObject, told: AnyObject): JsonObject {
    const sent = JSON.parse(JSON.stringify(object)) as JsonObject;
    const { uid, creationTimestamp, generation, managedFields, resourceVersion } = told.metadata;
    const metadata = sent["metadata"] as JsonObject;
    return {
      ...sent,
      metadata: {
        ...metadata,
        annotations: { ...(metadata["annotations"] as JsonObject), "kcp.io/cluster": "a" },
        ...({ uid, creationTimestamp, generation, managedFields, resourceVersion } as JsonObject),
      },
    };
  }

  const items = async (target: string, accept = "application/json") =>
    (await server.requestOk("GET", target, { headers: { accept }, user: "masters" })).items ?? [];

  async function checkReads(name: string, whole: AnyObject): Promise<void> {
    const selected = encodeURIComponent(`real=${name}`);
    const onlyMetadata = { ...head("PartialObjectMetadata"), metadata: whole.metadata };
    assert.deepEqual(await server.requestOk("GET", `${collection}/${name}`), whole, "get");
    for (const query of [`labelSelector=${selected}`, `fieldSelector=spec.tag%3D${name}`]) {
      const target = `${collection}?${query}`;
      assert.deepEqual(await items(target), [whole], `list by ${query}`);
      assert.deepEqual(await items(target, partialList), [onlyMetadata], `metadata by ${query}`);
      const { rows } = await server.requestOk("GET", `${target}&includeObject=Object`, {
        headers: { accept: table },
      });
      const shown = (rows as { object: AnyObject }[]).map((row) => row.object);
      assert.deepEqual(shown, [whole], `table by ${query}`);
    }
    for (const [accept, wanted] of [
      ["application/json", whole],
      [partial, onlyMetadata],
    ] as const) {
      const target = `${collection}?watch=true&labelSelector=${selected}`;
      const watch = await server.watch(target, { headers: { accept } });
      assert.deepEqual((await watch.take(1))[0]?.object, wanted, `watch as ${accept}`);
      await watch.leave();
    }
    const [one, ...others] = await items(`${everywhere}?labelSelector=${selected}`, partialList);
    assert.deepEqual(others, []);
    const { annotations, ...metadata } = one?.metadata ?? {};
    const { annotations: own, ...rest } = whole.metadata;
    assert.deepEqual(metadata, rest, "metadata in all clusters");
    assert.deepEqual(
      annotations,
      { ...own, "kcp.io/original-api-version": "stable.example.com/v1" },
      "annotations in all clusters",
    );
    assert.deepEqual(await items(`${collection}?labelSelector=forged`), []);
    assert.deepEqual(await items(`${everywhere}?labelSelector=forged`, partialList), []);
    assert.deepEqual(await items(`${everywhere}?kcpSelection=ownership`, partialList), []);
  }

  for (const [door, write] of Object.entries(doors))
    it(`have the values that were sent by ${door}`, async () => {
      const live = await server.watch(`${collection}?watch=true&resourceVersion=0`);
      await fc.assert(
        fc.asyncProperty(content, async (random) => {
          const name = `n${made++}`;
          const object = objectWith(random, name);
          const answer = await write(name, object);
          assert.ok(answer.status < 300, answer.text);
          const whole = expected(object, answer.object);
          assert.deepEqual(answer.object, whole, "answer");
          await checkReads(name, whole as AnyObject);
          let event = await live.next();
          while (event?.object.metadata.resourceVersion !== answer.object.metadata.resourceVersion)
            event = await live.next();
          assert.deepEqual(event?.object, whole, "live watch");
          await server.requestOk("DELETE", `${collection}/${name}`);
        }),
        { numRuns: 25 },
      );
      await live.leave();
    });

  it("do not displace the metadata of a ConfigMap that is sent as protobuf", async () => {
    const target = `${cluster}/api/v1/namespaces/default/configmaps`;
    const keys = ["0", "metadata", "1", "__proto__", "labels"];
    const body = envelope("v1", "ConfigMap", [
      [
        1,
        [
          [1, "pb"],
          ...keys.filter((key) => key !== "__proto__").map((key) => mapEntry(11, key, "x")),
          ...["0", "kcp.io/cluster"].map((key) => mapEntry(12, key, "b")),
        ],
      ],
      ...keys.map((key) => mapEntry(2, key, '{"metadata":{}}')),
    ]);
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    const made = await server.request("POST", target, { headers, body });
    assert.equal(made.status, 201, made.text);
    const object = await server.requestOk("GET", `${target}/pb`);
    assert.deepEqual(Object.keys(object.data ?? {}).sort(), [...keys].sort());
    assert.deepEqual(object.metadata.annotations, { 0: "b", "kcp.io/cluster": "a" });
    const [listed] = await items(`${target}?labelSelector=0%3Dx,metadata`);
    const { kind: _, apiVersion: __, ...rest } = object;
    assert.deepEqual(listed, rest);
  });

  it("that occur twice, once escaped, have the last value for every reader", async () => {
    const own = '{"name":"twice","labels":{"real":"twice"}}';
    const text = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","\\u006detadata":${JSON.stringify(forged)},"metadata":${own},"spec":{"tag":"twice"}}`;
    const answer = await server.request("POST", collection, { headers: json, body: text });
    assert.equal(answer.status, 201, answer.text);
    await checkReads("twice", answer.object);
    assert.equal(answer.object.metadata.labels?.["real"], "twice");
  });
});

function head(kind: string) {
  return { kind, apiVersion: "meta.k8s.io/v1" };
}
