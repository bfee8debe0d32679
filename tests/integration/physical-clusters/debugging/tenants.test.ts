/**
 * Goal: who uses the clusters of another workspace debugs as with clusters of one's own, in Push
 * and in Pull mode, and neither sees nor reaches what is others'.
 *
 * Method: two tenants of one cluster, with the same names of everything; administrators who may
 * everything in their own workspace, and know everything about the other's Pod.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  agentViewPath,
  consumersPath,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncTargets,
  upsyncedFromAnnotation,
} from "@kcp-ts/multicluster";
import { events } from "@kcp-ts/sdk/kinds";
import { deployments, eventually } from "../fixture.ts";
import { apiBindings, namespacesByOwner, sharedNameOf } from "../tenants.ts";
import { debug, exec, log, networkClient, podPath, pods, runningPods, topPods } from "./fixture.ts";
import {
  grant,
  modes,
  startTenantsFixture,
  type Tenant,
  type TenantsFixture,
  tenants,
  usage,
} from "./tenants-fixture.ts";

const shared = sharedNameOf("compute", "east");
const other = (tenant: Tenant): Tenant => (tenant === "one" ? "two" : "one");

for (const mode of modes) {
  describe(`tenants of a cluster in ${mode} mode`, () => {
    let stage: TenantsFixture;
    const ending: (() => unknown)[] = [];
    before(async () => {
      stage = await startTenantsFixture({ after: (end) => void ending.push(end as never) }, mode);
    });
    after(async () => {
      for (const end of ending.reverse()) await end();
    });

    it("see the Pods of their own workloads, named by the cluster as they call it", async () => {
      for (const tenant of tenants) {
        const client = (await stage.physicalClient(tenant)).resource(pods);
        const { items } = await client.list();
        assert.deepEqual(
          items.map(({ metadata }) => metadata.name),
          [stage.pods[tenant].metadata.name],
        );
        const [pod] = items;
        assert.equal(pod?.metadata.labels?.[stateLabel(shared)], stateUpsync);
        assert.equal(pod?.status?.phase, "Running");
      }
    });

    it("see the Events of their own Pods and workloads", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        await eventually(async () => {
          const { items } = await client.resource(events).list({ namespace: "default" });
          const about = items.map(
            (event) => event["involvedObject"] as { readonly kind: string; readonly name: string },
          );
          const ofPods = about.filter(({ kind }) => kind === "Pod");
          assert.ok(ofPods.length > 0);
          for (const { name } of ofPods) assert.equal(name, stage.pods[tenant].metadata.name);
          const scaled = items.find(({ reason }) => reason === "SuccessfulCreate");
          assert.equal((scaled?.["involvedObject"] as { name?: string } | undefined)?.name, "web");
          assert.ok(
            String(scaled?.["message"]).startsWith(`${shared}: `),
            `${scaled?.["message"]}`,
          );
        });
      }
    });

    it("read logs of their own Pods and run commands in them, and get at no others", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        const { name } = stage.pods[tenant].metadata;
        const mine = podPath(name);
        // In Pull mode the tunnel may be a moment behind.
        await eventually(async () => assert.equal((await log(client, mine)).status, 200));
        assert.deepEqual(await log(client, mine), { status: 200, text: `treasure of ${tenant}\n` });
        assert.deepEqual(await exec(client, mine), { status: 101, text: `${name}\n` });
        const theirs = podPath(stage.pods[other(tenant)].metadata.name);
        for (const ask of [exec, log]) {
          assert.equal((await ask(client, theirs)).status, 404);
          const elsewhere = client.withBasePath(`/clusters/${other(tenant)}`);
          assert.equal((await ask(elsewhere, theirs)).status, 403);
        }
      }
    });

    it("get the metrics of their own Pods, and of no other tenant's", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        const { name } = stage.pods[tenant].metadata;
        const mine = [`${name}: web cpu=${usage[tenant]} memory=8Mi`];
        // In Pull mode the tunnel may be a moment behind, and a machine may be slow.
        for (const query of ["", "?labelSelector=app%3Dweb", `/${name}`])
          await eventually(async () => assert.deepEqual((await topPods(client, query)).pods, mine));
        const theirs = stage.pods[other(tenant)].metadata.name;
        assert.equal((await topPods(client, `/${theirs}`)).status, 404);
        const [inCluster = ""] =
          (await namespacesByOwner(stage.east.client)).get(other(tenant)) ?? [];
        assert.deepEqual((await topPods(client, "", inCluster)).pods, []);
        assert.equal((await topPods(client, `/..%2f..%2f${inCluster}%2fpods`)).pods.length, 0);
        const elsewhere = client.withBasePath(`/clusters/${other(tenant)}`);
        for (const query of ["", `/${theirs}`]) {
          assert.equal((await topPods(elsewhere, query)).status, 403);
          assert.equal((await topPods(client.withBasePath("/clusters/*"), query)).status, 403);
        }
      }
    });

    it("add containers to their own Pods, and to no others", async () => {
      for (const tenant of tenants) {
        const client = await stage.physicalClient(tenant);
        const { name } = stage.pods[tenant].metadata;
        const mine = podPath(name);
        const smuggled = {
          metadata: { labels: { app: "other" } },
          spec: { nodeName: "elsewhere" },
        };
        assert.deepEqual(await debug(client, mine, "look", smuggled), {
          status: 200,
          text: "",
          containers: ["look"],
        });
        // The copy follows, and the container can be talked to.
        const pod = await eventually(async () => {
          const found = await client.resource(pods).get({ namespace: "default", name });
          const [status] = found.status?.ephemeralContainerStatuses ?? [];
          assert.equal(status?.name, "look");
          return found;
        });
        assert.equal(pod.metadata.labels?.["app"], "web");
        assert.notEqual(pod.spec?.nodeName, "elsewhere");
        const path = `${mine}/log?container=look`;
        const said = await client.send({ method: "GET", path });
        assert.equal(await said.body.text(), `treasure of ${tenant}\n`);
        // What is there stays; a second one comes beside it.
        const { containers } = await debug(client, mine, "again");
        assert.deepEqual(containers.toSorted(), ["again", "look"]);
        const theirs = podPath(stage.pods[other(tenant)].metadata.name);
        assert.equal((await debug(client, theirs, "spy")).status, 404);
        const elsewhere = client.withBasePath(`/clusters/${other(tenant)}`);
        assert.equal((await debug(elsewhere, theirs, "spy")).status, 403);
        const plain = { spec: { ephemeralContainers: [] } };
        const merge = {
          method: "PATCH",
          path: `${mine}/ephemeralcontainers`,
          body: plain,
        } as const;
        await assert.rejects(
          client.json({ ...merge, contentType: "application/merge-patch+json" }),
          { code: 400 },
        );
      }
    });

    it("are the only ones: neither who offers the clusters nor who syncs gets at Pods by a view", async () => {
      const { metadata } = await stage.plane
        .clientFor("compute")
        .resource(syncTargets)
        .get({ name: "east" });
      const view = agentViewPath({ cluster: "compute", name: "east", uid: metadata.uid ?? "" });
      const path = podPath(stage.pods.one.metadata.name);
      for (const who of ["compute", "two"]) {
        const client = await stage.admin(who);
        for (const base of [
          `${consumersPath("compute")}/clusters/one`,
          `${view}/clusters/one`,
          "/clusters/one",
          "/clusters/*",
        ]) {
          for (const ask of [exec, log]) {
            const { status, text } = await ask(client.withBasePath(base), path);
            assert.ok(status >= 400 && status < 500, `${who} got ${status} by ${base}`);
            assert.ok(!text.includes("treasure"));
          }
          assert.ok((await debug(client.withBasePath(base), path, "spy")).status >= 400);
          assert.ok((await topPods(client.withBasePath(base))).status >= 400, `${who} by ${base}`);
        }
      }
    });

    it("cannot say themselves that a Pod runs in the cluster, and would reach nothing by it", async () => {
      const client = await stage.physicalClient("one");
      const { metadata } = stage.pods.two;
      const forged = {
        metadata: {
          name: metadata.name,
          namespace: "default",
          labels: { [stateLabel(shared)]: stateUpsync },
          annotations: {
            [upsyncedFromAnnotation]: metadata.annotations?.[upsyncedFromAnnotation] ?? "",
          },
        },
        spec: { containers: [{ name: "a", image: "a" }] },
      };
      const said = /only the syncer of east\..* can say/;
      for (const options of [{}, { fieldManager: syncerFieldManager }])
        await assert.rejects(client.resource(pods).create(forged, options), said);
      // Nor is a copy theirs to change into another's.
      const at = { namespace: "default", name: stage.pods.one.metadata.name };
      const annotations = forged.metadata.annotations;
      const patch = { type: "merge", patch: { metadata: { annotations } } } as const;
      const options = { fieldManager: syncerFieldManager };
      await assert.rejects(client.resource(pods).patch(at, patch, options), /cannot be changed/);
      // The operator of the control plane could write it; even so it has no target.
      const master = stage.plane.clientFor("one");
      await master.resource(pods).create(forged, options);
      for (const ask of [exec, log])
        assert.equal((await ask(client, podPath(metadata.name))).status, 404);
      await eventually(async () => {
        const found = await master.resource(pods).find({ ...at, name: metadata.name });
        assert.equal(found, undefined, "the syncer takes it away");
      });
    });

    it("let others look or run commands by roles of their own workspace", async (t) => {
      const { plane } = stage;
      await grant(plane, "one", "bob", [
        { nonResourceURLs: ["/"], verbs: ["access"] },
        { apiGroups: [""], resources: ["pods", "pods/log"], verbs: ["get", "list"] },
      ]);
      const bob = { username: "bob", groups: [] };
      const client = await networkClient(t, plane, { cluster: "one", user: bob });
      const path = podPath(stage.pods.one.metadata.name);
      await eventually(async () => assert.equal((await log(client, path)).status, 200));
      assert.equal((await exec(client, path)).status, 403);
      assert.equal((await topPods(client)).status, 403);
      assert.equal((await debug(client, path, "spy")).status, 403);
      // The same role somewhere else is none here.
      const elsewhere = await networkClient(t, plane, { cluster: "two", user: bob });
      const theirs = podPath(stage.pods.two.metadata.name);
      assert.equal((await log(elsewhere, theirs)).status, 403);
    });

    it("restart a Pod by deleting its copy, and the other's runs on", async () => {
      const client = await stage.physicalClient("two");
      const { name } = stage.pods.two.metadata;
      await client.resource(pods).delete({ namespace: "default", name });
      await eventually(async () =>
        assert.equal(await client.resource(pods).find({ namespace: "default", name }), undefined),
      );
      const [next] = await runningPods(client, "web", 1);
      assert.notEqual(next?.metadata.name, name);
      const [same] = await runningPods(stage.plane.clientFor("one"), "web", 1);
      assert.equal(same?.metadata.uid, stage.pods.one.metadata.uid);
    });

    it("reach nothing any more when the offer is taken back, or they have left", async () => {
      const { plane } = stage;
      const client = await stage.physicalClient("one");
      const path = podPath(stage.pods.one.metadata.name);
      assert.equal((await log(client, path)).status, 200);
      const annotate = (value: string | null) =>
        plane
          .clientFor("compute")
          .json({
            method: "PATCH",
            path: "/apis/apis.kcp.io/v1alpha2/apiexports/kubernetes",
            contentType: "application/merge-patch+json",
            body: {
              metadata: { annotations: { "extra.apis.kcp.io/compute.workload.kcp.io": value } },
            },
          });
      await annotate(null);
      for (const ask of [exec, log]) {
        const { status, text } = await ask(client, path);
        assert.equal(status, 503);
        assert.match(text, /does not offer its clusters to this workspace/);
      }
      await annotate("true");
      await eventually(async () => assert.equal((await log(client, path)).status, 200));
      await client.resource(deployments).delete({ namespace: "default", name: "web" });
      await client.resource(apiBindings).delete({ name: "kubernetes" });
      await eventually(async () =>
        assert.equal(await client.resource(apiBindings).find({ name: "kubernetes" }), undefined),
      );
      for (const ask of [exec, log]) assert.equal((await ask(client, path)).status, 404);
      // Where no Pods are served, nothing is said of what they use.
      assert.equal((await topPods(client)).status, 404);
      // Who stays, stays.
      const two = await stage.physicalClient("two");
      const [pod] = await runningPods(two, "web", 1);
      assert.equal((await log(two, podPath(pod?.metadata.name ?? ""))).status, 200);
    });
  });
}

describe("copies of tenants", () => {
  it("are shown as lost when the cluster is, and as they are when it is back", async (t) => {
    const stage = await startTenantsFixture(t, "Push", { graceMs: 100, settleMs: 0 });
    await stage.east.faults.cut();
    for (const tenant of tenants) {
      const client = await stage.physicalClient(tenant);
      const path = podPath(stage.pods[tenant].metadata.name);
      await eventually(async () => {
        const { items } = await client.resource(pods).list();
        assert.equal(items.length, 1);
        const [{ status } = {}] = items;
        assert.deepEqual([status?.phase, status?.reason], ["Unknown", "ClusterUnreachable"]);
        const { message = "" } = status as { message?: string };
        assert.ok(message.startsWith(`${shared} cannot be seen since `), message);
        // They have no SyncTargets to describe.
        assert.match(message, /ask who offers it/);
      });
      // What the network says is the provider's business.
      const { status, text } = await log(client, path);
      assert.equal(status, 503);
      assert.match(text, /cannot be reached/);
      const used = await topPods(client);
      assert.equal(used.status, 503);
      for (const told of [text, used.text])
        assert.doesNotMatch(told, /127\.0\.0\.1|ECONN|synctarget/);
    }
    await stage.east.faults.heal();
    for (const tenant of tenants) {
      const [back] = await runningPods(stage.plane.clientFor(tenant), "web", 1);
      assert.equal(back?.status?.reason, undefined);
    }
  });

  it("are removed with a SyncTarget that can no longer be drained", async (t) => {
    const stage = await startTenantsFixture(t, "Push", { graceMs: 100, settleMs: 0 });
    const compute = stage.plane.clientFor("compute").resource(syncTargets);
    await stage.east.faults.cut();
    const patch = { metadata: { annotations: { "workload.kcp.io/orphan": "true" } } };
    await compute.patch({ name: "east" }, { type: "merge", patch });
    await compute.delete({ name: "east" });
    for (const tenant of tenants) await runningPods(stage.plane.clientFor(tenant), "web", 0);
  });
});
