import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { evaluateStatus } from "./evaluate-status.ts";
import type { Finding } from "./finding.ts";
import { checkProduction } from "./production-checklist.ts";
import type { Status } from "./read-status.ts";

const nowMs = Date.parse("2027-01-01T00:00:00Z");
const dayMs = 86_400_000;
const at = (ms: number) => new Date(nowMs + ms).toISOString();

const healthy: Status = {
  server: {
    url: "https://localhost:6443",
    version: "0.4.0",
    kubernetesVersion: "v1.36.4",
    isReady: true,
    failedChecks: [],
    clockSkewMs: 0,
  },
  shards: [{ name: "root", url: "https://localhost:6443", isReady: true, message: "" }],
  servers: [],
  store: { backend: "etcd", revision: 7, objects: 3 },
  certificate: { subject: "kcp", issuer: "kcp-ca", notAfter: at(200 * dayMs) },
  controllers: { holder: "a_1", renewedAt: at(-2000) },
  features: { audit: true },
  clusters: [
    {
      workspace: "root",
      name: "east",
      mode: "Pull",
      state: "Ready",
      isReady: true,
      reason: "ClusterReady",
      message: "",
      kubernetesVersion: "v1.33.0",
      syncerVersion: "0.3.2",
      renewedAt: at(-1000),
    },
  ],
};

const problems = (status: Status): readonly Finding[] =>
  evaluateStatus(status, { nowMs, version: "0.4.1" }).filter(({ severity }) => severity !== "ok");

function check(status: Status, severity: Finding["severity"], message: RegExp, next: RegExp): void {
  const found = problems(status);
  assert.equal(found.length, 1, JSON.stringify(found));
  assert.equal(found[0]?.severity, severity);
  assert.match(found[0]?.message ?? "", message);
  assert.match(found[0]?.next ?? "", next);
}

describe("the evaluation of a control plane's status", () => {
  it("finds nothing wrong with a healthy one", () => assert.deepEqual(problems(healthy), []));

  it("names the checks that fail, and where to look for the store", () =>
    check(
      { ...healthy, server: { ...healthy.server, isReady: false, failedChecks: ["etcd"] } },
      "error",
      /not ready: etcd/,
      /kcp doctor/,
    ));

  it("warns of a certificate two weeks before it expires, and fails when it has", () => {
    const until = (ms: number) => ({
      ...healthy,
      certificate: { ...healthy.certificate, notAfter: at(ms) },
    });
    assert.deepEqual(problems(until(15 * dayMs)), []);
    check(until(10 * dayMs), "warning", /10 days/, /renewal/);
    check(until(-dayMs), "error", /expired/, /restart the server/);
  });

  it("names the shard that does not report", () => {
    const away = { name: "b", url: "https://b:6443", isReady: false, message: "no report" };
    const shards = [...healthy.shards, away];
    check({ ...healthy, shards }, "error", /b:6443 does not report to root: no report/, /log/);
    const found = evaluateStatus({ ...healthy, shards }, { nowMs, version: "0.4.1" });
    assert.deepEqual(
      found.filter((one) => one.check.startsWith("shard ")).map((one) => one.check),
      ["shard root", "shard b"],
    );
  });

  it("fails when clocks differ", () =>
    check(
      { ...healthy, server: { ...healthy.server, clockSkewMs: -60_000 } },
      "error",
      /60 s behind/,
      /synchronize/,
    ));

  it("fails when no server runs the controllers", () =>
    check(
      { ...healthy, controllers: { holder: "a_1", renewedAt: at(-300_000) } },
      "error",
      /no server runs them/,
      /start a server/,
    ));

  it("warns of a server that no longer reports", () =>
    check(
      { ...healthy, servers: [{ url: "https://b:6443", renewedAt: at(-300_000) }] },
      "warning",
      /https:\/\/b:6443 last reported/,
      /start that server/,
    ));

  it("says why a cluster is not Ready, and the command that says more", () => {
    const [east] = healthy.clusters;
    const lost = { ...east, isReady: false, reason: "AgentHeartbeatMissed", message: "no renewal" };
    check(
      { ...healthy, clusters: [lost as never] },
      "error",
      /AgentHeartbeatMissed: no renewal/,
      /kubectl describe synctarget east/,
    );
  });

  it("warns of an agent that is more than one minor version from the server", () => {
    const [east] = healthy.clusters;
    const old = { ...healthy, clusters: [{ ...east, syncerVersion: "0.2.0" } as never] };
    check(old, "warning", /syncer v0\.2\.0/, /update the agent/);
    const unknown = { ...healthy, clusters: [{ ...east, syncerVersion: "" } as never] };
    assert.deepEqual(problems(unknown), []);
  });

  it("compares features with the production checklist", () => {
    const found = checkProduction({ ...healthy, features: { audit: false } });
    assert.deepEqual(
      found.filter(({ severity }) => severity === "warning").map((one) => one.check),
      ["audit", "availability"],
    );
  });
});
