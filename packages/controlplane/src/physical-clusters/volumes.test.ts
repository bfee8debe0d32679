/** Goal: workloads with volumes move between simulated clusters by what their volumes allow, and a volume that cannot be shared is never attached in two. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, pause } from "@kcp-ts/sdk";
import { parseManifests } from "../manifests/index.ts";
import type { SimulatedCluster } from "../simulation.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startPhysical,
  startPlane,
  untilCondition,
} from "./fixture.ts";

interface StoredObject extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly phase?: string; readonly readyReplicas?: number };
}

const core = { group: "", version: "v1" } as const;
const claims = defineResource<StoredObject>({
  ...core,
  resource: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
});
const volumes = defineResource<StoredObject>({
  ...core,
  resource: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
});
const pods = defineResource<KubernetesObject>({
  ...core,
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});
const namespace = "default";
const data = { namespace, name: "data" };
const web = { namespace, name: "web" };
const kubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };

const page = readFileSync(new URL("../../../../docs/guides/stateful.md", import.meta.url), "utf8");

/** An example of the page. */
function fromPage(kind: string): StoredObject {
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].flatMap(([, text = ""]) =>
    parseManifests(text, "stateful.md"),
  );
  return (blocks.find((one) => one["kind"] === kind) ?? assert.fail()) as unknown as StoredObject;
}

class Stage {
  readonly client: Client;
  readonly clusters: ReadonlyMap<string, SimulatedCluster>;
  /** Clusters in which the handle was attached at the same time. */
  readonly together: string[] = [];

  constructor(client: Client, clusters: ReadonlyMap<string, SimulatedCluster>) {
    this.client = client;
    this.clusters = clusters;
  }

  static async start(t: TestContext): Promise<Stage> {
    const plane = await startPlane(t, { patience: { graceMs: 60_000, settleMs: 0 } });
    const clusters = new Map<string, SimulatedCluster>();
    for (const name of ["east", "west"]) {
      const cluster = await startPhysical(t, { name, kubelet });
      clusters.set(name, cluster);
      const { resources } = fromPage("SyncTarget").spec as { readonly resources: string[] };
      await register(plane.client, name, { kubeconfig: cluster.kubeconfig, resources });
      await untilCondition(plane.client, name, { status: "True" });
    }
    const stage = new Stage(plane.client, clusters);
    stage.#watchAttachments(t);
    return stage;
  }

  async apply(
    accessModes: readonly string[],
    annotations = {},
    storageClassName = "shared",
  ): Promise<void> {
    const requests = { storage: "1Gi" };
    const spec = { accessModes, storageClassName, resources: { requests } };
    await this.applyClaim({ metadata: { ...data, annotations }, spec });
  }

  /** And a workload that uses it. */
  async applyClaim(claim: Pick<StoredObject, "metadata" | "spec">): Promise<void> {
    await eventually(() => this.client.resource(claims).create(claim));
    const used = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const whole = deployment("web", { volumes: used });
    await eventually(() => this.client.resource(deployments).create(whole));
  }

  async ready(): Promise<Record<string, string>> {
    const { items } = await this.client.resource(deployments).list({ namespace });
    return Object.fromEntries(
      items.map((one) => {
        const { status, spec } = one as StoredObject;
        return [one.metadata.name, `${status?.readyReplicas ?? 0}/${spec?.["replicas"]}`];
      }),
    );
  }

