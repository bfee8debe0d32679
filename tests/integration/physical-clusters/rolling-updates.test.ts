/**
 * Goal: an edit takes no more of a workload down, in all clusters together, than its author allows;
 * and it is paused and undone as a whole. Method: simulated clusters, whose Pods are counted all
 * the while. A count is of one moment: clusters are read twice, and it counts if nothing has
 * changed in between.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { eventually } from "./fixture.ts";
import {
  type Kind,
  namespace,
  slowKubelet,
  startWorkloadFixtureWith,
  template,
  type WorkloadFixture,
  workload,
} from "./workload-fixture.ts";

const names = ["east", "north", "west"];
const image = (text: string) => ({ containers: [{ name: "main", image: text }] });

describe("an edit of a workload in several clusters", () => {
  it("takes no more down than its author allows, and is paused and undone as a whole", async (t) => {
    const stage = await startWorkloadFixtureWith(t, slowKubelet, ...names);
    await t.test("the Pods of a Deployment are replaced one at a time", async () => {
      const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
      const strategy = { type: "RollingUpdate", rollingUpdate };
      await stage.make("deployments", workload("web", { replicas: 3, strategy }));
      await untilUpdated(stage, "deployments", "web", 3);
      const counts = countWhile(stage, "web");
      await edit(stage, "deployments", "web", { template: template("web", image("app:2")) });
      await untilUpdated(stage, "deployments", "web", 3);
      assert.equal(await counts.least(), 2);
      assert.deepEqual(await images(stage, "web"), ["app:2", "app:2", "app:2"]);
    });

    await t.test("while it is paused no cluster gets the newest, and it says so", async () => {
      await annotate(stage, "web", { "workload.kcp.io/paused": "true" });
      await edit(stage, "deployments", "web", { template: template("web", image("app:3")) });
      await stage.untilStatus("deployments", "web", (status) => {
        assert.match(JSON.stringify(status["conditions"]), /DeploymentPaused/);
        assert.equal(status["observedGeneration"], 3);
        assert.equal(status["updatedReplicas"] ?? 0, 0);
        assert.equal(status["readyReplicas"], 3);
      });
      assert.deepEqual(await images(stage, "web"), ["app:2", "app:2", "app:2"]);
      await annotate(stage, "web", { "workload.kcp.io/paused": null });
      await untilUpdated(stage, "deployments", "web", 3);
      assert.deepEqual(await images(stage, "web"), ["app:3", "app:3", "app:3"]);
    });

    await t.test("what does not become available in time is undone", async () => {
      await annotate(stage, "web", { "workload.kcp.io/progress-deadline-seconds": "2" });
      // Nothing has so much memory: it is not started anywhere.
      const resources = { requests: { memory: "9999Gi" } };
      const containers = [{ name: "main", image: "app:4", resources }];
      const counts = countWhile(stage, "web");
      await edit(stage, "deployments", "web", { template: template("web", { containers }) });
      await stage.untilStatus("deployments", "web", (status) => {
        assert.match(JSON.stringify(status["conditions"]), /ProgressDeadlineExceeded.*rolled back/);
        assert.equal(status["readyReplicas"], 3);
        assert.equal(status["updatedReplicas"] ?? 0, 0);
      });
      assert.equal(await counts.least(), 2);
      assert.deepEqual(await images(stage, "web"), ["app:3", "app:3", "app:3"]);
    });

    await t.test("numbers are replaced from the highest down, one at a time", async () => {
      await stage.make("statefulSets", workload("db", { replicas: 4, serviceName: "db" }));
      await untilUpdated(stage, "statefulSets", "db", 4);
      const counts = countWhile(stage, "db");
      await edit(stage, "statefulSets", "db", { template: template("db", image("app:2")) });
      await untilUpdated(stage, "statefulSets", "db", 4);
      assert.equal(await counts.least(), 3);
      assert.deepEqual(await images(stage, "db"), ["app:2", "app:2", "app:2", "app:2"]);
    });

    await t.test("what a partition keeps is kept, wherever it is", async () => {
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 2 } };
      const spec = { updateStrategy, template: template("db", image("app:3")) };
      await edit(stage, "statefulSets", "db", spec);
      await eventually(async () =>
        assert.deepEqual(await images(stage, "db"), ["app:2", "app:2", "app:3", "app:3"]),
      );
    });
  });
});

async function edit(
  fixture: WorkloadFixture,
  kind: Kind,
  name: string,
  spec: object,
): Promise<void> {
  await fixture.at(kind).patch({ namespace, name }, { type: "merge", patch: { spec } as never });
}

async function annotate(
  fixture: WorkloadFixture,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const patch = { metadata: { annotations } };
  await fixture.at("deployments").patch({ namespace, name }, { type: "merge", patch });
}

/** As `kubectl rollout status` judges it. */
async function untilUpdated(
  fixture: WorkloadFixture,
  kind: Kind,
  name: string,
  count: number,
): Promise<void> {
  await eventually(async () => {
    const { metadata, status = {} } = await fixture.at(kind).get({ namespace, name });
    assert.equal(status["observedGeneration"], metadata.generation);
    assert.equal(status["updatedReplicas"], count);
    assert.equal(status["readyReplicas"], count);
    assert.equal(status["replicas"], count);
    assert.equal(status["currentRevision"], status["updateRevision"]);
  });
}

interface FoundPod {
  readonly name: string;
  readonly image: string;
  readonly isReady: boolean;
  readonly version: string;
}

async function podsOf(fixture: WorkloadFixture, app: string): Promise<FoundPod[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const { items } = await fixture
        .at("pods", fixture.cluster(name).client)
        .list({ labelSelector: `app=${app}` });
      return items.map(({ metadata, spec, status }): FoundPod => {
        const { containers } = spec as { containers: readonly { readonly image: string }[] };
        const conditions = (status?.["conditions"] ?? []) as readonly {
          readonly type: string;
          readonly status: string;
        }[];
        const isUp = conditions.some((one) => one.type === "Ready" && one.status === "True");
        return {
          name: metadata.name,
          image: containers[0]?.image ?? "",
          isReady: isUp && metadata.deletionTimestamp === undefined,
          version: metadata.resourceVersion ?? "",
        };
      });
    }),
  );
  return found.flat();
}

async function images(fixture: WorkloadFixture, app: string): Promise<readonly string[]> {
  return (await podsOf(fixture, app)).map((one) => one.image).sort();
}

/** Counts what is ready until it is asked for the least. */
function countWhile(fixture: WorkloadFixture, app: string): { least(): Promise<number> } {
  let isOver = false;
  const counting = (async () => {
    let least = Number.POSITIVE_INFINITY;
    while (!isOver) {
      const [first, second] = [await podsOf(fixture, app), await podsOf(fixture, app)];
      const isSame = JSON.stringify(first) === JSON.stringify(second);
      // Other tasks of this process have a turn.
      await setImmediate();
      if (isSame) least = Math.min(least, first.filter(({ isReady }) => isReady).length);
    }
    return least;
  })();
  return {
    least: () => {
      isOver = true;
      return counting;
    },
  };
}
