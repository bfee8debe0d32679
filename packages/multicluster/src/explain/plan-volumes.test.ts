/**
 * Goal: a plan reports which claims would reject a move, and why, before the move is requested; and
 * the final clusters of ordinals.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stateLabel, volumeClusterAnnotation } from "../api/index.ts";
import { newClusterCopy, strategiesDefault, type Workload } from "../coordination/index.ts";
import { explainPlacement } from "./explain-placement.ts";
import { planChange, withDrainedTarget } from "./plan-change.ts";
import { evaluationTime, snapshot, target } from "./test-support/sample-snapshot.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./workspace-snapshot.ts";

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
  const strategy = strategiesDefault.find(({ workloads }) => workloads.resource === resource);
  assert.ok(strategy !== undefined);
  const { group, version, kind } = strategy.workloads;
  const apiVersion = `${group}/${version}`;
  const metadata = { name: "db", namespace: "demo", uid: "db", generation: 1 };
  const tied = resource === "statefulsets" ? {} : { [volumeClusterAnnotation]: "east" };
  const whole = {
    apiVersion,
    kind,
    metadata: { ...metadata, annotations: tied },
    spec,
  } as unknown as Workload;
  const copies = shares.map(([cluster, replicas, start]): Workload => {
    const share = { replicas, ...(start === undefined ? {} : { start }) };
    const made = newClusterCopy({ strategy, parent: whole, cluster, share });
    const status = {
      observedGeneration: 1,
      replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
    };
    const { annotations, name = "" } = made.metadata;
    const opened = { ...annotations, [`volume-gate.workload.kcp.io/${cluster}`]: "true" };
    return {
      apiVersion,
      kind,
      ...made,
      metadata: { ...made.metadata, name, generation: 1, annotations: opened },
      status,
    };
  });
  return { strategy, workload: whole, copies };
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

const detachable = { annotations: { "workload.kcp.io/volume-migration": "detach" } };

describe("plan for workloads with volumes", () => {
  it("a plan reports the claim that would reject the move, and that nothing would move", () => {
    const { rejectedBy: refused, from, to, now } = planned(deployment, [claim("data")]);
    assert.deepEqual([from, to], [{ east: 2 }, { east: 2 }]);
    assert.deepEqual(
      refused.map(({ claim: name, cluster, reason }) => [name, cluster, reason]),
      [["data", "east", "IncompatibleAccessMode"]],
    );
    assert.match(
      refused[0]?.message ?? "",
      /annotate it with workload\.kcp\.io\/volume-migration=detach/,
    );
    assert.equal(planChange(now, withDrainedTarget("east"), evaluationTime).replicas, 0);
    const { disruptionBlockedBy: keptBy } = explainPlacement(now, deployment, evaluationTime);
    assert.deepEqual(keptBy, refused);
  });

  it("a plan reports no claim that may move: it can be detached, is shared, or has a hook", () => {
    const hooked = { annotations: { "workload.kcp.io/volume-copier": "copier" } };
    for (const one of [
      claim("data", detachable),
      claim("data", hooked),
      claim("data", { modes: ["ReadWriteMany"] }),
    ])
      assert.deepEqual(planned(deployment, [one]).rejectedBy, []);
    assert.deepEqual(planned(deployment, [claim("other")]).rejectedBy, []);
  });

  it("a plan reports volumes that only one cluster can reach, or that would be deleted", () => {
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
      planned(deployment, [claim("data", brought)], [volume(spec)]).rejectedBy.map(
        ({ reason }) => reason,
      );
    assert.deepEqual(reasons({ hostPath: { path: "/data" } }), ["VolumeNotMovable"]);
    assert.deepEqual(reasons({ csi: {}, persistentVolumeReclaimPolicy: "Delete" }), [
      "IncompatibleReclaimPolicy",
    ]);
    assert.deepEqual(reasons({ csi: {}, persistentVolumeReclaimPolicy: "Retain" }), []);
  });

  it("a plan for a Job reports that its claim stays until the Job finishes", () => {
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
    // The Job finishes in its cluster, or its move is rejected: it is not stopped in either case.
    assert.ok(move === undefined || move.rejectedBy[0]?.reason === "VolumeInUse");
  });

  it("a plan reports the clusters of ordinals, and which of their claims would reject the move", () => {
    const [first, second] = [claim("data-db-0", detachable), claim("data-db-1")];
    const { to, from, rejectedBy: refused } = planned(set, [first, second]);
    // Ordinal 1 is adjacent to west's range and leaves first; ordinal 0 waits behind it.
    assert.deepEqual(
      [from, to],
      [
        { east: 2, west: 2 },
        { east: 2, west: 2 },
      ],
    );
    assert.deepEqual(
      refused.map(({ claim: name }) => name),
      ["data-db-1"],
    );
    const movable = planned(set, [first, claim("data-db-1", detachable)]);
    assert.deepEqual([movable.to, movable.rejectedBy], [{ west: 4 }, []]);
  });
});
