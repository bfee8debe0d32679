/**
 * Goal: requests are spans at a collector, in the traces of their clients, as the
 * TracingConfiguration says; and no tenant decides what is traced. Method: a collector of the
 * test's own on HTTP, and requests through the listener.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { controlPlaneDefaults, createLog, startControlPlane } from "@kcp-ts/controlplane";
import { connect, type Kubeconfig, loadKubeconfig } from "@kcp-ts/sdk/kubeconfig";

type UserEntry = Kubeconfig["users"] extends ReadonlyMap<string, infer User> ? User : never;

interface Sent {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const otherTrace = "5bf92f3577b34da6a3ce929d0e0e4736";
const parent = "00f067aa0ba902b7";
const tenantUser = { token: "tenant-token" } as UserEntry;
const path = "/clusters/root/api/v1/namespaces/default/configmaps";

async function collector(t: TestContext) {
  const spans: Sent[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url} ${request.headers["content-type"]}`);
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: { scopeSpans: { spans: Sent[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap((one) => one.scopeSpans.flatMap((it) => it.spans)));
      response.end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { spans, paths, port: (server.address() as AddressInfo).port };
}

async function started(t: TestContext, tracing: object) {
  const rootDirectory = await mkdtemp(join(tmpdir(), "kcp-tracing-"));
  t.after(() => rm(rootDirectory, { recursive: true, force: true }));
  const tracingConfigFile = join(rootDirectory, "tracing.yaml");
  const tokenAuthFile = join(rootDirectory, "tokens.csv");
  const head = { apiVersion: "apiserver.config.k8s.io/v1", kind: "TracingConfiguration" };
  await writeFile(tracingConfigFile, JSON.stringify({ ...head, ...tracing }));
  await writeFile(tokenAuthFile, "tenant-token,tenant,1\n");
  const plane = await startControlPlane(
    {
      ...controlPlaneDefaults,
      ...{ storage: { kind: "memory" }, controllers: false, physicalClusters: undefined },
      ...{ rootDirectory, bindAddress: "127.0.0.1", securePort: 0 },
      ...{ tracingConfigFile, tokenAuthFile },
    },
    { log: createLog({ format: "json", verbosity: 0, write: () => undefined }) },
  );
  t.after(() => plane.stop());
  const kubeconfig = await loadKubeconfig({ path: plane.kubeconfigPath });
  const admin = connect(kubeconfig, { context: "shard-base" });
  t.after(() => admin.close());
  const users = new Map([...kubeconfig.users.keys()].map((name) => [name, tenantUser]));
  const tenant = connect({ ...kubeconfig, users }, { context: "shard-base" });
  t.after(() => tenant.close());
  const send = async (traceparent: string, { transport } = admin) => {
    const { status, body } = await transport.send({
      ...{ method: "GET", path },
      headers: { traceparent },
    });
    await body.text(1_000_000);
    return status;
  };
  return { plane, send, tenant };
}

describe("--tracing-config-file", () => {
  it("makes each sampled request a span in the trace of its client", async (t) => {
    const { spans, paths, port } = await collector(t);
    const endpoint = `http://127.0.0.1:${port}`;
    const { plane, send } = await started(t, { endpoint, samplingRatePerMillion: 1_000_000 });
    assert.equal(await send(`00-${trace}-${parent}-00`), 200);
    await plane.stop();
    assert.equal(paths[0], "POST /v1/traces application/json");
    const [span, ...others] = spans.filter(({ traceId }) => traceId === trace);
    assert.ok(span !== undefined && others.length === 0);
    assert.deepEqual([span.name, span.kind, span.parentSpanId], ["LIST configmaps", 2, parent]);
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
    const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, value]));
    assert.deepEqual(attributes["http.response.status_code"], { intValue: "200" });
    assert.deepEqual(attributes["kcp.cluster"], { stringValue: "root" });
    assert.deepEqual(attributes["url.path"], { stringValue: path.replace("/clusters/root", "") });
  });

  it("without a rate traces what operators ask for, and nothing that a tenant asks for", async (t) => {
    const { spans, port } = await collector(t);
    const { plane, send, tenant } = await started(t, { endpoint: `127.0.0.1:${port}` });
    assert.equal(await send(`00-${trace}-${parent}-01`), 200);
    assert.equal(await send(`00-${otherTrace}-${parent}-01`, tenant), 403);
    assert.equal(await send("not a traceparent"), 200);
    await plane.stop();
    assert.deepEqual(
      spans.map(({ traceId, name }) => [traceId, name]),
      [[trace, "LIST configmaps"]],
    );
  });

  it("a collector that is down delays no request, and no stop", async (t) => {
    const { plane, send } = await started(t, {
      endpoint: "http://127.0.0.1:1",
      samplingRatePerMillion: 1_000_000,
    });
    for (let i = 0; i < 20; i++) assert.equal(await send(`00-${trace}-${parent}-01`), 200);
    await plane.stop();
  });

  it("a configuration that cannot be used is said at the start", async (t) => {
    for (const [config, message] of [
      [{ samplingRatePerMillion: 2_000_000 }, /samplingRatePerMillion: expected 0 to 1000000/],
      [{ endpoint: "http://:" }, /endpoint: http:\/\/:; expected/],
    ] as const)
      await assert.rejects(started(t, config), message);
  });
});
