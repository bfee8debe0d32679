/**
 * FlowSchemas and PriorityLevelConfigurations of root: the objects in effect are stored there, and
 * maintained as Kubernetes maintains them.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AnyObject, flushPendingWork, TestServer, until } from "../testing/index.ts";

const base = "/clusters/root/apis/flowcontrol.apiserver.k8s.io/v1";
const schemas = `${base}/flowschemas`;
const levels = `${base}/prioritylevelconfigurations`;
const autoUpdate = "apf.kubernetes.io/autoupdate-spec";
const url = "https://kcp.example.com";

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
  await server.server.bootstrap(url);
});
afterEach(() => server.close());

const named = async (collection: string): Promise<Map<string, AnyObject>> => {
  const { items = [] } = await server.requestOk("GET", collection);
  return new Map(items.map((item) => [String(item.metadata.name), item]));
};
const names = async (collection: string) => [...(await named(collection)).keys()];
const specOf = ({ spec }: AnyObject) => spec as Record<string, unknown>;
const annotationOf = ({ metadata }: AnyObject) =>
  (metadata["annotations"] as Record<string, string>)[autoUpdate];
/** Waits longer than the interval between two maintenance passes. */
const pause = async () => {
  await flushPendingWork(server);
  server.clock.advance(11_000);
  await flushPendingWork(server);
};
const danglingOf = (schema: AnyObject | undefined) => {
  const { conditions = [] } = (schema?.["status"] ?? {}) as { conditions?: AnyObject[] };
  return conditions.find(({ type }) => type === "Dangling");
};

describe("the FlowSchemas and PriorityLevelConfigurations of root", () => {
  it("are those of Kubernetes, and one for kcp administrators", async () => {
    assert.deepEqual(await names(levels), [
      ...["catch-all", "exempt", "global-default", "leader-election", "node-high"],
      ...["system", "workload-high", "workload-low"],
    ]);
    assert.deepEqual(await names(schemas), [
      ...["catch-all", "exempt", "global-default", "kcp-administrators"],
      ...["kube-controller-manager", "kube-scheduler", "probes", "service-accounts"],
      ...["system-leader-election", "system-node-high", "system-nodes"],
      "workload-leader-election",
    ]);
    for (const object of [...(await named(levels)).values(), ...(await named(schemas)).values()])
      assert.equal(annotationOf(object), "true", object.metadata.name);
    const { limited } = specOf((await named(levels)).get("workload-low") as AnyObject);
    assert.deepEqual(limited, {
      nominalConcurrencyShares: 100,
      lendablePercent: 90,
      limitResponse: { type: "Queue", queuing: { queues: 128, handSize: 6, queueLengthLimit: 50 } },
    });
  });

  it("have the uids that response headers name", async () => {
    const all = [...(await named(schemas)).values(), ...(await named(levels)).values()];
    const byUid = new Set(all.map(({ metadata }) => metadata.uid));
    for (const user of ["masters", "a", "anonymous"] as const) {
      const { headers } = await server.get("/clusters/a/api/v1/configmaps", { user });
      for (const header of ["flowschema", "prioritylevel"])
        assert.ok(byUid.has(String(headers[`x-kubernetes-pf-${header}-uid`])), `${user} ${header}`);
    }
  });

  it("are in root only: other clusters have none", async () => {
    for (const cluster of ["a", "b"])
      for (const collection of [schemas, levels])
        assert.deepEqual(await names(collection.replace("/root/", `/${cluster}/`)), []);
  });

  it("are written once: a second start leaves them unchanged", async () => {
    const before = [await named(schemas), await named(levels)];
    await flushPendingWork(server);
    const seen = [await named(schemas), await named(levels)];
    await server.server.bootstrap(url);
    await pause();
    assert.deepEqual([await named(schemas), await named(levels)], seen);
    assert.deepEqual(
      seen.map(({ size }) => size),
      before.map(({ size }) => size),
    );
  });

  it("are created again after a deletion, and a watch receives the event", async () => {
    await pause();
    const reader = await server.watch(`${schemas}?watch=1&fieldSelector=metadata.name%3Dcatch-all`);
    assert.equal((await reader.next())?.type, "ADDED");
    await server.requestOk("DELETE", `${schemas}/catch-all`);
    await server.requestOk("DELETE", `${levels}/system`);
    await pause();
    await until(server, "it is so", async () => (await names(schemas)).includes("catch-all"));
    await until(server, "it is so", async () => (await names(levels)).includes("system"));
    const told = (await reader.take(2)).map(
      ({ type, object }) => `${type} ${object.metadata.name}`,
    );
    assert.deepEqual(told, ["DELETED catch-all", "ADDED catch-all"]);
    await reader.leave();
  });

  it("are the operator's while the annotation says so, and the server's again when it does not", async () => {
    const target = `${levels}/workload-low`;
    const own = { metadata: { annotations: { [autoUpdate]: "false" } } };
    const spec = { limited: { nominalConcurrencyShares: 7 } };
    await server.patch(target, "merge", { ...own, spec });
    await pause();
    const sharesOf = (level: AnyObject) =>
      (specOf(level)["limited"] as { nominalConcurrencyShares: number }).nominalConcurrencyShares;
    assert.equal(sharesOf(await server.requestOk("GET", target)), 7);
    await server.patch(target, "merge", { metadata: { annotations: { [autoUpdate]: "true" } } });
    await pause();
    await until(
      server,
      "it is so",
      async () => sharesOf(await server.requestOk("GET", target)) === 100,
    );
  });

  it("are the server's if mandatory, except the seats of the exempt level", async () => {
    const target = `${levels}/exempt`;
    const exempt = { nominalConcurrencyShares: 3, lendablePercent: 50 };
    const annotations = { [autoUpdate]: "false" };
    await server.patch(target, "merge", { metadata: { annotations }, spec: { exempt } });
    await pause();
    await until(
      server,
      "it is so",
      async () => annotationOf(await server.requestOk("GET", target)) === "true",
    );
    assert.deepEqual(specOf(await server.requestOk("GET", target))["exempt"], exempt);
  });

  it("are deleted when an older server created them and this server does not know them; others are kept", async () => {
    const spec = { type: "Limited", limited: { limitResponse: { type: "Reject" } } };
    const make = (name: string, value?: string) =>
      server.requestOk("POST", levels, {
        body: {
          metadata: { name, annotations: value === undefined ? {} : { [autoUpdate]: value } },
          spec,
        },
      });
    await make("old", "true");
    await make("mine");
    await make("mine-too", "false");
    await pause();
    await until(server, "it is so", async () => !(await names(levels)).includes("old"));
    const left = await names(levels);
    assert.ok(left.includes("mine") && left.includes("mine-too"));
  });
});

