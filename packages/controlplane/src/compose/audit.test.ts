import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { asyncListener } from "@kcp-ts/testkit";
import { controlPlaneDefaults, OptionsError } from "../options.ts";
import { composeAudit } from "./audit.ts";

const directory = mkdtempSync(join(tmpdir(), "kcp-audit-options-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const warnings: string[] = [];
const log = { warn: (_: object, message: string) => warnings.push(message) };
const parts = { clock: systemClock, random: systemRandom, log };
const policyFile = join(directory, "policy.yaml");
writeFileSync(policyFile, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n");
const { audit: defaults } = controlPlaneDefaults;

describe("the audit options", () => {
  it("are off by default", async () => {
    assert.equal(await composeAudit(defaults, parts), undefined);
  });

  it("record nothing without a policy or without a backend, as kube-apiserver, and warn", async () => {
    warnings.length = 0;
    assert.equal(await composeAudit({ ...defaults, logPath: "-" }, parts), undefined);
    assert.equal(await composeAudit({ ...defaults, policyFile }, parts), undefined);
    assert.deepEqual(warnings, [
      "No audit policy file provided, no events are recorded: set --audit-policy-file",
      "No audit backend provided, no events are recorded: set --audit-log-path or --audit-webhook-config-file",
    ]);
  });

  it("are refused with a policy that is missing or invalid, and the error names the file", async () => {
    const refused = (options: object, says: RegExp) =>
      assert.rejects(composeAudit({ ...defaults, ...options }, parts), (error) => {
        assert.ok(error instanceof OptionsError);
        assert.match(error.message, says);
        return true;
      });
    await refused({ policyFile: join(directory, "none"), logPath: "-" }, /--audit-policy-file/);
    const wrong = join(directory, "wrong.yaml");
    writeFileSync(wrong, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Much\n");
    await refused({ policyFile: wrong, logPath: "-" }, /wrong\.yaml: rules\[0\]\.level/);
  });

  it("write to a file and to a webhook, and count events that the webhook rejects", async () => {
    const bodies: string[] = [];
    const server = createServer(
      asyncListener(async (request, response) => {
        let text = "";
        for await (const part of request) text += String(part);
        bodies.push(`${request.method} ${request.url} ${text}`);
        response.statusCode = bodies.length === 1 ? 200 : 503;
        response.end();
      }),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const webhookConfigFile = join(directory, "webhook.kubeconfig");
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "audit",
      contexts: [{ name: "audit", context: { cluster: "audit", user: "audit" } }],
      clusters: [
        { name: "audit", cluster: { server: `http://127.0.0.1:${port}/events?from=kcp` } },
      ],
      users: [{ name: "audit", user: {} }],
    };
    writeFileSync(webhookConfigFile, JSON.stringify(kubeconfig));
    const logPath = join(directory, "audit.log");
    const options = { ...defaults, policyFile, logPath, webhookConfigFile };
    const dropped: string[] = [];
    const observer = {
      onDropped: (plugin: string, events: number) => dropped.push(`${plugin} ${events}`),
      onError: () => undefined,
    };
    for (const auditID of ["one", "two"]) {
      const backends = (await composeAudit(options, parts))?.backends(observer) ?? [];
      for (const backend of backends) void backend.write({ kind: "Event", auditID });
      await Promise.all(backends.map((backend) => backend.close()));
    }
    assert.match(bodies[0] ?? "", /^POST \/events\?from=kcp \{"kind":"EventList".*"one"/);
    assert.deepEqual(dropped, ["webhook 1"]);
    assert.equal(readFileSync(logPath, "utf8").trim().split("\n").length, 2);
    server.closeAllConnections();
    server.close();
  });
});
