/**
 * The use cases of application teams, numbered as in the document on transparent multi-cluster:
 * written once, for every kind of cluster.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { importedServiceLabel } from "@kcp-ts/multicluster";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { type EndpointSlice, endpointSlices } from "@kcp-ts/sdk/kinds";
import type { TestEnvironment } from "../test-environments/index.ts";
import {
  claim,
  locationAndPlacement,
  webConfig,
  webDeployment,
  webIngress,
  webService,
  withConfig,
  withData,
} from "./manifests.ts";
import {
  type AnyObject,
  bothClusters,
  eventually,
  kinds,
  region,
  UseCaseFixture,
} from "./use-case-fixture.ts";
import { WatchRecorder } from "./watch-recorder.ts";

const readyEndpoints = (slices: readonly KubernetesObject[]) =>
  slices
    .flatMap((slice) => (slice as EndpointSlice).endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false).length;

const addresses = (objects: readonly AnyObject[]) =>
  objects
    .filter(({ metadata }) => metadata.name === "web")
    .flatMap(({ status }) => {
      const balancer = status?.["loadBalancer"] as { ingress?: readonly object[] } | undefined;
      return balancer?.ingress ?? [];
    }).length;

const moveTo = (cluster: string) =>
  JSON.stringify({ spec: { locationSelectors: [{ matchLabels: { [region]: cluster } }] } });

export function appTeamUseCases(environment: TestEnvironment): void {
  applies(environment);
  moves(environment);
  takesVolumeAlong(environment);
  sharesVolume(environment);
}

function applies(environment: TestEnvironment): void {
  it("user 1: applies a workload that knows no clusters, sees it run, and its status summed up", async (t) => {
    const stage = await UseCaseFixture.start(t, environment);
    await stage.write("web.yaml", webConfig, webDeployment(4, withConfig), webService);
    await stage.types(`
$ kubectl apply -f web.yaml
configmap/web-config created
deployment.apps/web created
service/web created
$ kubectl rollout status deployment/web --timeout=170s
...
deployment "web" successfully rolled out
~ kubectl get deployment web --no-headers
web 4/4 4 4 *
`);
    await stage.untilCounts({ web: "4/4", east: "2/2", west: "2/2" });
    for (const name of bothClusters) {
      await eventually(async () => {
        assert.equal((await stage.inCluster("pods", name)).length, 2);
        assert.deepEqual(await stage.inCluster("services", name), ["web"]);
        const found = await stage.inCluster("configMaps", name);
        assert.ok(found.includes("web-config"), found.join());
      });
    }
    await stage.types(`
$ kubectl set image deployment/web web=nginx:1.28
deployment.apps/web image updated
$ kubectl rollout status deployment/web --timeout=170s
...
deployment "web" successfully rolled out
$ kubectl delete -f web.yaml
configmap "web-config" deleted*
deployment.apps "web" deleted*
service "web" deleted*
`);
    for (const name of bothClusters)
      await eventually(async () => {
        assert.deepEqual(await stage.inCluster("deployments", name), []);
        assert.deepEqual(await stage.inCluster("pods", name), []);
        assert.deepEqual(await stage.inCluster("services", name), []);
      });
  });
}

function moves(environment: TestEnvironment): void {
  it("user 2 and 3: moves it by one attribute, and neither those inside nor those outside notice", async (t) => {
    const stage = await UseCaseFixture.start(t, environment);
    await stage.write("policy.yaml", ...locationAndPlacement(region, bothClusters));
    await stage.write("web.yaml", webDeployment(3), webService, webIngress);
    await stage.types(`
$ kubectl apply -f policy.yaml
...
$ kubectl apply -f web.yaml
...
$ kubectl rollout status deployment/web --timeout=170s
...
deployment "web" successfully rolled out
`);
    await stage.untilCounts({ web: "3/3", east: "3/3" });
    const { client } = stage;
    const labelSelector = `${importedServiceLabel}=web`;
    await eventually(async () => {
      const { items } = await client.resource(endpointSlices).list({ labelSelector });
      assert.equal(readyEndpoints(items), 3);
      assert.equal(addresses([(await stage.find("ingresses", "web")) ?? assert.fail()]), 1);
    });
    const inside = {
      client,
      resource: defineResource<AnyObject>(endpointSlices),
      labelSelector,
      figure: readyEndpoints,
    };
    const outside = { client, resource: kinds.ingresses, figure: addresses };
    const replicas = {
      client,
      resource: kinds.deployments,
      figure: (found: readonly AnyObject[]) =>
        Number(found.find(({ metadata }) => metadata.name === "web")?.status?.["readyReplicas"]),
    };
    const records = await Promise.all(
      [inside, outside, replicas].map((one) => WatchRecorder.start(t, one)),
    );
    await stage.types(`
$ kubectl patch placement web --type merge -p '${moveTo("west")}'
placement.scheduling.kcp.io/web patched
`);
    await stage.untilCounts({ web: "3/3", west: "3/3" });
    await eventually(async () => {
      const { items } = await client.resource(endpointSlices).list({ labelSelector });
      assert.equal(readyEndpoints(items), 3);
      for (const kind of ["deployments", "pods", "services", "ingresses"] as const)
        assert.deepEqual(await stage.inCluster(kind, "east"), [], kind);
      assert.deepEqual(await stage.inCluster("ingresses", "west"), ["web--west"]);
    });
    const [fewestInside, fewestOutside, fewestReplicas] = await Promise.all(
      records.map((record) => record.stop()),
    );
    assert.ok((fewestInside ?? 0) >= 3, `${fewestInside} endpoints were ready`);
    assert.ok((fewestOutside ?? 0) >= 1, "it had no address");
    assert.ok((fewestReplicas ?? 0) >= 3, `${fewestReplicas} replicas were ready`);
  });
}

function takesVolumeAlong(environment: TestEnvironment): void {
  it("user 5: a volume that cannot be shared moves when that is allowed, and not before", async (t) => {
    const resources = [
      ...["deployments.apps", "replicasets.apps", "pods", "services"],
      ...["persistentvolumeclaims", "persistentvolumes"],
    ];
    const stage = await UseCaseFixture.start(t, environment, { resources });
    await stage.write("web.yaml", claim("ReadWriteOnce"), webDeployment(2, withData));
    await stage.types("$ kubectl apply -f web.yaml\n...\n");
    const [home, other] = await eventually(async () => {
      const { web, ...parts } = await stage.counts();
      assert.deepEqual([web, ...Object.values(parts)], ["2/2", "2/2"]);
      return "east" in parts ? bothClusters : ([...bothClusters].reverse() as readonly string[]);
    });
    assert.ok(home !== undefined && other !== undefined);
    const [handle] = await handlesIn(stage, home);
    assert.match(handle ?? "", /^pvc-/);
    await stage.patchTarget(home, { drain: {} });
    await eventually(async () => {
      const { annotations } = (await stage.find("claims", "data"))?.metadata ?? {};
      const said = JSON.parse(annotations?.["workload.kcp.io/volumes"] ?? "{}");
      assert.equal(said[other]?.reason, "IncompatibleAccessMode", JSON.stringify(annotations));
    });
    assert.equal((await stage.counts())[home], "2/2");
    await stage.types(`
$ kubectl annotate pvc data workload.kcp.io/volume-migration=detach
persistentvolumeclaim/data annotated
`);
    await stage.untilCounts({ web: "2/2", [other]: "2/2" });
    await eventually(async () => {
      assert.deepEqual(await handlesIn(stage, other), [handle]);
      assert.deepEqual(await handlesIn(stage, home), []);
      assert.deepEqual(await stage.inCluster("pods", home), []);
    });
  });
}

function sharesVolume(environment: TestEnvironment): void {
  it("user 5: a volume that can be shared is bound beside, and the workload never stops", async (t) => {
    const resources = [
      ...["deployments.apps", "replicasets.apps", "pods", "services"],
      ...["persistentvolumeclaims", "persistentvolumes"],
    ];
    const stage = await UseCaseFixture.start(t, environment, { resources });
    await stage.write("web.yaml", claim("ReadWriteMany"), webDeployment(2, withData));
    await stage.types("$ kubectl apply -f web.yaml\n...\n");
    await stage.untilCounts({ web: "2/2", east: "1/1", west: "1/1" });
    assert.deepEqual(await handlesIn(stage, "east"), await handlesIn(stage, "west"));
    const record = await WatchRecorder.start(t, {
      client: stage.client,
      resource: kinds.deployments,
      figure: (found) =>
        Number(found.find(({ metadata }) => metadata.name === "web")?.status?.["readyReplicas"]),
    });
    await stage.patchTarget("east", { drain: {} });
    await stage.untilCounts({ web: "2/2", west: "2/2" });
    assert.ok((await record.stop()) >= 2, record.figures.join());
    await eventually(async () => assert.deepEqual(await handlesIn(stage, "east"), []));
    assert.equal((await handlesIn(stage, "west")).length, 1);
  });
}

/** Of the volumes that claims of ours are bound to there. */
async function handlesIn(stage: UseCaseFixture, cluster: string): Promise<readonly string[]> {
  const { client } = stage.cluster(cluster);
  const { items: claims } = await client.resource(kinds.claims).list();
  const { items: volumes } = await client.resource(kinds.volumes).list();
  return claims.map(({ spec }) => {
    const volume = volumes.find(({ metadata }) => metadata.name === spec?.["volumeName"]);
    const source = volume?.spec?.["csi"] as { readonly volumeHandle: string } | undefined;
    return source?.volumeHandle ?? "none";
  });
}
