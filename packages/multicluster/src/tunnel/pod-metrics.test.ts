/**
 * Goal: only metrics of synced Pods are returned, with as few requests to clusters as possible, and
 * a cluster that does not respond delays no other response.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import { Client, responseBody } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import type { MetricsConnectionRequest } from "./pod-connections.ts";
import {
  metricsQueriesInFlightMax,
  metricsQueriesMax,
  metricsTimeoutMs,
  PodMetrics,
} from "./pod-metrics.ts";

const cluster = "tenant-a" as ClusterName;

function copy(target: string, name: string, inside?: string, namespace = "shop"): JsonObject {
  const origin = JSON.stringify({ uid: `uid-${name}`, target: `uid-of-${target}`, name: inside });
  return {
    metadata: {
      name,
      namespace,
      labels: { app: "web", [`state.workload.kcp.io/${target}`]: "Upsync" },
      annotations: { "workload.kcp.io/upsynced-from": origin },
    },
  };
}

function metricsOf(name: string, cpu: unknown = "5m"): object {
  const containers = [{ name: "web", usage: { cpu, memory: "1Mi", forged: { a: 1 } }, extra: 1 }];
  const metadata = { name, namespace: "kcp-elsewhere", labels: { of: "the cluster" } };
  return { metadata, timestamp: "2026-01-01T00:00:00Z", window: "30s", containers, more: "x" };
}

async function* bytes(value: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

type Answer = (call: MetricsConnectionRequest) => Promise<AsyncIterable<Uint8Array>>;

function reader(copies: readonly JsonObject[], answer: Answer) {
  const clock = new FakeClock();
  const asked: MetricsConnectionRequest[] = [];
  const paths: string[] = [];
  const send = async ({ path }: { readonly path: string }) => {
    paths.push(path);
    const list = { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", items: copies };
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      body: responseBody(JSON.stringify({ ...list, metadata: {} })),
    };
  };
  const client = new Client({ transport: { send, close: async () => {} } });
  const metrics = async (call: MetricsConnectionRequest) => {
    asked.push(call);
    return answer(call);
  };
  const all = new PodMetrics({ connections: { metrics }, client: () => client, clock });
  const warnings: string[] = [];
  const list = (signal = new AbortController().signal) =>
    all.list({
      cluster,
      namespace: "shop",
      labelSelector: "app=web",
      fieldSelector: "",
      signal,
      warn: (text) => void warnings.push(text),
    });
  return { list, asked, paths, warnings, clock };
}

const inOrder: Answer = async ({ location: { target } }) =>
  bytes({ items: [metricsOf(`${target}-b`), metricsOf(`${target}-a`)] });

describe("metrics of Pods", () => {
  it("metrics have the names and labels of the upstream Pods, and nothing else of a cluster's response is returned", async () => {
    const copies = [copy("east", "east-a"), copy("east", "b--east", "east-b")];
    const { list, asked, paths } = reader(copies, async (call) => {
      const body = await inOrder(call);
      const items = [metricsOf("east-a"), metricsOf("somebody-elses"), "nonsense", { metadata: 1 }];
      for await (const part of body)
        items.push(...(JSON.parse(Buffer.from(part).toString()).items as object[]).slice(0, 1));
      return bytes({ items });
    });
    const found = await list();
    assert.deepEqual(
      found.map(({ metadata }) => (metadata as JsonObject)["name"]),
      ["b--east", "east-a"],
    );
    const [first] = found as readonly [JsonObject];
    assert.deepEqual(first, {
      metadata: {
        name: "b--east",
        namespace: "shop",
        labels: { app: "web", "state.workload.kcp.io/east": "Upsync" },
      },
      timestamp: "2026-01-01T00:00:00Z",
      window: "30s",
      containers: [{ name: "web", usage: { cpu: "5m", memory: "1Mi" } }],
    });
    // One request covers all Pods of a namespace in a cluster.
    assert.equal(asked.length, 1);
    assert.equal(asked[0]?.name, undefined);
    assert.match(
      paths[0] ?? "",
      /\/clusters\/tenant-a\/api\/v1\/namespaces\/shop\/pods\?.*app%3Dweb/,
    );
  });

  it("Pods without a cluster have no metrics, and no cluster gets a request", async () => {
    const { list, asked } = reader([{ metadata: { name: "mine", namespace: "shop" } }], inOrder);
    assert.deepEqual(await list(), []);
    assert.equal(asked.length, 0);
  });

  it("metrics are returned for the clusters that respond, with a warning for each cluster that does not", async () => {
    const copies = [
      copy("east", "east-a"),
      copy("west", "west-a"),
      copy("north", "north-a"),
      copy("far.0123456789", "far-a"),
    ];
    const { list, warnings } = reader(copies, async (call) => {
      const { target } = call.location;
      if (target === "west" || target.startsWith("far")) throw statusError.pathNotFound();
      if (target === "north") return bytes("<html>");
      return inOrder(call);
    });
    assert.equal((await list()).length, 1);
    assert.deepEqual(warnings, [
      "without metrics of far.0123456789: it serves no metrics.k8s.io: ask who offers it",
      "without metrics of north: the answer is no list of PodMetrics",
      "without metrics of west: it serves no metrics.k8s.io: install metrics-server there",
    ]);
  });

  it("a resource that no cluster serves is an error that says so", async () => {
    const { list } = reader([copy("east", "a"), copy("west", "b")], async () => {
      throw statusError.pathNotFound();
    });
    await assert.rejects(list(), (error) => {
      assert.ok(isStatusError(error, "ServiceUnavailable"));
      assert.match(error.message, /no metrics: east: it serves no metrics.k8s.io.*; west: /);
      return true;
    });
  });

  it("a request waits for a silent cluster for a limited time, and does not ask it for further namespaces", async () => {
    const namespaces = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const silent = namespaces.map((one) => copy("silent", "silent-a", undefined, one));
    const { list, warnings, clock, asked } = reader(
      [copy("east", "east-a"), ...silent],
      async (call) => {
        if (call.location.target !== "silent") return inOrder(call);
        return await new Promise((_, reject) => {
          const { signal } = call.from;
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      },
    );
    const listing = list();
    await clock.advanceAndFlush(metricsTimeoutMs);
    assert.equal((await listing).length, 1);
    assert.deepEqual(warnings, ["without metrics of silent: it did not answer within 5 s"]);
    // The requests that were in flight at the same time, and no others.
    const ofSilent = asked.filter(({ location }) => location.target === "silent");
    assert.equal(ofSilent.length, metricsQueriesInFlightMax);
  });

  it("requests to clusters end when the client disconnects", async () => {
    const leaving = new AbortController();
    const { list } = reader([copy("silent", "a")], async (call) => {
      leaving.abort(new Error("gone"));
      call.from.signal.throwIfAborted();
      return bytes("");
    });
    await assert.rejects(list(leaving.signal), /gone/);
  });

  it("the number of requests to clusters is limited, concurrent and in total", async () => {
    let now = 0;
    let most = 0;
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => copy(`c${index}`, `pod-${index}`));
    const { list, asked } = reader(many(metricsQueriesMax), async (call) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return inOrder(call);
    });
    await list();
    assert.equal(asked.length, metricsQueriesMax);
    assert.equal(most, metricsQueriesInFlightMax);
    const beyond = reader(many(metricsQueriesMax + 1), inOrder);
    await assert.rejects(beyond.list(), /1001 of those are more than 1000 at a time/);
    assert.equal(beyond.asked.length, 0);
  });
});
