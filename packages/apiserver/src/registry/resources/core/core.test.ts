/** The rules of the core kinds, through the server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, summarizeEvent, TestServer } from "../../../testing/index.ts";

const base = "/clusters/a/api/v1";
const inDefault = `${base}/namespaces/default`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

async function refused(method: string, path: string, body: object, message: string | RegExp) {
  const answer = await server.request(method, path, { body });
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.object.reason, "Invalid");
  if (typeof message === "string") assert.equal(answer.object.message, message);
  else assert.match(answer.object.message ?? "", message);
}

describe("configmaps", () => {
  const path = `${inDefault}/configmaps`;
  const keyRule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";

  it("keys are file names", async () => {
    for (const key of ["a b", "", "a/b", "é", "..", ".", "..a", "x".repeat(254)]) {
      const body = { metadata: { name: "keys" }, data: { [key]: "v" } };
      const answer = await server.request("POST", path, { body });
      assert.equal(answer.status, 422, `${key}: ${answer.text}`);
      assert.ok(answer.object.message?.includes(`data[${key}]: `), answer.text);
    }
    const { object } = await server.request("POST", path, {
      body: { metadata: { name: "keys" }, data: { "a b": "v" } },
    });
    assert.ok(object.message?.includes(keyRule), object.message);
    const good = { "x.y_z-1": "v", [`${"x".repeat(253)}`]: "v", ".hidden": "v", "...": "v" };
    const { "...": _, ...legal } = good;
    const answer = await server.request("POST", path, {
      body: { metadata: { name: "keys" }, data: legal },
    });
    assert.equal(answer.status, 201, answer.text);
  });

  it("twenty thousand invalid keys make a short error message", async () => {
    const keys = Array.from({ length: 20_000 }, (_, i) => [`bad key ${i}`, ""]);
    const bad = Object.fromEntries(keys) as Record<string, string>;
    for (const [at, body] of [
      [path, { metadata: { name: "bad" }, data: bad }],
      [path, { metadata: { name: "bad" }, binaryData: bad }],
      [`${inDefault}/secrets`, { metadata: { name: "bad" }, data: bad }],
      [path, { metadata: { name: "bad", labels: bad } }],
      [path, { metadata: { name: "bad", annotations: bad } }],
      [path, { metadata: { name: "bad", finalizers: Object.keys(bad) } }],
    ] as const) {
      const answer = await server.request("POST", at, { body });
      assert.equal(answer.status, 422);
      assert.ok(answer.bytes.length < 200_000, `${answer.bytes.length} bytes`);
    }
  });

  it("a key is either in data or in binaryData", async () => {
    const body = { metadata: { name: "both" }, data: { k: "v" }, binaryData: { k: "YQ==" } };
    await refused("POST", path, body, /duplicate of key present in (data|binaryData)/);
  });

  it("binaryData is base64 and its decoded size counts", async () => {
    const bad = await server.request("POST", path, {
      body: { metadata: { name: "binary" }, binaryData: { k: "!" } },
    });
    assert.equal(bad.status, 400);
    assert.match(bad.object.message ?? "", /illegal base64 data at input byte 0$/);
    const full = Buffer.alloc(1 << 20).toString("base64");
    const fits = { metadata: { name: "binary" }, binaryData: { k: full } };
    assert.equal((await server.request("POST", path, { body: fits })).status, 201);
    await refused(
      "POST",
      path,
      { metadata: { name: "binary2" }, binaryData: { k: full }, data: { l: "x" } },
      /: Too long: may not be more than 1048576 bytes$/,
    );
  });

  it("an immutable ConfigMap keeps its data, and stays immutable", async () => {
    const name = "fixed";
    const body = { metadata: { name }, data: { k: "v" }, immutable: true };
    await server.requestOk("POST", path, { body });
    const rule = "field is immutable when `immutable` is set";
    const one = `${path}/${name}`;
    await refused(
      "PUT",
      one,
      { ...body, data: { k: "w" } },
      `ConfigMap "fixed" is invalid: data: Forbidden: ${rule}`,
    );
    await refused(
      "PUT",
      one,
      { ...body, binaryData: { b: "YQ==" } },
      `ConfigMap "fixed" is invalid: binaryData: Forbidden: ${rule}`,
    );
    await refused(
      "PUT",
      one,
      { ...body, immutable: false },
      new RegExp(`immutable: Forbidden: ${rule}`),
    );
    const labelled = { ...body, metadata: { name, labels: { l: "1" } } };
    assert.equal((await server.request("PUT", one, { body: labelled })).status, 200);
  });
});

describe("secrets", () => {
  const path = `${inDefault}/secrets`;
  const base64 = (text: string) => Buffer.from(text).toString("base64");

  it("the type is Opaque by default and does not change", async () => {
    const created = await server.requestOk("POST", path, { body: { metadata: { name: "typed" } } });
    assert.equal(created["type"], "Opaque");
    await refused(
      "PUT",
      `${path}/typed`,
      { metadata: { name: "typed" }, type: "example.com/other" },
      'Secret "typed" is invalid: type: Invalid value: "example.com/other": field is immutable',
    );
    const same = { metadata: { name: "typed" }, data: { k: "YQ==" } };
    assert.equal((await server.request("PUT", `${path}/typed`, { body: same })).status, 200);
  });

  it("stringData is merged into data, takes precedence, and is never returned", async () => {
    const body = {
      metadata: { name: "text" },
      data: { a: base64("old"), b: base64("kept") },
      stringData: { a: "new é", c: "" },
    };
    const created = await server.requestOk("POST", path, { body });
    assert.deepEqual(created.data, { a: base64("new é"), b: base64("kept"), c: "" });
    assert.ok(!Object.hasOwn(created, "stringData"));
    const patched = await server.patch(`${path}/text`, "merge", { stringData: { d: "4" } });
    assert.equal(patched.object.data?.["d"], base64("4"));
    assert.ok(!(await server.get(`${path}/text`)).text.includes("stringData"));
  });

  const types: [
    type: string,
    data: Record<string, string> | undefined,
    message: string | undefined,
  ][] = [
    ["kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }, undefined],
    ["kubernetes.io/tls", { "tls.crt": "" }, "data[tls.key]: Required value"],
    [
      "kubernetes.io/tls",
      undefined,
      "[data[tls.crt]: Required value, data[tls.key]: Required value]",
    ],
    ["kubernetes.io/basic-auth", { username: base64("u") }, undefined],
    ["kubernetes.io/basic-auth", { password: base64("p") }, undefined],
    [
      "kubernetes.io/basic-auth",
      {},
      "[data[username]: Required value, data[password]: Required value]",
    ],
    ["kubernetes.io/ssh-auth", { "ssh-privatekey": base64("k") }, undefined],
    ["kubernetes.io/ssh-auth", {}, "data[ssh-privatekey]: Required value"],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": base64("{}") }, undefined],
    ["kubernetes.io/dockerconfigjson", {}, "data[.dockerconfigjson]: Required value"],
    ["kubernetes.io/dockercfg", { ".dockercfg": base64('{"a":{}}') }, undefined],
    ["kubernetes.io/dockercfg", {}, "data[.dockercfg]: Required value"],
    ["bootstrap.kubernetes.io/token", {}, undefined],
    ["example.com/any", { k: base64("v") }, undefined],
  ];
  for (const [i, [type, data, message]] of types.entries()) {
    const keys = Object.keys(data ?? {}).join(" ");
    it(`${type} with [${keys}] is ${message === undefined ? "fine" : "refused"}`, async () => {
      const body = { metadata: { name: `type-${i}` }, type, data };
      if (message === undefined) await server.requestOk("POST", path, { body });
      else await refused("POST", path, body, `Secret "type-${i}" is invalid: ${message}`);
    });
  }

  it("docker configuration is JSON, and an error message does not show it", async () => {
    const data = { ".dockerconfigjson": base64("{hunter2") };
    const body = { metadata: { name: "docker" }, type: "kubernetes.io/dockerconfigjson", data };
    await refused("POST", path, body, /<secret contents redacted>/);
    const { text } = await server.request("POST", path, { body });
    assert.ok(!text.includes("hunter2"), text);
  });

  it("a service account token names its ServiceAccount", async () => {
    const type = "kubernetes.io/service-account-token";
    await refused(
      "POST",
      path,
      { metadata: { name: "sa" }, type },
      'Secret "sa" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value',
    );
    const annotations = { "kubernetes.io/service-account.name": "default" };
    await server.requestOk("POST", path, { body: { metadata: { name: "sa", annotations }, type } });
  });

  it("an immutable Secret keeps its data", async () => {
    const body = { metadata: { name: "fixed" }, data: { k: "YQ==" }, immutable: true };
    await server.requestOk("POST", path, { body });
    await refused(
      "PUT",
      `${path}/fixed`,
      { ...body, data: { k: "Yg==" } },
      /data: Forbidden: field is immutable when `immutable` is set/,
    );
    await refused("PUT", `${path}/fixed`, { ...body, stringData: { z: "1" } }, /data: Forbidden/);
  });

  it("all values of a Secret together have at most 1 MiB", async () => {
    const full = base64("x".repeat(1 << 20));
    await server.requestOk("POST", path, {
      body: { metadata: { name: "full" }, data: { k: full } },
    });
    await refused(
      "POST",
      path,
      { metadata: { name: "over" }, data: { k: full, l: base64("x") } },
      'Secret "over" is invalid: data: Too long: may not be more than 1048576 bytes',
    );
  });
});

describe("namespaces", () => {
  const path = `${base}/namespaces`;
  const create = (name: string, more: object = {}): Promise<AnyObject> =>
    server.requestOk("POST", path, { body: { metadata: { name }, ...more } });

  it("begin Active, with the content finalizer and the label of their name", async () => {
    const created = await create("fresh", {
      metadata: { name: "fresh", namespace: "x", labels: { "kubernetes.io/metadata.name": "lie" } },
      status: { phase: "Terminating" },
    });
    assert.deepEqual(created["spec"], { finalizers: ["kubernetes"] });
    assert.deepEqual(created["status"], { phase: "Active" });
    assert.deepEqual(created.metadata.labels, { "kubernetes.io/metadata.name": "fresh" });
    assert.ok(!Object.hasOwn(created.metadata, "namespace"));
    const generated = await server.requestOk("POST", path, {
      body: { metadata: { generateName: "g-" } },
    });
    assert.equal(
      generated.metadata.labels?.["kubernetes.io/metadata.name"],
      generated.metadata.name,
    );
  });

  it("names are DNS labels", async () => {
    await refused(
      "POST",
      path,
      { metadata: { name: "a.b" } },
      /must not contain dots|a lowercase RFC 1123 label/,
    );
    await refused("POST", path, { metadata: { name: "x".repeat(64) } }, /must be no more than 63/);
    await create("x".repeat(63));
  });

  it("the main endpoint changes metadata only, status and finalize change only their own fields", async () => {
    const created = await create("parts");
    const wanted = {
      ...created,
      metadata: { ...created.metadata, resourceVersion: undefined, labels: { team: "t" } },
      spec: { finalizers: [] },
      status: { phase: "Terminating" },
    };
    const main = await server.requestOk("PUT", `${path}/parts`, { body: wanted });
    assert.deepEqual(main["spec"], created["spec"]);
    assert.deepEqual(main["status"], created["status"]);
    assert.equal(main.metadata.labels?.["team"], "t");
    const conditions = [
      {
        type: "NamespaceContentRemaining",
        status: "True",
        lastTransitionTime: "2026-11-15T00:00:00Z",
      },
    ];
    const status = await server.requestOk("PUT", `${path}/parts/status`, {
      body: { ...wanted, status: { phase: "Active", conditions } },
    });
    assert.deepEqual(status["spec"], created["spec"]);
    assert.deepEqual(status["status"], { phase: "Active", conditions });
    const read = await server.requestOk("GET", `${path}/parts/status`);
    assert.deepEqual(read, status);
    const patched = await server.patch(`${path}/parts/status`, "merge", {
      metadata: { annotations: { note: "1" } },
      status: { phase: "Active" },
    });
    assert.equal(patched.object.metadata.annotations?.["note"], "1");
    const finalized = await server.requestOk("PUT", `${path}/parts/finalize`, {
      body: { ...wanted, spec: { finalizers: ["kubernetes", "example.com/x"] } },
    });
    assert.deepEqual(finalized["spec"], { finalizers: ["kubernetes", "example.com/x"] });
    assert.deepEqual(finalized["status"], { phase: "Active", conditions });
  });

  it("subresources have their own verbs", async () => {
    await create("verbs");
    for (const [method, part, code] of [
      ["GET", "finalize", 405],
      ["PATCH", "finalize", 405],
      ["DELETE", "status", 405],
      ["POST", "status", 405],
      ["GET", "scale", 404],
    ] as const) {
      const answer = await server.request(method, `${path}/verbs/${part}`, { body: {} });
      assert.equal(answer.status, code, `${method} ${part}`);
    }
  });

  it("are deleted when both lists of finalizers are empty: by finalize", async () => {
    const created = await create("mortal");
    const watch = await server.watch(
      `${path}?watch=1&resourceVersion=${created.metadata.resourceVersion}`,
    );
    const marked = await server.request("DELETE", `${path}/mortal`);
    assert.equal(marked.status, 200);
    assert.equal(marked.object.kind, "Namespace");
    assert.equal((marked.object["status"] as { phase: string }).phase, "Terminating");
    const again = await server.request("DELETE", `${path}/mortal`);
    assert.deepEqual(again.object, marked.object);
    const done = await server.request("PUT", `${path}/mortal/finalize`, {
      body: { ...marked.object, spec: {} },
    });
    assert.equal(done.status, 200, done.text);
    assert.equal((await server.get(`${path}/mortal`)).status, 404);
    const events = await watch.take(2);
    assert.deepEqual(events.map(summarizeEvent), ["MODIFIED mortal", "DELETED mortal"]);
    await watch.leave();
  });

  it("are deleted when both lists of finalizers are empty: by a later delete of an emptied namespace", async () => {
    const created = await create("emptied");
    await server.requestOk("PUT", `${path}/emptied/finalize`, { body: { ...created, spec: {} } });
    const removed = await server.request("DELETE", `${path}/emptied`);
    assert.equal(removed.status, 200);
    assert.equal(removed.object.kind, "Namespace");
    assert.equal((await server.get(`${path}/emptied`)).status, 404);
  });

  it("default, kube-system and kube-public cannot be deleted", async () => {
    for (const name of ["default", "kube-system", "kube-public"]) {
      await server.request("POST", path, { body: { metadata: { name } } });
      const { status, object } = await server.request("DELETE", `${path}/${name}`);
      assert.equal(status, 403);
      assert.equal(
        object.message,
        `namespaces "${name}" is forbidden: this namespace may not be deleted`,
      );
    }
  });

  it("a failed precondition is reported in Kubernetes' words for namespaces", async () => {
    const { metadata } = await create("guarded");
    const { status, object } = await server.request("DELETE", `${path}/guarded`, {
      body: { preconditions: { uid: "other" } },
    });
    assert.equal(status, 409);
    assert.equal(
      object.message,
      `Operation cannot be fulfilled on namespaces "guarded": Precondition failed: UID in precondition: other, UID in object meta: ${metadata.uid}`,
    );
  });

  it("can be selected by phase", async () => {
    const { names } = await server.get(`${path}?fieldSelector=status.phase%3DTerminating`);
    assert.deepEqual(names, []);
    await create("dying");
    await server.requestOk("DELETE", `${path}/dying`);
    const dying = await server.get(`${path}?fieldSelector=status.phase%3DTerminating`);
    assert.deepEqual(dying.names, ["dying"]);
    const bad = await server.get(`${path}?fieldSelector=spec.x%3D1`);
    assert.equal(bad.status, 400);
    assert.equal(bad.object.message, "field label not supported: spec.x");
  });
});
