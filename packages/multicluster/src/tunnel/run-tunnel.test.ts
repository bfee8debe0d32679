/**
 * Goal: an agent dials until it is connected, serves only permitted requests, and dials again when
 * the connection breaks.
 */
import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import { Client, TransportError, type TransportRequest } from "@kcp-ts/sdk";
import { acceptKey } from "@kcp-ts/sdk/websocket";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { Targets } from "../registration/index.ts";
import { Multiplexer } from "./multiplexer.ts";
import { PodConnections } from "./pod-connections.ts";
import type { PodConnector, PodResponse } from "./pod-proxy.ts";
import type { PodRequest } from "./pod-request.ts";
import { runTunnel } from "./run-tunnel.ts";
import { TestConnections } from "./test-support/test-connections.ts";
import { revokedGraceMs, Tunnels } from "./tunnels.ts";

const target = { cluster: "a" as ClusterName, name: "east", uid: "t-1" };
const request: PodRequest = {
  cluster: target.cluster,
  namespace: "shop",
  name: "web-1",
  uid: "p-1",
  subresource: "exec",
  method: "GET",
  query: [["command", "cat"]],
  headers: { upgrade: "websocket", connection: "Upgrade" },
};
const { signal } = new AbortController();

const wires = new TestConnections();
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  wires.cutAll();
});

/**
 * A control plane that accepts every connection, and an agent whose cluster responds by `podProxy`.
 */
function started(podProxy: PodConnector, accept: (near: Duplex) => void) {
  const paths: string[] = [];
  const fars: Duplex[] = [];
  const upgrade = async ({ path, headers }: TransportRequest) => {
    paths.push(path);
    const [near, far] = wires.make();
    fars.push(far);
    accept(near);
    const key = String(headers["sec-websocket-key"]);
    const answered = { "sec-websocket-accept": acceptKey(key) };
    return { status: 101 as const, headers: answered, connection: far };
  };
  const send = () => Promise.reject(new Error("nothing else is asked"));
  const syncTargetClient = new Client({ transport: { send, upgrade, close: async () => {} } });
  const stopping = new AbortController();
  const errors: unknown[] = [];
  /** The tunnel states that are reported to the agent. */
  const told: string[] = [];
  const running = runTunnel(
    {
      syncTargetClient,
      target: "east",
      podProxy,
      clock: systemClock,
      random: new SeededRandom(1),
      onError: (error) => errors.push(error),
      onConnected: () => told.push("up"),
      onDisconnected: () => told.push("down"),
    },
    stopping.signal,
  );
  const stop = async () => {
    stopping.abort();
    await running;
  };
  stops.push(stop);
  return { paths, fars, errors, told, stop };
}

const until = async (check: () => boolean): Promise<void> => {
  while (!check()) await new Promise((resolve) => setImmediate(resolve));
};

const echoing: PodConnector = {
  open: async (asked): Promise<PodResponse> => {
    const [near, far] = wires.make();
    far.write(JSON.stringify(asked));
    far.pipe(far);
    return { status: 101, headers: { upgrade: "websocket", server: "secret" }, connection: near };
  },
};

async function first(stream: Duplex): Promise<string> {
  for await (const part of stream.iterator({ destroyOnReturn: false })) return String(part);
  return "";
}

