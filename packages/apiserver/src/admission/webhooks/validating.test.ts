/** Validating webhooks over real HTTPS: the scenarios of the Kubernetes conformance tests, and what they leave out. */
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
  await server.must("POST", "/clusters/a/api/v1/namespaces", { body: { metadata: { name: "n" } } });
});
afterEach(() => server.close());

const configMaps = "/clusters/a/api/v1/namespaces/n/configmaps";
const configMap = (name: string, more: object = {}) => ({ metadata: { name }, ...more });
const everyOperation = ["CREATE", "UPDATE", "DELETE"];

function denyAll(path = "/deny"): void {
  webhook.answer(path, () => ({ allowed: false, status: { message: "no thank you" } }));
}

const validating = (more: object = {}) => ({
  name: "check.example.com",
  clientConfig: webhook.client("/deny"),
  rules: rulesFor("configmaps", everyOperation),
  ...more,
});

function setData(path: string, key: string, value: string): void {
  webhook.answer(path, ({ object }) => {
    const isThere = object?.data !== undefined;
    const patch = isThere
      ? [{ op: "add", path: `/data/${key}`, value }]
      : [{ op: "add", path: "/data", value: { [key]: value } }];
    return { patch };
  });
}

describe("a validating webhook", () => {
  it("denies creation in its own words", async () => {
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

  it("gives the code and the reason of its Status, and says so when it gives no reason at all", async () => {
    webhook.answer("/deny", () => ({ allowed: false, status: { code: 403, reason: "Forbidden" } }));
    await register(server, "validating", validating());
    const named = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(named.status, 403);
    assert.equal(named.object.reason, "Forbidden");
    assert.match(named.object.message ?? "", /denied the request: Forbidden$/);
    webhook.answer("/deny", () => ({ allowed: false }));
    const plain = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(plain.object.message ?? "", /denied the request without explanation$/);
  });

  it("denies updates, patches, applies and deletions, and sees both objects", async () => {
    await server.must("POST", configMaps, { body: configMap("a", { data: { key: "old" } }) });
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
      webhook.asked.map(({ request }) => [
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
    assert.equal((await server.must("GET", target)).data?.["key"], "old");
  });

  it("sees an apply that creates as a creation", async () => {
    webhook.answer("/deny", () => ({}));
    await register(server, "validating", validating());
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const answer = await server.patch(`${configMaps}/a?fieldManager=x`, "apply", body);
    assert.equal(answer.status, 201);
    assert.deepEqual(
      webhook.asked.map(({ request }) => [request.operation, request.oldObject]),
      [["CREATE", null]],
    );
    assert.deepEqual(webhook.asked[0]?.request["options"], {
      kind: "CreateOptions",
      apiVersion: "meta.k8s.io/v1",
      fieldManager: "x",
    });
  });

  it("is told everything about the request", async () => {
    webhook.answer("/deny", () => ({ warnings: ["mind the gap"] }));
    await register(server, "validating", validating());
    const answer = await server.request("POST", configMaps, { body: configMap("a"), user: "a" });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, ['299 - "mind the gap"']);
    const { path, request } = webhook.asked[0] as (typeof webhook.asked)[number];
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

  it("is asked on dry runs, which store nothing", async () => {
    webhook.answer("/deny", () => ({}));
    await register(server, "validating", validating());
    await server.must("POST", `${configMaps}?dryRun=All`, { body: configMap("a") });
    assert.equal(webhook.asked[0]?.request["dryRun"], true);
    assert.equal((await server.get(`${configMaps}/a`)).status, 404);
  });

  it("denies custom resources on creation, update and deletion, and definitions", async () => {
    await install(server, cronTabs());
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/n/crontabs";
    await server.must("POST", path, { body: { ...custom, metadata: { name: "old" } } });
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

  it("is asked from the moment its configuration is acknowledged, and no longer once it is gone", async () => {
    denyAll();
    for (let round = 0; round < 20; round++) {
      await register(server, "validating", validating());
      const refused = await server.request("POST", configMaps, { body: configMap(`a${round}`) });
      assert.equal(refused.status, 400);
      await server.must(
        "DELETE",
        `/clusters/a${registration}/validatingwebhookconfigurations/check`,
      );
      await server.must("POST", configMaps, { body: configMap(`a${round}`) });
    }
  });

  it("follows updates and patches of its configuration", async () => {
    denyAll();
    await register(server, "validating", validating());
    const path = `/clusters/a${registration}/validatingwebhookconfigurations/check`;
    const configuration = await server.must("GET", path);
    const [only] = configuration["webhooks"] as object[];
    const updated = {
      ...configuration,
      webhooks: [{ ...only, rules: rulesFor("configmaps", ["UPDATE"]) }],
    };
    await server.must("PUT", path, { body: updated });
    await server.must("POST", configMaps, { body: configMap("a") });
    const patch = [{ op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] }];
    assert.equal((await server.patch(path, "json", patch)).status, 200);
    assert.equal((await server.request("POST", configMaps, { body: configMap("b") })).status, 400);
  });

  it("does not matter once a collection of configurations is deleted", async () => {
    denyAll();
    const path = `/clusters/a${registration}/validatingwebhookconfigurations`;
    for (const name of ["one.example.com", "two.example.com"])
      await register(server, "validating", validating({ name }));
    assert.equal((await server.get(path)).items.length, 2);
    assert.equal((await server.request("POST", configMaps, { body: configMap("a") })).status, 400);
    await server.must("DELETE", path);
    await server.must("POST", configMaps, { body: configMap("a") });
  });
});

const custom = { apiVersion: "stable.example.com/v1", kind: "CronTab", spec: { image: "i" } };

describe("a webhook that cannot be asked", () => {
  it("fails the request when its failure policy says so, and does not matter otherwise", async () => {
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
    await server.must("POST", configMaps, { body: configMap("a") });
  });

  it("is given its time and no more", async () => {
    let isOver: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      webhook.answer("/slow", async () => {
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

  it("is not believed with another certificate", async () => {
    denyAll();
    const clientConfig = { url: `https://localhost:${webhook.port}/deny` };
    await register(server, "validating", validating({ clientConfig }));
    const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.equal(status, 500);
    assert.match(object.message ?? "", /certificate/);
  });

  it("is not found behind a service where there are none", async () => {
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
    it(`fails the request when the answer is ${title}`, async () => {
      webhook.answer("/deny", () => ({ raw }));
      await register(server, "validating", validating());
      const { status, object } = await server.request("POST", configMaps, { body: configMap("a") });
      assert.equal(status, 500);
      assert.match(object.message ?? "", expected);
    });
  }

  it("is not followed elsewhere", async () => {
    const location = `https://localhost:${webhook.port}/allow`;
    webhook.answer("/deny", () => ({ code: 302, headers: { location } }));
    webhook.answer("/allow", () => ({}));
    await register(server, "validating", validating());
    const { object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(object.message ?? "", /responded with the status code 302/);
    assert.equal(webhook.asked.length, 1);
  });

  it("is ignored with failure policy Ignore when its answer has the wrong type", async () => {
    webhook.answer("/deny", () => ({ raw: { response: { allowed: "no" } } }));
    await register(server, "validating", { ...validating(), failurePolicy: "Ignore" } as never);
    await server.must("POST", configMaps, { body: configMap("a") });
  });

  it("is told the version of what is updated and the name that was generated", async () => {
    webhook.answer("/deny", () => ({}));
    await register(server, "validating", validating());
    const body = { metadata: { generateName: "g-" } };
    const made = await server.must("POST", configMaps, { body });
    const { name = "", resourceVersion } = made.metadata;
    await server.must("PUT", `${configMaps}/${name}`, {
      body: configMap(name, { data: { a: "b" } }),
    });
    const [created, updated] = webhook.asked.map(({ request }) => request);
    assert.equal(created?.name, name);
    assert.equal(updated?.object?.metadata.resourceVersion, resourceVersion);
  });

  it("may not patch when it is to validate", async () => {
    setData("/deny", "a", "b");
    await register(server, "validating", validating());
    const { object } = await server.request("POST", configMaps, { body: configMap("a") });
    assert.match(object.message ?? "", /validating webhook may not return response\.patch$/);
  });
});

describe("match conditions of a webhook", () => {
  it("decide which requests it is asked about", async () => {
    denyAll();
    const matchConditions = [
      { name: "not-b", expression: 'object.metadata.name != "b"' },
      { name: "writer", expression: 'request.userInfo.username == "a"' },
    ];
    await register(server, "validating", validating({ matchConditions }));
    await server.must("POST", configMaps, { body: configMap("b"), user: "a" });
    await server.must("POST", configMaps, { body: configMap("c"), user: "admin" });
    assert.equal(
      (await server.request("POST", configMaps, { body: configMap("d"), user: "a" })).status,
      400,
    );
  });

  it("may ask what the user is allowed to do", async () => {
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

  it("refuse the request when they fail, or leave it alone", async () => {
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
    await server.must("POST", configMaps, { body: configMap("d") });
  });

  it("are refused when they do not compile", async () => {
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
  it("know nothing of each other", async () => {
    denyAll();
    await register(server, "validating", validating({ rules: rulesFor("*", ["*"], "*") }), "a");
    await server.must("POST", "/clusters/b/api/v1/namespaces/default/configmaps", {
      body: configMap("a"),
    });
    assert.equal(webhook.asked.length, 0);
    assert.equal((await server.request("POST", configMaps, { body: configMap("a") })).status, 400);
  });
});
