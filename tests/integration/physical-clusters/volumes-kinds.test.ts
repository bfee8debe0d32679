/**
 * Goal: claims of Jobs, CronJobs and bare Pods move, or keep their users where they are, as those
 * of Deployments do.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually } from "./fixture.ts";
import { claims, data, namespace, type StoredObject, VolumeFixture } from "./volume-fixture.ts";
import { kinds } from "./workload-fixture.ts";

const podSpec = {
  containers: [{ name: "main", image: "app:1" }],
  volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
};
const allowed = { "workload.kcp.io/volume-migration": "detach" };
const runsLong = { "sim.kcp.io/exit-after": "24h" };

/** By cluster, what of a kind is there. */
async function present(
  fixture: VolumeFixture,
  kind: keyof typeof kinds,
): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, { client }] of fixture.clusters) {
    const { items } = await client.resource(kinds[kind]).list({});
    found[name] = items.filter(({ metadata }) => metadata.namespace?.startsWith("kcp-")).length;
  }
  return found;
}

/** The cluster that has the claim's volume, and the other one. */
async function homeOf(fixture: VolumeFixture): Promise<readonly [home: string, other: string]> {
  return await eventually(async () => {
    const handles = await fixture.handles();
    const homes = Object.keys(handles).filter((name) => handles[name]?.[0]?.startsWith("pvc-"));
    assert.equal(homes.length, 1, JSON.stringify(handles));
    return homes[0] === "east" ? ["east", "west"] : ["west", "east"];
  });
}

