/** The selection of an endpoint, and the end of waiting. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { freePorts } from "@kcp-ts/testkit";
import { Channel, type ChannelOptions } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { type Endpoint, parseEndpoint } from "./endpoint.ts";
import { GrpcError, grpcCode } from "./grpc-error.ts";
import { type Peer, respondWith, startPeer } from "./hostile-peer.ts";

describe("a channel", () => {
  it("stays with a working endpoint", async () => {
    await withPeers(3, async (peers) => {
      const channel = open(peers.map((peer) => peer.endpoint));
      const first = await acquire(channel);
      for (let i = 0; i < 10; i++) assert.equal(await acquire(channel), first);
      channel.close(new Error("done"));
    });
  });

  it("skips endpoints that refuse connections", async () => {
    await withPeers(1, async ([peer]) => {
      const dead = (await freePorts(2)).map((port) => parseEndpoint(`127.0.0.1:${port}`));
      const channel = open([...dead, (peer as Peer).endpoint]);
      assert.equal((await acquire(channel)).endpoint, peer?.endpoint);
      channel.close(new Error("done"));
    });
  });

  it("skips endpoints that are not admitted", async () => {
    await withPeers(2, async ([bad, good]) => {
      const channel = open(
        [bad, good].map((peer) => (peer as Peer).endpoint),
        {
          admit: async (connection) => {
            if (connection.endpoint === bad?.endpoint) throw new Error("not this one");
          },
        },
      );
      assert.equal((await acquire(channel)).endpoint, good?.endpoint);
      channel.close(new Error("done"));
    });
  });

  it("uses another endpoint when the peer closes the connection", async () => {
    await withPeers(2, async (peers) => {
      const channel = open(peers.map((peer) => peer.endpoint));
      const first = await acquire(channel);
      const lost = new Promise<void>((resolve) => first.onClosed(resolve));
      for (const peer of peers) for (const session of peer.sessions) session.destroy();
      await lost;
      const second = await acquire(channel);
      assert.notEqual(second.endpoint, first.endpoint);
      channel.close(new Error("done"));
    });
  });

  it("uses another endpoint after a reported failure, unless it is the only one", async () => {
    await withPeers(2, async (peers) => {
      const channel = open(peers.map((peer) => peer.endpoint));
      const first = await acquire(channel);
      channel.reportFailure(first, noLeader);
      assert.notEqual((await acquire(channel)).endpoint, first.endpoint);
      channel.close(new Error("done"));

      const single = open([(peers[0] as Peer).endpoint]);
      const only = await acquire(single);
      single.reportFailure(only, noLeader);
      assert.equal(await acquire(single), only);
      single.close(new Error("done"));
    });
  });

  it("makes calls wait through a short outage and fails them at once in a long one", async () => {
    const [port] = await freePorts(1);
    const channel = open([parseEndpoint(`127.0.0.1:${port}`)], { outageGraceMs: 300 });
    const startedAt = systemClock.monotonic();
    await assert.rejects(acquire(channel), { name: "GrpcError", delivery: "not-sent" });
    assert.ok(systemClock.monotonic() - startedAt >= 300);
    await assert.rejects(acquire(channel), new RegExp(`127.0.0.1:${port}: .*ECONNREFUSED`));
    assert.match(channel.problem() ?? "", /ECONNREFUSED/);
    channel.close(new Error("done"));
  });

  it("rejects waiting calls with its own reason when it closes, and all calls after that", async () => {
    const [port] = await freePorts(1);
    const channel = open([parseEndpoint(`127.0.0.1:${port}`)]);
    const waiting = assert.rejects(acquire(channel), /the store was closed/);
    channel.close(new Error("the store was closed"));
    await waiting;
    await assert.rejects(acquire(channel), /the store was closed/);
  });

  it("rejects a cancelled call with the caller's reason", async () => {
    const [port] = await freePorts(1);
    const channel = open([parseEndpoint(`127.0.0.1:${port}`)]);
    const controller = new AbortController();
    const waiting = channel.acquire({ timeoutMs: 5000, signal: controller.signal });
    controller.abort(new Error("the caller went away"));
    await assert.rejects(waiting, /the caller went away/);
    channel.close(new Error("done"));
  });
});

const noLeader = new GrpcError(grpcCode.unavailable, "etcdserver: no leader", "answered");

function open(endpoints: readonly Endpoint[], overrides: Partial<ChannelOptions> = {}): Channel {
  return new Channel({
    endpoints,
    clock: systemClock,
    random: { next: () => 0.5 },
    connectTimeoutMs: 2000,
    keepaliveIntervalMs: 10_000,
    keepaliveTimeoutMs: 5000,
    responseBytesMax: 1 << 20,
    outageGraceMs: 3000,
    ...overrides,
  });
}

function acquire(channel: Channel): Promise<Connection> {
  return channel.acquire({ timeoutMs: 5000, signal: new AbortController().signal });
}

async function withPeers(count: number, body: (peers: Peer[]) => Promise<void>): Promise<void> {
  const start = () => startPeer((stream) => respondWith(stream, new Uint8Array()));
  const peers = await Promise.all(Array.from({ length: count }, start));
  try {
    await body(peers);
  } finally {
    await Promise.all(peers.map((peer) => peer.dispose()));
  }
}
