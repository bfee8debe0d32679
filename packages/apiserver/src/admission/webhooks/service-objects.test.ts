/**
 * Webhooks at Services: objects of the logical cluster, and real servers with certificates behind
 * them.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  type AnyObject,
  install,
  register,
  rulesFor,
  TestServer,
  WebhookServer,
} from "../../testing/index.ts";

let hook: WebhookServer;
let second: WebhookServer;
let server: TestServer;

before(async () => {
  const names = ["DNS:hook.n.svc"];
  [hook, second] = await Promise.all([WebhookServer.start(names), WebhookServer.start(names)]);
});
after(() => Promise.all([hook.close(), second.close()]));

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function kindOf(group: string, plural: string, kind: string): AnyObject {
  const schema = { openAPIV3Schema: anything };
  return {
    metadata: {
      name: `${plural}.${group === "" ? "core" : group}`,
      annotations: { "api-approved.kubernetes.io": "https://example.com/1" },
    },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

const kinds = [
  kindOf("", "services", "Service"),
  kindOf("", "endpoints", "Endpoints"),
  kindOf("discovery.k8s.io", "endpointslices", "EndpointSlice"),
];

async function prepare(cluster: string, served = kinds): Promise<void> {
  const body = { metadata: { name: "n" } };
  await server.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, { body });
  for (const kind of served) await install(server, kind, cluster);
}

beforeEach(async () => {
  for (const each of [hook, second]) each.reset();
  server = await TestServer.start({ webhooks: { serviceNetworks: ["127.0.0.1/32"] } });
  await prepare("a");
  for (const [each, name] of [
    [hook, "hook"],
    [second, "second"],
  ] as const)
    each.respondWith("/deny", () => ({ allowed: false, status: { message: `no, says ${name}` } }));
});
afterEach(() => server.close());

const core = (cluster = "a") => `/clusters/${cluster}/api/v1/namespaces/n`;
const slicesIn = (cluster = "a") =>
  `/clusters/${cluster}/apis/discovery.k8s.io/v1/namespaces/n/endpointslices`;
const ports = [{ name: "https", port: 443 }];

const createService = (spec: object = { ports }, cluster = "a") =>
  server.requestOk("POST", `${core(cluster)}/services`, {
    body: { metadata: { name: "hook" }, spec },
  });

function sliceTo(port: number, labels: object = { "kubernetes.io/service-name": "hook" }) {
  return {
    metadata: { name: "hook-1", labels },
    addressType: "IPv4",
    ports: [{ name: "https", port }],
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
  };
}

const createSlice = (port: number, cluster = "a") =>
  server.requestOk("POST", slicesIn(cluster), { body: sliceTo(port) });

const clientConfig = (more: object = {}, caBundle = hook.caBundle) => ({
  service: { namespace: "n", name: "hook", path: "/deny", ...more },
  caBundle,
});

const check = (client: object = clientConfig(), cluster = "a") =>
  register(
    server,
    "validating",
    { name: "check.example.com", clientConfig: client, rules: rulesFor("configmaps") },
    cluster,
  );

async function said(cluster = "a"): Promise<string> {
  const body = { metadata: { generateName: "c-" } };
  const { object } = await server.request("POST", `${core(cluster)}/configmaps`, { body });
  return object.message ?? "";
}

const denied = (by: string) =>
  `admission webhook "check.example.com" denied the request: no, says ${by}`;

describe("a webhook at a Service", () => {
  it("is called at an endpoint, by the name in its certificate", async () => {
    await createService();
    await createSlice(hook.port);
    await check();
    assert.equal(await said(), denied("hook"));
    const [asked] = hook.receivedReviews;
    assert.equal(asked?.host, "hook.n.svc:443");
    assert.equal(asked?.path, "/deny?timeout=10s");
  });

  it("changes objects like a webhook at a URL", async () => {
    hook.respondWith("/set", () => ({
      patch: [{ op: "add", path: "/data", value: { by: "hook" } }],
    }));
    await createService();
    await createSlice(hook.port);
    await register(server, "mutating", {
      name: "set.example.com",
      clientConfig: clientConfig({ path: "/set" }),
      rules: rulesFor("configmaps"),
    });
    const body = { metadata: { name: "c" } };
    const made = await server.requestOk("POST", `${core()}/configmaps`, { body });
    assert.deepEqual(made["data"], { by: "hook" });
  });

  it("is rejected when its certificate has another name, at every address", async (t) => {
    const other = await WebhookServer.start(["DNS:hook.m.svc", "DNS:localhost", "IP:127.0.0.1"]);
    t.after(() => other.close());
    other.respondWith("/deny", () => ({ allowed: false }));
    await createService();
    await createSlice(other.port);
    await check(clientConfig({}, other.caBundle));
    const message = await said();
    assert.match(message, /^Internal error occurred: failed calling webhook "check\.example\.com"/);
    assert.match(message, /Hostname\/IP does not match.*hook\.n\.svc/);
    assert.equal(other.receivedReviews.length, 0);
  });

  it("is rejected when another authority signed its certificate", async () => {
    await createService();
    await createSlice(second.port);
    await check();
    assert.match(await said(), /x509: certificate signed by unknown authority$/);
  });

  it("is found by Endpoints when there are no slices, and by the slices of a multi-cluster Service", async () => {
    await createService();
    const endpoints = {
      metadata: { name: "hook" },
      subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port: hook.port }] }],
    };
    await server.requestOk("POST", `${core()}/endpoints`, { body: endpoints });
    await check();
    assert.equal(await said(), denied("hook"));
    await server.requestOk("DELETE", `${core()}/endpoints/hook`);
    const labels = { "multicluster.kubernetes.io/service-name": "hook" };
    await server.requestOk("POST", slicesIn(), { body: sliceTo(hook.port, labels) });
    assert.equal(await said(), denied("hook"));
  });

  it("is found by an external name, at the port that the webhook names", async () => {
    await createService({ type: "ExternalName", externalName: "localhost" });
    await check(clientConfig({ port: hook.port }));
    assert.equal(await said(), denied("hook"));
  });

  it("is found by its load balancer", async () => {
    const lastly = [{ name: "https", port: hook.port }];
    await createService({ type: "LoadBalancer", ports: lastly });
    await server.patch(`${core()}/services/hook`, "merge", {
      status: { loadBalancer: { ingress: [{ ip: "127.0.0.1" }] } },
    });
    await check(clientConfig({ port: hook.port }));
    assert.equal(await said(), denied("hook"));
  });

  it("is called at its current address: a change applies to the next request", async () => {
    await createService();
    await createSlice(hook.port);
    const both = Buffer.from(
      `${Buffer.from(hook.caBundle, "base64")}\n${Buffer.from(second.caBundle, "base64")}`,
    ).toString("base64");
    await check(clientConfig({}, both));
    assert.equal(await said(), denied("hook"));
    const ofSecond = { ports: [{ name: "https", port: second.port }] };
    await server.patch(`${slicesIn()}/hook-1`, "merge", ofSecond);
    assert.equal(await said(), denied("second"));
    const notReady = { endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: false } }] };
    await server.patch(`${slicesIn()}/hook-1`, "merge", notReady);
    assert.match(await said(), /no endpoints available for service "hook"$/);
    await server.requestOk("DELETE", `${core()}/services/hook`);
    assert.match(await said(), /service "hook" not found$/);
  });

  it("fails with Kubernetes' message when there is no such Service, port or endpoint", async () => {
    await check();
    const failed =
      'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://hook.n.svc:443/deny?timeout=10s"';
    assert.equal(await said(), `${failed}: service "hook" not found`);
    await createService({ ports: [{ name: "http", port: 80 }] });
    assert.equal(await said(), `${failed}: no service port 443 found for service "hook"`);
    await server.patch(`${core()}/services/hook`, "merge", { spec: { ports } });
    assert.equal(await said(), `${failed}: no endpoints available for service "hook"`);
  });

  it("is not found in another logical cluster, nor called by its webhooks", async () => {
    await createService();
    await createSlice(hook.port);
    await prepare("b");
    await check(clientConfig(), "b");
    assert.match(await said("b"), /service "hook" not found$/);
    await createService({ ports }, "b");
    assert.match(await said("b"), /no endpoints available for service "hook"$/);
    assert.equal(hook.receivedReviews.length, 0);
  });

  it("is not called at private addresses, whatever its objects contain, unless the operator allows it", async (t) => {
    const strict = await TestServer.start();
    t.after(() => strict.close());
    const usual = server;
    server = strict;
    try {
      await prepare("a");
      await check();
      for (const spec of [
        { ports },
        { type: "ExternalName", externalName: "localhost" },
        { type: "ExternalName", externalName: "127.0.0.1" },
        { type: "ExternalName", externalName: "2130706433" },
        { type: "ExternalName", externalName: "169.254.169.254" },
        { type: "ExternalName", externalName: "[::1]" },
      ]) {
        await createService(spec);
        if ("ports" in spec) await createSlice(hook.port);
        assert.match(
          await said(),
          /: webhooks at private addresses are not allowed here$|ENOTFOUND/,
        );
        await server.requestOk("DELETE", `${core()}/services/hook`);
      }
      assert.equal(hook.receivedReviews.length, 0);
    } finally {
      server = usual;
    }
  });
});

describe("a conversion webhook at a Service", () => {
  const cronTabs = (cluster: string, version: string) =>
    `/clusters/${cluster}/apis/stable.example.com/${version}/namespaces/n/crontabs`;
  const schema = { openAPIV3Schema: anything };
  const definition = () => ({
    metadata: { name: "crontabs.stable.example.com" },
    spec: {
      group: "stable.example.com",
      scope: "Namespaced",
      names: { plural: "crontabs", kind: "CronTab" },
      versions: ["v1", "v2"].map((name) => ({
        name,
        served: true,
        storage: name === "v1",
        schema,
      })),
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: clientConfig({ path: "/convert" }),
        },
      },
    },
  });
  const convertBy = (by: string) => {
    hook.respondWith("/convert", ({ uid, desiredAPIVersion, objects }) => ({
      raw: {
        kind: "ConversionReview",
        apiVersion: "apiextensions.k8s.io/v1",
        response: {
          uid,
          result: { status: "Success" },
          convertedObjects: (objects as AnyObject[]).map((object) => ({
            ...object,
            apiVersion: desiredAPIVersion,
            by,
          })),
        },
      },
    }));
  };

  it("is called in the logical cluster of its CRD, and in no other with the same CRD", async () => {
    convertBy("a");
    await prepare("b");
    await createService();
    await createSlice(hook.port);
    for (const cluster of ["a", "b"]) {
      await install(server, definition(), cluster);
      const body = { metadata: { name: "one" } };
      await server.requestOk("POST", cronTabs(cluster, "v1"), { body });
    }
    assert.equal((await server.requestOk("GET", `${cronTabs("a", "v2")}/one`))["by"], "a");
    const calls = hook.receivedReviews.length;
    const { status, object } = await server.get(`${cronTabs("b", "v2")}/one`);
    assert.equal(status, 500);
    assert.equal(
      object.message,
      'conversion webhook for stable.example.com/v1, Kind=CronTab failed: Post "https://hook.n.svc:443/convert?timeout=30s": service "hook" not found',
    );
    assert.equal(hook.receivedReviews.length, calls);
  });

  it("for Services themselves does not recurse: Services are read in their stored form", async () => {
    convertBy("itself");
    const { conversion, versions } = definition().spec;
    const [services, ...others] = kinds as [AnyObject, ...AnyObject[]];
    const spec = { ...(services["spec"] as object), versions, conversion };
    await prepare("c", [{ ...services, spec }, ...others]);
    await createService({ ports }, "c");
    await createSlice(hook.port, "c");
    const found = await server.requestOk("GET", "/clusters/c/api/v2/namespaces/n/services/hook");
    assert.equal(found["by"], "itself");
  });
});
