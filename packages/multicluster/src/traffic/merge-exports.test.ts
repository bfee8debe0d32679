import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { type Constituent, mergeExports, portsOf } from "./merge-exports.ts";

const port = (number: number, name?: string, protocol = "TCP"): JsonObject => ({
  port: number,
  protocol,
  ...(name === undefined ? {} : { name }),
});
const from = (cluster: string, sinceMs: number, spec: JsonObject): Constituent => ({
  cluster,
  sinceMs,
  spec,
});
const merged = (...constituents: readonly Constituent[]) => {
  const found = mergeExports(constituents);
  assert.ok(found !== undefined);
  return found;
};
const reasons = (...constituents: readonly Constituent[]) =>
  merged(...constituents).conflicts.map(({ reason }) => reason);

describe("exports of one name", () => {
  it("there is no merged export without exports", () => {
    assert.equal(mergeExports([]), undefined);
  });

  it("exports that differ only in explicit defaults have no conflicts", () => {
    const plain = { ports: [{ port: 80 }], selector: { app: "a" }, clusterIP: "10.0.0.1" };
    const full = {
      ports: [{ port: 80, protocol: "TCP", targetPort: 8080, nodePort: 30000 }],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      type: "NodePort",
      clusterIP: "10.0.0.2",
    };
    const { spec, conflicts } = merged(from("a", 1, plain), from("b", 2, full));
    assert.deepEqual(conflicts, []);
    assert.deepEqual(spec, { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }] });
  });

  it("the oldest export decides a conflict, and the name decides between exports of the same age", () => {
    const headless = { clusterIP: "None", ports: [port(80)] };
    const sticky = { sessionAffinity: "ClientIP", ports: [port(80)] };
    assert.equal(merged(from("a", 2, sticky), from("b", 1, headless)).spec.type, "Headless");
    assert.equal(merged(from("b", 1, headless), from("a", 1, sticky)).spec.type, "ClusterSetIP");
    const found = merged(from("a", 2, sticky), from("b", 1, headless));
    assert.equal(found.spec.sessionAffinity, undefined);
    assert.deepEqual(
      found.conflicts.map(({ reason }) => reason),
      ["TypeConflict", "SessionAffinityConflict"],
    );
    assert.match(found.conflicts[0]?.message ?? "", /b and a differ; what b has counts/);
  });

  it("the ports are the union over all exports, matched by name, then by protocol and number", () => {
    const old = { ports: [port(80, "http"), port(443, "https")] };
    const young = { ports: [port(8080, "http"), port(443, "tls"), port(53, "dns", "UDP")] };
    const { spec, conflicts } = merged(from("young", 2, young), from("old", 1, old));
    assert.deepEqual(spec.ports, [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "http", port: 80, protocol: "TCP" },
      { name: "https", port: 443, protocol: "TCP" },
    ]);
    assert.deepEqual(
      conflicts.map(({ reason }) => reason),
      ["PortConflict"],
    );
  });

  it("one port number may have two protocols", () => {
    const spec = { ports: [port(53, "dns", "UDP"), port(53, "dns-tcp")] };
    assert.equal(merged(from("a", 1, spec)).spec.ports.length, 2);
  });

  it("every conflict is reported", () => {
    const a = {
      ports: [port(80)],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    };
    assert.deepEqual(reasons(from("a", 1, a), from("b", 2, { ports: [port(80)] })), [
      "SessionAffinityConflict",
      "SessionAffinityConfigConflict",
      "InternalTrafficPolicyConflict",
      "TrafficDistributionConflict",
    ]);
  });
});

const somePort = fc.record({
  port: fc.integer({ min: 1, max: 6 }),
  protocol: fc.constantFrom("TCP", "UDP"),
  name: fc.constantFrom("a", "b", "c", "d"),
});
const someSpec = fc.record({
  ports: fc.uniqueArray(somePort, {
    maxLength: 4,
    comparator: (a, b) => a.name === b.name || (a.port === b.port && a.protocol === b.protocol),
  }),
  clusterIP: fc.constantFrom("None", "10.0.0.1"),
  sessionAffinity: fc.constantFrom("None", "ClientIP"),
});
const someExports = fc
  .uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1 })
  .chain((names) =>
    fc.tuple(
      ...names.map((cluster) =>
        fc.record({
          cluster: fc.constant(cluster),
          sinceMs: fc.integer({ min: 0, max: 3 }),
          spec: someSpec as fc.Arbitrary<JsonObject>,
        }),
      ),
    ),
  );

describe("merged exports", () => {
  it("the result does not depend on the order of the exports", () => {
    fc.assert(
      fc.property(someExports, fc.infiniteStream(fc.nat()), (exports, numbers) => {
        const shuffled = exports
          .map((one) => ({ one, at: numbers.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
        assert.deepEqual(mergeExports(shuffled), mergeExports(exports));
      }),
    );
  });

  it("the merged ports do not conflict with each other, and contain all ports of the oldest export", () => {
    fc.assert(
      fc.property(someExports, (exports) => {
        const { spec, conflicts } = merged(...exports);
        const names = spec.ports.map(({ name }) => name);
        const numbers = spec.ports.map(({ protocol, port: number }) => `${protocol} ${number}`);
        assert.equal(new Set(names).size, names.length);
        assert.equal(new Set(numbers).size, numbers.length);
        const [oldest] = [...exports].sort(
          (a, b) => a.sinceMs - b.sinceMs || (a.cluster < b.cluster ? -1 : 1),
        );
        for (const one of portsOf(oldest?.spec ?? {}))
          assert.deepEqual(
            spec.ports.find(({ name }) => name === one.name),
            one,
          );
        const offered = exports.flatMap((one) =>
          portsOf(one.spec).map((each) => JSON.stringify(each)),
        );
        for (const one of spec.ports) assert.ok(offered.includes(JSON.stringify(one)));
        const isOneMind =
          new Set(exports.map((one) => JSON.stringify(portsOf(one.spec)))).size === 1;
        assert.equal(
          conflicts.some(({ reason }) => reason === "PortConflict"),
          !isOneMind,
        );
      }),
    );
  });
});
