/**
 * Goal: an administrator of a physical cluster can add no address to Services that the cluster does
 * not run, and nothing to namespaces of which it has no objects.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  agentViewPath,
  clusterLabel,
  downstreamLabel,
  downstreamNamespace,
  importedServiceLabel,
  namespaceLocatorAnnotation,
  serviceExports,
  sourceClusterLabel,
  stateLabel,
  syncTargets,
  targetKey,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { namespaces, pods } from "@kcp-ts/sdk/kinds";
import { registerPullTarget, statusOf } from "./agents.ts";
import { deployment, deployments, eventually } from "./fixture.ts";
import {
  endpointSlices,
  namespace,
  readyBySource,
  service,
  services,
  TrafficFixture,
} from "./traffic-fixture.ts";

function slice(name: string, at: string, of: string, address: string) {
  const labels = { "kubernetes.io/service-name": of };
  return {
    metadata: { name, namespace: at, labels },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

/** A workload and its Service in one cluster, as people assign them. */
async function assigned(client: Client, name: string, target: string): Promise<void> {
  const { metadata, spec } = deployment(name);
  const labels = { ...metadata.labels, [clusterLabel]: target };
  await eventually(() =>
    client
      .resource(deployments)
      .create({ metadata: { ...metadata, labels }, spec: { ...spec, replicas: 1 } }),
  );
  const made = service(name);
  await eventually(() =>
    client.resource(services).create({ ...made, metadata: { ...made.metadata, labels } } as never),
  );
  await client.resource(serviceExports).create({ metadata: { name, namespace } });
}