describe("volumes of what is not replicated", () => {
  it("a CronJob is suspended where it is only when its claim may leave, and keeps its schedule where the claim is", async (t) => {
    const stage = await VolumeFixture.start(t, ["cronjobs.batch"]);
    await stage.claimAlone(["ReadWriteOnce"]);
    const template = { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } };
    const metadata = { name: "nightly", namespace };
    const spec = { schedule: "0 0 1 1 *", jobTemplate: template };
    await eventually(() => stage.client.resource(kinds.cronJobs).create({ metadata, spec }));
    const [home, other] = await homeOf(stage);
    const in_ = (where: string) => ({ east: 0, west: 0, [where]: 1 });
    await eventually(async () => assert.deepEqual(await present(stage, "cronJobs"), in_(home)));

    await stage.empty(home);
    await eventually(async () =>
      assert.equal((await stage.volumeStatusOf(other)).reason, "IncompatibleAccessMode"),
    );
    const copies = await stage.clusters.get(home)?.client.resource(kinds.cronJobs).list({});
    assert.deepEqual(
      copies?.items.map((one) => one.spec?.["suspend"]),
      [false],
    );

    await stage.allow();
    await eventually(async () => {
      assert.deepEqual(await present(stage, "cronJobs"), in_(other));
      const [handle] = (await stage.handles())[other] ?? [];
      assert.match(handle ?? "", /^pvc-/);
    });
    const [moved] =
      (await stage.clusters.get(other)?.client.resource(kinds.cronJobs).list({}))?.items ?? [];
    assert.equal(moved?.spec?.["suspend"], false);
    assert.deepEqual(stage.attachedTwice, []);
  });

  it("a DaemonSet is where its claim is, and leaves with it when that may go", async (t) => {
    const stage = await VolumeFixture.start(t, ["daemonsets.apps"]);
    await stage.claimAlone(["ReadWriteOnce"]);
    const labels = { app: "agent" };
    const template = { metadata: { labels }, spec: podSpec };
    const metadata = { name: "agent", namespace };
    const spec = { selector: { matchLabels: labels }, template };
    await eventually(() => stage.client.resource(kinds.daemonSets).create({ metadata, spec }));
    const [home, other] = await homeOf(stage);
    const in_ = (where: string) => ({ east: 0, west: 0, [where]: 1 });
    await eventually(async () => assert.deepEqual(await present(stage, "daemonSets"), in_(home)));

    await stage.empty(home);
    await eventually(async () =>
      assert.equal((await stage.volumeStatusOf(other)).reason, "IncompatibleAccessMode"),
    );
    assert.deepEqual(await present(stage, "daemonSets"), in_(home));

    await stage.allow();
    await eventually(async () => {
      assert.deepEqual(await present(stage, "daemonSets"), in_(other));
      const [handle] = (await stage.handles())[other] ?? [];
      assert.match(handle ?? "", /^pvc-/);
    });
    assert.deepEqual(stage.attachedTwice, []);
  });

  it("a bare Pod is stopped, and started again where its volume went", async (t) => {
    const stage = await VolumeFixture.start(t, ["pods"]);
    await stage.claimAlone(["ReadWriteOnce"], allowed);
    const pod = { metadata: { name: "solo", namespace }, spec: podSpec };
    await eventually(() => stage.client.resource(kinds.pods).create(pod));
    const isReady = async () => {
      const { status } = (await stage.client
        .resource(kinds.pods)
        .get({ name: "solo", namespace })) as StoredObject;
      return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
    };
    await eventually(async () => assert.equal(await isReady(), true));
    const [home, other] = await homeOf(stage);
    const before = await stage.handles();
    await stage.empty(home);
    await eventually(async () => {
      assert.deepEqual(await present(stage, "pods"), { [home]: 0, [other]: 1 });
      assert.equal(await isReady(), true);
      assert.deepEqual(await stage.handles(), { [home]: [], [other]: before[home] });
    });
    assert.deepEqual(stage.attachedTwice, []);
    // The same one all the time, for its owner.
    assert.ok(await stage.client.resource(kinds.pods).get({ name: "solo", namespace }));
  });

  it("a Job keeps the claim where it runs until it has ended, and nothing else of the claim's users is stopped", async (t) => {
    const stage = await VolumeFixture.start(t, ["jobs.batch"]);
    await stage.apply(["ReadWriteOnce"], allowed);
    const [home, other] = await stage.untilBound();
    const template = {
      metadata: { annotations: runsLong },
      spec: { ...podSpec, restartPolicy: "Never" },
    };
    const job = {
      metadata: { name: "import", namespace },
      spec: { completions: 2, parallelism: 1, template },
    };
    await eventually(() => stage.client.resource(kinds.jobs).create(job));
    // All of it is where the data is.
    await eventually(async () => {
      const there = await stage.clusters.get(home)?.client.resource(kinds.jobs).list({});
      const active = there?.items.map(({ status }) => status?.["active"]);
      assert.ok(active?.includes(1), JSON.stringify(there?.items));
    });
    await stage.empty(home);
    await eventually(async () =>
      assert.equal((await stage.volumeStatusOf(other)).reason, "VolumeInUse"),
    );
    assert.equal((await stage.ready())[`web--${home}`], "2/2");
    assert.match(
      (await stage.volumeStatusOf(other)).message ?? "",
      /Job import runs to its end in/,
    );
    await stage.client.resource(kinds.jobs).delete({ name: "import", namespace });
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    assert.deepEqual(stage.attachedTwice, []);
  });

  it("a Job that runs once its volume is there completes in one cluster, though it could be divided", async (t) => {
    const stage = await VolumeFixture.start(t, ["jobs.batch"]);
    await stage.claimAlone(["ReadWriteOnce"]);
    const template = { spec: { ...podSpec, restartPolicy: "Never" } };
    const job = {
      metadata: { name: "import", namespace },
      spec: { completions: 4, parallelism: 2, template },
    };
    await eventually(() => stage.client.resource(kinds.jobs).create(job));
    await eventually(async () => {
      const { status } = await stage.client.resource(kinds.jobs).get({ name: "import", namespace });
      assert.equal(status?.["succeeded"], 4, JSON.stringify(status));
    });
    const [home, other] = await homeOf(stage);
    assert.deepEqual((await stage.handles())[other], []);
    assert.equal((await present(stage, "jobs"))[other], 0, `all is in ${home}`);
    // The claim can be deleted when no workload uses it.
    await stage.client.resource(kinds.jobs).delete({ name: "import", namespace });
    await stage.client.resource(claims).delete(data);
    await eventually(async () => assert.deepEqual(await stage.handles(), { east: [], west: [] }));
  });
});
