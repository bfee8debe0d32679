/**
 * The audit annotations of webhooks and policies are in the audit events of the request, under the
 * keys of Kubernetes; their warnings are in headers. The webhooks run on a local HTTPS server.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { parseAuditPolicy } from "../audit/index.ts";
import {
  register,
  registration,
  rulesFor,
  TestServer,
  type TestServerOptions,
  WebhookServer,
  withSlowAuthorization,
} from "../testing/index.ts";

interface Event {
  readonly stage: string;
  readonly objectRef?: { readonly resource?: string };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

let webhook: WebhookServer;
let server: TestServer;
let events: Event[] = [];
before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());
beforeEach(() => {
  webhook.reset();
  events = [];
});
afterEach(() => server.close());

async function start(level = "Metadata", options: TestServerOptions = {}): Promise<void> {
  const policy = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: [{ level }],
  });
  const backend = {
    name: "test",
    write: (event: JsonObject) => void events.push(event as unknown as Event),
    close: async () => undefined,
  };
  server = await TestServer.start({ audit: { policy, backends: () => [backend] }, ...options });
}

const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const body = { metadata: { name: "x" } };
const hook = (name: string, path: string, more: object = {}) => ({
  name,
  clientConfig: webhook.client(path),
  rules: rulesFor("configmaps"),
  ...more,
});

/** The annotations of the last event of the last request, without those of every event. */
function notes(): Record<string, string> {
  const own = /^(kcp\.io|tenancy\.kcp\.io|authorization\.k8s\.io|request\.auth\.kcp\.io)\//;
  const found = Object.entries(events.at(-1)?.annotations ?? {});
  return Object.fromEntries(found.filter(([key]) => !own.test(key)));
}

describe("audit annotations of a webhook", () => {
  it("are in the event under the webhook's name, when it allows and when it denies", async () => {
    await start();
    webhook.respondWith("/check", ({ name }) => ({
      allowed: name !== "bad",
      auditAnnotations: { why: `saw ${name}`, "not a name!": "x" },
      warnings: ["mind the gap"],
    }));
    await register(server, "validating", hook("check.example.com", "/check"));
    const answer = await server.request("POST", configMaps, { body });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, ['299 - "mind the gap"']);
    assert.deepEqual(notes(), { "check.example.com/why": "saw x" });
    await server.request("POST", configMaps, { body: { metadata: { name: "bad" } } });
    assert.deepEqual(notes(), { "check.example.com/why": "saw bad" });
  });

  it("do not replace the server's own", async () => {
    await start();
    webhook.respondWith("/check", () => ({
      auditAnnotations: { decision: "forbid", reason: "lies" },
    }));
    await register(server, "validating", hook("authorization.k8s.io", "/check"));
    await server.requestOk("POST", configMaps, { body });
    const { annotations = {} } = events.at(-1) as Event;
    assert.equal(annotations["authorization.k8s.io/decision"], "allow");
    assert.notEqual(annotations["authorization.k8s.io/reason"], "lies");
  });

  it("name the webhooks that changed the object, and those that were called and did not", async () => {
    await start();
    const patch = [{ op: "add", path: "/data", value: { k: "v" } }];
    webhook.respondWith("/change", () => ({ patch, auditAnnotations: { why: "because" } }));
    webhook.respondWith("/look", () => ({}));
    await register(server, "mutating", hook("a.example.com", "/change"));
    await register(server, "mutating", hook("b.example.com", "/look"));
    await server.requestOk("POST", configMaps, { body });
    const note = (name: string, mutated: boolean) =>
      JSON.stringify({ configuration: name, webhook: `${name}.example.com`, mutated });
    assert.deepEqual(notes(), {
      "a.example.com/why": "because",
      "mutation.webhook.admission.k8s.io/round_0_index_0": note("a", true),
      "mutation.webhook.admission.k8s.io/round_0_index_1": note("b", false),
    });
  });

  it("contain the patch at levels with request bodies only", async () => {
    await start("Request");
    const patch = [{ op: "add", path: "/data", value: { k: "v" } }];
    webhook.respondWith("/change", () => ({ patch }));
    await register(server, "mutating", hook("a.example.com", "/change"));
    await server.requestOk("POST", configMaps, { body });
    assert.deepEqual(
      JSON.parse(notes()["patch.webhook.admission.k8s.io/round_0_index_0"] ?? "{}"),
      { configuration: "a", webhook: "a.example.com", patch, patchType: "JSONPatch" },
    );
  });

  it("name the webhooks whose failures were ignored", async () => {
    await start();
    const ignored = { failurePolicy: "Ignore" };
    await register(server, "mutating", hook("a.example.com", "/nowhere", ignored));
    await register(server, "validating", hook("b.example.com", "/nowhere", ignored));
    await server.requestOk("POST", configMaps, { body });
    const {
      "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": mutating,
      "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": validating,
    } = notes();
    assert.deepEqual([mutating, validating], ["a.example.com", "b.example.com"]);
  });
});

