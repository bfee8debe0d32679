/** Goal: quotas hold under load, and their status tells what there is. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { resourceQuotas as quotas } from "@kcp-ts/sdk/kinds";
import { ControllersFixture, eventually, kinds, type Tenant } from "./controllers-fixture.ts";

describe("resource quotas", () => {
  let fixture: ControllersFixture;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
    fixture.startControllers();
  });
  afterEach(() => fixture.close());

  const client = (tenant: string) => fixture.client.inCluster(tenant);
  const namespace = "n";

  async function quota(
    cluster: string,
    hard: Record<string, string>,
    more: object = {},
  ): Promise<void> {
    const metadata = { name: "q", namespace, ...more };
    await client(cluster).resource(quotas).create({ metadata, spec: { hard } });
    await eventually(async () => Object.keys((await statusOf(cluster)).hard ?? {}).length > 0);
  }

  async function statusOf(cluster: string) {
    const found = await client(cluster).resource(quotas).get({ namespace, name: "q" });
    return (found["status"] ?? {}) as {
      hard?: Record<string, string>;
      used?: Record<string, string>;
    };
  }

  const used = (cluster: string, name: string, count: string) =>
    eventually(async () => (await statusOf(cluster)).used?.[name] === count);

  /** With `kube-root-ca.crt` in it, which counts as any. */
  async function filled(tenant: Tenant): Promise<void> {
    await tenant.namespace(namespace);
    const rootCa = { namespace, name: "kube-root-ca.crt" };
    await eventually(async () => (await tenant.configMaps.find(rootCa)) !== undefined);
  }

  it("a quota counts what is there, and refuses what does not fit", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await quota("a", { configmaps: "2", "count/secrets": "5", "requests.cpu": "1", pods: "3" });
    assert.deepEqual(await statusOf("a"), {
      hard: { configmaps: "2", "count/secrets": "5", "requests.cpu": "1", pods: "3" },
      used: { configmaps: "1", "count/secrets": "0", "requests.cpu": "0", pods: "0" },
    });
    await tenant.configMap("one", { namespace });
    assert.equal((await statusOf("a")).used?.["configmaps"], "2");
    await assert.rejects(tenant.configMap("two", { namespace }), {
      message:
        'configmaps "two" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
    });
    await tenant.configMaps.delete({ namespace, name: "one" });
    await used("a", "configmaps", "1");
    await tenant.configMap("two", { namespace });
    assert.deepEqual(fixture.errors, []);
  });

  it("many at once never take more than there is", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await quota("a", { configmaps: "11" });
    const tries = Array.from({ length: 50 }, (_, i) => tenant.configMap(`c${i}`, { namespace }));
    const outcomes = await Promise.allSettled(tries);
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 10);
    assert.equal((await tenant.configMapNames(namespace)).length, 10);
    await used("a", "configmaps", "11");
  });

  it("a creation that fails for another reason uses nothing up", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await quota("a", { configmaps: "3" });
    await tenant.configMap("one", { namespace });
    await assert.rejects(tenant.configMap("one", { namespace }), /already exists/);
    await used("a", "configmaps", "2");
    await tenant.configMaps.create({ metadata: { name: "dry", namespace } }, { dryRun: true });
    assert.equal((await statusOf("a")).used?.["configmaps"], "2");
  });

  it("custom resources count, too", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await client("a").resource(kinds.definitions).create(widgetDefinition);
    const widget = (name: string) =>
      client("a").resource(kinds.widgets).create({ metadata: { name, namespace } });
    await eventually(() =>
      widget("one").then(
        () => true,
        () => false,
      ),
    );
    await quota("a", { "count/widgets.example.com": "2" });
    await used("a", "count/widgets.example.com", "1");
    await widget("two");
    await assert.rejects(
      widget("three"),
      /exceeded quota: q, requested: count\/widgets\.example\.com=1/,
    );
    await client("a").resource(kinds.widgets).delete({ namespace, name: "one" });
    await used("a", "count/widgets.example.com", "1");
  });

  it("a quota on what is defined later holds from the first object on, and hears of those that go", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await quota("a", { "count/widgets.example.com": "2" });
    assert.deepEqual((await statusOf("a")).used, { "count/widgets.example.com": "0" });
    await client("a").resource(kinds.definitions).create(widgetDefinition);
    const widgets = client("a").resource(kinds.widgets);
    const make = (name: string) => widgets.create({ metadata: { name, namespace } });
    await eventually(() =>
      widgets.list({ namespace }).then(
        () => true,
        () => false,
      ),
    );
    await make("one");
    await make("two");
    await assert.rejects(make("three"), /exceeded quota: q, requested: count\/widgets\.example/);
    await widgets.delete({ namespace, name: "one" });
    await used("a", "count/widgets.example.com", "1");
    await make("three");
    assert.deepEqual(fixture.errors, []);
  });

  it("a quota of the whole logical cluster counts in all namespaces of it", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await tenant.namespace("other");
    const annotations = { "experimental.quota.kcp.io/cluster-scoped": "true" };
    await quota("a", { secrets: "1", "count/namespaces": "3" }, { annotations });
    await tenant.secrets.create({ metadata: { name: "one", namespace: "other" } });
    await assert.rejects(
      tenant.secrets.create({ metadata: { name: "two", namespace } }),
      /exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1/,
    );
    await assert.rejects(async () => {
      for (const name of ["x", "y", "z"]) await tenant.namespace(name);
    }, /exceeded quota/);
  });

  it("limits of one logical cluster mean nothing in another", async () => {
    const [a, b] = [fixture.in("a"), fixture.in("b")];
    await filled(a);
    await filled(b);
    await quota("a", { configmaps: "1" });
    await b.configMap("one", { namespace });
    await assert.rejects(a.configMap("one", { namespace }), /exceeded quota/);
    await b.configMaps.delete({ namespace, name: "one" });
    assert.equal((await statusOf("a")).used?.["configmaps"], "1");
  });

  it("new limits come into force, and a quota that is gone limits nothing", async () => {
    const tenant = fixture.in("a");
    await filled(tenant);
    await quota("a", { configmaps: "1" });
    await assert.rejects(tenant.configMap("one", { namespace }), /exceeded quota/);
    const patch = { type: "merge", patch: { spec: { hard: { configmaps: "2" } } } } as const;
    await client("a").resource(quotas).patch({ namespace, name: "q" }, patch);
    await eventually(async () => (await statusOf("a")).hard?.["configmaps"] === "2");
    await tenant.configMap("one", { namespace });
    await client("a").resource(quotas).delete({ namespace, name: "q" });
    await eventually(() =>
      tenant.configMap("two", { namespace }).then(
        () => true,
        () => false,
      ),
    );
  });
});

const widgetDefinition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};
