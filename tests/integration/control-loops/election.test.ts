/**
 * Goal: of two servers on one etcd, one runs the control loops; when it stops or cannot reach etcd
 * any more, the other takes over. Method: real etcd, two whole control planes, one of them behind a
 * proxy that can be cut.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ControlPlane, controlPlaneDefaults, startControlPlane } from "@kcp-ts/controlplane";
import { controlLoopsLease } from "@kcp-ts/controlplane/internal";
import { systemClock } from "@kcp-ts/machinery/base";
import { leases } from "@kcp-ts/sdk/kinds";
import { type EtcdCluster, etcdMissing, FaultProxy, startEtcd } from "@kcp-ts/testkit";
import { eventually, kinds } from "./controllers-fixture.ts";

const log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

describe("control loops on a shared store", { skip: etcdMissing() ?? false }, () => {
  let etcd: EtcdCluster;
  let directory: string;
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  before(async () => {
    process.on("warning", note);
    etcd = await startEtcd({ members: 1 });
    directory = await mkdtemp(join(tmpdir(), "kcp-election-"));
  });
  after(async () => {
    await etcd?.dispose();
    await rm(directory, { recursive: true, force: true });
    process.off("warning", note);
  });

  const start = (name: string, prefix: string, servers: readonly string[]) =>
    startControlPlane(
      {
        ...controlPlaneDefaults,
        rootDirectory: join(directory, `${prefix.slice(1)}-${name}`),
        bindAddress: "127.0.0.1",
        securePort: 0,
        shutdownTimeoutMs: 1000,
        storage: { kind: "etcd", servers, prefix },
      },
      { log },
    );
  const holder = async ({ client }: ControlPlane): Promise<string> => {
    const { cluster, ...target } = controlLoopsLease;
    const lease = await client.inCluster(cluster).resource(leases).find(target);
    return String(
      (lease?.["spec"] as { holderIdentity?: string } | undefined)?.holderIdentity ?? "",
    );
  };
  const isFilled = async ({ client }: ControlPlane, namespace: string): Promise<boolean> => {
    const target = { namespace, name: "kube-root-ca.crt" };
    return (await client.resource(kinds.configMaps).find(target)) !== undefined;
  };
  const makeNamespace = ({ client }: ControlPlane, name: string) =>
    client.resource(kinds.namespaces).create({ metadata: { name } });

  it("work once, and go over at once when the server that runs them stops", async () => {
    const first = await start("first", "/stop", etcd.endpoints);
    await eventually(async () => (await holder(first)) !== "");
    const leader = await holder(first);
    const second = await start("second", "/stop", etcd.endpoints);
    await makeNamespace(second, "one");
    await eventually(() => isFilled(second, "one"));
    assert.equal(await holder(second), leader);
    await first.stop();
    await makeNamespace(second, "two");
    await eventually(() => isFilled(second, "two"));
    assert.notEqual(await holder(second), leader);
    await second.stop();
  });

  it("go over within the lease when the server that runs them is cut off", async () => {
    const { hostname, port } = new URL(etcd.endpoints[0] ?? "");
    const proxy = await FaultProxy.start({ host: hostname, port: Number(port) });
    const first = await start("first", "/cut", [`http://127.0.0.1:${proxy.port}`]);
    await eventually(async () => (await holder(first)) !== "");
    const second = await start("second", "/cut", etcd.endpoints);
    const leader = await holder(second);
    await proxy.dispose();
    const cutAtMs = systemClock.monotonic();
    await makeNamespace(second, "one");
    await eventually(() => isFilled(second, "one"));
    const tookMs = systemClock.monotonic() - cutAtMs;
    assert.notEqual(await holder(second), leader);
    assert.ok(tookMs < 30_000, `it took ${Math.round(tookMs)} ms`);
    await Promise.all([second.stop(), first.stop()]);
  });

  it("have Node warn of nothing", () => {
    assert.deepEqual(warnings, []);
  });
});
