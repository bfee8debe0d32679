/**
 * Goal: in Pull mode the agent's tunnel leads to Pods, reconnects after a break, and belongs to no
 * other agent.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { muxProtocol, syncTargets } from "@kcp-ts/multicluster";
import { type Client, isUpgraded } from "@kcp-ts/sdk";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { agentConnection, startAgent, type TestControlPlane } from "@kcp-ts/testing/internal";
import { FaultProxy, findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import {
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "../fixture.ts";
import { exec, log, networkClient, podPath, pods, runningPods, webDeployment } from "./fixture.ts";

/** A plane, a cluster whose agent reaches it through a proxy, and a Pod in it. */
async function scene(t: TestContext) {
  const plane = await startControlPlaneWithClusters(t, { gracePeriods: { recoveryMs: 0 } });
  const { url } = await plane.listen();
  const proxy = await FaultProxy.start({ host: "127.0.0.1", port: Number(new URL(url).port) });
  t.after(() => proxy.dispose());
  const east = await startPhysicalCluster(t, { name: "east" });
  const by = `https://127.0.0.1:${proxy.port}`;
  const agent = await startAgent(plane, east.kubeconfig, { cluster: "root", name: "east", by });
  t.after(() => agent.stop());
  const { client } = plane;
  await eventually(() => client.resource(pods).list({ namespace: "default" }));
  await eventually(() => client.resource(deployments).list({ namespace: "default" }));
  await client.resource(deployments).create(webDeployment("web", 1));
  const [pod] = await runningPods(client, "web", 1);
  const user = await networkClient(t, plane, { cluster: "root" });
  const path = podPath(pod?.metadata.name ?? "");
  return { plane, proxy, agent, user, path };
}

async function upgradeStatus(client: Client, path: string, isWebSocket = true): Promise<number> {
  const { headers } = clientHandshake([muxProtocol]);
  const response = await client.upgrade({
    method: "GET",
    path,
    headers: isWebSocket ? headers : { connection: "Upgrade", upgrade: "h2c" },
  });
  if (isUpgraded(response)) response.connection.destroy();
  return response.status;
}

const tunnelOf = (name: string) => `/apis/workload.kcp.io/v1alpha1/synctargets/${name}/tunnel`;

async function agentOf(t: TestContext, plane: TestControlPlane, name: string) {
  const { metadata } = await register(plane.client, name, { mode: "Pull" });
  const target = { cluster: "root" as ClusterName, name, uid: metadata.uid ?? "" };
  const connection = await agentConnection(plane, target);
  t.after(() => connection.close());
  return { target, view: connection.client.inCluster("root"), client: connection.client };
}

describe("a tunnel", () => {
  it("leads to Pods, says what to look at when it is broken, and comes back", async (t) => {
    const { proxy, agent, user, path } = await scene(t);
    await eventually(async () => assert.equal((await exec(user, path)).status, 101));
    assert.match((await log(user, path)).text, /simulated container web/);
    proxy.setFaults({ refuse: true });
    proxy.dropConnections();
    await eventually(async () => {
      const { status, text } = await log(user, path);
      assert.equal(status, 503);
      assert.match(text, /neither is this server connected to east, nor is the agent of east/);
    });
    proxy.setFaults({});
    await eventually(async () => assert.equal((await exec(user, path)).status, 101));
    assert.ok(agent.errors.length > 0);
  });

  it("opens for the agent of its own cluster and for no other client", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const mine = await agentOf(t, plane, "mine");
    const other = await agentOf(t, plane, "other");
    assert.equal(await upgradeStatus(mine.view, tunnelOf("mine")), 101);
    assert.equal(await upgradeStatus(mine.view, tunnelOf("mine"), false), 400);
    // In its own view the other cluster is not there; another's view is closed to it.
    assert.equal(await upgradeStatus(mine.view, tunnelOf("other")), 404);
    const { cluster, name, uid } = other.target;
    const foreign = mine.client.withBasePath(
      `/services/syncer/${cluster}/${name}/${uid}/clusters/${cluster}`,
    );
    assert.equal(await upgradeStatus(foreign, tunnelOf("other")), 403);
    // Outside of its virtual workspaces an agent has no permissions.
    const beside = mine.client.withBasePath("/clusters/root");
    assert.equal(await upgradeStatus(beside, tunnelOf("mine")), 403);
    // Nor may it run commands by the view that it has.
    const { status } = await exec(mine.view, podPath("web"));
    assert.equal(status, 404);
    const mallory = await networkClient(t, plane, {
      cluster: "root",
      user: { username: "mallory", groups: [] },
    });
    assert.equal(await upgradeStatus(mallory, tunnelOf("mine")), 403);
    await plane.client.resource(syncTargets).delete({ name: "other" });
    await eventually(async () => {
      const after = await upgradeStatus(other.view, tunnelOf("other"));
      assert.ok(after === 401 || after === 403 || after === 404, String(after));
    });
  });

  it("carries kubectl port-forward", { skip: kubectlMissing() ?? false }, async (t) => {
    const { plane, path } = await scene(t);
    const folder = await mkdtemp(join(tmpdir(), "kcp-tunnel-"));
    t.after(() => rm(folder, { recursive: true }));
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, await plane.kubeconfig({ cluster: "root" }));
    const name = path.split("/").at(-1) ?? "";
    const args = ["--kubeconfig", kubeconfig, "--cache-dir", folder, "port-forward", name, ":8080"];
    const child = spawn(findKubectl() ?? "", args, {
      env: { PATH: process.env["PATH"], HOME: folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    });
    const port = await new Promise<number>((resolve, reject) => {
      let text = "";
      child.stdout.on("data", (bytes: Buffer) => {
        text += bytes.toString();
        const found = /127\.0\.0\.1:(\d+) -> 8080/.exec(text)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
      let said = "";
      child.stderr.on("data", (bytes: Buffer) => {
        said += bytes.toString();
      });
      child.once("close", () => reject(new Error(`kubectl ended: ${said}`)));
    });
    for (let time = 0; time < 3; time++) {
      const page = await new Promise<string>((resolve, reject) => {
        get({ host: "127.0.0.1", port, path: "/" }, (response) => {
          let text = "";
          response.on("data", (bytes: Buffer) => {
            text += bytes.toString();
          });
          response.on("end", () => resolve(text));
        })
          .on("error", reject)
          .end();
      });
      assert.equal(page, `simulated Pod ${name}, port 8080\n`);
    }
  });
});
