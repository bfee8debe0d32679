import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AnyObject, summarizeEvent, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;

describe("delete", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(() => server.close());

  const create = (name: string, metadata: object = {}): Promise<AnyObject> =>
    server.requestOk("POST", configmaps, { body: { metadata: { name, ...metadata } } });
  const remove = (name: string, body?: object, query = "") =>
    server.request("DELETE", `${configmaps}/${name}${query}`, { body });

  it("deletes at once and responds with a Status that contains the uid", async () => {
    const { metadata } = await create("x");
    const { status, object } = await remove("x");
    assert.equal(status, 200);
    assert.deepEqual(object, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "x", kind: "configmaps", uid: metadata.uid },
    });
    const gone = await remove("x");
    assert.equal(gone.status, 404);
    assert.equal(gone.object.message, 'configmaps "x" not found');
  });

  it("sets the deletionTimestamp of an object with finalizers, and changes nothing the second time", async () => {
    const created = await create("x", { finalizers: ["example.com/hold"] });
    const first = await remove("x");
    assert.equal(first.status, 200);
    assert.equal(first.object.kind, "ConfigMap");
    assert.equal(first.object.metadata["deletionTimestamp"], "2026-11-15T00:00:00Z");
    assert.equal(first.object.metadata["deletionGracePeriodSeconds"], 0);
    assert.deepEqual(first.object.metadata["finalizers"], ["example.com/hold"]);
    assert.ok(
      Number(first.object.metadata.resourceVersion) > Number(created.metadata.resourceVersion),
    );
    server.clock.advance(5000);
    const second = await remove("x", { propagationPolicy: "Orphan" });
    assert.equal(second.status, 200);
    assert.deepEqual(second.object, first.object);
  });

  const policies: [options: object | string, has: string[], expected: string[] | "gone"][] = [
    [{}, [], "gone"],
    [{ propagationPolicy: "Background" }, [], "gone"],
    [{ propagationPolicy: "Orphan" }, [], ["orphan"]],
    [{ propagationPolicy: "Foreground" }, [], ["foregroundDeletion"]],
    [{ orphanDependents: true }, [], ["orphan"]],
    [{ orphanDependents: false }, [], "gone"],
    ["?propagationPolicy=Foreground", [], ["foregroundDeletion"]],
    ["?orphanDependents=true", [], ["orphan"]],
    [{}, ["orphan"], ["orphan"]],
    [{}, ["foregroundDeletion"], ["foregroundDeletion"]],
    [{ propagationPolicy: "Background" }, ["orphan"], "gone"],
    [{ propagationPolicy: "Foreground" }, ["orphan"], ["foregroundDeletion"]],
    [{ propagationPolicy: "Orphan" }, ["example.com/x"], ["example.com/x", "orphan"]],
  ];
  for (const [options, has, expected] of policies) {
    it(`${JSON.stringify(options)} with finalizers [${has}] leaves ${expected}`, async () => {
      await create("x", { finalizers: has });
      const { status, object } =
        typeof options === "string"
          ? await remove("x", undefined, options)
          : await remove("x", options);
      assert.equal(status, 200, JSON.stringify(object));
      const after = await server.get(`${configmaps}/x`);
      if (expected === "gone") {
        assert.equal(after.status, 404);
        assert.equal(object["status"], "Success");
      } else {
        assert.deepEqual(after.object.metadata["finalizers"], expected);
        assert.deepEqual(object, after.object);
      }
    });
  }

  it("responds 202 to a deletion with explicit orphanDependents=false that finalizers delay", async () => {
    await create("x", { finalizers: ["example.com/hold"] });
    assert.equal((await remove("x", { orphanDependents: false })).status, 202);
  });

  it("rejects both finalizers of garbage collection together", async () => {
    await create("x", { finalizers: ["orphan"] });
    await server.patch(`${configmaps}/x`, "merge", {
      metadata: { finalizers: ["orphan", "foregroundDeletion"] },
    });
    const { status, object } = await remove("x");
    assert.equal(status, 422);
    assert.match(
      object.message ?? "",
      /finalizer orphan and foregroundDeletion cannot be both set$/,
    );
  });

  it("responds with a conflict when preconditions do not hold", async () => {
    const { metadata } = await create("x");
    const uid = await remove("x", { preconditions: { uid: "other" } });
    assert.equal(uid.status, 409);
    assert.equal(
      uid.object.message,
      `Operation cannot be fulfilled on ConfigMap "x": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
    const version = await remove("x", { preconditions: { resourceVersion: "999" } });
    assert.equal(version.status, 409);
    assert.equal(
      version.object.message,
      `Operation cannot be fulfilled on ConfigMap "x": the ResourceVersion in the precondition (999) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
    const { uid: right, resourceVersion } = metadata;
    const held = await remove("x", { preconditions: { uid: right, resourceVersion } });
    assert.equal(held.status, 200);
  });

  const refusals: [body: object, code: number, message: RegExp][] = [
    [
      { propagationPolicy: "Orphan", orphanDependents: true },
      422,
      /orphanDependents and deletionPropagation cannot be both set$/,
    ],
    [
      { propagationPolicy: "Never" },
      422,
      /^DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Never": supported values: "Foreground", "Background", "Orphan", "nil"$/,
    ],
    [{ dryRun: ["Some"] }, 422, /dryRun: Unsupported value: \["Some"\]: supported values: "All"$/],
    [{ kind: "ConfigMap", apiVersion: "v1" }, 400, /DeleteOptions/],
    [{ propagationPolicy: 5 }, 400, /cannot unmarshal number/],
    [{ preconditions: "x" }, 400, /cannot unmarshal string/],
  ];
  for (const [body, code, message] of refusals) {
    it(`rejects ${JSON.stringify(body)}`, async () => {
      await create("x");
      const { status, object } = await remove("x", body);
      assert.equal(status, code, JSON.stringify(object));
      assert.match(object.message ?? "", message);
      assert.equal((await server.get(`${configmaps}/x`)).status, 200);
    });
  }

  it("accepts options of any version, without a kind, and with a grace period", async () => {
    for (const body of [
      { kind: "DeleteOptions", apiVersion: "v1" },
      { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" },
      { kind: "", apiVersion: "" },
      { gracePeriodSeconds: 0 },
      { gracePeriodSeconds: -1 },
    ]) {
      await create("x");
      const answer = await remove("x", body);
      assert.equal(answer.status, 200, answer.text);
      assert.equal((await server.get(`${configmaps}/x`)).status, 404);
    }
  });

  it("sends a DELETED event with the last state and the resourceVersion of the deletion", async () => {
    const created = await create("x");
    const watch = await server.watch(
      `${configmaps}?watch=1&resourceVersion=${created.metadata.resourceVersion}`,
    );
    await remove("x");
    const event = await watch.next();
    assert.equal(summarizeEvent(event), "DELETED x");
    const version = event?.object.metadata.resourceVersion;
    assert.equal(Number(version), Number(created.metadata.resourceVersion) + 1);
    const { metadata } = created;
    assert.deepEqual(event?.object, {
      ...created,
      metadata: { ...metadata, resourceVersion: version },
    });
    await watch.leave();
  });
});

