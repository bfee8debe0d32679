import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesInFlight } from "@kcp-ts/machinery/bounds";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { connectCluster } from "./connect-cluster.ts";
import { connectionBytes, type TenantShare, TenantShares } from "./tenant-share.ts";

const hostile = "hostile" as ClusterName;
const other = "other" as ClusterName;
const { bytesPerTenantMax } = bytesInFlight.clusterObjects;

describe("the physical clusters of a tenant", () => {
  it("share a limit of connections, which other tenants do not notice", () => {
    const shares = new TenantShares(new FakeClock());
    const open: TenantShare[] = [];
    for (let share = shares.open(hostile); share !== undefined; share = shares.open(hostile))
      open.push(share);
    assert.equal(open.length, bytesPerTenantMax / connectionBytes);
    assert.ok(shares.open(other) !== undefined);
    open.pop()?.release();
    assert.ok(shares.open(hostile) !== undefined);
    assert.equal(shares.open(hostile), undefined);
  });

  it("and of all other tenants have no more connections than file descriptors", () => {
    const shares = new TenantShares(new FakeClock(), 3);
    const open = [hostile, hostile, other].map((cluster) => shares.open(cluster));
    assert.equal(shares.open(hostile), undefined);
    assert.equal(shares.open(other), undefined);
    open[0]?.release();
    open[0]?.release();
    assert.ok(shares.open(other) !== undefined);
    assert.equal(shares.open(other), undefined);
  });

  it("share the limits of buffered responses and of cached objects", () => {
    const shares = new TenantShares(new FakeClock());
    const [one, two, another] = [hostile, hostile, other].map((cluster) => shares.open(cluster));
    const answers = bytesInFlight.clusterAnswers.bytesPerTenantMax;
    assert.ok(one?.memory.buffers.tryTake(answers));
    assert.equal(two?.memory.buffers.tryTake(1), false);
    assert.ok(another?.memory.buffers.tryTake(answers));
    one?.memory.buffers.release(answers);
    assert.ok(two?.memory.buffers.tryTake(answers));
    assert.ok(one?.memory.objects.tryTake(bytesPerTenantMax - 2 * connectionBytes));
    assert.equal(two?.memory.objects.tryTake(1), false);
    assert.equal(shares.open(hostile), undefined);
  });

  it("beyond the limit are not connected, and their SyncTargets say why", async () => {
    const clock = new FakeClock();
    const shares = new TenantShares(clock);
    const kubeconfig = JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    });
    const connect = () => connectCluster(kubeconfig, { clock, cluster: hostile, shares });
    const first = connect();
    assert.ok("close" in first);
    while (shares.open(hostile) !== undefined);
    const refused = connect();
    assert.ok("reason" in refused && refused.reason === "TooManyClusters");
    await first.close();
    const next = connect();
    assert.ok("close" in next);
    await next.close();
  });
});
