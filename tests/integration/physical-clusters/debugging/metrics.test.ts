/**
 * Goal: `kubectl top pods` shows what the Pods of one's workloads use, over all clusters that say
 * so, and says which do not.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "../fixture.ts";
import {
  networkClient,
  podPath,
  pods,
  registerReady,
  runningPods,
  topPods,
  webDeployment,
} from "./fixture.ts";
import { clusterRoleBindings, grant } from "./tenants-fixture.ts";

const metrics = "/apis/metrics.k8s.io/v1beta1";

describe("metrics of Pods", () => {
  it("are served for all clusters that report them, with a warning for each cluster that does not", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { gracePeriods: { recoveryMs: 0 } });
    const [east, west] = await Promise.all([
      startPhysicalCluster(t, { name: "east" }),
      startPhysicalCluster(t, { name: "west", metrics: false }),
    ]);
    const { client } = plane;
    const user = await networkClient(t, plane, { cluster: "root" });
    // Where there are no Pods, there is nothing to say of them, and discovery is as it was.
    await assert.rejects(client.json({ method: "GET", path: metrics }), { code: 404 });
    await registerReady(client, "east", east.kubeconfig);
    await client
      .resource(deployments)
      .create(webDeployment("web", 2, { "sim.kcp.io/usage": "cpu=250m" }));
    const names = async (count: number) =>
      (await runningPods(client, "web", count)).map(({ metadata }) => metadata.name).sort();
    const first = await names(2);
    // A machine may be so slow that a cluster does not answer in time: then it is asked again.
    await eventually(async () => {
      const { status, warnings, pods: used } = await topPods(user);
      const expected = first.map((name) => `${name}: web cpu=250m memory=8Mi`);
      assert.deepEqual([status, warnings, used], [200, "", expected]);
    });
    await registerReady(client, "west", west.kubeconfig);
    const other = webDeployment("api", 2);
    await client.resource(deployments).create(other);
    const both = await eventually(async () => {
      const { items } = await client.resource(pods).list({ labelSelector: "app=api" });
      const found = items.map(({ metadata }) => metadata.name).sort();
      assert.match(found.join(), /^api--east-[^,]*,api--west-[^,]*$/);
      assert.ok(items.every(({ status }) => status?.phase === "Running"));
      return found;
    });
    await eventually(async () => {
      const partial = await topPods(user, "?labelSelector=app%3Dapi");
      assert.deepEqual(partial.pods, [`${both[0]}: web cpu=1m memory=8Mi`]);
      assert.match(partial.warnings, /without metrics of west: it serves no metrics\.k8s\.io/);
    });
    // Of one Pod alone, the same is the whole answer.
    await eventually(async () => {
      const { status, text } = await topPods(user, `/${both[1]}`);
      assert.equal(status, 503);
      assert.match(text, /no metrics: west: it serves no metrics\.k8s\.io: install metrics-server/);
    });
    assert.equal((await topPods(user, "/nobody")).status, 404);
    // A cluster that cannot be reached is warned of, too.
    await west.faults.cut();
    await eventually(async () => {
      const cut = await topPods(user);
      assert.equal(cut.status, 200);
      assert.match(cut.warnings, /without metrics of west: west cannot be reached/);
    });
  });

  it("is found by discovery beside Pods, and not in front of them", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { client } = plane;
    await registerReady(client, "east", east.kubeconfig);
    const groups = (await client.json({ method: "GET", path: "/apis" })) as {
      groups: { name: string }[];
    };
    assert.ok(groups.groups.some(({ name }) => name === "metrics.k8s.io"));
    const { resources } = (await client.json({ method: "GET", path: metrics })) as {
      resources: { name: string; kind: string; verbs: string[]; namespaced: boolean }[];
    };
    assert.deepEqual(
      resources.map(({ name, kind, verbs, namespaced }) => [name, kind, verbs.join(), namespaced]),
      [["pods", "PodMetrics", "get,list", true]],
    );
    const openApi = (await client.json({
      method: "GET",
      path: "/openapi/v3/apis/metrics.k8s.io/v1beta1",
    })) as { paths: object };
    assert.ok(Object.keys(openApi.paths).some((path) => path.endsWith("/pods/{name}")));
    // No client may write it, or watch it.
    const at = `${metrics}/namespaces/default/pods`;
    for (const [method, path] of [
      ["POST", at],
      ["DELETE", `${at}/x`],
      ["GET", `${at}?watch=true`],
    ] as const)
      await assert.rejects(client.json({ method, path }), { code: 405 }, `${method} ${path}`);
    // In a logical cluster without Pods it is not there.
    await assert.rejects(plane.clientFor("bare").json({ method: "GET", path: metrics }), {
      code: 404,
    });
  });

  it("is for those whom roles let get or list it", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { client } = plane;
    await registerReady(client, "east", east.kubeconfig);
    await client.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(client, "web", 1);
    const { name = "" } = pod?.metadata ?? {};
    await grant(plane, "root", "bob", [
      { nonResourceURLs: ["/"], verbs: ["access"] },
      { apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["list"] },
    ]);
    const user = { username: "bob", groups: [] };
    const bob = await networkClient(t, plane, { cluster: "root", user });
    await eventually(async () => assert.equal((await topPods(bob)).status, 200));
    assert.equal((await topPods(bob, `/${name}`)).status, 403);
    // Who may view, may see this.
    await grant(plane, "root", "carol", [{ nonResourceURLs: ["/"], verbs: ["access"] }]);
    const apiGroup = "rbac.authorization.k8s.io";
    await client
      .resource(clusterRoleBindings)
      .create({
        metadata: { name: "carol-views" },
        roleRef: { apiGroup, kind: "ClusterRole", name: "view" },
        subjects: [{ apiGroup, kind: "User", name: "carol" }],
      });
    const carol = await networkClient(t, plane, {
      cluster: "root",
      user: { username: "carol", groups: [] },
    });
    await eventually(async () => assert.equal((await topPods(carol, `/${name}`)).status, 200));
    const path = podPath(name);
    await assert.rejects(bob.json({ method: "GET", path }), { code: 403 });
  });
});
