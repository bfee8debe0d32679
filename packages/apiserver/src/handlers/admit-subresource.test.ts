/**
 * Goal: admission covers requests to subresources: sessions (CONNECT), objects posted to
 * subresources (CREATE), and tokens.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { bool, int32, list, map, message, objectMeta, string } from "@kcp-ts/machinery/shape";
import { type AdmissionPlugin, denied } from "../admission/index.ts";
import { type SubresourceStrategy, simpleResource } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import {
  type AnyObject,
  install,
  type ReviewRequest,
  register,
  registration,
  rulesFor,
  startWithServiceAccounts,
  TestServer,
  testIssuer,
  WebhookServer,
} from "../testing/index.ts";

const shape = message("example.dev.Engine", { metadata: [1, objectMeta], spec: [2, map(string)] });
const runOptions = {
  group: "example.dev",
  version: "v1",
  kind: "EngineRunOptions",
  shape: message(
    "example.dev.EngineRunOptions",
    { loud: [1, bool], voice: [2, string], words: [3, list(string)], gears: [4, list(int32)] },
    "",
    { required: ["words"] },
  ),
};
const order = {
  group: "orders.example.dev",
  version: "v2",
  kind: "Order",
  shape: message("example.dev.Order", { metadata: [1, objectMeta], gear: [2, int32] }),
};

/** The calls that the endpoints received. */
const done: string[] = [];
const unchanged = { prepareForUpdate: () => {}, validateUpdate: () => [] } as const;

function said(text: string): ApiResponse {
  done.push(text);
  const headers = { "content-type": "text/plain" };
  return { status: 200, headers, body: new TextEncoder().encode(text) };
}

const run: SubresourceStrategy = {
  ...unchanged,
  verbs: ["create", "get"],
  admissionTarget: { operation: "CONNECT", kind: runOptions },
  connect: ({ query }) => said(`run ${query}`),
};
const shift: SubresourceStrategy = {
  ...unchanged,
  verbs: ["create"],
  admissionTarget: { operation: "CREATE", kind: order },
  async connect(call) {
    const { gear } = await call.body(order);
    await call.update((present) => ({ ...present, spec: { gear: String(gear) } }));
    return said(`gear ${String(gear)}`);
  },
};
const sound: SubresourceStrategy = { ...unchanged, verbs: ["get"], connect: () => said("brumm") };

const engines = {
  ...simpleResource({ group: "example.dev", version: "v1", kind: "Engine", shape }),
  subresources: new Map([
    ["run", run],
    ["shift", shift],
    ["sound", sound],
  ]),
};

const path = "/clusters/a/apis/example.dev/v1/namespaces/default/engines/e";
const orderOf = (gear: number, more: object = {}) => ({
  apiVersion: "orders.example.dev/v2",
  kind: "Order",
  metadata: { name: "e" },
  gear,
  ...more,
});
const everything = ["*"];
const rules = (resource: string, operations = everything) =>
  rulesFor(resource, operations, "example.dev");

let webhook: WebhookServer;
before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());

let server: TestServer;
async function start(plugins: readonly AdmissionPlugin[] = []): Promise<void> {
  server = await TestServer.start({ resources: [engines], admissionPlugins: plugins });
  await server.requestOk("POST", path.slice(0, -2), {
    body: { metadata: { name: "e" }, spec: {} },
  });
  webhook.reset();
  done.length = 0;
}
afterEach(() => server.close());

const asks = (kind: "validating" | "mutating", resource: string, more: object = {}) =>
  register(server, kind, {
    name: `${kind}.example.com`,
    clientConfig: webhook.client("/ask"),
    rules: rules(resource),
    ...more,
  });

function lastAsked(): ReviewRequest {
  const { request } = webhook.receivedReviews.at(-1) ?? assert.fail("nobody was asked");
  return request;
}

async function policy(kind: "validating" | "mutating", resource: string, spec: object) {
  const base = `/clusters/a${registration}/${kind}admissionpolic`;
  const matchConstraints = { resourceRules: rules(resource) };
  const reinvocation = kind === "mutating" ? { reinvocationPolicy: "Never" } : {};
  await server.requestOk("POST", `${base}ies`, {
    body: { metadata: { name: "p" }, spec: { matchConstraints, ...reinvocation, ...spec } },
  });
  const actions = kind === "mutating" ? {} : { validationActions: ["Deny"] };
  await server.requestOk("POST", `${base}ybindings`, {
    body: { metadata: { name: "b" }, spec: { policyName: "p", ...actions } },
  });
}

