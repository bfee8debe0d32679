/**
 * Goal: a standby takes over from a server that is killed, with its credentials, its revisions and
 * all of its writes that had reached it; the old server does not serve again. Method: real
 * processes, and a client that writes until the kill. How long the takeover took is printed.
 */
import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { type Client, connect, loadKubeconfig } from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { eventually, freePorts } from "@kcp-ts/testkit";
import { runKcp, spawnServer, startKcp, temporaryFolder } from "./kcp-process.ts";

const namespace = "default";
const create = (client: Client, name: string) =>
  client.resource(configMaps).create({ metadata: { namespace, name }, data: {} });

describe("kcp standby", () => {
  it("replaces a server that is killed, which then refuses to start", async (t) => {
    const folder = await temporaryFolder(t);
    const [primaryPort, standbyPort] = (await freePorts(2)).map(String) as [string, string];
    const [primaryRoot, standbyRoot] = [join(folder, "primary"), join(folder, "standby")];
    const primary = await startKcp(primaryRoot, "--secure-port", primaryPort);
    t.after(() => primary.kill());
    const { client, close } = connect(await loadKubeconfig({ path: primary.kubeconfig }));
    t.after(close);
    await create(client, "before");
    await cp(primaryRoot, standbyRoot, { recursive: true });
    await rm(join(standbyRoot, "data"), { recursive: true });

    const { ready: takenOver, output } = spawnServer(
      "standby",
      standbyRoot,
      ...["--of", primary.kubeconfig],
      ...["--secure-port", standbyPort],
    );
    await output("the standby follows the primary");
    const acknowledged: string[] = [];
    let isWriting = true;
    const writing = (async () => {
      for (let i = 0; isWriting; i++) {
        await create(client, `w-${String(i).padStart(6, "0")}`);
        acknowledged.push(`w-${String(i).padStart(6, "0")}`);
      }
    })().catch(() => undefined);
    const copy = await runKcp("start", "--root-directory", standbyRoot, "--secure-port", "0");
    assert.equal(copy.code, 1);
    assert.match(copy.stderr, /has the data of a standby of https/);
    await eventually(() => assert.ok(acknowledged.length > 20));
    const killedAt = systemClock.monotonic();
    await primary.kill();
    isWriting = false;
    await writing;

    const standby = await takenOver;
    t.after(() => standby.kill());
    const tookMs = systemClock.monotonic() - killedAt;
    // The kubeconfig of before, at another address: the same authority and token.
    const kubeconfig = await loadKubeconfig({ path: standby.kubeconfig });
    const next = connect(kubeconfig);
    t.after(next.close);
    const { items } = await next.client.resource(configMaps).list({ namespace });
    const names = new Set(items.map(({ metadata }) => metadata.name));
    assert.ok(names.has("before"));
    const lost = acknowledged.filter((name) => !names.has(name));
    assert.deepEqual(lost, acknowledged.slice(acknowledged.length - lost.length), "the last ones");
    t.diagnostic(
      `the standby served ${Math.round(tookMs)} ms after the kill; ${lost.length} of ${acknowledged.length} acknowledged writes were lost`,
    );
    await create(next.client, "after");

    // The old server comes back, is told, and ends; after that it does not start.
    const back = await startKcp(primaryRoot, "--secure-port", primaryPort).catch(
      (error: Error) => error,
    );
    if (!(back instanceof Error)) assert.equal(await back.exited(), 1);
    const again = await runKcp("start", "--root-directory", primaryRoot, "--secure-port", "0");
    assert.equal(again.code, 1);
    assert.match(again.stderr, /has taken over from this server/);
    assert.equal(await standby.stop(), 0);
  });
});