describe("the condition Dangling", () => {
  const rules = [
    {
      subjects: [{ kind: "User", user: { name: "a" } }],
      resourceRules: [
        { verbs: ["get"], apiGroups: ["*"], resources: ["configmaps"], namespaces: ["*"] },
      ],
    },
  ];
  const schema = (name: string, level: string) => ({
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: level }, rules },
  });
  const status = async (name: string) => danglingOf((await named(schemas)).get(name));

  it("shows for each FlowSchema whether its level exists, and follows changes", async () => {
    await until(server, "it is so", async () => (await status("probes"))?.["status"] === "False");
    await server.requestOk("POST", schemas, { body: schema("lost", "batch") });
    await until(server, "it is so", async () => (await status("lost")) !== undefined);
    const { lastTransitionTime, ...lost } = (await status("lost")) as AnyObject;
    assert.deepEqual(lost, {
      type: "Dangling",
      status: "True",
      reason: "NotFound",
      message:
        'This FlowSchema references the PriorityLevelConfiguration object named "batch" but there is no such object',
    });
    assert.match(String(lastTransitionTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const spec = { type: "Limited", limited: { limitResponse: { type: "Reject" } } };
    await server.requestOk("POST", levels, { body: { metadata: { name: "batch" }, spec } });
    await until(server, "it is so", async () => (await status("lost"))?.["status"] === "False");
    const found = (await status("lost")) as AnyObject;
    assert.equal(found.reason, "Found");
    assert.equal(
      found.message,
      'This FlowSchema references the PriorityLevelConfiguration object named "batch" and it exists',
    );
  });

  it("is not set on FlowSchemas of tenants, which have no effect", async () => {
    const collection = schemas.replace("/root/", "/a/");
    await server.requestOk("POST", collection, { body: schema("mine", "batch") });
    await server.requestOk("POST", schemas, { body: schema("lost", "batch") });
    await until(server, "it is so", async () => (await status("lost")) !== undefined);
    assert.equal(danglingOf((await named(collection)).get("mine")), undefined);
  });
});
