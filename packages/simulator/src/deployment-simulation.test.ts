/**
 * Seeded histories of Deployments on a fake clock. A failure prints its seed; the same seed gives
 * the same history.
 *
 * Invariants: while templates change, there are never more Pods than replicas + maxSurge and never
 * fewer available ones than replicas - maxUnavailable; and in the end of every history there are as
 * many Pods as requested, of the newest template, each owned by its ReplicaSet, which is owned by
 * the Deployment.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import {
  type Deployment,
  deployments,
  isActive,
  isReady,
  type Pod,
  pods,
  replicaSets,
} from "./api/index.ts";
import { type SimulatedCluster, startSimulatedCluster } from "./simulated-cluster.ts";
import { rollingLimitsOf } from "./workloads/index.ts";

const name = { name: "web", namespace: "default" };

interface Run {
  readonly clock: FakeClock;
  readonly random: SeededRandom;
  readonly cluster: SimulatedCluster;
}

async function withCluster(seed: number, body: (run: Run) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const random = new SeededRandom(seed);
  const cluster = await startSimulatedCluster({
    name: "sim",
    nodes: 4,
    clock,
    random: random.fork(),
    log: silent,
  });
  try {
    await body({ clock, random, cluster });
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  } finally {
    const closing = cluster.close();
    await clock.advanceAndFlush(60_000);
    await closing;
  }
}

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

function deployment(random: SeededRandom, replicas: number) {
  const amounts: readonly [number | string, ...(number | string)[]] = [0, 1, 2, "25%", "50%"];
  const maxSurge = random.pick(amounts);
  const maxUnavailable = maxSurge === 0 ? random.pick([1, 2, "50%"]) : random.pick(amounts);
  return {
    metadata: name,
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "web:0" }] },
      },
    },
  };
}

async function stateOf({ cluster }: Run): Promise<{ deployment: Deployment; active: Pod[] }> {
  const deployment = await cluster.client.resource(deployments).get(name);
  const { items } = await cluster.client.resource(pods).list({ namespace: "default" });
  return { deployment, active: items.filter(isActive) };
}

async function checkBounds(run: Run): Promise<void> {
  const { deployment, active } = await stateOf(run);
  const replicas = deployment.spec.replicas ?? 1;
  const { surge, unavailable } = rollingLimitsOf(deployment);
  const ready = active.filter(isReady).length;
  assert.ok(
    active.length <= replicas + surge,
    `${active.length} Pods of at most ${replicas + surge}`,
  );
  assert.ok(
    ready >= replicas - unavailable,
    `${ready} ready of at least ${replicas - unavailable}`,
  );
}

async function isConverged(run: Run): Promise<boolean> {
  const { deployment, active } = await stateOf(run);
  const replicas = deployment.spec.replicas ?? 1;
  const image = deployment.spec.template.spec.containers[0]?.image;
  return (
    active.length === replicas &&
    active.every((pod) => isReady(pod) && pod.spec.containers[0]?.image === image) &&
    (deployment.status?.readyReplicas ?? 0) === replicas &&
    (deployment.status?.updatedReplicas ?? 0) === replicas &&
    deployment.status?.observedGeneration === deployment.metadata.generation
  );
}

async function converge(run: Run, stepMs: number, stepsMax: number): Promise<void> {
  for (let step = 0; step < stepsMax; step++) {
    if (await isConverged(run)) return;
    await run.clock.advanceAndFlush(stepMs);
  }
  const { deployment, active } = await stateOf(run);
  assert.fail(`no convergence: ${active.length} Pods, ${JSON.stringify(deployment.status)}`);
}

async function checkOwners({ cluster }: Run): Promise<void> {
  const deployment = await cluster.client.resource(deployments).get(name);
  const sets = (await cluster.client.resource(replicaSets).list({ namespace: "default" })).items;
  const uids = new Set(sets.map(({ metadata }) => metadata.uid));
  for (const { metadata } of sets) {
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        name: "web",
        uid: deployment.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  }
  const { items } = await cluster.client.resource(pods).list({ namespace: "default" });
  for (const { metadata } of items) {
    const [owner, ...others] = metadata.ownerReferences ?? [];
    assert.equal(others.length, 0);
    assert.equal(owner?.kind, "ReplicaSet");
    assert.ok(uids.has(owner?.uid), `${metadata.name} is owned by a ReplicaSet of the Deployment`);
  }
}

async function changeTemplate({ cluster }: Run, image: string): Promise<void> {
  const patch = { spec: { template: { spec: { containers: [{ name: "web", image }] } } } };
  await cluster.client.resource(deployments).patch(name, { type: "strategic-merge", patch });
}

describe("Deployments in simulated clusters", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    it(`Deployments stay within maxSurge and maxUnavailable while templates change (seed ${seed})`, async () => {
      await withCluster(seed, async (run) => {
        const { random, clock, cluster } = run;
        const replicas = 1 + random.integer(8);
        await cluster.client.resource(deployments).create(deployment(random, replicas) as never);
        await converge(run, 500, 60);
        for (let change = 0; change < 3; change++) {
          await changeTemplate(run, `web:${random.integer(3)}`);
          for (let step = random.integer(12); step >= 0; step--) {
            await clock.advanceAndFlush(50 + random.integer(400));
            await checkBounds(run);
          }
        }
        for (let step = 0; step < 200 && !(await isConverged(run)); step++) {
          await clock.advanceAndFlush(200);
          await checkBounds(run);
        }
        await converge(run, 200, 1);
        await checkOwners(run);
      });
    });
  }

  for (const seed of [11, 12, 13, 14]) {
    it(`Deployments converge to their spec after every history (seed ${seed})`, async () => {
      await withCluster(seed, async (run) => {
        const { random, clock, cluster } = run;
        await cluster.client.resource(deployments).create(deployment(random, 3) as never);
        for (let step = 0; step < 12; step++) {
          await disturb(run);
          await clock.advanceAndFlush(random.integer(3000));
        }
        for (const node of cluster.nodes.names) cluster.nodes.bringUp(node);
        await converge(run, 5000, 100);
        await checkOwners(run);
      });
    });
  }
});

async function disturb({ random, cluster }: Run): Promise<void> {
  const resource = cluster.client.resource(deployments);
  switch (random.integer(5)) {
    case 0: {
      const patch = { spec: { replicas: random.integer(9) } };
      await resource.patch(name, { type: "merge", patch });
      break;
    }
    case 1: {
      const image = `web:${random.integer(4)}`;
      const patch = { spec: { template: { spec: { containers: [{ name: "web", image }] } } } };
      await resource.patch(name, { type: "strategic-merge", patch });
      break;
    }
    case 2: {
      const { items } = await cluster.client.resource(pods).list({ namespace: "default" });
      const victim = items[random.integer(items.length)];
      if (victim !== undefined)
        await cluster.client
          .resource(pods)
          .delete({ name: victim.metadata.name, namespace: "default" }, { gracePeriodSeconds: 0 });
      break;
    }
    case 3:
      cluster.nodes.takeDown(cluster.nodes.names[random.integer(4)] as string);
      break;
    default:
      cluster.nodes.bringUp(cluster.nodes.names[random.integer(4)] as string);
  }
}
