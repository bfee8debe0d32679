import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { definitionOfKind, object, string } from "@kcp-ts/machinery/schema";
import { apiResourceImports, negotiatedApiResources, syncTargets } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { customResourceDefinitions } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilImport,
  untilNegotiated,
} from "./fixture.ts";

/** Fields of Pods that the older generation does not have. */
const newField = "resourceClaims";

async function podFields(client: Client): Promise<readonly string[]> {
  const definition = await client
    .resource(customResourceDefinitions)
    .get({ name: "deployments.apps" });
  const [version] = definition.spec.versions as unknown as readonly JsonObject[];
  const schema = version?.["schema"] as JsonObject | undefined;
  let at = schema?.["openAPIV3Schema"] as JsonObject;
  for (const name of ["spec", "template", "spec"])
    at = (at["properties"] as JsonObject)[name] as JsonObject;
  return Object.keys(at["properties"] as JsonObject);
}

const east = "deployments.us-east1.v1.apps";
const west = "deployments.us-west1.v1.apps";
const yes = { compatible: "True", available: "True" };

describe("negotiation among clusters of two generations", () => {
  it("leaves an older cluster out of what is published, until its import says otherwise, and widens when it leaves", async (t) => {
    const { client } = await startControlPlaneWithClusters(t, {
      resourcesToSync: ["deployments.apps"],
    });
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    const older = await startPhysicalCluster(t, { name: "us-west1", generation: "1.28" });
    await register(client, "us-east1", { kubeconfig: newer.kubeconfig });
    await untilImport(client, east, yes);
    const workload = await podFields(client);
    await register(client, "us-west1", { kubeconfig: older.kubeconfig });
    const left = await untilImport(client, west, { compatible: "False", available: "True" });
    const message = left.status?.conditions?.find(({ type }) => type === "Compatible")?.message;
    assert.match(
      message ?? "",
      /us-west1 does not accept .*\.spec\.template\.spec.*UpdatePublished/,
    );
    assert.deepEqual(await podFields(client), workload);

    const patch = { spec: { schemaUpdateStrategy: "UpdatePublished" } };
    await client.resource(apiResourceImports).patch({ name: west }, { type: "merge", patch });
    await untilImport(client, west, yes);
    await untilImport(client, east, yes);
    const narrowed = await podFields(client);
    assert.ok(narrowed.length < workload.length, `${newField} and others are gone`);
    assert.ok(narrowed.every((name) => workload.includes(name)));
    await untilNegotiated(client, "deployments.v1.apps", (_, is) => is("Narrowed") === "True");

    await client.resource(syncTargets).delete({ name: "us-west1" });
    await eventually(async () => assert.deepEqual(await podFields(client), workload));
    assert.equal(await client.resource(apiResourceImports).find({ name: west }), undefined);
  });

  it("narrows a schema that is not published yet, whichever cluster comes first", async (t) => {
    const options = { resourcesToSync: ["deployments.apps"], autoPublishApis: false };
    const plane = await startControlPlaneWithClusters(t, options);
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    const older = await startPhysicalCluster(t, { name: "us-west1", generation: "1.28" });
    const schemas: unknown[] = [];
    for (const names of [
      ["us-east1", "us-west1"],
      ["us-west1", "us-east1"],
    ]) {
      const client = plane.clientFor(`first-${names[0]}`);
      for (const name of names) {
        const { kubeconfig } = name === "us-east1" ? newer : older;
        await register(client, name, { kubeconfig });
        await untilImport(client, `deployments.${name}.v1.apps`, {
          compatible: "True",
          available: "False",
        });
      }
      const narrowed = await untilNegotiated(
        client,
        "deployments.v1.apps",
        (_, is) => is("Narrowed") === "True",
      );
      schemas.push(narrowed.spec.openAPIV3Schema);
      assert.equal(
        await client.resource(customResourceDefinitions).find({ name: "deployments.apps" }),
        undefined,
      );
    }
    assert.deepEqual(schemas[0], schemas[1]);
    const client = plane.clientFor("first-us-east1");
    const patch = { spec: { publish: true } };
    await client
      .resource(negotiatedApiResources)
      .patch({ name: "deployments.v1.apps" }, { type: "merge", patch });
    await untilImport(client, east, yes);
    await untilImport(client, west, yes);
  });

  it("does not touch a definition that was made by hand", async (t) => {
    const { client } = await startControlPlaneWithClusters(t, {
      resourcesToSync: ["deployments.apps"],
    });
    const schema = object({ spec: object({ mine: string() }) });
    const byHand = definitionOfKind({
      ...{ group: "apps", version: "v1", kind: "Deployment", resource: "deployments" },
      isNamespaced: true,
      hasStatus: true,
      schema,
    });
    const definitions = client.resource(customResourceDefinitions);
    const made = await definitions.create(
      byHand as unknown as Parameters<typeof definitions.create>[0],
    );
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    await register(client, "us-east1", { kubeconfig: newer.kubeconfig });
    await untilImport(client, east, { compatible: "False", available: "True" });
    await untilNegotiated(
      client,
      "deployments.v1.apps",
      ({ spec }, is) =>
        is("Enforced") === "True" && is("Published") === "True" && spec.publish === true,
    );
    const after = await definitions.get({ name: "deployments.apps" });
    assert.equal(after.metadata.generation, made.metadata.generation);
    assert.equal(after.metadata.ownerReferences, undefined);
  });
});