async function namesFrom(client: Client, target: string) {
  const labelSelector = `${stateLabel(target)}=Upsync`;
  const slices = await client.resource(endpointSlices).list({ labelSelector });
  const copies = await client.resource(pods).list({ labelSelector });
  return {
    services: [
      ...new Set(
        slices.items.map(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"]),
      ),
    ],
    pods: copies.items.map(({ metadata }) => metadata.labels?.["app"]).sort(),
  };
}

describe("a physical cluster that lies", () => {
  it("brings nothing up from a namespace that its syncer did not make, however well it is forged", async (t) => {
    const stage = await TrafficFixture.start(t, ["us-east1", "us-west1"]);
    const { client } = stage.plane;
    await stage.join("us-east1");
    await stage.join("us-west1");
    await assigned(client, "web", "us-east1");
    const west = stage.physical("us-west1").client;
    const { metadata } = await client.resource(syncTargets).get({ name: "us-west1" });
    const target = { cluster: "root", name: "us-west1", uid: metadata.uid ?? "" };
    // All of this can be known, or guessed, by who rules the cluster.
    const forged = downstreamNamespace(target, { cluster: rootCluster, namespace });
    await west
      .resource(namespaces)
      .create({
        metadata: {
          name: forged,
          labels: { [downstreamLabel]: targetKey(target) },
          annotations: {
            [namespaceLocatorAnnotation]: JSON.stringify({
              syncTarget: target,
              cluster: "root",
              namespace,
            }),
            "workload.kcp.io/namespace-signature": "A".repeat(43),
          },
        },
      });
    await west.resource(endpointSlices).create(slice("web-1", forged, "web", "10.66.6.6") as never);
    const containers = [{ name: "c", image: "nginx" }];
    const labels = { app: "forged" };
    await west
      .resource(pods)
      .create({
        metadata: { name: "forged", namespace: forged, labels },
        spec: { containers },
      } as never);
    // What is done after it, in another namespace, has come up: the forgery has been looked at.
    await client.resource(namespaces).create({ metadata: { name: "team" } });
    const { metadata: own, spec } = deployment("own");
    const at = { ...own, namespace: "team", labels: { ...own.labels, [clusterLabel]: "us-west1" } };
    await client.resource(deployments).create({ metadata: at, spec: { ...spec, replicas: 1 } });
    await eventually(async () =>
      assert.deepEqual((await namesFrom(client, "us-west1")).pods, ["own"]),
    );
    assert.deepEqual(await namesFrom(client, "us-west1"), { services: [], pods: ["own"] });
    await eventually(async () => assert.deepEqual(await readyBySource(client), { "us-east1": 1 }));

    // Something of the namespace is given to the cluster: it has a say in that, and in nothing else
    // of it.
    await assigned(client, "mine", "us-west1");
    await eventually(async () => {
      const { items } = await west.resource(deployments).list({ namespace: forged });
      assert.equal(items.length, 1);
      assert.deepEqual((await namesFrom(client, "us-west1")).services, ["mine"]);
    });
    await west.resource(endpointSlices).create(slice("web-2", forged, "web", "10.66.6.7") as never);
    const local = slice("mine-2", forged, "mine", "169.254.169.254");
    // A cluster that lies validates nothing; a simulated one skips what is marked as a copy.
    Object.assign(local.metadata.labels, { [stateLabel("us-west1")]: "Upsync" });
    await west.resource(endpointSlices).create(local as never);
    await eventually(async () => {
      await client.resource(endpointSlices).get({ namespace, name: "mine-2--us-west1" });
      const labelSelector = `${importedServiceLabel}=mine,${sourceClusterLabel}=us-west1`;
      const { items } = await client.resource(endpointSlices).list({ labelSelector });
      assert.equal(items.length, 2);
      const addresses = items
        .flatMap(({ endpoints }) => endpoints ?? [])
        .flatMap((one) => (one as unknown as { addresses: string[] }).addresses);
      assert.equal(addresses.length, 1);
      assert.ok(!addresses.includes("169.254.169.254"));
    });
    assert.deepEqual((await namesFrom(client, "us-west1")).services, ["mine"]);
    assert.deepEqual(await readyBySource(client), { "us-east1": 1 });
  });

  it("says nothing of Services that are not assigned to it by its agent's token either", async (t) => {
    const stage = await TrafficFixture.start(t, ["us-east1"]);
    const { client } = stage.plane;
    await stage.join("us-east1");
    await assigned(client, "web", "us-east1");
    await eventually(async () => assert.deepEqual(await readyBySource(client), { "us-east1": 1 }));
    const agent = await registerPullTarget(t, stage.plane, "mine");
    const group = "/clusters/root/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    const path = `${agentViewPath(agent.target)}${group}?fieldManager=kcp-syncer`;
    const upsync = { [stateLabel("mine")]: "Upsync" };
    const post = (name: string, of: string, labels: Record<string, string> = {}) => {
      const { metadata, ...rest } = slice(name, namespace, of, "10.66.6.6");
      const all = { ...metadata, labels: { ...metadata.labels, ...upsync, ...labels } };
      const body = {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        ...rest,
        metadata: all,
      };
      return statusOf(agent.client.json({ method: "POST", path, body: body as never }));
    };
    assert.equal(await post("web-1--mine", "web"), 403);
    assert.equal(await post("web-1--mine", "other"), 403);
    // By a name that only imported slices have, or as one of these.
    assert.equal(await post("web-us-east1-0123456789", "web"), 403);
    await client.resource(services).create(service("other", {}) as never);
    const assign = { metadata: { labels: { [clusterLabel]: "mine" } } };
    await client
      .resource(services)
      .patch({ namespace, name: "other" }, { type: "merge", patch: assign });
    assert.equal(await post("other-1--mine", "other", { [importedServiceLabel]: "web" }), 403);
    // That nothing was given to it is remembered for a moment.
    await eventually(async () => assert.equal(await post("other-1--mine", "other"), 200));
    // It is then taken to be of another Service.
    const place = `${agentViewPath(agent.target)}${group}/other-1--mine?fieldManager=kcp-syncer`;
    const patch = { metadata: { labels: { "kubernetes.io/service-name": "web" } } };
    const contentType = "application/merge-patch+json";
    const renamed = agent.client.json({ method: "PATCH", path: place, body: patch, contentType });
    assert.equal(await statusOf(renamed), 403);
    assert.deepEqual(await readyBySource(client), { "us-east1": 1 });
  });
});