describe("audit annotations of a policy", () => {
  const policies = `/clusters/a${registration}/validatingadmissionpolicies`;
  const bindings = `/clusters/a${registration}/validatingadmissionpolicybindings`;
  const bound = async (validationActions: readonly string[]) => {
    await server.requestOk("POST", policies, {
      body: {
        metadata: { name: "checks.example.com" },
        spec: {
          matchConstraints: { resourceRules: rulesFor("configmaps") },
          validations: [{ expression: "object.metadata.name != 'x'", message: "not x" }],
          auditAnnotations: [{ key: "name", valueExpression: "'it is ' + object.metadata.name" }],
        },
      },
    });
    await server.requestOk("POST", bindings, {
      body: {
        metadata: { name: "everywhere" },
        spec: { policyName: "checks.example.com", validationActions },
      },
    });
  };
  const failure = (validationActions: readonly string[]) => {
    const where = { policy: "checks.example.com", binding: "everywhere", expressionIndex: 0 };
    return JSON.stringify([{ message: "not x", ...where, validationActions }]);
  };

  it("wait for the decisions of the authorizer", async () => {
    await start("Metadata", { authorization: withSlowAuthorization });
    const may = (verb: string) =>
      `authorizer.group('').resource('secrets').check('${verb}').allowed() ? 'yes' : 'no'`;
    const variables = [{ name: "may", expression: may("list") }];
    const auditAnnotations = [
      { key: "get", valueExpression: may("get") },
      { key: "list", valueExpression: "variables.may" },
      { key: "again", valueExpression: `variables.may + ${may("watch").replace(/^/, "(")})` },
    ];
    const matchConstraints = { resourceRules: rulesFor("configmaps") };
    await server.requestOk("POST", policies, {
      body: {
        metadata: { name: "checks.example.com" },
        spec: { matchConstraints, variables, auditAnnotations },
      },
    });
    await server.requestOk("POST", bindings, {
      body: {
        metadata: { name: "everywhere" },
        spec: { policyName: "checks.example.com", validationActions: ["Audit"] },
      },
    });
    await server.requestOk("POST", configMaps, { body });
    assert.deepEqual(notes(), {
      "checks.example.com/get": "yes",
      "checks.example.com/list": "yes",
      "checks.example.com/again": "yesyes",
    });
  });

  it("are in the event, and so are violations whose action is Audit", async () => {
    await start();
    await bound(["Audit", "Warn"]);
    const answer = await server.request("POST", configMaps, { body });
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, [
      "299 - \"Validation failed for ValidatingAdmissionPolicy 'checks.example.com' with binding 'everywhere': not x\"",
    ]);
    assert.deepEqual(notes(), {
      "checks.example.com/name": "it is x",
      "validation.policy.admission.k8s.io/validation_failure": failure(["Audit", "Warn"]),
    });
  });

  it("are in the event of a denied request", async () => {
    await start();
    await bound(["Deny", "Audit"]);
    assert.equal((await server.request("POST", configMaps, { body })).status, 422);
    assert.deepEqual(notes(), {
      "checks.example.com/name": "it is x",
      "validation.policy.admission.k8s.io/validation_failure": failure(["Deny", "Audit"]),
    });
    await server.requestOk("POST", configMaps, { body: { metadata: { name: "y" } } });
    assert.deepEqual(notes(), { "checks.example.com/name": "it is y" });
  });

  it("of one logical cluster are not in the events of another", async () => {
    await start();
    await bound(["Audit"]);
    await server.requestOk("POST", configMaps.replace("/a/", "/b/"), { body });
    assert.deepEqual(notes(), {});
  });
});

describe("bodies with secrets", () => {
  const secrets = "/clusters/a/api/v1/namespaces/default/secrets";
  const secret = { metadata: { name: "s" }, stringData: { key: "canary-value" } };
  const patch = [{ op: "add", path: "/metadata/labels", value: { seen: "canary-label" } }];
  const written = async (level: string) => {
    await start(level);
    webhook.respondWith("/change", () => ({ patch }));
    const rules = rulesFor("secrets");
    await register(server, "mutating", { ...hook("a.example.com", "/change"), rules });
    await server.requestOk("POST", secrets, { body: secret });
    return events.filter(({ objectRef }) => objectRef?.resource === "secrets");
  };

  it("are omitted below the level RequestResponse, and an annotation says so", async () => {
    const found = await written("Request");
    assert.ok(!JSON.stringify(found).includes("canary"));
    assert.equal(found.at(-1)?.annotations?.["audit.kcp.io/body-left-out"], "it may hold secrets");
  });

  it("are included at the level RequestResponse", async () => {
    const text = JSON.stringify(await written("RequestResponse"));
    assert.ok(text.includes("canary-value") && text.includes("canary-label"));
  });
});