describe("what was published", () => {
  it("goes with the last cluster, and stays as long as objects are stored in it", async (t) => {
    const { client } = await startControlPlaneWithClusters(t, {
      resourcesToSync: ["deployments.apps"],
    });
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    await register(client, "us-east1", { kubeconfig: newer.kubeconfig });
    await untilImport(client, east, yes);
    await client.resource(deployments).create(deployment("web"));
    await client.resource(syncTargets).delete({ name: "us-east1" });
    const name = "deployments.v1.apps";
    const kept = await untilNegotiated(
      client,
      name,
      ({ status }) =>
        status?.conditions?.some(({ message }) => message.includes("objects are stored")) === true,
    );
    assert.equal(kept.status?.conditions?.find(({ type }) => type === "Published")?.status, "True");
    assert.equal((await client.resource(deployments).list()).items.length, 1);
    await client.resource(deployments).delete({ name: "web", namespace: "default" });
    // Any event looks again; without one, a minute passes.
    const patch = { metadata: { labels: { look: "again" } } };
    await client.resource(negotiatedApiResources).patch({ name }, { type: "merge", patch });
    await eventually(async () => {
      assert.equal(
        await client.resource(customResourceDefinitions).find({ name: "deployments.apps" }),
        undefined,
      );
      assert.equal(await client.resource(negotiatedApiResources).find({ name }), undefined);
    });
  });

  it("is what one of several versions says, and the others say which", async (t) => {
    const { client } = await startControlPlaneWithClusters(t, {
      resourcesToSync: ["horizontalpodautoscalers.autoscaling"],
    });
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    await register(client, "us-east1", { kubeconfig: newer.kubeconfig });
    await untilImport(client, "horizontalpodautoscalers.us-east1.v2.autoscaling", yes);
    const other = await untilImport(client, "horizontalpodautoscalers.us-east1.v1.autoscaling", {
      compatible: "True",
      available: "False",
    });
    const said = other.status?.conditions?.find(({ type }) => type === "Available");
    assert.equal(said?.reason, "OtherVersionPublished");
    assert.match(said?.message ?? "", /^v2 is published/);
  });
});

describe("the imports of a cluster", () => {
  it("are created again after a deletion, and are deleted when the cluster no longer serves an API", async (t) => {
    const { client } = await startControlPlaneWithClusters(t, {
      resourcesToSync: ["widgets.example.io"],
    });
    const newer = await startPhysicalCluster(t, { name: "us-east1" });
    const definitions = newer.client.resource(customResourceDefinitions);
    const schema = {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } },
    };
    const definition = {
      metadata: { name: "widgets.example.io" },
      spec: {
        group: "example.io",
        scope: "Namespaced",
        names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    await register(client, "us-east1", { kubeconfig: newer.kubeconfig });
    await untilCondition(client, "us-east1", { status: "True" });
    // It appears after the cluster was registered.
    await definitions.create(definition as unknown as Parameters<typeof definitions.create>[0]);
    const name = "widgets.us-east1.v1.example.io";
    const before = await untilImport(client, name, yes);
    await client.resource(apiResourceImports).delete({ name });
    const again = await untilImport(client, name, yes);
    assert.notEqual(again.metadata.uid, before.metadata.uid);
    assert.equal(again.metadata.ownerReferences?.[0]?.kind, "SyncTarget");
    await definitions.delete({ name: "widgets.example.io" });
    await eventually(async () =>
      assert.equal(await client.resource(apiResourceImports).find({ name }), undefined),
    );
  });
});
