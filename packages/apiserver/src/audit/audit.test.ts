/** Audit through a server: the events of a request, and their content. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import { ListeningServer, TestServer } from "../testing/index.ts";
import { rejectedPerSecond, unauthenticatedPerSecond } from "./event-sampler.ts";
import { parseAuditPolicy } from "./policy.ts";

const path = "/clusters/a/api/v1/namespaces/default/configmaps";
const rolesPath = "/clusters/a/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, data: { k: "v" } };

interface Event {
  readonly stage: string;
  readonly level: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

const servers: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

function recorded(rules: readonly object[], policy: object = {}) {
  const events: Event[] = [];
  const parsed = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: rules as unknown as JsonObject[],
    ...policy,
  });
  const backend = {
    name: "test",
    write: (event: JsonObject) => void events.push(event as unknown as Event),
    close: async () => undefined,
  };
  return { events, audit: { policy: parsed, backends: () => [backend] } };
}

async function started(rules: readonly object[], policy: object = {}) {
  const { events, audit } = recorded(rules, policy);
  const server = await TestServer.start({ audit });
  servers.push(server);
  return { server, events };
}

/** Waits for events with long bodies, which are written some turns after the response. */
async function untilTold(events: readonly Event[], count: number): Promise<void> {
  while (events.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe("audit", () => {
  it("records a request in two events, with user, object, source and result", async () => {
    const { server, events } = await started([{ level: "Metadata" }]);
    const headers = { "audit-id": "my-id", "user-agent": "kubectl/v1.36" };
    const answer = await server.request("POST", path, { body, headers, user: "a" });
    assert.equal(answer.headers["audit-id"], "my-id");
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["RequestReceived", "ResponseComplete"],
    );
    const { requestReceivedTimestamp, stageTimestamp, user, annotations, ...complete } =
      events[1] as Event;
    assert.match(String(requestReceivedTimestamp), /^2026-.*\.\d{6}Z$/);
    assert.match(String(stageTimestamp), /^2026-.*\.\d{6}Z$/);
    assert.equal((user as { username: string }).username, "a");
    assert.deepEqual(complete, {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: "my-id",
      stage: "ResponseComplete",
      requestURI: path,
      verb: "create",
      sourceIPs: ["127.0.0.1"],
      userAgent: "kubectl/v1.36",
      objectRef: {
        resource: "configmaps",
        namespace: "default",
        name: "x",
        uid: answer.object.metadata.uid,
        apiVersion: "v1",
      },
      responseStatus: { metadata: {}, code: 201 },
    });
    const ofSteps = "request.auth.kcp.io/";
    const others = Object.entries(annotations ?? {}).filter(([key]) => !key.startsWith(ofSteps));
    assert.deepEqual(Object.fromEntries(others), {
      "kcp.io/cluster": "a",
      "tenancy.kcp.io/workspace": "a",
      "authorization.k8s.io/decision": "allow",
      "authorization.k8s.io/reason": "owner",
    });
    assert.equal(annotations?.[`${ofSteps}05-local-decision`], "NoOpinion");
  });

  it("names the object of a request, from the path or from the object", async () => {
    const { server, events } = await started([{ level: "Metadata" }]);
    const refOf = (event: Event | undefined) => event?.["objectRef"];
    const configMap = { resource: "configmaps", namespace: "default", apiVersion: "v1" };
    const generated = await server.requestOk("POST", path, {
      body: { metadata: { generateName: "x-", uid: "made-up" } },
      user: "a",
    });
    const { name, uid, resourceVersion } = generated.metadata;
    assert.match(name ?? "", /^x-.{5}$/);
    assert.deepEqual(refOf(events.at(-1)), { ...configMap, name, uid });
    // The event RequestReceived is written before the body is read.
    assert.deepEqual(refOf(events.at(-2)), configMap);
    const metadata = { name: name as string, uid, resourceVersion };
    await server.requestOk("PUT", `${path}/${name}`, { body: { metadata, data: {} }, user: "a" });
    assert.deepEqual(refOf(events.at(-1)), { ...configMap, name, uid, resourceVersion });
    await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
      body: { metadata: { name: "shop" } },
      user: "a",
    });
    const { uid: ofShop, ...shop } = refOf(events.at(-1)) as { uid: string };
    assert.deepEqual(shop, { resource: "namespaces", name: "shop", apiVersion: "v1" });
    assert.match(ofShop, /^[0-9a-f-]{36}$/);
    const long = { metadata: { name: "x".repeat(1_000_000) } };
    await server.request("POST", path, { body: long, user: "a" });
    assert.deepEqual(refOf(events.at(-1)), configMap);
    // An object that was not created has no uid.
    await server.request("POST", path, { body: { metadata: { name } }, user: "a" });
    assert.deepEqual(refOf(events.at(-1)), { ...configMap, name });
  });

  it("includes bodies only at the levels that require them", async () => {
    const secret = { metadata: { name: "s" }, stringData: { password: "hunter2" } };
    const plain = { metadata: { name: "s" }, data: { password: "hunter2" } };
    const secrets = path.replace("configmaps", "secrets");
    for (const [level, has, ofSecrets] of [
      ["Metadata", [], []],
      ["Request", ["requestObject"], []],
      ["RequestResponse", ["requestObject", "responseObject"], ["requestObject", "responseObject"]],
    ] as const) {
      const { server, events } = await started([{ level }]);
      for (const [target, sent, shown] of [
        [path, plain, has],
        [secrets, secret, ofSecrets],
      ] as const) {
        await server.requestOk("POST", target, { body: sent, user: "a" });
        const [received, complete] = events.splice(0) as [Event, Event];
        const objects = Object.keys(complete).filter((member) => member.endsWith("Object"));
        assert.deepEqual(objects, shown);
        assert.ok(!JSON.stringify(received).includes("hunter2"));
        assert.equal(JSON.stringify(complete).includes("hunter2"), shown.length > 0);
      }
    }
  });

  it("records nothing when the level is None, or no rule matches", async () => {
    const { server, events } = await started([
      { level: "None", users: ["a"] },
      { level: "Metadata", verbs: ["delete"] },
    ]);
    await server.requestOk("POST", path, { body, user: "a" });
    await server.get(path);
    assert.deepEqual(events, []);
  });

  it("omits the stages that the policy or the rule omits", async () => {
    const { server, events } = await started(
      [{ level: "Metadata", omitStages: ["ResponseComplete"] }],
      { omitStages: ["RequestReceived"] },
    );
    await server.get(path, { user: "a" });
    assert.deepEqual(events, []);
  });

  it("omits managedFields if configured", async () => {
    const { server, events } = await started([
      { level: "RequestResponse", omitManagedFields: true },
    ]);
    await server.requestOk("POST", path, { body, user: "a" });
    const { responseObject } = events[1] as Event;
    const { metadata } = responseObject as { metadata: object };
    assert.ok("uid" in metadata && !("managedFields" in metadata));
  });

  it("records the start and the end of a watch", async () => {
    const { server, events } = await started([{ level: "Metadata", verbs: ["watch"] }]);
    const watch = await server.watch(`${path}?watch=true`, { user: "a" });
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["RequestReceived", "ResponseStarted"],
    );
    await server.requestOk("POST", path, { body, user: "a" });
    await watch.next();
    await watch.leave();
    assert.equal(events.at(-1)?.stage, "ResponseComplete");
    assert.equal(events.length, 3);
  });

  it("records denied requests with the reason, and requests that fail authentication", async () => {
    const { server, events } = await started([{ level: "RequestResponse" }]);
    await server.get(path, { user: "b" });
    const refused = events.at(-1) as Event;
    assert.equal(refused.annotations?.["authorization.k8s.io/decision"], "forbid");
    const { responseStatus } = refused as unknown as {
      responseStatus: { code: number; reason: string };
    };
    assert.deepEqual([responseStatus.code, responseStatus.reason], [403, "Forbidden"]);
    await server.get(path, { user: "anonymous", headers: { authorization: "Bearer t0p" } });
    const unknown = events.at(-1) as Event;
    assert.deepEqual([unknown.stage, unknown.level], ["ResponseStarted", "Metadata"]);
    assert.ok(!JSON.stringify(events).includes("t0p"));
  });

  it("records requests that are rejected before authentication", async () => {
    const { server, events } = await started([{ level: "RequestResponse" }]);
    for (const [method, target, code] of [
      ["GET", "/clusters/%2e%2e/api/v1/namespaces/default/secrets?token=t0p", 400],
      ["POST", "/clusters/a/api/v1/namespaces//configmaps", 404],
      ["GET", "/clusters/a/healthz/%2e%2e/api", 400],
    ] as const) {
      const { status } = await server.request(method, target, { user: "a" });
      assert.equal(status, code);
      const [event, ...more] = events.splice(0) as [Event];
      assert.deepEqual(more, []);
      const { stage, level, verb, responseStatus } = event as unknown as {
        responseStatus: { code: number };
      } & Event;
      assert.deepEqual(
        [stage, level, verb, responseStatus.code],
        ["ResponseStarted", "Metadata", method.toLowerCase(), code],
      );
      assert.equal(event["objectRef"], undefined);
      assert.equal((event["user"] as { username: string }).username, "system:anonymous");
      assert.equal(event["requestURI"], target.replace("t0p", "REDACTED"));
      assert.match(String(event["requestReceivedTimestamp"]), /^2026-/);
    }
    await server.get("https://u:t0p@host/api", { user: "a" });
    assert.equal(events.splice(0)[0]?.["requestURI"], "https://REDACTED@host/api");
    await server.get(`${path}?timeout=soon`, { user: "a" });
    const [deadline] = events.splice(0) as [Event];
    assert.deepEqual(deadline["objectRef"], {
      resource: "configmaps",
      namespace: "default",
      apiVersion: "v1",
    });
    await server.get(path, { user: "anonymous", headers: { authorization: "Bearer t0p" } });
    assert.match(String(events[0]?.["requestReceivedTimestamp"]), /^2026-/);
  });

  it("limits the records of such requests per second, and records the number of omitted ones", async () => {
    const { server, events } = await started([
      { level: "None", nonResourceURLs: ["/clusters/*"] },
      { level: "Metadata" },
    ]);
    const bad = () => server.get("/clusters/%2e%2e/api", { user: "a" });
    for (let i = 0; i < rejectedPerSecond + 20; i++) await bad();
    assert.equal(events.length, rejectedPerSecond);
    // Other requests are recorded as usual.
    await server.get(path, { user: "a" });
    assert.equal(events.splice(0).length, rejectedPerSecond + 2);
    const { text } = await server.get("/metrics");
    assert.match(text, /apiserver_audit_error_total\{plugin="refusals"\} 20\n/);
    events.splice(0);
    server.clock.advance(1000);
    await bad();
    await bad();
    assert.deepEqual(
      events.map(({ annotations }) => annotations?.["audit.kcp.io/requests-left-out"]),
      ["20", undefined],
    );
  });

  it("limits the records of unauthenticated requests per second, with invalid or missing credentials", async () => {
    const { server, events } = await started([{ level: "Metadata" }]);
    const stranger = (target: string, headers = {}) =>
      server.get(target, { user: "anonymous", headers });
    const wrong = { authorization: "Bearer t0p" };
    const leftOut = () =>
      events.map(({ annotations }) => annotations?.["audit.kcp.io/requests-left-out"]);
    for (const [target, headers, status, eventsOfEach] of [
      [path, wrong, 401, 1],
      [path, {}, 403, 2],
      // Every user may read this.
      ["/version", {}, 200, 2],
    ] as const) {
      for (let i = 0; i < unauthenticatedPerSecond + 20; i++)
        assert.equal((await stranger(target, headers)).status, status);
      assert.equal(events.length, unauthenticatedPerSecond * eventsOfEach, target);
      // Other requests are recorded as usual, and unparsable requests have a limit of their own.
      events.splice(0);
      await server.get(path, { user: "a" });
      await stranger("/clusters/%2e%2e/api");
      assert.equal(events.splice(0).length, 3);
      server.clock.advance(1000);
      await stranger(path, wrong);
      await stranger(path, wrong);
      assert.deepEqual(leftOut(), ["20", undefined]);
      events.splice(0);
      server.clock.advance(1000);
    }
    const { text } = await server.get("/metrics");
    assert.match(text, /apiserver_audit_error_total\{plugin="refusals"\} 60\n/);
  });

  it("records fewer unauthenticated requests if they are long", async () => {
    const { server, events } = await started([
      { level: "Metadata", omitStages: ["RequestReceived"] },
    ]);
    const long = "x".repeat(30_000);
    for (let i = 0; i < 10; i++) {
      const headers = { "user-agent": long, authorization: "Bearer t0p" };
      await server.get(`${path}/${long}`, { user: "anonymous", headers });
      await server.get(`${path}/${long}`, { user: "anonymous" });
      await server.get(`/clusters/%2e%2e/${long}`, { user: "anonymous" });
    }
    assert.ok(events.length >= 3 && JSON.stringify(events).length < 1 << 20);
    events.splice(0);
    await server.get(path, { user: "anonymous" });
    assert.equal(events.length, 1, "a short one has room");
  });

  it("records every object that an unauthenticated client received", async () => {
    const { server, events } = await started([{ level: "Metadata" }]);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    const group = { apiGroup: "rbac.authorization.k8s.io", kind: "Group" };
    await server.requestOk("POST", rolesPath, { body: { metadata: { name: "open" }, rules } });
    await server.requestOk("POST", rolesPath.replace("roles", "rolebindings"), {
      body: {
        metadata: { name: "open" },
        roleRef: { apiGroup: group.apiGroup, kind: "Role", name: "open" },
        subjects: [{ ...group, name: "system:unauthenticated" }],
      },
    });
    for (let i = 0; i < unauthenticatedPerSecond; i++)
      await server.get("/version", { user: "anonymous" });
    events.splice(0);
    await server.requestOk("GET", path, { user: "anonymous" });
    assert.deepEqual(
      events.map(({ stage, verb }) => [stage, verb]),
      [["ResponseComplete", "list"]],
    );
  });

  it("records none of them when the level is None", async () => {
    const { server, events } = await started([
      { level: "None", users: ["system:anonymous"] },
      { level: "Metadata" },
    ]);
    await server.get("/clusters/%2e%2e/api", { user: "a" });
    assert.deepEqual(events, []);
  });

  it("records an internal error at the stage Panic", async () => {
    const { events, audit } = recorded([{ level: "Metadata" }]);
    const admit = () => {
      throw new Error("a bug");
    };
    const server = await TestServer.start({ audit, admissionPlugins: [{ name: "bug", admit }] });
    servers.push(server);
    await server.request("POST", path, { body });
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["RequestReceived", "Panic"],
    );
    assert.ok(!JSON.stringify(events).includes("a bug"));
  });

  it("includes a YAML body as JSON, and a patch as it was sent", async () => {
    const { server, events } = await started([{ level: "Request" }]);
    const yaml = "metadata: {name: yam}\ndata: {k: v}\n";
    const headers = { "content-type": "application/yaml" };
    await server.requestOk("POST", path, { body: yaml, headers, user: "a" });
    const objectOf = (event: Event | undefined) => event?.["requestObject"];
    assert.deepEqual(objectOf(events.at(-1)), { metadata: { name: "yam" }, data: { k: "v" } });
    await server.patch(`${path}/yam`, "merge", { data: { k: "w" } }, { user: "a" });
    assert.deepEqual(objectOf(events.at(-1)), { data: { k: "w" } });
  });

  it("includes long YAML as JSON, also JSON that was sent as YAML, and omits invalid bodies", async () => {
    const { server, events } = await started([{ level: "Request" }]);
    const nothing = "# nothing\n".repeat(1000);
    const long = `metadata: {name: long, generation: 9007199254740993}\ndata: {k: v}\n${nothing}`;
    const headers = { "content-type": "application/yaml" };
    await server.requestOk("POST", path, { body: long, headers, user: "a" });
    const objectOf = (event: Event | undefined) => event?.["requestObject"] as JsonObject;
    assert.equal(
      stringifyJson(objectOf(events.at(-1))),
      '{"metadata":{"name":"long","generation":9007199254740993},"data":{"k":"v"}}',
    );
    const config = { apiVersion: "v1", kind: "ConfigMap", data: { k: "w".repeat(10_000) } };
    const applied = `${path}/long?fieldManager=me&force=true`;
    await server.patch(applied, "apply", config, { user: "a" });
    assert.deepEqual(objectOf(events.at(-1)), config);
    await server.request("POST", path, { body: `a: b: c\n${nothing}`, headers, user: "a" });
    assert.equal(objectOf(events.at(-1)), undefined);
  });

  it("says that long YAML is omitted when its sender disconnected before it was parsed", async () => {
    const { server, events } = await started([{ level: "Request" }]);
    const body = `metadata: {name: left}\n${"# nothing\n".repeat(1000)}`;
    const headers = { "content-type": "application/yaml" };
    const signal = AbortSignal.abort();
    const { status } = await server.request("POST", path, { body, headers, signal, user: "a" });
    assert.equal(status, 499);
    const event = events.at(-1) as Event & { annotations: Record<string, string> };
    assert.equal(event["requestObject"], undefined);
    assert.equal(
      event.annotations["audit.kcp.io/body-left-out"],
      "it is long YAML that was not read here",
    );
  });

  it("omits a body that is nested too deeply to be encoded, and keeps numbers as they were sent", async () => {
    const { server, events } = await started([{ level: "Request" }]);
    const headers = { "content-type": "application/json" };
    const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    const refused = await server.request("POST", path, { body: deep, headers, user: "a" });
    assert.equal(refused.status, 400);
    await untilTold(events, 2);
    const event = events.at(-1) as Event;
    assert.deepEqual([event.stage, event["requestObject"]], ["ResponseComplete", undefined]);
    const long = '{"metadata":{"name":"x","generation":9007199254740993}}';
    await server.requestOk("POST", path, { body: long, headers, user: "a" });
    assert.equal(stringifyJson(events.at(-1)?.["requestObject"] as JsonObject), long);
  });

  it("records long lists at the end of the stream, and omits bodies that are too long", async () => {
    const { server, events } = await started([{ level: "RequestResponse", verbs: ["list"] }]);
    const data = { k: "v".repeat(100_000) };
    for (let i = 0; i < 12; i++) {
      const each = { metadata: { name: `x${i}`, labels: { few: String(i < 4) } }, data };
      await server.requestOk("POST", path, { body: each, user: "a" });
    }
    await server.requestOk("GET", `${path}?labelSelector=few%3Dtrue`, { user: "a" });
    await untilTold(events, 2);
    const { responseObject } = events.at(-1) as unknown as { responseObject: { items: [] } };
    assert.equal(responseObject.items.length, 4);
    await server.requestOk("GET", path, { user: "a" });
    const long = events.at(-1) as Event;
    assert.equal(long["responseObject"], undefined);
    assert.equal(long.annotations?.["audit.k8s.io/truncated"], "true");
  });

  it("counts its events, and records the address of a real client", async () => {
    const { events, audit } = recorded([{ level: "Metadata" }]);
    const listening = await ListeningServer.start({ audit });
    servers.push(listening);
    const answer = await listening.http2(path, { headers: { "audit-id": "over-the-wire" } });
    assert.equal(answer.headers["audit-id"], "over-the-wire");
    assert.deepEqual(events[1]?.["sourceIPs"], ["127.0.0.1"]);
    const metrics = (await listening.http2("/metrics")).body.toString("utf8");
    assert.match(metrics, /apiserver_audit_level_total\{level="Metadata"\} 3/);
  });

  for (const protocol of ["http1", "http2"] as const)
    it(`records each of several impersonated groups at level Request, over ${protocol}`, async () => {
      const { events, audit } = recorded([{ level: "Request" }]);
      const listening = await ListeningServer.start({ audit });
      servers.push(listening);
      const groups = ["dev", "ops,night", "qa"];
      const headers = { "impersonate-user": "alice", "impersonate-group": groups };
      await listening[protocol](path, {
        headers: headers as unknown as Record<string, string>,
        user: "masters",
      });
      // Only the end of the request knows the user that the request was continued as.
      const [user] = events.flatMap(({ impersonatedUser }) => impersonatedUser ?? []);
      assert.deepEqual((user as { groups: string[] }).groups.slice(0, 3), groups);
    });

  it("never records objects of one cluster under the name of another", async () => {
    const { server, events } = await started([{ level: "RequestResponse" }]);
    await server.requestOk("POST", path, { body, user: "a" });
    await server.get(path.replace("/a/", "/b/"), { user: "b" });
    const ofB = events.filter(({ annotations }) => annotations?.["kcp.io/cluster"] === "b");
    assert.equal(ofB.length, 2);
    assert.ok(!JSON.stringify(ofB).includes('"k":"v"'));
  });
});
