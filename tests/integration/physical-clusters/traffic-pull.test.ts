/**
 * Goal: traffic does not care who syncs a cluster: an agent in it brings its endpoints up and takes
 * imports down, with no more rights than an agent has.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  accountNamespace,
  agentId,
  agentKubeconfig,
  requestToken,
  runAgent,
  serviceAccounts,
  serviceImports,
  syncedResourcesDefault,
} from "@kcp-ts/multicluster";
import { connect, parseKubeconfig } from "@kcp-ts/sdk";
import { eventually, register, untilCondition } from "./fixture.ts";
import { readyBySource, services, TrafficFixture, total } from "./traffic-fixture.ts";

/** As it would run in a Pod of the cluster: with a token of its own, over the network. */
async function joinByAgent(t: TestContext, stage: TrafficFixture, name: string): Promise<void> {
  const { plane } = stage;
  const { metadata } = await register(plane.client, name, { mode: "Pull" });
  const target = { cluster: "root" as ClusterName, name, uid: metadata.uid ?? "" };
  const account = { namespace: accountNamespace, name: agentId(target) };
  await eventually(() => plane.client.resource(serviceAccounts).get(account));
  const token = await requestToken(plane.client, account, { expirationSeconds: 3600 });
  const { url, caPem } = await plane.listen();
  const kubeconfig = agentKubeconfig({ url, caPem }, target);
  const text = kubeconfig.replace('"tokenFile": "token"', `"token": "${token}"`);
  const connection = connect(parseKubeconfig(text, { trust: "inline" }));
  const stop = new AbortController();
  const running = runAgent(
    {
      upstream: connection.client,
      downstream: stage.physical(name).client,
      target,
      resources: syncedResourcesDefault,
      importPollMs: 500,
      reportMs: 500,
      onError: () => {},
    },
    stop.signal,
  );
  t.after(async () => {
    stop.abort();
    await running;
    await connection.close();
  });
  await untilCondition(plane.client, name, { status: "True" });
}

describe("a cluster with an agent of its own", () => {
  it("has the endpoints of the others, and the others have its own", async (t) => {
    const stage = await TrafficFixture.start(t, ["us-east1", "us-west1"]);
    const { client } = stage.plane;
    await stage.join("us-east1");
    await joinByAgent(t, stage, "us-west1");
    await stage.deploy(4);
    const endpoints = { "us-east1": 2, "us-west1": 2 };
    for (const side of [
      client,
      stage.physical("us-east1").client,
      stage.physical("us-west1").client,
    ])
      await eventually(async () => assert.deepEqual(await readyBySource(side), endpoints));
    const inside = stage.physical("us-west1").client;
    await eventually(async () => {
      const { items } = await inside.resource(serviceImports).list();
      assert.deepEqual(
        items.map(({ metadata, status }) => [metadata.name, status?.clusters?.length]),
        [["web", 2]],
      );
    });
    await client.resource(services).delete({ namespace: "default", name: "web" });
    await eventually(async () => {
      assert.equal(total(await readyBySource(inside)), 0);
      assert.equal((await inside.resource(serviceImports).list()).items.length, 0);
      assert.deepEqual(await readyBySource(client), {});
    });
  });
});
