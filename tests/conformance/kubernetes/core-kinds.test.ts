/**
 * Conformance tests of Kubernetes for namespaces, quotas, ConfigMaps, Secrets, Leases and Events,
 * under the names that they have there.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { Api, mergePatch, strategicMergePatch } from "./api.ts";
import { exerciseApiOperations } from "./api-operations.ts";

let plane: TestControlPlane;
let api: Api;
let clusters = 0;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());
beforeEach(() => {
  api = new Api(plane.client.transport, `/clusters/kinds${clusters++}`);
});

const home = "/api/v1/namespaces/default";
const configMaps = `${home}/configmaps`;
const secrets = `${home}/secrets`;
const quotas = `${home}/resourcequotas`;

describe("conformance: namespaces", () => {
  const path = "/api/v1/namespaces";
  const make = (name: string) => api.expectSuccess("POST", path, { metadata: { name } });

  it("Namespaces [Serial] should patch a Namespace", async () => {
    await make("patched");
    const patch = { metadata: { labels: { testLabel: "testValue" } } };
    await api.expectSuccess("PATCH", `${path}/patched`, patch, strategicMergePatch);
    const { metadata } = await api.expectSuccess("GET", `${path}/patched`);
    assert.equal(metadata.labels?.["testLabel"], "testValue");
  });

  it("Namespaces [Serial] should apply an update to a Namespace", async () => {
    const read = await make("updated");
    const labels = { ...read.metadata.labels, updated: "true" };
    const { metadata } = await api.expectSuccess("PUT", `${path}/updated`, {
      ...read,
      metadata: { ...read.metadata, labels },
    });
    assert.equal(metadata.labels?.["updated"], "true");
  });

  it("Namespaces [Serial] should apply changes to a namespace status", async () => {
    await make("judged");
    const at = `${path}/judged/status`;
    const condition = { type: "StatusPatch", status: "True", reason: "E2E", message: "by a test" };
    const patched = await api.expectSuccess(
      "PATCH",
      at,
      { metadata: { annotations: { patched: "true" } }, status: { conditions: [condition] } },
      mergePatch,
    );
    assert.equal(patched["status"].conditions[0].type, "StatusPatch");
    const added = { ...condition, type: "StatusUpdate" };
    const updated = await api.expectSuccess("PUT", at, {
      ...patched,
      status: { ...patched["status"], conditions: [condition, added] },
    });
    assert.equal(updated["status"].conditions.length, 2);
    assert.equal(updated["status"].phase, "Active");
  });

  it("Namespaces [Serial] should apply a finalizer to a Namespace", async () => {
    const read = await make("held");
    const finalizer = "e2e.example.com/fake-finalizer";
    const finalizers = [...read["spec"].finalizers, finalizer];
    const held = await api.expectSuccess("PUT", `${path}/held/finalize`, {
      ...read,
      spec: { finalizers },
    });
    assert.ok(held["spec"].finalizers.includes(finalizer));
    const freed = await api.expectSuccess("PUT", `${path}/held/finalize`, {
      ...held,
      spec: read["spec"],
    });
    assert.deepEqual(freed["spec"].finalizers, ["kubernetes"]);
    await api.expectSuccess("DELETE", `${path}/held`);
    await eventually(async () => assert.equal((await api.send("GET", `${path}/held`)).status, 404));
  });
});

const quota = (hard: Readonly<Record<string, string>>) => ({
  metadata: { name: "test-quota", labels: { quota: "one" } },
  spec: { hard },
});

async function counted(resource: string, used: string): Promise<void> {
  await eventually(async () => {
    const { status } = await api.expectSuccess("GET", `${quotas}/test-quota`);
    assert.equal(status?.used?.[resource], used);
  });
}

describe("conformance: resource quotas", () => {
  it("ResourceQuota should create a ResourceQuota and ensure its status is promptly calculated.", async () => {
    await api.expectSuccess("POST", quotas, quota({ resourcequotas: "1", secrets: "10" }));
    await counted("resourcequotas", "1");
  });

  for (const [title, resource, path, body] of [
    [
      "ResourceQuota should create a ResourceQuota and capture the life of a configMap.",
      "configmaps",
      configMaps,
      { metadata: { name: "counted" }, data: { a: "b" } },
    ],
    [
      "ResourceQuota should create a ResourceQuota and capture the life of a secret.",
      "secrets",
      secrets,
      { metadata: { name: "counted" }, data: { a: "Yg==" } },
    ],
  ] as const) {
    it(title, async () => {
      // The first write makes the namespace; what it gets by itself counts, too.
      await api.expectSuccess("POST", secrets, { metadata: { name: "first" } });
      await eventually(() => api.expectSuccess("GET", `${configMaps}/kube-root-ca.crt`));
      const before = (await api.names(path)).length;
      await api.expectSuccess("POST", quotas, quota({ [resource]: String(before + 1) }));
      await counted(resource, String(before));
      await api.expectSuccess("POST", path, body);
      await counted(resource, String(before + 1));
      const beyond = { ...body, metadata: { name: "beyond" } };
      await api.expectError(/exceeded quota: test-quota/, "POST", path, beyond);
      await api.expectSuccess("DELETE", `${path}/counted`);
      await counted(resource, String(before));
    });
  }

  it("ResourceQuota should be able to update and delete ResourceQuota.", async () => {
    const made = await api.expectSuccess("POST", quotas, quota({ cpu: "1", memory: "500Mi" }));
    assert.deepEqual(
      (await api.expectSuccess("GET", `${quotas}/test-quota`))["spec"],
      made["spec"],
    );
    const hard = { cpu: "2", memory: "1Gi" };
    const updated = await api.expectSuccess("PUT", `${quotas}/test-quota`, {
      ...made,
      spec: { hard },
    });
    assert.deepEqual(updated["spec"].hard, hard);
    await api.expectSuccess("DELETE", `${quotas}/test-quota`);
    assert.equal((await api.send("GET", `${quotas}/test-quota`)).status, 404);
  });

  it("ResourceQuota should manage the lifecycle of a ResourceQuota", async () => {
    await api.expectSuccess("POST", quotas, quota({ cpu: "1", memory: "500Mi" }));
    assert.deepEqual(await api.names("/api/v1/resourcequotas?labelSelector=quota%3Done"), [
      "test-quota",
    ]);
    const patch = {
      metadata: { labels: { patched: "true" } },
      spec: { hard: { memory: "750Mi" } },
    };
    const patched = await api.expectSuccess(
      "PATCH",
      `${quotas}/test-quota`,
      patch,
      strategicMergePatch,
    );
    assert.equal(patched["spec"].hard.memory, "750Mi");
    await api.expectSuccess("DELETE", `${quotas}?labelSelector=patched%3Dtrue`);
    await eventually(async () => assert.deepEqual(await api.names(quotas), []));
  });

  it("ResourceQuota should apply changes to a resourcequota status", async () => {
    const hard = { cpu: "500m", memory: "500Mi" };
    await api.expectSuccess("POST", quotas, quota(hard));
    await eventually(async () => {
      const { status } = await api.expectSuccess("GET", `${quotas}/test-quota`);
      assert.deepEqual(status?.hard, hard);
    });
    const watch = await api.watch(`${quotas}?labelSelector=quota%3Done`);
    assert.equal((await watch.next()).type, "ADDED");
    const updated = { hard: { cpu: "750m", memory: "700Mi" } };
    await api.expectSuccess(
      "PATCH",
      `${quotas}/test-quota/status`,
      { status: updated },
      mergePatch,
    );
    const seen = await watch.next();
    assert.deepEqual(seen.object["status"].hard, updated.hard);
    await eventually(async () => {
      const { status } = await api.expectSuccess("GET", `${quotas}/test-quota/status`);
      assert.deepEqual(status.hard, hard, "the control loop puts what is asked for back");
    });
    watch.close();
  });
});

describe("conformance: ConfigMaps, Secrets and Leases", () => {
  it("ConfigMap should fail to create ConfigMap with empty key", async () => {
    const body = { metadata: { name: "empty-key" }, data: { "": "value-1" } };
    const { status } = await api.expectError(/Invalid value: ""/, "POST", configMaps, body);
    assert.equal(status, 422);
  });

  it("ConfigMap should run through a ConfigMap lifecycle", () =>
    exerciseApiOperations(api, {
      root: "/api/v1",
      collection: "namespaces/default/configmaps",
      kind: "ConfigMap",
      object: { data: { valueName: "value" } },
    }));

  it("ConfigMap should update ConfigMap successfully", async () => {
    const made = await api.expectSuccess("POST", configMaps, {
      metadata: { name: "volume" },
      data: { "data-1": "value-1", "data-3": "value-3" },
    });
    const data = { "data-1": "value-2", "data-2": "value-1" };
    await api.expectSuccess("PUT", `${configMaps}/volume`, { ...made, data });
    assert.deepEqual((await api.expectSuccess("GET", `${configMaps}/volume`)).data, data);
  });

  it("Secrets should fail to create secret due to empty secret key", async () => {
    const body = { metadata: { name: "empty-key" }, data: { "": "dmFsdWU=" } };
    const { status } = await api.expectError(/Invalid value: ""/, "POST", secrets, body);
    assert.equal(status, 422);
  });

  it("Secrets should patch a secret", async () => {
    const labels = { testsecret: "true", "testsecret-constant": "true" };
    const body = { metadata: { name: "patched", labels }, data: { key: "dmFsdWU=" } };
    await api.expectSuccess("POST", secrets, body);
    const everywhere = "/api/v1/secrets?labelSelector=testsecret-constant%3Dtrue";
    assert.deepEqual(await api.names(everywhere), ["patched"]);
    const patch = { metadata: { labels: { testsecret: "false" } }, data: { key: "dmFsdWUx" } };
    await api.expectSuccess("PATCH", `${secrets}/patched`, patch, strategicMergePatch);
    const read = await api.expectSuccess("GET", `${secrets}/patched`);
    assert.equal(read.metadata.labels?.["testsecret"], "false");
    assert.equal(read.data?.["key"], "dmFsdWUx");
    await api.expectSuccess("DELETE", `${secrets}?labelSelector=testsecret%3Dfalse`);
    assert.deepEqual(await api.names(everywhere), []);
  });

  it("Lease lease API should be available", () =>
    exerciseApiOperations(api, {
      root: "/apis/coordination.k8s.io/v1",
      collection: "namespaces/default/leases",
      kind: "Lease",
      object: {
        spec: {
          holderIdentity: "holder",
          leaseDurationSeconds: 30,
          acquireTime: "2026-01-01T00:00:00.000000Z",
          renewTime: "2026-01-01T00:00:05.000000Z",
          leaseTransitions: 0,
        },
      },
    }));
});

const regarding = { kind: "Pod", namespace: "default", name: "a" };
const coreEvent = {
  involvedObject: regarding,
  reason: "Test",
  message: "this is a test",
  type: "Normal",
  source: { component: "conformance" },
};
const event = {
  eventTime: "2026-01-01T00:00:00.000000Z",
  regarding,
  note: "this is a test",
  action: "Do",
  reason: "Test",
  type: "Normal",
  reportingController: "example.com/conformance",
  reportingInstance: "one",
};

describe("conformance: Events", () => {
  for (const [api_, root, object] of [
    ["Events", "/api/v1", coreEvent],
    ["Events API", "/apis/events.k8s.io/v1", event],
  ] as const) {
    const path = `${root}/namespaces/default/events`;
    const lifecycle =
      api_ === "Events"
        ? "Events should manage the lifecycle of an event"
        : "Events API should ensure that an event can be fetched, patched, deleted, and listed";
    it(lifecycle, async () => {
      const collection = "namespaces/default/events";
      await exerciseApiOperations(api, { root, collection, kind: "Event", object });
      await api.expectSuccess("POST", path, { metadata: { name: "series" }, ...object });
      const series = { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" };
      const patched = await api.expectSuccess("PATCH", `${path}/series`, { series }, mergePatch);
      assert.deepEqual(patched["series"], series);
      assert.deepEqual(await api.names(`${root}/events?fieldSelector=metadata.name%3Dseries`), [
        "series",
      ]);
    });

    it(`${api_} should delete a collection of events`, async () => {
      const labels = { "testevent-set": "true" };
      for (const name of ["test-event-1", "test-event-2", "test-event-3"])
        await api.expectSuccess("POST", path, { metadata: { name, labels }, ...object });
      const selected = `${path}?labelSelector=testevent-set%3Dtrue`;
      assert.equal((await api.names(selected)).length, 3);
      await api.expectSuccess("DELETE", selected);
      assert.deepEqual(await api.names(selected), []);
    });
  }
});