describe("connecting to a subresource", () => {
  beforeEach(() => start());

  it("sends a webhook the options that the query contains, for every method", async () => {
    webhook.respondWith("/ask", () => ({}));
    await asks("validating", "engines/run", { rules: rules("engines/run", ["CONNECT"]) });
    const query = "loud=1&voice=low&voice=high&words=a&words=b&gears=1,2&gears=3&other=x";
    for (const method of ["GET", "POST"]) {
      assert.equal((await server.request(method, `${path}/run?${query}`)).status, 200);
      const { uid: _, userInfo, ...asked } = lastAsked();
      assert.equal((userInfo as { username: string }).username, "kcp-admin");
      const gvr = { group: "example.dev", version: "v1", resource: "engines" };
      const gvk = { group: "example.dev", version: "v1", kind: "EngineRunOptions" };
      assert.deepEqual(asked, {
        kind: gvk,
        resource: gvr,
        subResource: "run",
        requestKind: gvk,
        requestResource: gvr,
        requestSubResource: "run",
        name: "e",
        namespace: "default",
        operation: "CONNECT",
        dryRun: false,
        object: {
          kind: "EngineRunOptions",
          apiVersion: "example.dev/v1",
          loud: true,
          voice: "low",
          words: ["a", "b"],
          gears: [1, 2, 3],
        },
        oldObject: null,
        options: null,
      });
    }
    // The subresource runs exactly the options that admission admitted, in their canonical form.
    const canonical = "run loud=true&voice=low&words=a&words=b&gears=1&gears=2&gears=3";
    assert.deepEqual(done, [canonical, canonical]);
  });

  it("is denied by a webhook, by a policy, and by a webhook that does not respond", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false, status: { message: "no thank you" } }));
    await asks("validating", "engines/run");
    const refused = await server.request("POST", `${path}/run?words=a`);
    assert.match(refused.object.message ?? "", /denied the request: no thank you/);
    const down = { url: "https://127.0.0.1:1/", caBundle: webhook.caBundle };
    for (const kind of ["mutating", "validating"] as const) {
      const target = `/clusters/a${registration}/${kind}webhookconfigurations/${kind}`;
      await server.request("DELETE", target);
      await asks(kind, "engines/*", { clientConfig: down, failurePolicy: "Fail" });
      const failed = await server.request("GET", `${path}/run?words=a`);
      assert.equal(failed.status, 500);
      assert.match(failed.object.message ?? "", /failed calling webhook/);
      await server.requestOk("DELETE", target);
    }
    const validations = [{ expression: "object.words[0] != 'rm'", message: "no rm" }];
    await policy("validating", "engines/run", { validations });
    const forbidden = await server.request("GET", `${path}/run?words=rm&words=-rf`);
    assert.equal(forbidden.status, 422);
    assert.match(forbidden.object.message ?? "", /engines\.example\.dev "e" is forbidden: .*no rm/);
    assert.deepEqual(done, []);
    assert.equal((await server.get(`${path}/run?words=ls`)).status, 200);
  });

  it("runs with the options that mutating webhooks and policies return", async () => {
    webhook.respondWith("/ask", () => ({ patch: [{ op: "add", path: "/voice", value: "low" }] }));
    await asks("mutating", "engines/run");
    const applyConfiguration = { expression: "Object{loud: true}" };
    const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration }];
    await policy("mutating", "engines/run", { mutations });
    assert.equal((await server.get(`${path}/run?words=a`)).status, 200);
    assert.deepEqual(done, ["run loud=true&voice=low&words=a"]);
  });

  it("has options without labels, which no objectSelector matches", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false }));
    const objectSelector = { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] };
    await asks("validating", "engines/run", { objectSelector });
    assert.equal((await server.get(`${path}/run?words=a`)).status, 200);
    assert.deepEqual(webhook.receivedReviews, []);
  });

  it("is admitted before the object is looked up, and rejects a dry run and invalid numbers", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false, status: { message: "never" } }));
    await asks("validating", "engines/run");
    const missing = await server.get(`${path}/run`.replace("/e/", "/none/"));
    assert.match(missing.object.message ?? "", /never/);
    const dry = await server.get(`${path}/run?dryRun=All`);
    assert.deepEqual([dry.status, dry.object.message], [400, "dryRun is not supported"]);
    for (const [gear, why] of [
      ["x", "invalid syntax"],
      ["65536", "value out of range"],
    ]) {
      const { status, object } = await server.get(`${path}/run?gears=${gear}`);
      const message = `cannot convert to []int32: strconv.ParseUint: parsing "${gear}": ${why}`;
      assert.deepEqual([status, object.message], [400, message]);
    }
  });

  it("does not call webhooks of another cluster", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false }));
    await asks("validating", "engines/run");
    const other = path.replace("/a/", "/b/");
    await server.requestOk("POST", other.slice(0, -2), {
      body: { metadata: { name: "e" }, spec: {} },
    });
    assert.equal((await server.get(`${other}/run?words=a`)).status, 200);
  });

  it("does not include reads of the object", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false }));
    await asks("validating", "engines/*");
    assert.equal((await server.get(`${path}/sound`)).status, 200);
  });
});