describe("deletecollection", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
    for (const namespace of ["one", "two"]) {
      await server.requestOk("POST", `${base}/namespaces`, {
        body: { metadata: { name: namespace } },
      });
      for (let i = 0; i < 4; i++) {
        await server.requestOk("POST", `${base}/namespaces/${namespace}/configmaps`, {
          body: { metadata: { name: `x${i}`, labels: { parity: i % 2 === 0 ? "even" : "odd" } } },
        });
      }
    }
  });
  afterEach(() => server.close());

  const remove = (query: string, body?: object) =>
    server.request("DELETE", `${base}/namespaces/one/configmaps${query}`, { body });
  const left = async (namespace: string) =>
    (await server.get(`${base}/namespaces/${namespace}/configmaps`)).names;

  it("deletes the objects that the selectors match in the namespace, and lists them", async () => {
    const { status, object, names } = await remove("?labelSelector=parity%3Deven");
    assert.equal(status, 200);
    assert.equal(object.kind, "ConfigMapList");
    assert.equal(object.apiVersion, "v1");
    assert.deepEqual([...names].sort(), ["x0", "x2"]);
    assert.deepEqual(Object.keys(object.items?.[0] ?? {}), ["metadata"]);
    assert.deepEqual(await left("one"), ["x1", "x3"]);
    await remove("?fieldSelector=metadata.name%3Dx1");
    assert.deepEqual(await left("one"), ["x3"]);
    await remove("");
    assert.deepEqual(await left("one"), []);
    assert.deepEqual(await left("two"), ["x0", "x1", "x2", "x3"]);
  });

  it("deletes one page when a limit is given", async () => {
    await remove("?limit=3");
    assert.deepEqual(await left("one"), ["x3"]);
  });

  it("sets the deletionTimestamp of objects with finalizers", async () => {
    await server.patch(`${base}/namespaces/one/configmaps/x1`, "merge", {
      metadata: { finalizers: ["example.com/x"] },
    });
    await remove("");
    assert.deepEqual(await left("one"), ["x1"]);
  });

  it("rejects invalid selectors instead of deleting all objects", async () => {
    for (const query of [
      "?labelSelector=a%20b%20c",
      "?fieldSelector=spec.x%3D1",
      "?limit=x",
      "?continue=x",
    ]) {
      assert.equal((await remove(query)).status, 400, query);
    }
    assert.equal((await remove("", { propagationPolicy: "x" })).status, 422);
    assert.equal((await left("one")).length, 4);
  });

  it("deletes hundreds of objects in one request", async () => {
    for (let i = 0; i < 700; i++) {
      await server.requestOk("POST", `${base}/namespaces/one/configmaps`, {
        body: { metadata: { name: `many-${i}` } },
      });
    }
    const { names } = await remove("");
    assert.equal(names.length, 704);
    assert.deepEqual(await left("one"), []);
  });

  it("is not supported for namespaces", async () => {
    const answer = await server.request("DELETE", `${base}/namespaces`);
    assert.equal(answer.status, 405);
    assert.equal(
      answer.object.message,
      "the server does not allow this method on the requested resource",
    );
  });
});
