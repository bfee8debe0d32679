/** Limits of connections and of what watches hold, from the options to where they count. */
import assert from "node:assert/strict";
import { connect, type Settings } from "node:http2";
import { describe, it } from "node:test";
import { listenerLimitsOf, trafficOf } from "@kcp-ts/apiserver";
import { controlPlaneDefaults } from "@kcp-ts/controlplane";
import { startControlPlaneWithFlags } from "./started-control-plane.ts";

const { traffic } = controlPlaneDefaults;

describe("limits of a control plane", () => {
  it("says to clients how many streams a connection may have", async (t) => {
    const { plane } = await startControlPlaneWithFlags(t, {
      traffic: { ...traffic, streamsPerConnectionMax: 7 },
    });
    const session = connect(plane.url, { rejectUnauthorized: false });
    const settings = await new Promise<Settings>((resolve) =>
      session.once("remoteSettings", resolve),
    );
    session.destroy();
    assert.equal(settings.maxConcurrentStreams, 7);
  });

  it("bounds the memory that watches hold, or does not when the limit is disabled", () => {
    assert.deepEqual(trafficOf(traffic).unread, {
      bytesPerTenantMax: 32 << 20,
      bytesMax: 256 << 20,
    });
    const limits = { ...traffic, unreadBytesPerClusterMax: 1000, unreadBytesMax: 0 };
    assert.deepEqual(trafficOf(limits).unread, {
      bytesPerTenantMax: 1000,
      bytesMax: Number.POSITIVE_INFINITY,
    });
  });

  it("bounds connections, by default by the limit of file descriptors", () => {
    assert.equal(listenerLimitsOf(traffic).connectionsMax, 0);
    const limits = { ...traffic, connectionsMax: 50, streamsPerConnectionMax: 0 };
    assert.deepEqual(listenerLimitsOf(limits), {
      connectionsMax: 50,
      streamsPerConnectionMax: 1000,
    });
  });
});
