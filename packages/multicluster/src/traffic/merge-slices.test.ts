import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { importedSliceName, mergeSlices } from "./merge-slices.ts";
import type { EndpointSlice } from "./objects.ts";

const http = [{ name: "http", port: 8080, protocol: "TCP" }];

function slice(
  cluster: string,
  name: string,
  endpoints: readonly JsonObject[],
  ports: readonly JsonObject[] = http,
): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${name}--${cluster}`,
      namespace: "default",
      labels: { [`state.workload.kcp.io/${cluster}`]: "Upsync" },
    },
    addressType: "IPv4",
    endpoints,
    ports,
  };
}

const endpoint = (address: string, ready = true): JsonObject => ({
  addresses: [address],
  conditions: { ready },
});
const everybody = () => true;

describe("merged EndpointSlices", () => {
  it("merged slices contain the fields that are valid in other clusters, and no Pods and nodes", () => {
    const full = {
      addresses: ["10.0.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      hostname: "web-0",
      zone: "z1",
      nodeName: "n1",
      targetRef: { kind: "Pod", name: "web-0" },
      hints: { forZones: [{ name: "z1" }] },
    };
    const [made] = mergeSlices("web", [slice("east", "web-1", [full])], everybody);
    assert.deepEqual(made?.endpoints, [
      {
        addresses: ["10.0.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        hostname: "web-0",
        zone: "z1",
      },
    ]);
    assert.deepEqual([made?.cluster, made?.addressType, made?.ports], ["east", "IPv4", http]);
  });

  it("equal addresses of two clusters stay separate", () => {
    const made = mergeSlices(
      "web",
      [
        slice("east", "web-1", [endpoint("10.0.0.1")]),
        slice("west", "web-1", [endpoint("10.0.0.1")]),
      ],
      everybody,
    );
    assert.deepEqual(
      made.map(({ cluster, endpoints }) => [cluster, endpoints.length]),
      [
        ["east", 1],
        ["west", 1],
      ],
    );
  });

  it("an address in two slices of a cluster is published once, from the slice in which it is ready", () => {
    const made = mergeSlices(
      "web",
      [
        slice("east", "web-1", [endpoint("10.0.0.1", false), endpoint("10.0.0.2")]),
        slice("east", "web-2", [endpoint("10.0.0.1")]),
      ],
      everybody,
    );
    const all = made.flatMap(({ endpoints }) => endpoints);
    assert.deepEqual(all, [endpoint("10.0.0.2"), endpoint("10.0.0.1")]);
  });

  it("a withdrawn cluster keeps its slices, without endpoints", () => {
    const sources = [
      slice("east", "web-1", [endpoint("10.0.0.1")]),
      slice("west", "web-1", [endpoint("10.1.0.1")]),
    ];
    const made = mergeSlices("web", sources, (cluster) => cluster === "east");
    assert.deepEqual(
      made.map(({ cluster, endpoints }) => [cluster, endpoints.length]),
      [
        ["east", 1],
        ["west", 0],
      ],
    );
  });

  it("slices that were not synced up and slices that are being deleted are ignored", () => {
    const stray = { ...slice("east", "a", [endpoint("10.0.0.1")]) };
    const unlabelled = { ...stray, metadata: { ...stray.metadata, labels: {} } };
    const going = {
      ...stray,
      metadata: { ...stray.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    };
    assert.deepEqual(mergeSlices("web", [unlabelled, going], everybody), []);
  });

  it("names of merged slices differ from the names of upsynced slices, however long the names are", () => {
    for (const [service, cluster] of [
      ["web", "east"],
      ["web--east", "east"],
      ["w".repeat(63), "c".repeat(56)],
    ] as const) {
      const name = importedSliceName(service, cluster, "x".repeat(250));
      assert.ok(name.length <= 253);
      assert.match(name, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
      assert.ok(!name.endsWith(`--${cluster}`));
    }
  });
});

const someSlices = fc
  .array(
    fc.record({
      cluster: fc.constantFrom("east", "west", "north"),
      name: fc.constantFrom("a", "b", "c", "d"),
      endpoints: fc.array(
        fc.record({ address: fc.constantFrom("1", "2", "3", "4"), ready: fc.boolean() }),
        { maxLength: 4 },
      ),
      ports: fc.constantFrom(http, [{ name: "dns", port: 53, protocol: "UDP" }]),
    }),
    { maxLength: 8 },
  )
  .map((found) => [
    ...new Map(
      found.map((one) => [
        `${one.cluster}/${one.name}`,
        slice(
          one.cluster,
          one.name,
          one.endpoints.map(({ address, ready }) => endpoint(`10.0.0.${address}`, ready)),
          one.ports,
        ),
      ]),
    ).values(),
  ]);

describe("arbitrary EndpointSlices", () => {
  it("the merge does not depend on the order, has no duplicates, and loses no address", () => {
    fc.assert(
      fc.property(someSlices, fc.boolean(), (sources, isReversed) => {
        const made = mergeSlices("web", sources, everybody);
        const again = mergeSlices("web", isReversed ? [...sources].reverse() : sources, everybody);
        assert.deepEqual(again, made);
        const id = (cluster: string, ports: unknown, addresses: unknown) =>
          JSON.stringify([cluster, ports, addresses]);
        const ids = made.flatMap(({ cluster, ports, endpoints }) =>
          endpoints.map(({ addresses }) => id(cluster, ports, addresses)),
        );
        assert.equal(new Set(ids).size, ids.length);
        const before = sources.flatMap(({ metadata, ports, endpoints = [] }) =>
          endpoints.map(({ addresses }) =>
            id(metadata.name.split("--")[1] ?? "", ports, addresses),
          ),
        );
        assert.deepEqual(new Set(ids), new Set(before));
        assert.equal(made.length, sources.length);
      }),
    );
  });
});
