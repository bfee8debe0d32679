/**
 * Goal: a ClusterCachedResource reports which objects it publishes and how many, and its endpoint
 * slice reports where consumers find them.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, install, RoleWriter } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../../testing/index.ts";
import { apis, until } from "../test-support/cowboys.ts";
import {
  bindToLaw,
  cache,
  cachedResource,
  cachedSlice,
  masters,
  publish,
  readyResource,
  sheriff,
  sheriffDefinition,
  sheriffs,
  statusOf,
  virtualExport,
} from "../test-support/sheriffs.ts";

const conditionsOf = (object: AnyObject) =>
  Object.fromEntries(
    (statusOf(object).conditions ?? []).map(({ type, status, reason }) => [
      type,
      reason === undefined ? status : `${status} ${reason}`,
    ]),
  );

describe("a ClusterCachedResource", () => {
  let test: TestServer;
  const resources = `${cache("a")}/clustercachedresources`;
  const read = (name = "sheriffs") => test.requestOk("GET", `${resources}/${name}`, masters);
  const counts = async () => statusOf(await read()).resourceCounts;
  const says = (what: string, isSo: (object: AnyObject) => boolean, name?: string) =>
    until(test, what, async () => isSo(await read(name)));

  before(async () => {
    test = await TestServer.start();
    await install(test, sheriffDefinition as unknown as AnyObject, "a", "masters");
  });
  after(() => test.close());

  it("gets an identity of its own, and becomes Ready", async () => {
    await test.requestOk("POST", resources, { ...masters, body: cachedResource() });
    const made = await readyResource(test, "a");
    assert.match(statusOf(made).identityHash ?? "", /^[0-9a-f]{64}$/);
    assert.deepEqual(made["spec"], {
      ...cachedResource().spec,
      identity: { secretRef: { namespace: "kcp-system", name: "sheriffs" } },
    });
    assert.deepEqual(conditionsOf(made), {
      IdentityValid: "True",
      ReplicationStarted: "True",
      ResourceValid: "True",
    });
    assert.equal(made.metadata.annotations?.["cache.kcp.io/resource-kind"], "Sheriff");
    assert.equal(made.metadata.annotations?.["cache.kcp.io/resource-scope"], "Cluster");
    assert.deepEqual(statusOf(made).resourceCounts, { cache: 0, local: 0 });
    const secret = "/clusters/a/api/v1/namespaces/kcp-system/secrets/sheriffs";
    assert.equal((await test.get(secret, masters)).status, 200);
  });

  it("counts the objects that it publishes, as they are created, changed and deleted", async () => {
    const path = `/clusters/a${sheriffs}`;
    for (const name of ["wyatt", "pat", "bat"])
      await test.requestOk("POST", path, {
        ...masters,
        body: sheriff(name, name === "bat" ? { town: "dodge" } : {}),
      });
    await until(test, "all are counted", async () => (await counts())?.local === 3);
    await test.patch(
      `${resources}/sheriffs`,
      "merge",
      { spec: { labelSelector: { matchLabels: { town: "dodge" } } } },
      masters,
    );
    await until(test, "the selected one is counted", async () => (await counts())?.local === 1);
    const move = (name: string, town: string | null) =>
      test.patch(`${path}/${name}`, "merge", { metadata: { labels: { town } } }, masters);
    await move("pat", "dodge");
    await until(test, "one that moves in counts", async () => (await counts())?.cache === 2);
    await move("bat", null);
    await test.requestOk("DELETE", `${path}/pat`, masters);
    await until(test, "those that leave do not", async () => (await counts())?.local === 0);
    await test.requestOk("DELETE", `${path}/wyatt`, masters);
    await test.requestOk("DELETE", `${path}/bat`, masters);
  });

  it("whose status a client wrote gets its true status back", async () => {
    const { status: _, ...object } = await read();
    const wrong = { resourceCounts: { cache: 7, local: 7 }, phase: "Deleted", conditions: [] };
    const body = { ...object, status: { ...statusOf(await read()), ...wrong } };
    await test.requestOk("PUT", `${resources}/sheriffs/status`, { ...masters, body });
    await says(
      "it is told again",
      (told) => statusOf(told).resourceCounts?.cache === 0 && statusOf(told).phase === "Ready",
    );
  });

  it("of a resource that is not served waits for the resource", async () => {
    const spec = { resource: "deputies", labelSelector: {} };
    await test.requestOk("POST", resources, { ...masters, body: cachedResource(spec, "deputies") });
    const isMissing = (told: AnyObject) => conditionsOf(told)["ResourceValid"];
    await says("it is missed", (told) => isMissing(told) === "False NoResources", "deputies");
    const definition = structuredClone(sheriffDefinition);
    definition.metadata.name = "deputies.wildwest.dev";
    Object.assign(definition.spec.names, {
      plural: "deputies",
      singular: "deputy",
      kind: "Deputy",
      listKind: "DeputyList",
    });
    await install(test, definition as unknown as AnyObject, "a", "masters");
    await readyResource(test, "a", "deputies");
  });

  it("of namespaced objects, or of objects that another workspace publishes, is rejected", async () => {
    const post = (spec: object) =>
      test.request("POST", resources, { ...masters, body: cachedResource(spec, "second") });
    const namespaced = await post({ group: "", version: "v1", resource: "secrets" });
    assert.equal(namespaced.status, 403);
    assert.match(namespaced.text, /secrets.*must be cluster-scoped/);
    const same = await post({});
    assert.equal(same.status, 403);
    assert.match(
      same.text,
      /wildwest\.dev\.v1alpha1\.sheriffs.*ClusterCachedResource with this GVR already exists/,
    );
    const again = await test.request("POST", resources, { ...masters, body: cachedResource() });
    assert.equal(again.object.reason, "AlreadyExists");
  });

  it("with an invalid selector publishes nothing, and reports the reason", async () => {
    const labelSelector = { matchExpressions: [{ key: "town", operator: "Near" }] };
    await test.patch(`${resources}/deputies`, "merge", { spec: { labelSelector } }, masters);
    await says(
      "it is of no use",
      (told) => conditionsOf(told)["ResourceValid"] === "False InvalidLabelSelector",
      "deputies",
    );
    assert.equal(statusOf(await read("deputies")).phase, "Initializing");
  });

  it("is created, and pointed at another resource, only by users with read access to all its objects", async () => {
    const roles = new RoleWriter(test, "a");
    const groups = { apiGroups: ["cache.kcp.io"], resources: ["*"] };
    await roles.clusterRole("publisher", [
      { verbs: ["*"], ...groups },
      { verbs: ["list", "watch"], apiGroups: ["wildwest.dev"], resources: ["marshals"] },
      { verbs: ["access"], nonResourceURLs: ["/"] },
    ]);
    await roles.clusterBinding("publisher", "publisher", "nobody");
    const nobody = { user: "nobody" } as const;
    const post = (resource: string) =>
      test.request("POST", resources, { ...nobody, body: cachedResource({ resource }, resource) });
    const refused = await post("rangers");
    assert.equal(refused.status, 403);
    assert.match(refused.text, /no permission to list and watch rangers\.wildwest\.dev/);
    assert.equal((await post("marshals")).status, 201);
    const moved = await test.patch(
      `${resources}/marshals`,
      "merge",
      { spec: { resource: "rangers" } },
      nobody,
    );
    assert.equal(moved.status, 403);
    const labelled = { metadata: { labels: { a: "b" } } };
    assert.equal(
      (await test.patch(`${resources}/marshals`, "merge", labelled, nobody)).status,
      200,
    );
  });
});

describe("a ClusterCachedResourceEndpointSlice", () => {
  let test: TestServer;
  const slices = `${cache("a")}/clustercachedresourceendpointslices`;
  const read = (name = "sheriffs") => test.requestOk("GET", `${slices}/${name}`, masters);
  const says = (what: string, isSo: (object: AnyObject) => boolean, name?: string) =>
    until(test, what, async () => isSo(await read(name)));
  const urls = (object: AnyObject) => (statusOf(object).endpoints ?? []).map(({ url }) => url);
  const url = "https://kcp.example.com/services/replication/a/sheriffs";

  before(async () => {
    test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
    await publish(test, "a");
  });
  after(() => test.close());

  it("lists the virtual workspace as soon as a workspace binds the export", async () => {
    await says("its references hold", (told) =>
      Object.values(conditionsOf(told)).every((status) => status === "True"),
    );
    assert.deepEqual(conditionsOf(await read()), {
      APIExportValid: "True",
      PartitionValid: "True",
      ResourceValid: "True",
    });
    assert.deepEqual(urls(await read()), []);
    await bindToLaw(test, "b", "a");
    await says("the endpoint is listed", (told) => urls(told).join() === url);
  });

  it("lists nothing while this shard is in no Partition of the slice's", async () => {
    await test.patch(`${slices}/sheriffs`, "merge", { spec: { partition: "eu" } }, masters);
    const valid = (told: AnyObject) => conditionsOf(told)["PartitionValid"];
    await says("there is no such Partition", (told) => {
      return valid(told) === "False PartitionInvalidReference" && urls(told).length === 0;
    });
    assert.equal((await test.get(`/clusters/b${sheriffs}`, masters)).status, 500);
    const spec = { selector: { matchExpressions: [{ key: "region", operator: "DoesNotExist" }] } };
    const body = { metadata: { name: "eu" }, spec };
    const partitions = "/clusters/a/apis/topology.kcp.io/v1alpha1/partitions";
    await test.requestOk("POST", partitions, { ...masters, body });
    await says("the shard is in it", (told) => urls(told).join() === url);
    assert.equal(statusOf(await read()).shardSelector, "!region");
    assert.equal((await test.get(`/clusters/b${sheriffs}`, masters)).status, 200);
    await test.patch(`${slices}/sheriffs`, "merge", { spec: { partition: null } }, masters);
  });

  it("keeps its references", async () => {
    for (const spec of [{ clusterCachedResource: { name: "x" } }, { export: { name: "x" } }]) {
      const answer = await test.patch(`${slices}/sheriffs`, "merge", { spec }, masters);
      assert.equal(answer.status, 422);
      assert.match(answer.text, /reference must not be changed/);
    }
  });

  it("with a reference that does not exist, or that the export does not have, reports so and lists nothing", async () => {
    const missing = { clusterCachedResource: { name: "x" }, export: { name: "x" } };
    await test.requestOk("POST", slices, { ...masters, body: cachedSlice(missing, "missing") });
    await says(
      "nothing is found",
      (told) => conditionsOf(told)["ResourceValid"] === "False ClusterCachedResourceNotFound",
      "missing",
    );
    assert.match(
      String(statusOf(await read("missing")).conditions?.map(({ message }) => message)),
      /APIExport a\|x not found/,
    );
    await test.requestOk("POST", slices, { ...masters, body: cachedSlice({}, "stranger") });
    await says(
      "the export does not refer to it",
      (told) => conditionsOf(told)["APIExportValid"] === "False APIExportInvalidReference",
      "stranger",
    );
    assert.deepEqual(urls(await read("stranger")), []);
  });

  it("lists nothing when the export has another identity", async () => {
    const exports = `${apis("a")}/apiexports/law`;
    const known = (await test.requestOk("GET", exports, masters))["spec"];
    await test.patch(exports, "merge", { spec: virtualExport("0".repeat(64)).spec }, masters);
    await says("it is listed no more", (told) => urls(told).length === 0);
    assert.equal(
      (await test.get(`/clusters/b${sheriffs}`, masters)).object.message,
      "Internal error occurred: error resolving resource sheriffs.wildwest.dev; please contact APIExport owner to resolve",
    );
    await test.patch(exports, "merge", { spec: known as object }, masters);
    await says("it is listed again", (told) => urls(told).join() === url);
  });

  it("lists nothing when the ClusterCachedResource is deleted", async () => {
    await test.requestOk("DELETE", `${cache("a")}/clustercachedresources/sheriffs`, masters);
    await says(
      "it is missed",
      (told) =>
        conditionsOf(told)["ResourceValid"] === "False ClusterCachedResourceNotFound" &&
        urls(told).length === 0,
    );
    assert.equal((await test.get(`/clusters/b${sheriffs}`, masters)).status, 500);
  });
});
