/** Request bodies in every accepted format, and the errors for other bodies. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { bodyBytesMax } from "../handlers/index.ts";
import {
  encodeProto,
  envelope,
  mapEntry,
  type Proto,
  TestServer,
  varint,
} from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;
const protobuf = { "content-type": "application/vnd.kubernetes.protobuf" };
const yaml = { "content-type": "application/yaml" };

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

/**
 * Metadata as Go encodes it: an unset creation time is an empty message, and empty strings are
 * present.
 */
function meta(name: string, ...more: Proto): Proto {
  return [[1, name], [2, ""], [3, ""], [4, ""], [5, ""], [6, ""], [7, 0], [8, []], ...more];
}

describe("protobuf bodies", () => {
  it("decode a ConfigMap", async () => {
    const body = envelope("v1", "ConfigMap", [
      [1, meta("pb", mapEntry(11, "l", "1"), mapEntry(12, "note", "é"), [14, "example.com/f"])],
      mapEntry(2, "k", "v"),
      mapEntry(2, "empty", ""),
      mapEntry(2, "__proto__", "p"),
      mapEntry(3, "b", Buffer.from([0, 255])),
      [4, 1],
    ]);
    const answer = await server.request("POST", configmaps, { headers: protobuf, body });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers["content-type"], "application/json");
    const { metadata } = answer.object;
    assert.deepEqual(metadata.labels, { l: "1" });
    assert.equal(metadata.annotations?.["note"], "é");
    assert.deepEqual(metadata["finalizers"], ["example.com/f"]);
    assert.equal(metadata["creationTimestamp"], "2026-11-15T00:00:00Z");
    assert.match(answer.text, /"data":\{"k":"v","empty":"","__proto__":"p"\}/);
    assert.deepEqual(answer.object["binaryData"], { b: "AP8=" });
    assert.equal(answer.object["immutable"], true);
  });

  it("decode a CustomResourceDefinition, whose schema contains union types", async () => {
    const property = (name: string, schema: Proto): Proto[number] => [
      29,
      [
        [1, name],
        [2, schema],
      ],
    ];
    const schema: Proto = [
      [5, "object"],
      // As Go encodes unset fields.
      [10, 0],
      [18, 0],
      [37, 0],
      property("list", [
        [5, "array"],
        [24, [[1, [[5, "string"]]]]],
      ]),
      property("map", [
        [5, "object"],
        [
          30,
          [
            [1, 0],
            [2, [[5, "integer"]]],
          ],
        ],
      ]),
      property("free", [
        [5, "object"],
        [30, [[1, 1]]],
        [38, 1],
      ]),
      property("given", [
        [5, "string"],
        [8, [[1, '"a"']]],
        [20, [[1, '"a"']]],
      ]),
    ];
    const version: Proto = [
      [1, "v1"],
      [2, 1],
      [3, 1],
      [4, [[1, schema]]],
      [7, 0],
    ];
    const names: Proto = [
      [1, "toys"],
      [2, ""],
      [4, "Toy"],
      [5, ""],
    ];
    const body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", [
      [1, meta("toys.pb.example.com")],
      [
        2,
        [
          [1, "pb.example.com"],
          [3, names],
          [4, "Namespaced"],
          [7, version],
          [10, 0],
        ],
      ],
      [
        3,
        [
          [
            2,
            [
              [1, ""],
              [4, ""],
            ],
          ],
        ],
      ],
    ]);
    const path = "/clusters/a/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const answer = await server.request("POST", path, { headers: protobuf, body });
    assert.equal(answer.status, 201, answer.text);
    const { versions } = answer.object["spec"] as {
      versions: [{ schema: { openAPIV3Schema: object } }];
    };
    assert.deepEqual(versions[0], {
      name: "v1",
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            list: { type: "array", items: { type: "string" } },
            map: { type: "object", additionalProperties: { type: "integer" } },
            free: {
              type: "object",
              additionalProperties: true,
              "x-kubernetes-preserve-unknown-fields": true,
            },
            given: { type: "string", default: "a", enum: ["a"] },
          },
        },
      },
    });
  });

  it("decode a Secret", async () => {
    const body = envelope("v1", "Secret", [
      [1, meta("pb")],
      mapEntry(2, "k", Buffer.from("value")),
      [3, "example.com/t"],
      mapEntry(4, "s", "text"),
    ]);
    const path = `${base}/namespaces/default/secrets`;
    const answer = await server.request("POST", path, { headers: protobuf, body });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.object["type"], "example.com/t");
    assert.deepEqual(answer.object.data, { k: "dmFsdWU=", s: "dGV4dA==" });
  });

  it("decode a Namespace, with set and unset times in its status", async () => {
    const created = await server.request("POST", `${base}/namespaces`, {
      headers: protobuf,
      body: envelope("v1", "Namespace", [
        [1, meta("pb")],
        [2, []],
        [3, [[1, ""]]],
      ]),
    });
    assert.equal(created.status, 201, created.text);
    const condition = (type: string, time: Proto): Proto => [
      [1, type],
      [2, "True"],
      [4, time],
    ];
    const updated = await server.request("PUT", `${base}/namespaces/pb/status`, {
      headers: protobuf,
      body: envelope("v1", "Namespace", [
        [1, meta("pb")],
        [2, []],
        [
          3,
          [
            [1, "Active"],
            [2, condition("Set", [[1, 1_763_164_800]])],
            [2, condition("Unset", [])],
          ],
        ],
      ]),
    });
    assert.equal(updated.status, 200, updated.text);
    assert.deepEqual(updated.object["status"], {
      phase: "Active",
      conditions: [
        { type: "Set", status: "True", lastTransitionTime: "2025-11-15T00:00:00Z" },
        { type: "Unset", status: "True" },
      ],
    });
  });

  it("decode DeleteOptions, empty or not", async () => {
    const options: [message: Proto, code: number][] = [
      [[[2, [[1, "wrong-uid"]]]], 409],
      [[[4, "Sideways"]], 422],
      [[[5, "All"]], 200],
      [[], 200],
      [[], 404],
    ];
    await server.requestOk("POST", configmaps, { body: { metadata: { name: "going" } } });
    for (const [message, code] of options) {
      const body = envelope("v1", "DeleteOptions", message);
      const answer = await server.request("DELETE", `${configmaps}/going`, {
        headers: protobuf,
        body,
      });
      assert.equal(answer.status, code, answer.text);
    }
  });

  it("have the kind of the path when the sender omits it, and must match it otherwise", async () => {
    const message: Proto = [[1, meta("typeless")]];
    const bare = Buffer.concat([
      Buffer.from("k8s\0", "latin1"),
      encodeProto([[2, encodeProto(message)]]),
    ]);
    const made = await server.request("POST", configmaps, { headers: protobuf, body: bare });
    assert.equal(made.status, 201, made.text);
    const other = envelope("v1", "Secret", message);
    const wrong = await server.request("POST", configmaps, { headers: protobuf, body: other });
    assert.equal(wrong.status, 400);
  });

  it("that are truncated, too long or no protobuf are a 400", async () => {
    const whole = envelope("v1", "ConfigMap", [[1, meta("cut")], mapEntry(2, "k", "v")]);
    const bodies: Buffer[] = [
      Buffer.from('{"metadata":{"name":"x"}}'),
      Buffer.from("k8s"),
      ...Array.from({ length: whole.length - 9 }, (_, i) => whole.subarray(0, i + 5)),
      // A length beyond the end, a length of 2^63, a varint that never ends, a group, field 0.
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x12]), varint(1 << 20)]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x12]), varint(-1)]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(20, 0xff)]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x13])]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x02, 0x00])]),
      envelope("v1", "ConfigMap", [[1, 5]]),
      envelope("v1", "ConfigMap", [[1, [[1, Buffer.from([0xff, 0xfe])]]]]),
    ];
    for (const body of bodies) {
      const answer = await server.request("POST", configmaps, { headers: protobuf, body });
      // A body that is truncated between two fields is a complete object without a name.
      assert.ok([400, 422].includes(answer.status), `${body.toString("hex")}: ${answer.text}`);
    }
    const { object } = await server.request("POST", configmaps, { headers: protobuf, body: "{}" });
    assert.match(
      object.message ?? "",
      /^the object provided is unrecognized \(must be of type ConfigMap\): provided data does not appear to be a protobuf message, expected prefix \[107 56 115 0\]/,
    );
  });
});

