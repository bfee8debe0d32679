import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ServiceImport } from "../api/index.ts";
import type { DesiredImport } from "./decide-service.ts";
import {
  derivedServiceName,
  isDerivedOf,
  newDerivedService,
  updatedDerivedService,
  wantsDerivedService,
} from "./derived-service.ts";
import type { Service } from "./objects.ts";

const owner: ServiceImport = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ServiceImport",
  metadata: { name: "web", namespace: "default", uid: "import" },
  spec: { type: "ClusterSetIP", ports: [] },
};

function wanted(spec: Partial<DesiredImport["spec"]> = {}, ...consumers: string[]): DesiredImport {
  return {
    spec: {
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      sessionAffinity: "None",
      ...spec,
    },
    since: {},
    clusters: [],
    consumers: new Set(consumers),
    slices: [],
    derived: "web-clusterset",
  };
}

const stored = (spec: Partial<DesiredImport["spec"]> = {}, ...consumers: string[]) =>
  ({
    apiVersion: "v1",
    kind: "Service",
    ...newDerivedService(owner, wanted(spec, ...consumers)),
  }) as Service;

describe("derived Service of an import", () => {
  it("an annotation with the value true requests a derived Service", () => {
    const asks = (annotations: Record<string, string>) =>
      wantsDerivedService({ metadata: { name: "web", annotations } });
    assert.equal(asks({ "workload.kcp.io/clusterset": "true" }), true);
    for (const no of [{}, { "workload.kcp.io/clusterset": "false" }]) assert.equal(asks(no), false);
  });

  it("the name is valid in DNS, and differs from every other derived Service's name", () => {
    assert.equal(derivedServiceName("web"), "web-clusterset");
    const long = ["a".repeat(63), `${"a".repeat(62)}b`].map(derivedServiceName);
    assert.equal(new Set(long).size, 2);
    for (const name of long) assert.match(name, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });

  it("a derived Service has no selector, only ports and session affinity", () => {
    const { metadata, spec } = stored({ sessionAffinity: "ClientIP" }, "east", "west");
    assert.deepEqual(spec, {
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      sessionAffinity: "ClientIP",
    });
    assert.deepEqual(metadata.labels, {
      "multicluster.kubernetes.io/service-name": "web",
      "state.workload.kcp.io/east": "Sync",
      "state.workload.kcp.io/west": "Sync",
    });
    assert.ok(isDerivedOf(stored(), owner));
    assert.ok(!isDerivedOf({ ...stored(), metadata: { name: "web-clusterset" } }, owner));
  });

  it("the derived Service of a headless Service is headless: its name resolves to all addresses", () => {
    assert.equal(stored({ type: "Headless" }).spec?.["clusterIP"], "None");
    assert.equal(stored().spec?.["clusterIP"], undefined);
  });

  it("a derived Service follows its import, keeps fields of others, and is unchanged when it is up to date", () => {
    const present = stored({}, "east");
    const lived: Service = {
      ...present,
      metadata: { ...present.metadata, labels: { ...present.metadata.labels, team: "a" } } as never,
      spec: { ...(present.spec as JsonObject), clusterIP: "10.96.0.7", type: "ClusterIP" },
    };
    assert.equal(updatedDerivedService(lived, owner, wanted({}, "east")), lived);
    const moved = updatedDerivedService(
      lived,
      owner,
      wanted({ sessionAffinity: "ClientIP", ports: [{ port: 81, protocol: "TCP" }] }, "west"),
    );
    assert.deepEqual(moved.metadata.labels, {
      "multicluster.kubernetes.io/service-name": "web",
      "state.workload.kcp.io/west": "Sync",
      team: "a",
    });
    assert.deepEqual(moved.spec, {
      clusterIP: "10.96.0.7",
      type: "ClusterIP",
      ports: [{ port: 81, protocol: "TCP" }],
      sessionAffinity: "ClientIP",
    });
  });
});