describe("tunnel", () => {
  it("the agent dials the tunnel, which carries requests and responses", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    const { paths } = started(echoing, (near) => tunnels.accept(target, near));
    await until(() => tunnels.find(target) !== undefined);
    assert.deepEqual(paths, ["/apis/workload.kcp.io/v1alpha1/synctargets/east/tunnel"]);
    const answer = await tunnels.find(target)?.open(request, signal);
    assert.ok(answer !== undefined && "connection" in answer);
    assert.deepEqual(answer.headers, { upgrade: "websocket", connection: "Upgrade" });
    assert.deepEqual(JSON.parse(await first(answer.connection)), request);
    answer.connection.write("and back");
    assert.equal(await first(answer.connection), "and back");
    answer.connection.destroy();
  });

  it("a tunnel belongs to one SyncTarget: its uid, its name and its logical cluster", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    started(echoing, (near) => tunnels.accept(target, near));
    await until(() => tunnels.find(target) !== undefined);
    assert.equal(tunnels.find({ ...target, uid: "t-2" }), undefined);
    assert.equal(tunnels.find({ ...target, name: "west" }), undefined);
    assert.equal(tunnels.find({ ...target, cluster: "b" }), undefined);
  });

  it("the agent responds with 403 to a request that is not about a Pod", async () => {
    let plane: Multiplexer | undefined;
    started(echoing, (connection) => {
      plane = new Multiplexer({
        connection,
        role: "server",
        clock: systemClock,
        onClose: () => {},
      });
    });
    await until(() => plane !== undefined);
    const asked = { ...request, subresource: "../../secrets" } as unknown as Record<string, string>;
    const head = (await plane?.open(asked).sendReply) as { code: number; message: string };
    assert.equal(head.code, 403);
    assert.match(
      head.message,
      /logs and sessions of Pods that it brought up, .*, and nothing else/,
    );
  });

  it("errors of the cluster are forwarded unchanged, except 401", async () => {
    let refusal = statusError.badRequest("container x is not valid for pod y");
    const tunnels = new Tunnels({ clock: systemClock });
    const door = { open: () => Promise.reject(refusal) };
    started(door, (near) => tunnels.accept(target, near));
    await until(() => tunnels.find(target) !== undefined);
    const code = async () =>
      await (tunnels.find(target) as PodConnector).open(request, signal).catch((error: unknown) => {
        assert.ok(isStatusError(error));
        return error.code;
      });
    assert.equal(await code(), 400);
    refusal = statusError.unauthorized();
    assert.equal(await code(), 502);
  });

  it("the agent dials again when the tunnel breaks, and open sessions end", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    const { fars } = started(echoing, (near) => tunnels.accept(target, near));
    await until(() => tunnels.find(target) !== undefined);
    const answer = await tunnels.find(target)?.open(request, signal);
    assert.ok(answer !== undefined && "connection" in answer);
    const ended = new Promise((resolve) => answer.connection.once("close", resolve));
    answer.connection.on("error", () => {});
    answer.connection.resume();
    fars[0]?.destroy();
    await ended;
    assert.equal(tunnels.find(target), undefined);
    await until(() => fars.length === 2 && tunnels.find(target) !== undefined);
    const again = await tunnels.find(target)?.open(request, signal);
    assert.equal(again?.status, 101);
    if (again !== undefined && "connection" in again) again.connection.destroy();
  });

  it("the agent is notified of each connection and loss of the tunnel, and not of its own stop", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    const { fars, told, stop } = started(echoing, (near) => tunnels.accept(target, near));
    await until(() => told.length === 1);
    fars[0]?.destroy();
    await until(() => told.length === 3);
    assert.deepEqual(told, ["up", "down", "up"]);
    // The server closes the tunnel in good order.
    tunnels.close();
    await until(() => told.length === 5);
    await stop();
    assert.deepEqual(told, ["up", "down", "up", "down", "up"]);
  });

  it("the agent dials a server that does not respond with backoff and jitter", async () => {
    const clock = new FakeClock();
    const dials: number[] = [];
    let downs = 0;
    const upgrade = async (): Promise<never> => {
      dials.push(clock.monotonic());
      throw new TransportError("connect", "nobody is there");
    };
    const send = () => Promise.reject(new Error("nothing else is asked"));
    const stopping = new AbortController();
    const running = runTunnel(
      {
        syncTargetClient: new Client({ transport: { send, upgrade, close: async () => {} } }),
        target: "east",
        podProxy: echoing,
        clock,
        random: new SeededRandom(7),
        onError: () => {},
        onDisconnected: () => downs++,
      },
      stopping.signal,
    );
    for (let seconds = 0; seconds < 600; seconds++) await clock.advanceAndFlush(1000);
    const gaps = dials.slice(1).map((at, index) => at - (dials[index] as number));
    assert.ok(dials.length > 12 && dials.length < 40, `${dials.length} dials in ten minutes`);
    assert.ok(Math.max(...gaps) <= 91_000);
    assert.ok((gaps[0] as number) <= 1000);
    assert.ok(new Set(gaps.slice(-5)).size > 1, "chance is in it");
    assert.equal(downs, dials.length);
    stopping.abort();
    await clock.advanceAndFlush(100_000);
    await running;
  });

  it("the tunnel ends when its agent loses the permission to sync", async () => {
    const clock = new FakeClock();
    const tunnels = new Tunnels({ clock });
    let isWelcome = true;
    const [near, far] = wires.make();
    new Multiplexer({ connection: far, role: "client", clock, onClose: () => {} });
    tunnels.accept(target, near, async () => isWelcome);
    await clock.advanceAndFlush(revokedGraceMs);
    assert.notEqual(tunnels.find(target), undefined);
    isWelcome = false;
    await clock.advanceAndFlush(revokedGraceMs);
    await flushEventLoop();
    assert.equal(tunnels.find(target), undefined);
  });
});

describe("sessions with Pods", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-1",
      namespace: "shop",
      labels: { "state.workload.kcp.io/east": "Upsync" },
      annotations: {
        "workload.kcp.io/upsynced-from": JSON.stringify({ uid: "p-1", target: "t-1" }),
      },
    },
  };
  const call = (cluster = target.cluster) => ({
    cluster,
    pod,
    subresource: "log" as const,
    method: "GET" as const,
    query: new URLSearchParams(),
    headers: {},
    signal,
  });

  it("each logical cluster has its own limit on sessions", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    const found = { open: async () => ({ status: 200, headers: {}, body: wires.make()[0] }) };
    tunnels.find = () => found;
    const targets = new Targets();
    const connections = new PodConnections({ targets, tunnels, sessionsPerClusterMax: 2 });
    const open = await Promise.all([connections.open(call()), connections.open(call())]);
    await assert.rejects(connections.open(call()), /2 sessions with Pods are open/);
    await connections.open(call("b" as ClusterName));
    open[0]?.done();
    open[0]?.done();
    await connections.open(call());
    await assert.rejects(connections.open(call()), (error) => {
      assert.ok(isStatusError(error));
      assert.deepEqual([error.code, error.status.details?.retryAfterSeconds], [429, 1]);
      return true;
    });
  });

  it("a session without a tunnel is a 503 that says what to check, and does not count against the limit", async () => {
    const tunnels = new Tunnels({ clock: systemClock });
    const connections = new PodConnections({ targets: new Targets(), tunnels });
    await assert.rejects(connections.open(call()), (error) => {
      assert.ok(isStatusError(error));
      assert.deepEqual([error.code, error.status.details?.retryAfterSeconds], [503, 1]);
      assert.match(error.message, /see kubectl describe synctarget east, and the log of its agent/);
      return true;
    });
    assert.equal(connections.openSessions.size, 0);
  });
});
