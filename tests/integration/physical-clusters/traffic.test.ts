/**
 * Goal: an unmodified workload with a Service is reached from every cluster that it is in, whatever
 * happens to the clusters.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  serviceExports,
  serviceImports,
  syncPolicies,
  syncTargets,
  weightsAnnotation,
} from "@kcp-ts/multicluster";
import { type Condition, findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import { FaultProxy } from "@kcp-ts/testkit";
import { deployments, eventually, register, untilCondition } from "./fixture.ts";
import {
  countReady,
  EndpointRecorder,
  endpointSlices,
  exportCondition,
  exportOf,
  importOf,
  namespace,
  readyBySource,
  service,
  services,
  TrafficFixture,
  total,
} from "./traffic-fixture.ts";

interface Placed extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const both = ["us-east1", "us-west1"];
const web = { namespace, name: "web" };

async function stageWith(t: TestContext, ...names: string[]): Promise<TrafficFixture> {
  const stage = await TrafficFixture.start(t, names);
  for (const name of names) await stage.join(name);
  return stage;
}

describe("a Service over two clusters", () => {
  it("is where its Pods are, exported by itself, and imported in both with the endpoints of both", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(4);
    const endpoints = { "us-east1": 2, "us-west1": 2 };
    await eventually(async () => assert.deepEqual(await readyBySource(client), endpoints));
    assert.deepEqual((await importOf(client))?.spec, {
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    });
    await eventually(async () => {
      assert.equal((await exportCondition(client, "Valid"))?.status, "True");
      assert.equal((await exportCondition(client, "Ready"))?.reason, "Exported");
      assert.equal((await exportCondition(client, "Conflict"))?.status, "False");
      const clusters = (await importOf(client))?.status?.clusters;
      assert.deepEqual(clusters, [{ cluster: "us-east1" }, { cluster: "us-west1" }]);
    });
    for (const name of both) {
      const inside = stage.physical(name).client;
      await eventually(async () => {
        assert.deepEqual(await readyBySource(inside), endpoints);
        const { items } = await inside.resource(serviceImports).list();
        const shown = items.map(({ metadata, spec, status }) => [
          metadata.name,
          spec.type,
          status?.clusters?.length,
        ]);
        assert.deepEqual(shown, [["web", "ClusterSetIP", 2]]);
      });
      // The Service itself has the Pods of its own cluster behind it, as in any cluster.
      const { items } = await inside.resource(services).list();
      assert.equal(items.filter(({ metadata }) => metadata.name === "web").length, 1);
    }
    const outside = { spec: { type: "LoadBalancer" } };
    await client.resource(services).patch(web, { type: "merge", patch: outside });
    await eventually(async () => {
      const { status } = await client.resource(services).get(web);
      const { loadBalancer } = status as { loadBalancer?: { ingress?: readonly object[] } };
      assert.equal(loadBalancer?.ingress?.length, 2);
    });
    await client.resource(services).delete(web);
    await eventually(async () => {
      assert.equal(await client.resource(services).find(web), undefined);
      assert.equal(await exportOf(client), undefined);
      assert.equal(await importOf(client), undefined);
      assert.equal((await client.resource(endpointSlices).list({ namespace })).items.length, 0);
      for (const name of both) {
        const inside = stage.physical(name).client;
        assert.deepEqual(await readyBySource(inside), {});
        assert.equal((await inside.resource(serviceImports).list()).items.length, 0);
      }
    });
  });

  it("has one name in all of them for the endpoints of all, where it asks for that", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(4);
    const annotate = (value: string | null) =>
      client
        .resource(services)
        .patch(web, {
          type: "merge",
          patch: { metadata: { annotations: { "workload.kcp.io/clusterset": value } } },
        });
    await annotate("true");
    const derived = { namespace, name: "web-clusterset" };
    // As kube-proxy and DNS see it: the Service, and the slices that name it.
    const behind = async (name: string) => {
      const inside = stage.physical(name).client;
      const { items } = await inside.resource(services).list();
      const found = items.find(({ metadata }) => metadata.name === derived.name);
      const labelSelector = `kubernetes.io/service-name=${derived.name}`;
      const slices = await inside.resource(endpointSlices).list({ labelSelector });
      const spec = found?.["spec"] as
        | { readonly selector?: object; readonly ports?: readonly { readonly port: number }[] }
        | undefined;
      return { spec, ready: countReady(slices.items) };
    };
    const all = { "us-east1": 2, "us-west1": 2 };
    for (const name of both)
      await eventually(async () => {
        const { spec, ready } = await behind(name);
        assert.deepEqual(ready, all);
        assert.equal(spec?.selector, undefined);
        assert.deepEqual(
          spec?.ports?.map(({ port }) => port),
          [80],
        );
      });
    // Session affinity is that of the Service.
    const sticky = { spec: { sessionAffinity: "ClientIP" } };
    await client.resource(services).patch(web, { type: "merge", patch: sticky });
    await eventually(async () => {
      const { spec } = await client.resource(services).get(derived);
      assert.equal((spec as { sessionAffinity?: string }).sessionAffinity, "ClientIP");
    });
    // Who deletes it without saying so on the Service has it again.
    const { metadata } = await client.resource(services).get(derived);
    await client.resource(services).delete(derived);
    await eventually(async () => {
      const again = await client.resource(services).find(derived);
      assert.ok(again !== undefined && again.metadata.uid !== metadata.uid);
    });
    for (const name of both)
      await eventually(async () => assert.deepEqual((await behind(name)).ready, all));
    // It is not exported in its turn.
    assert.equal(await exportOf(client, derived.name), undefined);
    await annotate(null);
    await eventually(async () => {
      assert.equal(await client.resource(services).find(derived), undefined);
      for (const name of both) assert.deepEqual(await behind(name), { spec: undefined, ready: {} });
      assert.deepEqual(await readyBySource(client), all);
    });
    // A foreign Service with the name is left alone, and a condition reports it.
    await client.resource(services).create(service(derived.name, { selector: { app: "other" } }));
    await annotate("true");
    await eventually(async () => {
      const ready = await exportCondition(client, "Ready");
      assert.deepEqual([ready?.status, ready?.reason], ["False", "Failed"]);
      assert.match(ready?.message ?? "", /Service web-clusterset exists and was not made/);
    });
    const { spec } = await client.resource(services).get(derived);
    assert.deepEqual((spec as { selector?: object }).selector, { app: "other" });
    assert.deepEqual(await readyBySource(client), all);
  });

  it("that is headless is imported as such, with every address and no other", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(4);
    const members = service("members", { selector: { app: "web" }, clusterIP: "None" });
    await client
      .resource(services)
      .create({
        ...members,
        metadata: { ...members.metadata, annotations: { "workload.kcp.io/clusterset": "true" } },
      });
    const name = "members";
    const all = { "us-east1": 2, "us-west1": 2 };
    for (const cluster of both) {
      const inside = stage.physical(cluster).client;
      await eventually(async () => {
        assert.deepEqual(await readyBySource(inside, { name }), all);
        const { items } = await inside.resource(serviceImports).list();
        const found = items.find(({ metadata }) => metadata.name === name);
        assert.equal(found?.spec.type, "Headless");
        // By plain DNS its name is the addresses of the slices that name it.
        const derived = (await inside.resource(services).list()).items.find(
          ({ metadata }) => metadata.name === "members-clusterset",
        );
        assert.equal((derived?.["spec"] as { clusterIP?: string } | undefined)?.clusterIP, "None");
        const labelSelector = "kubernetes.io/service-name=members-clusterset";
        const slices = await inside.resource(endpointSlices).list({ labelSelector });
        assert.deepEqual(countReady(slices.items), all);
      });
    }
  });

  it("loses the endpoints of a lost cluster, and has them again when it is back", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(4);
    const workload = { "us-east1": 2, "us-west1": 2 };
    const east = stage.physical("us-east1").client;
    await eventually(async () => assert.deepEqual(await readyBySource(east), workload));
    await stage.physical("us-west1").faults.cut();
    const less = { "us-east1": 2, "us-west1": 0 };
    await eventually(async () => {
      assert.deepEqual(await readyBySource(client), less);
      assert.deepEqual(await readyBySource(east), less);
      assert.deepEqual((await importOf(client))?.status?.clusters, [{ cluster: "us-east1" }]);
    });
    await stage.physical("us-west1").faults.heal();
    await eventually(async () => {
      assert.deepEqual(await readyBySource(east), workload);
      assert.deepEqual(await readyBySource(stage.physical("us-west1").client), workload);
    });
  });

  it("loses the endpoints of an unresponsive cluster without waiting for the next probe", async (t) => {
    const never = { probeMs: 3_600_000, probeTimeoutMs: 5000, failuresMax: 3 };
    const stage = await TrafficFixture.start(t, both, { link: { ...never, inventoryMs: 400 } });
    const { client } = stage.plane;
    const { kubeconfig } = stage.physical("us-west1");
    const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(kubeconfig)?.[1]);
    const proxy = await FaultProxy.start({ host: "127.0.0.1", port });
    t.after(() => proxy.dispose());
    const through = kubeconfig.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${proxy.port}`);
    await stage.join("us-east1");
    await register(client, "us-west1", { kubeconfig: through });
    await untilCondition(client, "us-west1", { status: "True" });
    await stage.deploy(4);
    const east = stage.physical("us-east1").client;
    const workload = { "us-east1": 2, "us-west1": 2 };
    await eventually(async () => assert.deepEqual(await readyBySource(east), workload));
    // Half-open: nothing is closed, and no byte gets through.
    const beganAtMs = performance.now();
    proxy.setFaults({ blackhole: true });
    const less = { "us-east1": 2, "us-west1": 0 };
    await eventually(async () => assert.deepEqual(await readyBySource(east), less));
    t.diagnostic(`withdrawn after ${Math.round(performance.now() - beganAtMs)} ms`);
    // However long it is tried to reach it, it does not count as seen.
    const target = await client.resource(syncTargets).get({ name: "us-west1" });
    assert.equal(findCondition(target.status?.conditions, "Ready")?.status, "False");
    proxy.setFaults({});
    proxy.dropConnections();
    await eventually(async () => assert.deepEqual(await readyBySource(east), workload));
  });

  it("keeps the endpoints of lost clusters when there are no others", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(2, { annotations: { [weightsAnnotation]: "us-east1=0" } });
    await eventually(async () => assert.deepEqual(await readyBySource(client), { "us-west1": 2 }));
    await stage.physical("us-west1").faults.cut();
    await untilCondition(client, "us-west1", { status: "False" });
    const record = await EndpointRecorder.start(t, client);
    // A change that is made after the loss has been seen tells that it was looked at.
    await client
      .resource(services)
      .patch(web, {
        type: "merge",
        patch: { spec: { ports: [{ name: "http", port: 81, targetPort: 8080 }] } },
      });
    await eventually(async () => assert.equal((await importOf(client))?.spec.ports[0]?.port, 81));
    await record.stop();
    assert.deepEqual(
      record.states.filter((state) => total(state) !== 2),
      [],
    );
  });

  it("is never without ready endpoints while its workload moves", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(3, { annotations: { [weightsAnnotation]: "us-west1=0" } });
    await eventually(async () => assert.deepEqual(await readyBySource(client), { "us-east1": 3 }));
    const record = await EndpointRecorder.start(t, client);
    const move = { metadata: { annotations: { [weightsAnnotation]: "us-east1=0" } } };
    await client.resource(deployments).patch(web, { type: "merge", patch: move });
    await eventually(async () => {
      assert.deepEqual(await readyBySource(client), { "us-west1": 3 });
      const { items } = await client.resource(deployments).list({ namespace });
      assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ["web", "web--us-west1"]);
    });
    await record.stop();
    const totals = record.states.map(total);
    assert.ok(Math.min(...totals) >= 3, JSON.stringify(record.states));
    // In the cluster that it has left there is nothing of it.
    const inside = stage.physical("us-east1").client;
    await eventually(async () => {
      assert.deepEqual(await readyBySource(inside), {});
      const { items } = await inside.resource(services).list();
      assert.deepEqual(
        items.filter(({ metadata }) => metadata.name === "web"),
        [],
      );
    });
  });

  it("keeps a workload where it is until its endpoints elsewhere are published, however late", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    // Nothing of this kind comes up from there.
    const late = { name: "late" };
    const slices = { group: "discovery.k8s.io", resource: "endpointslices" };
    await client
      .resource(syncPolicies)
      .create({
        metadata: late,
        spec: { syncTargets: ["us-west1"], resources: [{ ...slices, direction: "Down" }] },
      });
    await stage.deploy(3, { annotations: { [weightsAnnotation]: "us-west1=0" } });
    await eventually(async () => assert.deepEqual(await readyBySource(client), { "us-east1": 3 }));
    const record = await EndpointRecorder.start(t, client);
    const move = { metadata: { annotations: { [weightsAnnotation]: "us-east1=0" } } };
    await client.resource(deployments).patch(web, { type: "merge", patch: move });
    await eventually(async () => {
      const { status } = (await client.resource(deployments).get(web)) as Placed;
      assert.equal(findCondition(status?.conditions, "Scheduled")?.reason, "DisruptionBlocked");
    });
    const east = await client.resource(deployments).get({ namespace, name: "web--us-east1" });
    assert.equal(east.spec?.replicas, 3);
    assert.deepEqual(await readyBySource(client), { "us-east1": 3 });
    await client.resource(syncPolicies).delete(late);
    await eventually(async () => {
      assert.deepEqual(await readyBySource(client), { "us-west1": 3 });
      const { items } = await client.resource(deployments).list({ namespace });
      assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), ["web", "web--us-west1"]);
    });
    await record.stop();
    assert.ok(Math.min(...record.states.map(total)) >= 3, JSON.stringify(record.states));
  });

  it("lets go of workloads that a Service held which is no more", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(2);
    await eventually(async () => assert.equal(total(await readyBySource(client)), 2));
    const part = { namespace, name: "web--us-east1" };
    const annotation = "finalizers.workload.kcp.io/us-east1";
    const hold = { metadata: { annotations: { [annotation]: "dns,traffic/gone" } } };
    await client.resource(deployments).patch(part, { type: "merge", patch: hold });
    await eventually(async () => {
      const { metadata } = await client.resource(deployments).get(part);
      assert.equal(metadata.annotations?.[annotation], "dns");
    });
  });

  it("is not exported when it says so, nor taken from where people put it", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    await stage.deploy(2);
    await eventually(async () => assert.equal(total(await readyBySource(client)), 2));
    const no = { metadata: { annotations: { "workload.kcp.io/export": "false" } } };
    await client.resource(services).patch(web, { type: "merge", patch: no });
    await eventually(async () => {
      assert.equal(await exportOf(client), undefined);
      assert.equal(await importOf(client), undefined);
      assert.deepEqual(await readyBySource(client), {});
    });
    const pinned = service("pinned", { selector: { app: "web" } });
    const labels = { "workload.kcp.io/cluster": "us-west1" };
    await client.resource(services).create({ ...pinned, metadata: { ...pinned.metadata, labels } });
    await eventually(async () => {
      const { items } = await stage.physical("us-west1").client.resource(services).list();
      assert.ok(items.some(({ metadata }) => metadata.name === "pinned"));
    });
    assert.equal(await exportOf(client, "pinned"), undefined);
    // Exported by hand, it is imported from where it is.
    await client.resource(serviceExports).create({ metadata: { namespace, name: "pinned" } });
    await eventually(async () =>
      assert.deepEqual(await readyBySource(client, { name: "pinned" }), { "us-west1": 1 }),
    );
  });

  it("says why it cannot be exported, and who decides where clusters differ", async (t) => {
    const stage = await stageWith(t, ...both);
    const { client } = stage.plane;
    const exports = client.resource(serviceExports);
    await stage.deploy(2);
    await exports.create({ metadata: { namespace, name: "nothing" } });
    await client
      .resource(services)
      .create({
        metadata: { namespace, name: "outside" },
        spec: { type: "ExternalName", externalName: "example.com" },
      });
    await exports.create({ metadata: { namespace, name: "outside" } });
    await eventually(async () => {
      const missing = await exportCondition(client, "Valid", "nothing");
      assert.deepEqual([missing?.status, missing?.reason], ["False", "NoService"]);
      const wrong = await exportCondition(client, "Valid", "outside");
      assert.deepEqual([wrong?.status, wrong?.reason], ["False", "InvalidServiceType"]);
    });
    await eventually(async () => assert.equal(total(await readyBySource(client)), 2));
    const diff = JSON.stringify([{ op: "replace", path: "/ports/0/port", value: 8080 }]);
    const annotations = { "experimental.spec-diff.workload.kcp.io/us-west1": diff };
    await client
      .resource(services)
      .patch(web, { type: "merge", patch: { metadata: { annotations } } });
    await eventually(async () => {
      const found = await exportCondition(client, "Conflict");
      assert.deepEqual([found?.status, found?.reason], ["True", "PortConflict"]);
      assert.match(found?.message ?? "", /us-east1 and us-west1 differ.*us-east1/);
    });
    assert.deepEqual(
      (await importOf(client))?.spec.ports.map(({ port }) => port),
      [80],
    );
  });
});

describe("Services of the same name in two logical clusters", () => {
  it("never have each other's endpoints, in the same physical clusters", async (t) => {
    const stage = await stageWith(t, ...both);
    const { plane } = stage;
    const other = plane.clientFor("other");
    for (const name of both) await stage.join(name, other);
    await stage.deploy(4);
    await stage.deploy(2, { client: other });
    await eventually(async () => {
      assert.deepEqual(await readyBySource(plane.client), { "us-east1": 2, "us-west1": 2 });
      assert.deepEqual(await readyBySource(other), { "us-east1": 1, "us-west1": 1 });
    });
    const addressesIn = async (client: typeof other, where: { namespace?: string } = {}) => {
      const { items } = await client
        .resource(endpointSlices)
        .list({ labelSelector: "multicluster.kubernetes.io/service-name=web", ...where });
      return items
        .flatMap(({ metadata, endpoints }) =>
          (endpoints ?? []).flatMap(({ addresses }) =>
            addresses.map(
              (one) => `${metadata.labels?.["multicluster.kubernetes.io/source-cluster"]} ${one}`,
            ),
          ),
        )
        .sort();
    };
    // Asked anew each time: a cluster that was first has more at the beginning, and what leaves it
    // is an endpoint until it is gone.
    const addresses = async () => {
      const [ours, theirs] = [await addressesIn(plane.client), await addressesIn(other)];
      assert.deepEqual(
        ours.filter((one) => theirs.includes(one)),
        [],
      );
      return [ours, theirs] as const;
    };
    for (const name of both) {
      const inside = stage.physical(name).client;
      await eventually(async () => {
        const [ours, theirs] = await addresses();
        assert.deepEqual([ours.length, theirs.length], [4, 2]);
        const { items } = await inside.resource(serviceImports).list();
        const places = items.map(({ metadata }) => metadata.namespace ?? "");
        assert.equal(new Set(places).size, 2);
        const seen = await Promise.all(
          places.map((one) => addressesIn(inside, { namespace: one })),
        );
        assert.deepEqual(
          seen.sort((a, b) => b.length - a.length),
          [ours, theirs],
        );
      });
    }
    const [ours] = await addresses();
    // What one tenant does to its SyncTargets is nothing to the other.
    await other
      .resource(syncTargets)
      .patch({ name: "us-west1" }, { type: "merge", patch: { spec: { unschedulable: true } } });
    await other.resource(services).delete(web);
    await eventually(async () => assert.deepEqual(await readyBySource(other), {}));
    assert.deepEqual(await addressesIn(plane.client), ours);
  });
});