  async until(wanted: Record<string, string>): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.ready(), wanted, await this.#told()));
  }

  /** The cluster that all of the workload is in, and the other one. */
  async settled(): Promise<readonly [home: string, other: string]> {
    return eventually(async () => {
      const { web: whole, ...parts } = await this.ready();
      const [[name, ready] = ["", ""], ...more] = Object.entries(parts);
      assert.deepEqual([whole, ready, more], ["2/2", "2/2", []], await this.#told());
      return name === "web--east" ? ["east", "west"] : ["west", "east"];
    });
  }

  async #told(): Promise<string> {
    const found = [
      await this.claim(),
      ...(await this.client.resource(deployments).list({ namespace })).items,
    ];
    return JSON.stringify(
      found.map(({ metadata }) => [metadata.name, metadata.annotations, metadata.labels]),
      null,
      1,
    );
  }

  claim(): Promise<StoredObject> {
    return this.client.resource(claims).get(data);
  }

  /** What the claim says about a cluster. */
  async said(cluster: string): Promise<{ state?: string; reason?: string; message?: string }> {
    const text = (await this.claim()).metadata.annotations?.["workloads.kcp.io/volumes"];
    return JSON.parse(text ?? "{}")[cluster] ?? {};
  }

  /** By cluster: the handles that claims have there. */
  async handles(): Promise<Record<string, readonly string[]>> {
    const found: Record<string, readonly string[]> = {};
    for (const [name, { client }] of this.clusters) {
      const [bound, known] = [
        await client.resource(claims).list({}),
        await client.resource(volumes).list({}),
      ];
      found[name] = bound.items.map((claim) => {
        const volume = known.items.find((one) => one.metadata.name === claim.spec?.["volumeName"]);
        return handleOf(volume);
      });
    }
    return found;
  }

  async pods(cluster: string): Promise<readonly string[]> {
    const { items } =
      (await this.clusters.get(cluster)?.client.resource(pods).list({})) ?? assert.fail();
    return items.map(({ metadata }) => metadata.name);
  }

  async empty(cluster: string): Promise<void> {
    const patch = { spec: { evictAfter: "2020-01-01T00:00:00Z" } };
    await this.client.resource(syncTargets).patch({ name: cluster }, { type: "merge", patch });
  }

  #watchAttachments(t: TestContext): void {
    const stop = new AbortController();
    const attached = new Map<string, Set<string>>();
    const look = async () => {
      while (!stop.signal.aborted) {
        for (const [name, { client }] of this.clusters) {
          const { items } = await client.resource(volumes).list({});
          const held = items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0);
          const handles = held.map(handleOf);
          attached.set(name, new Set(handles));
        }
        const [east = new Set(), west = new Set()] = attached.values();
        for (const handle of east) if (west.has(handle)) this.together.push(handle);
        await pause(systemClock, 5);
      }
    };
    const looking = look();
    t.after(async () => {
      stop.abort();
      await looking;
    });
  }
}

function handleOf(volume: StoredObject | undefined): string {
  const source = volume?.spec?.["csi"] as { readonly volumeHandle: string } | undefined;
  return source?.volumeHandle ?? "none";
}

