/** Goal: a plan says what claims would refuse, and why, before anybody asks them; and where numbers go in the end. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stateLabel, volumeClusterAnnotation } from "../api/index.ts";
import { newClusterCopy, strategiesDefault, type Workload } from "../coordination/index.ts";
import { explainPlacement } from "./explain-placement.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./fleet.ts";
import { planChange, withDrainedTarget } from "./plan-change.ts";
import { evaluationTime, snapshot, target } from "./test-support/pretend-fleet.ts";

const synced = ["deployments.apps", "statefulsets.apps", "jobs.batch", "persistentvolumeclaims"];
const targets = ["east", "west"].map((name) => {
  const { status, ...rest } = target(name);
  const all = [...synced, "persistentvolumes"];
  return { ...rest, status: { ...status, syncedResources: all } };
});

/** A claim with its data in east. */
function claim(
  name: string,
  more: { modes?: string[]; annotations?: Record<string, string> } = {},
) {
  const { modes = ["ReadWriteOnce"], annotations = {} } = more;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace: "demo",
      labels: { [stateLabel("east")]: "Sync" },
      annotations: { [volumeClusterAnnotation]: "east", ...annotations },
    },
    spec: { accessModes: modes },
    status: { phase: "Bound" },
  };
}

function workload(
  resource: string,
  spec: object,
  shares: readonly (readonly [string, number, number?])[],
): SnapshotWorkload {
  const strategy = strategiesDefault.find(({ wholes }) => wholes.resource === resource);
  assert.ok(strategy !== undefined);
  const { group, version, kind } = strategy.wholes;
  const apiVersion = `${group}/${version}`;
  const metadata = { name: "db", namespace: "demo", uid: "db", generation: 1 };
  const tied = resource === "statefulsets" ? {} : { [volumeClusterAnnotation]: "east" };
  const whole = {
    apiVersion,
    kind,
    metadata: { ...metadata, annotations: tied },
    spec,
  } as unknown as Workload;
  const parts = shares.map(([cluster, replicas, start]): Workload => {
    const share = { replicas, ...(start === undefined ? {} : { start }) };
    const made = newClusterCopy({
      strategy,
      parent: whole,
      cluster,
      share,
      askedReplicas: replicas,
    });
    const status = {
      observedGeneration: 1,
      replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
    };
    const { annotations, name = "" } = made.metadata;
    const opened = { ...annotations, [`opened.workload.kcp.io/${cluster}`]: "true" };
    return {
      apiVersion,
      kind,
      ...made,
      metadata: { ...made.metadata, name, generation: 1, annotations: opened },
      status,
    };
  });
  return { strategy, whole, parts };
}

const pods = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] };
const template = { spec: pods };
const deployment = workload("deployments", { replicas: 2, template }, [["east", 2]]);
const set = workload(
  "statefulsets",
  {
    replicas: 4,
    template: { spec: {} },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
  },
  [
    ["east", 2, 0],
    ["west", 2, 2],
  ],
);

function planned(
  one: SnapshotWorkload,
  claims: readonly ReturnType<typeof claim>[],
  volumes: readonly object[] = [],
) {
  const storage = { claims, volumes } as unknown as NonNullable<WorkspaceSnapshot["storage"]>;
  const now = snapshot({ targets, workloads: [one], storage });
  const [move] = planChange(now, withDrainedTarget("east"), evaluationTime).moves;
  assert.ok(move !== undefined);
  return { ...move, now };
}

const detachable = { annotations: { "workloads.kcp.io/volume-move": "detach" } };

describe("a plan of what has volumes", () => {
  it("says what a claim would refuse, and that nothing would move", () => {
    const { refused, from, to, now } = planned(deployment, [claim("data")]);
    assert.deepEqual([from, to], [{ east: 2 }, { west: 2 }]);
    assert.deepEqual(
      refused.map(({ claim: name, cluster, reason }) => [name, cluster, reason]),
      [["data", "east", "AccessMode"]],
    );
    assert.match(
      refused[0]?.message ?? "",
      /annotate it with workloads\.kcp\.io\/volume-move=detach/,
    );
    assert.equal(planChange(now, withDrainedTarget("east"), evaluationTime).replicas, 0);
    const { keptBy } = explainPlacement(now, deployment, evaluationTime);
    assert.deepEqual(keptBy, refused);
  });

  it("says nothing where the claim may go: it may be detached, is shared, or has a hook", () => {
    const hooked = { annotations: { "workloads.kcp.io/volume-hook": "copier" } };
    for (const one of [
      claim("data", detachable),
      claim("data", hooked),
      claim("data", { modes: ["ReadWriteMany"] }),
    ])
      assert.deepEqual(planned(deployment, [one]).refused, []);
    assert.deepEqual(planned(deployment, [claim("other")]).refused, []);
  });

  it("knows volumes that only one cluster can reach, or that would be deleted", () => {
    const volume = (spec: object) => ({
      metadata: { name: "pv-1--east", labels: { [stateLabel("east")]: "Upsync" } },
      spec,
    });
    const brought = {
      annotations: {
        ...detachable.annotations,
        "experimental.spec-diff.workload.kcp.io/east":
          '[{"op":"add","path":"/volumeName","value":"pv-1"}]',
      },
    };
    const reasons = (spec: object) =>
      planned(deployment, [claim("data", brought)], [volume(spec)]).refused.map(
        ({ reason }) => reason,
      );
    assert.deepEqual(reasons({ hostPath: { path: "/data" } }), ["NotPortable"]);
    assert.deepEqual(reasons({ csi: {}, persistentVolumeReclaimPolicy: "Delete" }), [
      "ReclaimPolicy",
    ]);
    assert.deepEqual(reasons({ csi: {}, persistentVolumeReclaimPolicy: "Retain" }), []);
  });

  it("of what runs to its end says that its claim stays as long", () => {
    const job = workload(
      "jobs",
      { completions: 1, parallelism: 1, template, completionMode: "Indexed" },
      [["east", 1]],
    );
    const move = planChange(
      snapshot({
        targets,
        workloads: [job],
        storage: { claims: [claim("data", detachable)], volumes: [] } as never,
      }),
      withDrainedTarget("east"),
      evaluationTime,
    ).moves[0];
    // It ends where it is, or it would be refused: in neither case is it stopped.
    assert.ok(move === undefined || move.refused[0]?.reason === "Busy");
  });

  it("says where numbers go, and which of their claims would not", () => {
    const [first, second] = [claim("data-db-0", detachable), claim("data-db-1")];
    const { to, from, refused } = planned(set, [first, second]);
    assert.deepEqual([from, to], [{ east: 2, west: 2 }, { west: 4 }]);
    assert.deepEqual(
      refused.map(({ claim: name }) => name),
      ["data-db-1"],
    );
  });
});