describe("YAML bodies", () => {
  const post = (body: string | Uint8Array) =>
    server.request("POST", configmaps, { headers: yaml, body });

  it("are decoded, with YAML's own string syntax", async () => {
    const { status, object, text } = await post(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\n  labels: {l: '1'}\ndata:\n  a: |\n    line\n    line\n  b: '1'\n  date: 2001-01-01\n  __proto__: p\n",
    );
    assert.equal(status, 201, text);
    assert.equal(object.data?.["a"], "line\nline\n");
    assert.equal(object.data?.["date"], "2001-01-01");
    assert.match(text, /"__proto__":"p"/);
  });

  it("with numbers and words of YAML 1.1 in place of strings are rejected", async () => {
    for (const value of ["1", "yes", "on", "1.5", "[]", "true"]) {
      const answer = await post(`metadata: {name: typed}\ndata: {k: ${value}}\n`);
      assert.equal(answer.status, 400, value);
      assert.match(answer.object.message ?? "", /cannot unmarshal (number|bool|array) into/);
    }
  });

  it("are returned as YAML on request", async () => {
    await post("metadata: {name: out}\ndata: {k: 'yes', m: '1'}\n");
    const headers = { accept: "application/yaml" };
    const one = await server.get(`${configmaps}/out`, { headers });
    assert.equal(one.headers["content-type"], "application/yaml");
    assert.match(one.text, /^kind: ConfigMap\napiVersion: v1\nmetadata:\n/);
    assert.match(one.text, /\n {2}k: ['"]yes['"]\n {2}m: ['"]1['"]\n/);
    const list = await server.get(`${configmaps}?limit=1`, { headers });
    assert.match(list.text, /^kind: ConfigMapList\n/);
    assert.ok(!/kind: ConfigMap\n/.test(list.text), "items carry no kind");
    const watch = await server.get(`${configmaps}?watch=1`, { headers });
    assert.equal(watch.status, 406);
  });

  const bombs: [title: string, body: string][] = [
    [
      "aliases that multiply",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
        .split("")
        .map(
          (letter, i) => `${letter}: &${letter} [${Array(9).fill(`*${"abcdefgh"[i]}`).join()}]\n`,
        )
        .join("")}`,
    ],
    ["ten thousand levels", `${"[".repeat(10_000)}${"]".repeat(10_000)}`],
    ["a value that holds itself", "a: &a [*a]\n"],
    ["merges that multiply", `a: &a {x: 1}\n${"b: {<<: [*a,*a,*a,*a]}\n".repeat(1)}c: {<<: 5}\n`],
    ["five thousand aliases", `a: &a 1\nb: [${Array(5000).fill("*a").join()}]\n`],
  ];
  for (const [title, body] of bombs) {
    it(`${title} are refused at once`, async () => {
      const answer = await post(body);
      assert.ok([400, 422].includes(answer.status), answer.text.slice(0, 300));
      assert.ok(answer.text.length < 5000, "the refusal is short");
    });
  }

  it("are as long as JSON may be", async () => {
    const head = "metadata: {name: large}\n#";
    const { status, text } = await post(head + "x".repeat(bodyBytesMax - head.length));
    assert.equal(status, 201, text);
  });

  it("that are no YAML, or several documents, are a 400", async () => {
    for (const body of [
      "a: b: c",
      "\t- x",
      "{",
      "--- {}\n--- {}\n",
      "!!js/function 'x'",
      "a: !!binary x",
    ]) {
      const answer = await post(body);
      assert.equal(answer.status, 400, `${body}: ${answer.text}`);
    }
  });
});

describe("JSON bodies", () => {
  const post = (body: string | Uint8Array, headers = {}) =>
    server.request("POST", configmaps, { headers, body });

  it("need no content type, and may have parameters with it", async () => {
    const types = ["application/json", "application/json; charset=utf-8", "Application/JSON", ""];
    for (const [i, type] of types.entries()) {
      const body = `{"metadata":{"name":"json-${i}"}}`;
      const answer = await post(body, { "content-type": type });
      assert.equal(answer.status, 201, `${type}: ${answer.text}`);
    }
  });

  it("of other types are a 415 that names the accepted types", async () => {
    for (const type of [
      "text/plain",
      "application/cbor",
      "multipart/form-data",
      "application/xml",
    ]) {
      const answer = await post("{}", { "content-type": type });
      assert.equal(answer.status, 415, type);
      assert.equal(answer.object.reason, "UnsupportedMediaType");
      assert.equal(
        answer.object.message,
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      );
    }
  });

  const broken: [title: string, body: string | Uint8Array, message: RegExp][] = [
    ["nothing", "", /\(<empty>\)$/],
    [
      "half an object",
      '{"metadata":',
      /^the object provided is unrecognized \(must be of type ConfigMap\): couldn't get version\/kind; json parse error: /,
    ],
    ["words", "hello", /json parse error/],
    ["two values", "{} {}", /json parse error/],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /not valid UTF-8/],
    ["a number", "5", /cannot unmarshal number/],
    [
      "ten thousand levels",
      `{"data":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
      /exceeded max depth/,
    ],
    ["a million open brackets", "[".repeat(1_000_000), /exceeded max depth/],
    ["a byte order mark", '\ufeff{"metadata":{"name":"bom"}}', /json parse error/],
  ];
  for (const [title, body, message] of broken) {
    it(`${title} is a 400 with a short text`, async () => {
      const answer = await post(body);
      assert.equal(answer.status, 400, answer.text.slice(0, 300));
      assert.equal(answer.object.reason, "BadRequest");
      assert.match(answer.object.message ?? "", message);
      assert.ok(answer.text.length < 1000, `${answer.text.length} bytes`);
    });
  }

  it("of a thousand levels are accepted as far as the shape permits", async () => {
    const deep = `{"metadata":{"name":"deep"},"x":${"[".repeat(998)}${"]".repeat(998)}}`;
    const answer = await post(deep);
    assert.equal(answer.status, 201, answer.text);
  });
});