describe("volumes", () => {
  it("that cannot be shared keep their workload in one cluster, and move when that is allowed: stopped, detached, bound, started", async (t) => {
    const stage = await Stage.start(t);
    await stage.applyClaim(fromPage("PersistentVolumeClaim"));
    const [home, other] = await stage.settled();
    const first = await stage.handles();
    const [handle = ""] = first[home] ?? [];
    assert.match(handle, /^pvc-/);
    assert.deepEqual(first[other], []);

    // Refused, with what to do, and nothing was stopped for it.
    await stage.empty(home);
    const refused = await eventually(async () => {
      const said = await stage.said(other);
      assert.equal(said.state, "refused");
      return said;
    });
    assert.equal(refused.reason, "AccessMode");
    assert.match(
      refused.message ?? "",
      /claim data .* annotate it with workloads\.kcp\.io\/volume-move=detach/,
    );
    assert.equal((await stage.ready())[`web--${home}`], "2/2");
    const events = defineResource<KubernetesObject & { readonly reason?: string }>({
      ...core,
      resource: "events",
      kind: "Event",
      namespaced: true,
    });
    await eventually(async () => {
      const { items } = await stage.client.resource(events).list({ namespace });
      assert.ok(items.some(({ reason }) => reason === "AccessMode"));
    });

    // As the page says.
    const [, name = "", value = ""] = /^kubectl annotate pvc data (\S+)=(\S+)$/m.exec(page) ?? [];
    const patch = { metadata: { annotations: { [name]: value } } };
    await stage.client.resource(claims).patch(data, { type: "merge", patch });
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () =>
      assert.deepEqual(await stage.handles(), { [home]: [], [other]: [handle] }),
    );
    const { annotations } = (await stage.claim()).metadata;
    assert.equal(annotations?.["workloads.kcp.io/volumes-in"], other);
    assert.deepEqual(stage.together, []);
  });

  it("that can be shared are bound beside, and the workload never stops", async (t) => {
    const stage = await Stage.start(t);
    await stage.apply(["ReadWriteMany"]);
    await stage.until({ web: "2/2", "web--east": "1/1", "web--west": "1/1" });
    const handles = await stage.handles();
    assert.equal(handles["east"]?.length, 1);
    assert.deepEqual(handles["east"], handles["west"]);
    let fewest = 2;
    const watching = new AbortController();
    const watcher = (async () => {
      while (!watching.signal.aborted) {
        const found = (await stage.client.resource(deployments).get(web)) as StoredObject;
        fewest = Math.min(fewest, found.status?.readyReplicas ?? 0);
        await pause(systemClock, 5);
      }
    })();
    await stage.empty("east");
    await stage.until({ web: "2/2", "web--west": "2/2" });
    watching.abort();
    await watcher;
    assert.equal(fewest, 2);
    await eventually(async () =>
      assert.deepEqual(await stage.handles(), { east: [], west: handles["west"] }),
    );
  });

  it("that only one cluster can reach stay there, whatever is allowed", async (t) => {
    const stage = await Stage.start(t);
    await stage.apply(["ReadWriteOnce"], { "workloads.kcp.io/volume-move": "detach" }, "sim");
    const [home, other] = await stage.settled();
    await stage.empty(home);
    await eventually(async () => assert.equal((await stage.said(other)).reason, "NotPortable"));
    assert.equal((await stage.ready())[`web--${home}`], "2/2");
  });

  it("that only one cluster can reach are copied by a hook, if one is named", async (t) => {
    const stage = await Stage.start(t);
    await stage.apply(["ReadWriteOnce"], { "workloads.kcp.io/volume-hook": "copier" }, "sim");
    const [home, other] = await stage.settled();
    await stage.empty(home);
    // The hook: it waits until it is asked, copies, and says where the copy is.
    await eventually(async () => {
      const { annotations } = (await stage.claim()).metadata;
      const asked = JSON.parse(annotations?.["workloads.kcp.io/volume-copy"] ?? "{}");
      assert.deepEqual(asked, { hook: "copier", from: home, to: other });
    });
    assert.deepEqual(await stage.pods(home), []);
    const spec = {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "sim",
      csi: { driver: "copies.example.com", volumeHandle: "copy-1" },
    };
    const volume = { metadata: { name: "copy-of-data" }, spec };
    await stage.clusters.get(other)?.client.resource(volumes).create(volume);
    const copied = JSON.stringify({ to: other, volume: "copy-of-data" });
    const patch = { metadata: { annotations: { "workloads.kcp.io/volume-copied": copied } } };
    await stage.client.resource(claims).patch(data, { type: "merge", patch });
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () => assert.deepEqual((await stage.handles())[other], ["copy-1"]));
  });

  it("are given back when their claim and its workload are deleted", async (t) => {
    const stage = await Stage.start(t);
    await stage.apply(["ReadWriteOnce"]);
    const [home] = await stage.settled();
    await stage.client.resource(deployments).delete(web);
    await stage.client.resource(claims).delete(data);
    await eventually(async () => {
      assert.equal(await stage.client.resource(claims).find(data), undefined);
      assert.deepEqual((await stage.handles())[home], []);
    });
  });
});
