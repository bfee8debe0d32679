/**
 * Goal: bodies of up to 1 MiB are recorded without blocking other requests. Method: the characters
 * of synchronous calls to the engine's own JSON parser and encoder are counted.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { FakeClock, TestServer } from "../testing/index.ts";
import { Audit, type AuditBackend } from "./audit.ts";
import type { Decode } from "./audit-record.ts";
import { LargeEventQueue } from "./large-event-queue.ts";
import { LogBackend } from "./log-backend.ts";
import { parseAuditPolicy } from "./policy.ts";

const path = "/clusters/a/api/v1/namespaces/default/configmaps";
const charactersAtOnceMax = 64 << 10;

const noDecode: Decode = () => assert.fail("nothing was sent");

/** Almost 1 MiB, in many values; more with managedFields. */
function longObject(name: string): JsonObject {
  const data: Record<string, string> = {};
  for (let i = 0; i < 4500; i++) data[`key-${i}`] = "v".repeat(90);
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

async function started(t: TestContext, backend: AuditBackend, more: object = {}) {
  const policy = parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: [{ level: "RequestResponse", verbs: ["create", "get"], ...more }],
    omitStages: ["RequestReceived"],
  });
  const server = await TestServer.start({ audit: { policy, backends: () => [backend] } });
  t.after(() => server.close());
  return server;
}

describe("events with long bodies", () => {
  it("are parsed and encoded with yields to the event loop, and are complete", async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "kcp-audit-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const logPath = join(directory, "audit.log");
    const lost = (what: unknown) => assert.fail(String(what));
    const rotation = { sizeMaxBytes: 0, backupsMax: 0, ageMaxDays: 0 };
    const options = { clock: new FakeClock(), ...rotation, onDropped: lost, onError: lost };
    const backend = new LogBackend({ path: logPath, ...options });
    const audited = await started(t, backend, { omitManagedFields: true });
    const sent = longObject("long");
    const body = JSON.stringify(sent);
    assert.ok(body.length > 400 << 10 && body.length < 1 << 20);
    let longest = 0;
    const { parse, stringify } = JSON;
    t.mock.method(JSON, "parse", (text: string, ...rest: []) => {
      longest = Math.max(longest, text.length);
      return parse(text, ...rest);
    });
    t.mock.method(JSON, "stringify", (value: unknown, ...rest: []) => {
      const text = stringify(value, ...rest) as string | undefined;
      longest = Math.max(longest, text?.length ?? 0);
      return text;
    });
    const { status } = await audited.request("POST", path, { body, user: "a" });
    assert.equal(status, 201);
    await audited.request("GET", `${path}/long`, { user: "a" });
    await audited.close();
    t.mock.restoreAll();
    assert.ok(longest > 0 && longest <= charactersAtOnceMax, `${longest} characters at once`);
    const [created, got] = readFileSync(logPath, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, JsonObject>);
    assert.deepEqual(created?.["requestObject"], sent);
    for (const event of [created, got])
      assert.deepEqual(event?.["responseObject"]?.["data"], sent["data"]);
  });

  it("are built after the response, unlike short ones", async (t) => {
    const told: string[] = [];
    const server = await started(t, {
      name: "test",
      write: ({ objectRef }) => void told.push(String((objectRef as JsonObject)["name"])),
      close: async () => undefined,
    });
    await server.requestOk("POST", path, { body: longObject("long"), user: "a" });
    assert.equal(told.length, 0);
    await server.requestOk("POST", path, { body: { metadata: { name: "short" } }, user: "a" });
    assert.ok(told.includes("short"));
    await server.close();
    assert.deepEqual(told.toSorted(), ["long", "short"]);
  });
});

describe("the queue of large events", () => {
  it("omits the bodies of events when it is full, and records that", async () => {
    const told: JsonObject[] = [];
    const policy = parseAuditPolicy({
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      rules: [{ level: "RequestResponse" }],
    });
    const body = Buffer.from(JSON.stringify({ message: "m".repeat(100_000) }));
    const backend = {
      name: "test",
      write: (event: JsonObject) => void told.push(event),
      close: async () => undefined,
    };
    const clock = new FakeClock();
    const largeBodiesBytesMax = 2 * body.length;
    const audit = new Audit({ policy, backends: [backend], clock, largeBodiesBytesMax });
    const scope = { kind: "path", cluster: "a", path: "/", verb: "get" } as unknown as RequestScope;
    const request = { method: "GET", target: "/", headers: {} } as unknown as ApiRequest;
    const asked = { request, scope, user: { username: "a", groups: [] }, receivedAt: 0 };
    // A rejection is parsed twice: as the response, and for its Status.
    for (const [auditId, status] of [
      ["fits", 400],
      ["is too much", 400],
      ["is too much as well", 200],
    ] as const) {
      const record = audit.begin({ ...asked, auditId });
      assert.ok(record);
      await audit.responded(
        record,
        { status, headers: {} as ApiResponse["headers"], body },
        noDecode,
      );
    }
    await audit.close();
    const completed = told.filter(({ stage }) => stage === "ResponseComplete");
    const shown = completed.map(({ auditID, responseObject, annotations }) => [
      auditID,
      responseObject !== undefined,
      (annotations as JsonObject)["audit.kcp.io/body-left-out"],
    ]);
    const why = "too many long ones wait to be written down";
    assert.deepEqual(shown, [
      ["is too much", false, why],
      ["is too much as well", false, why],
      ["fits", true, undefined],
    ]);
  });

  it("is limited in bytes, builds events one after the other, and continues after one that fails", async () => {
    const errors: unknown[] = [];
    const steps: string[] = [];
    const work = (name: string, fails = false) =>
      function* () {
        steps.push(`${name} begins`);
        yield;
        if (fails) throw new Error(name);
        steps.push(`${name} ends`);
      };
    const events = new LargeEventQueue(10, (error) => errors.push((error as Error).message));
    assert.ok(events.add(5, work("a")));
    assert.ok(events.add(5, work("b", true)));
    assert.equal(events.add(1, work("c")), false);
    assert.deepEqual(steps, [], "nobody waits for it");
    await events.done();
    assert.ok(events.add(10, work("d")));
    await events.done();
    assert.deepEqual(errors, ["b"]);
    assert.deepEqual(steps, ["a begins", "a ends", "b begins", "d begins", "d ends"]);
  });
});
