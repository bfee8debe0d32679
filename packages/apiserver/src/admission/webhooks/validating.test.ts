/**
 * Validating webhooks over real HTTPS: the scenarios of the Kubernetes conformance tests, and
 * further ones.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  definitionsPath,
  install,
  register,
  registration,
  rulesFor,
  TestServer,
  WebhookServer,
} from "../../testing/index.ts";
import { cronTabs } from "../test-support/definitions.ts";

let webhook: WebhookServer;
let server: TestServer;

before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());
beforeEach(async () => {
  webhook.reset();
  server = await TestServer.start();
  await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
    body: { metadata: { name: "n" } },
  });
});
afterEach(() => server.close());

const configMaps = "/clusters/a/api/v1/namespaces/n/configmaps";
const configMap = (name: string, more: object = {}) => ({ metadata: { name }, ...more });
const everyOperation = ["CREATE", "UPDATE", "DELETE"];

function denyAll(path = "/deny"): void {
  webhook.respondWith(path, () => ({ allowed: false, status: { message: "no thank you" } }));
}

const validating = (more: object = {}) => ({
  name: "check.example.com",
  clientConfig: webhook.client("/deny"),
  rules: rulesFor("configmaps", everyOperation),
  ...more,
});

function setData(path: string, key: string, value: string): void {
  webhook.respondWith(path, ({ object }) => {
    const isThere = object?.data !== undefined;
    const patch = isThere
      ? [{ op: "add", path: `/data/${key}`, value }]
      : [{ op: "add", path: "/data", value: { [key]: value } }];
    return { patch };
  });
}

describe("a validating webhook", () => {
  it("denies creation with its own message", async () => {
    denyAll();
    await register(server, "validating", validating());
    const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(status, 400);
    assert.equal(
      object.message,
      'admission webhook "check.example.com" denied the request: no thank you',
    );
    assert.equal((await server.get(`${configMaps}/a`)).status, 404);
  });

  it("denies with the code and the reason of its Status, and says so when it gives no reason", async () => {
    webhook.respondWith("/deny", () => ({
      allowed: false,
      status: { code: 403, reason: "Forbidden" },
    }));
    await register(server, "validating", validating());
    const named = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(named.status, 403);
    assert.equal(named.object.reason, "Forbidden");
    assert.match(named.object.message ?? "", /denied the request: Forbidden$/);
    webhook.respondWith("/deny", () => ({ allowed: false }));
    const plain = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(plain.object.message ?? "", /denied the request without explanation$/);
  });

  it("denies updates, patches, applies and deletions, and receives both objects", async () => {
    await server.requestOk("POST", configMaps, { body: configMap("a", { data: { key: "old" } }) });
    denyAll();
    await register(server, "validating", validating());
    const target = `${configMaps}/a`;
    const body = configMap("a", { data: { key: "new" } });
    assert.equal((await server.request("PUT", target, { body })).status, 400);
    assert.equal((await server.patch(target, "merge", { data: { key: "new" } })).status, 400);
    const applied = { apiVersion: "v1", kind: "ConfigMap", ...body };
    assert.equal(
      (await server.patch(`${target}?fieldManager=x&force=true`, "apply", applied)).status,
      400,
    );
    assert.equal((await server.request("DELETE", target)).status, 400);
    assert.equal((await server.request("DELETE", configMaps)).status, 400);
    assert.deepEqual(
      webhook.receivedReviews.map(({ request }) => [
        request.operation,
        request.oldObject?.data?.["key"],
        request.object?.data?.["key"] ?? null,
      ]),
      [
        ["UPDATE", "old", "new"],
        ["UPDATE", "old", "new"],
        ["UPDATE", "old", "new"],
        ["DELETE", "old", null],
        ["DELETE", "old", null],
      ],
    );
    assert.equal((await server.requestOk("GET", target)).data?.["key"], "old");
  });

  it("receives an apply that creates as a CREATE", async () => {
    webhook.respondWith("/deny", () => ({}));
    await register(server, "validating", validating());
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const answer = await server.patch(`${configMaps}/a?fieldManager=x`, "apply", body);
    assert.equal(answer.status, 201);
    assert.deepEqual(
      webhook.receivedReviews.map(({ request }) => [request.operation, request.oldObject]),
      [["CREATE", null]],
    );
    assert.deepEqual(webhook.receivedReviews[0]?.request["options"], {
      kind: "CreateOptions",
      apiVersion: "meta.k8s.io/v1",
      fieldManager: "x",
    });
  });

  it("receives all attributes of the request", async () => {
    webhook.respondWith("/deny", () => ({ warnings: ["mind the gap"] }));
    await register(server, "validating", validating());
    const answer = await server.request("POST", configMaps, { body: configMap("a"), user: "a" });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, ['299 - "mind the gap"']);
    const { path, request } = webhook
      .receivedReviews[0] as (typeof webhook.receivedReviews)[number];
    assert.equal(path, "/deny?timeout=10s");
    const { uid, object, ...rest } = request;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(object?.metadata.annotations?.["kcp.io/cluster"], "a");
    assert.equal(object?.kind, "ConfigMap");
    assert.deepEqual(rest, {
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      requestResource: { group: "", version: "v1", resource: "configmaps" },
      name: "a",
      namespace: "n",
      operation: "CREATE",
      userInfo: rest["userInfo"],
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
      oldObject: null,
    });
    assert.equal((rest["userInfo"] as { username: string }).username, "a");
  });

  it("is called on dry runs, which store nothing", async () => {
    webhook.respondWith("/deny", () => ({}));
    await register(server, "validating", validating());
    await server.requestOk("POST", `${configMaps}?dryRun=All`, { body: configMap("a") });
    assert.equal(webhook.receivedReviews[0]?.request["dryRun"], true);
    assert.equal((await server.get(`${configMaps}/a`)).status, 404);
  });

  it("denies custom resources on creation, update and deletion, and definitions", async () => {
    await install(server, cronTabs());
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/n/crontabs";
    await server.requestOk("POST", path, { body: { ...custom, metadata: { name: "old" } } });
    denyAll();
    const rules = [
      ...rulesFor("crontabs", everyOperation, "stable.example.com"),
      ...rulesFor("customresourcedefinitions", ["CREATE"], "apiextensions.k8s.io"),
    ];
    await register(server, "validating", validating({ rules }));
    const created = await server.request("POST", path, {
      body: { ...custom, metadata: { name: "a" } },
    });
    assert.match(created.object.message ?? "", /denied the request: no thank you/);
    const patched = await server.patch(`${path}/old`, "merge", { spec: { image: "x" } });
    assert.equal(patched.status, 400);
    assert.equal((await server.request("DELETE", `${path}/old`)).status, 400);
    const definition = cronTabs({ group: "other.example.com" });
    const refused = await server.request("POST", `/clusters/a${definitionsPath}`, {
      body: definition,
    });
    assert.match(refused.object.message ?? "", /denied the request/);
  });

  it("is called from the acknowledgement of its configuration on, and not after its deletion", async () => {
    denyAll();
    for (let round = 0; round < 20; round++) {
      await register(server, "validating", validating());
      const refused = await server.request("POST", configMaps, { body: configMap(`a${round}`) });
      assert.equal(refused.status, 400);
      await server.requestOk(
        "DELETE",
        `/clusters/a${registration}/validatingwebhookconfigurations/check`,
      );
      await server.requestOk("POST", configMaps, { body: configMap(`a${round}`) });
    }
  });

  it("follows updates and patches of its configuration", async () => {
    denyAll();
    await register(server, "validating", validating());
    const path = `/clusters/a${registration}/validatingwebhookconfigurations/check`;
    const configuration = await server.requestOk("GET", path);
    const [only] = configuration["webhooks"] as object[];
    const updated = {
      ...configuration,
      webhooks: [{ ...only, rules: rulesFor("configmaps", ["UPDATE"]) }],
    };
    await server.requestOk("PUT", path, { body: updated });
    await server.requestOk("POST", configMaps, { body: configMap("a") });
    const patch = [{ op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] }];
    assert.equal((await server.patch(path, "json", patch)).status, 200);
    assert.equal((await server.request("POST", configMaps, { body: configMap("b") })).status, 400);
  });

  it("is not called after a deletecollection of the configurations", async () => {
    denyAll();
    const path = `/clusters/a${registration}/validatingwebhookconfigurations`;
    for (const name of ["one.example.com", "two.example.com"])
      await register(server, "validating", validating({ name }));
    assert.equal((await server.get(path)).items.length, 2);
    assert.equal((await server.request("POST", configMaps, { body: configMap("a") })).status, 400);
    await server.requestOk("DELETE", path);
    await server.requestOk("POST", configMaps, { body: configMap("a") });
  });
});

const custom = { apiVersion: "stable.example.com/v1", kind: "CronTab", spec: { image: "i" } };

describe("a webhook that cannot be called", () => {
  it("fails the request if its failurePolicy is Fail, and is ignored otherwise", async () => {
    const unreachable = { url: "https://localhost:1/", caBundle: webhook.caBundle };
    await register(server, "validating", validating({ clientConfig: unreachable }));
    const refused = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(refused.status, 500);
    assert.equal(refused.object.reason, "InternalError");
    assert.match(
      refused.object.message ?? "",
      /^Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https:\/\/localhost:1\/\?timeout=10s": /,
    );
    const path = `/clusters/a${registration}/validatingwebhookconfigurations/check`;
    const patch = [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" }];
    await server.patch(path, "json", patch);
    await server.requestOk("POST", configMaps, { body: configMap("a") });
  });

  it("is aborted after its timeout", async () => {
    let isOver: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      webhook.respondWith("/slow", async () => {
        resolve();
        await new Promise<void>((end) => {
          isOver = end;
        });
        return {};
      });
    });
    const slow = { clientConfig: webhook.client("/slow"), timeoutSeconds: 1 };
    await register(server, "validating", validating(slow));
    const pending = server.request("POST", configMaps, { body: configMap("a") });
    await asked;
    server.clock.advance(1000);
    const { status, object } = await pending;
    isOver();
    assert.equal(status, 500);
    assert.match(object.message ?? "", /\/slow\?timeout=1s": context deadline exceeded$/);
  });

  it("is rejected when its certificate is not trusted", async () => {
    denyAll();
    const clientConfig = { url: `https://localhost:${webhook.port}/deny` };
    await register(server, "validating", validating({ clientConfig }));
    const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(status, 500);
    assert.match(object.message ?? "", /certificate/);
  });

  it("fails when its Service does not exist", async () => {
    const clientConfig = { service: { namespace: "ns", name: "svc", path: "/p" } };
    await register(server, "validating", validating({ clientConfig }));
    const { object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(
      object.message ?? "",
      /failed to call webhook: Post "https:\/\/svc\.ns\.svc:443\/p\?timeout=10s": service "svc" not found$/,
    );
  });

  it("is called at a service by the certificate's name, wherever the resolver leads", async (t) => {
    denyAll();
    const services = () => ({ host: "localhost", port: webhook.port });
    const other = await TestServer.start({ webhooks: { services } });
    t.after(() => other.close());
    const clientConfig = {
      service: { namespace: "ns", name: "svc", path: "/deny" },
      caBundle: webhook.caBundle,
    };
    await register(
      other,
      "validating",
      validating({ clientConfig, rules: rulesFor("namespaces") }),
    );
    const body = { metadata: { name: "n" } };
    const { object } = await other.request("POST", "/clusters/a/api/v1/namespaces", { body });
    assert.match(object.message ?? "", /Hostname\/IP does not match.*svc\.ns\.svc/);
  });

  const wrongAnswers: readonly [string, object | string, RegExp][] = [
    ["no JSON", "no", /the answer is no object$/],
    ["without a response", {}, /received invalid webhook response: webhook response was absent$/],
    [
      "to another request",
      { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "x" } },
      /received invalid webhook response: expected response\.uid="[^"]+", got "x"$/,
    ],
    [
      "of the wrong type",
      { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { allowed: "no" } },
      /failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse\.response\.allowed of type bool$/,
    ],
  ];
  for (const [title, raw, expected] of wrongAnswers) {
    it(`fails the request when the response is ${title}`, async () => {
      webhook.respondWith("/deny", () => ({ raw }));
      await register(server, "validating", validating());
      const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
      assert.equal(status, 500);
      assert.match(object.message ?? "", expected);
    });
  }

  it("is not followed when it redirects", async () => {
    const location = `https://localhost:${webhook.port}/allow`;
    webhook.respondWith("/deny", () => ({ code: 302, headers: { location } }));
    webhook.respondWith("/allow", () => ({}));
    await register(server, "validating", validating());
    const { object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(object.message ?? "", /responded with the status code 302/);
    assert.equal(webhook.receivedReviews.length, 1);
  });

  it("is ignored with failure policy Ignore when its response has the wrong type", async () => {
    webhook.respondWith("/deny", () => ({ raw: { response: { allowed: "no" } } }));
    await register(server, "validating", { ...validating(), failurePolicy: "Ignore" } as never);
    await server.requestOk("POST", configMaps, { body: configMap("a") });
  });

  it("receives the resourceVersion of an updated object and the generated name of a new one", async () => {
    webhook.respondWith("/deny", () => ({}));
    await register(server, "validating", validating());
    const body = { metadata: { generateName: "g-" } };
    const made = await server.requestOk("POST", configMaps, { body });
    const { name = "", resourceVersion } = made.metadata;
    await server.requestOk("PUT", `${configMaps}/${name}`, {
      body: configMap(name, { data: { a: "b" } }),
    });
    const [created, updated] = webhook.receivedReviews.map(({ request }) => request);
    assert.equal(created?.name, name);
    assert.equal(updated?.object?.metadata.resourceVersion, resourceVersion);
  });

  it("must not patch when it validates", async () => {
    setData("/deny", "a", "b");
    await register(server, "validating", validating());
    const { object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(object.message ?? "", /validating webhook may not return response\.patch$/);
  });
});

describe("match conditions of a webhook", () => {
  it("select the requests that the webhook is called for", async () => {
    denyAll();
    const matchConditions = [
      { name: "not-b", expression: 'object.metadata.name != "b"' },
      { name: "writer", expression: 'request.userInfo.username == "a"' },
    ];
    await register(server, "validating", validating({ matchConditions }));
    await server.requestOk("POST", configMaps, { body: configMap("b"), user: "a" });
    await server.requestOk("POST", configMaps, { body: configMap("c"), user: "admin" });
    assert.equal(
      (await server.request("POST", configMaps, { body: configMap("d"), user: "a" })).status,
      400,
    );
  });

  it("may check the permissions of the user", async () => {
    denyAll();
    const expression =
      "authorizer.group('').resource('secrets').namespace('n').check('delete').allowed()";
    await register(
      server,
      "validating",
      validating({ matchConditions: [{ name: "x", expression }] }),
    );
    assert.equal(
      (await server.request("POST", configMaps, { body: configMap("d"), user: "a" })).status,
      400,
    );
  });

  it("deny or ignore the request when they fail", async () => {
    denyAll();
    const matchConditions = [{ name: "x", expression: "object.nothing == 1" }];
    await register(server, "validating", validating({ matchConditions }));
    const { status, object } = await server.request("POST", configMaps, { body: configMap("d") });
    assert.equal(status, 403);
    assert.equal(
      object.message,
      `configmaps "d" is forbidden: expression 'object.nothing == 1' resulted in error: no such key: nothing`,
    );
    const path = `/clusters/a${registration}/validatingwebhookconfigurations/check`;
    const ignore = [{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" }];
    await server.patch(path, "json", ignore);
    await server.requestOk("POST", configMaps, { body: configMap("d") });
  });

  it("are rejected when they do not compile", async () => {
    for (const kind of ["validating", "mutating"] as const) {
      const body = {
        metadata: { name: "x" },
        webhooks: [
          {
            ...validating({
              matchConditions: [{ name: "x", expression: "... [] bad expression" }],
            }),
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      };
      const path = `/clusters/a${registration}/${kind}webhookconfigurations`;
      const { status, object } = await server.request("POST", path, { body });
      assert.equal(status, 422);
      assert.match(object.message ?? "", /compilation failed/);
    }
  });
});

describe("webhooks of different logical clusters", () => {
  it("do not affect each other", async () => {
    denyAll();
    await register(server, "validating", validating({ rules: rulesFor("*", ["*"], "*") }), "a");
    await server.requestOk("POST", "/clusters/b/api/v1/namespaces/default/configmaps", {
      body: configMap("a"),
    });
    assert.equal(webhook.receivedReviews.length, 0);
    assert.equal((await server.request("POST", configMaps, { body: configMap("a") })).status, 400);
  });
});