describe("posting to a subresource", () => {
  beforeEach(() => start());

  it("sends admission the posted object, of its own group, once", async () => {
    webhook.respondWith("/ask", () => ({}));
    await asks("validating", "engines/shift");
    const answer = await server.request("POST", `${path}/shift`, { body: orderOf(3) });
    assert.equal(answer.status, 200);
    assert.equal(webhook.receivedReviews.length, 1);
    const { kind, resource, subResource, operation, object, oldObject, options } = lastAsked();
    assert.deepEqual(kind, { group: "orders.example.dev", version: "v2", kind: "Order" });
    assert.deepEqual(resource, { group: "example.dev", version: "v1", resource: "engines" });
    assert.deepEqual([subResource, operation, oldObject], ["shift", "CREATE", null]);
    assert.deepEqual(object, orderOf(3, { metadata: { name: "e", namespace: "default" } }));
    assert.deepEqual(options, { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" });
  });

  it("runs with the object that admission returns, and does not run when it is denied", async () => {
    const expression = "Object{gear: 1}";
    const mutations = [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }];
    await policy("mutating", "engines/shift", { mutations });
    assert.equal((await server.request("POST", `${path}/shift`, { body: orderOf(5) })).status, 200);
    assert.deepEqual((await server.requestOk("GET", path))["spec"], { gear: "1" });
    webhook.respondWith("/ask", () => ({ allowed: false, status: { message: "no thank you" } }));
    await asks("validating", "engines/shift");
    const refused = await server.request("POST", `${path}/shift`, { body: orderOf(2) });
    assert.match(refused.object.message ?? "", /no thank you/);
    assert.deepEqual(done, ["gear 1"]);
  });

  it("concerns the object that the path names", async () => {
    const other = orderOf(2, { metadata: { name: "f" } });
    const wrong = await server.request("POST", `${path}/shift`, { body: other });
    const message = "name in URL does not match name in Order object";
    assert.deepEqual([wrong.status, wrong.object.message], [400, message]);
    const elsewhere = orderOf(2, { metadata: { name: "e", namespace: "x" } });
    assert.equal((await server.request("POST", `${path}/shift`, { body: elsewhere })).status, 400);
  });
});

describe("scaling", () => {
  beforeEach(() => start());

  it("sends admission a Scale of its own group", async () => {
    const replicas = { type: "integer" };
    const schema = {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: { type: "object", properties: { replicas } },
          status: { type: "object", properties: { replicas } },
        },
      },
    };
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
    const version = { name: "v1", served: true, storage: true, schema, subresources: { scale } };
    await install(server, {
      metadata: { name: "crontabs.stable.example.com" },
      spec: {
        group: "stable.example.com",
        scope: "Namespaced",
        names: { plural: "crontabs", singular: "crontab", kind: "CronTab" },
        versions: [version],
      },
    });
    const tabs = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
    await server.requestOk("POST", tabs, {
      body: { metadata: { name: "t" }, spec: { replicas: 1 } },
    });
    webhook.respondWith("/ask", () => ({}));
    const wanted = { rules: rulesFor("crontabs/scale", ["UPDATE"], "stable.example.com") };
    await asks("mutating", "", wanted);
    await asks("validating", "", wanted);
    await server.patch(`${tabs}/t/scale`, "merge", { spec: { replicas: 3 } });
    assert.equal(webhook.receivedReviews.length, 2);
    for (const { request } of webhook.receivedReviews) {
      assert.deepEqual(request["kind"], { group: "autoscaling", version: "v1", kind: "Scale" });
      const { kind, apiVersion, spec } = request.object as AnyObject;
      assert.deepEqual([apiVersion, kind, spec], ["autoscaling/v1", "Scale", { replicas: 3 }]);
    }
    const { spec } = await server.requestOk("GET", `${tabs}/t`);
    assert.deepEqual(spec, { replicas: 3 });
  });
});

describe("compiled-in admission plugins", () => {
  it("see, change and deny requests to subresources", async () => {
    const seen: string[] = [];
    const quiet: AdmissionPlugin = {
      name: "Quiet",
      handles: ({ subresource }) => subresource !== "",
      admit: ({ operation, gvk }) => void seen.push(`admit ${operation} ${gvk.group}/${gvk.kind}`),
      mutate: (_request, draft) => {
        delete draft["loud"];
      },
      validate: (request, object, old) => {
        assert.equal(old, undefined);
        if (object["gear"] === 6) throw denied(request, "there is no sixth gear");
      },
    };
    await start([quiet]);
    await server.get(`${path}/run?loud=true&words=a`);
    const refused = await server.request("POST", `${path}/shift`, { body: orderOf(6) });
    assert.equal(refused.status, 403);
    assert.deepEqual(done, ["run words=a"]);
    assert.deepEqual(seen, [
      "admit CONNECT example.dev/EngineRunOptions",
      "admit CREATE orders.example.dev/Order",
    ]);
  });
});

describe("tokens of service accounts", () => {
  const account = "/clusters/a/api/v1/namespaces/default/serviceaccounts";
  beforeEach(async () => {
    server = await startWithServiceAccounts();
    await server.requestOk("POST", account, { body: { metadata: { name: "robot" } } });
    webhook.reset();
  });
  const ask = (spec: object = {}): Promise<{ status: number; object: AnyObject }> =>
    server.request("POST", `${account}/robot/token`, { body: { spec } });
  const tokens = { rules: rulesFor("serviceaccounts/token") };

  it("are admitted as a TokenRequest that never contains the token", async () => {
    webhook.respondWith("/ask", () => ({}));
    await asks("mutating", "", tokens);
    await asks("validating", "", tokens);
    assert.equal((await ask()).status, 201);
    assert.equal(webhook.receivedReviews.length, 2);
    const [mutating, validating] = webhook.receivedReviews.map(({ request }) => request);
    const kind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
    for (const asked of [mutating, validating]) {
      assert.deepEqual([asked?.operation, asked?.["kind"]], ["CREATE", kind]);
      assert.deepEqual(asked?.["resource"], {
        group: "",
        version: "v1",
        resource: "serviceaccounts",
      });
      assert.equal(asked?.["subResource"], "token");
    }
    assert.deepEqual(mutating?.object?.["spec"], { expirationSeconds: 3600 });
    assert.deepEqual(validating?.object?.["spec"], {
      audiences: [testIssuer],
      expirationSeconds: 3600,
      boundObjectRef: null,
    });
    assert.equal(validating?.object?.["status"], undefined);
  });

  it("have the spec that admission returns", async () => {
    webhook.respondWith("/ask", () => ({
      patch: [{ op: "replace", path: "/spec/expirationSeconds", value: 600 }],
    }));
    await asks("mutating", "", tokens);
    const { object } = await ask({ expirationSeconds: 7200 });
    assert.equal((object["spec"] as { expirationSeconds: number }).expirationSeconds, 600);
  });

  it("are denied by a webhook, and by a webhook that is down", async () => {
    webhook.respondWith("/ask", () => ({ allowed: false, status: { message: "no thank you" } }));
    await asks("validating", "", tokens);
    const refused = await ask();
    assert.match(refused.object.message ?? "", /no thank you/);
    assert.equal(refused.object["status"], "Failure");
    const clientConfig = { url: "https://127.0.0.1:1/", caBundle: webhook.caBundle };
    await asks("mutating", "", { ...tokens, clientConfig });
    assert.equal((await ask()).status, 500);
  });
});
