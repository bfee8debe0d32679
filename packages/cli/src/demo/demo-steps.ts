/**
 * The steps of the demo, as data: the text of each step, the command to type, its action, the
 * expected result, and the invariants meanwhile.
 *
 * It is the demo of KubeCon 2021, extended by a cluster that is added, becomes unreachable and
 * recovers.
 */
import type { DemoEnvironment } from "./demo-environment.ts";
import type { DemoView, DeploymentRow } from "./demo-view.ts";

export interface DemoStep {
  readonly title: string;
  readonly text: readonly string[];
  /** The command to type in another terminal. */
  readonly commands: (environment: DemoEnvironment) => readonly string[];
  /** Does what the first command would do. Must be idempotent. */
  readonly run?: (environment: DemoEnvironment) => Promise<void>;
  /** Undefined when the expected result is reached; otherwise the missing part. */
  readonly until: (demoView: DemoView) => string | undefined;
  /** The violated invariant, at any moment of the step. */
  readonly invariant?: (demoView: DemoView) => string | undefined;
}

const east = "us-east1";
const west = "us-west1";
const name = "my-deployment";
const replicas = 15;

export async function prepareDemo(environment: DemoEnvironment): Promise<void> {
  await environment.prepareCluster(east);
  await environment.prepareCluster(west);
  await environment.prepareDeployment(name, replicas);
}

export const demoSteps: readonly DemoStep[] = [
  {
    title: "A control plane that runs nothing",
    text: [
      "It speaks the API of Kubernetes, and has neither nodes nor Pods, nor does it know what a Deployment is.",
    ],
    commands: () => ["kubectl get deployments", "kubectl api-resources"],
    until: ({ deployments }) => (deployments === undefined ? undefined : "deployments are served"),
  },
  {
    title: `Register a cluster: ${east}`,
    text: [
      "A SyncTarget holds a kubeconfig. The control plane connects, asks the cluster what it serves, and serves that too.",
    ],
    commands: (stage) => [
      `kubectl apply -f ${stage.file(`${east}.yaml`)}`,
      "kubectl get synctargets",
      "kubectl api-resources --api-group=apps",
    ],
    run: (stage) => stage.register(east),
    until: (scene) =>
      isReady(scene, east) ??
      (scene.deployments === undefined ? "deployments are not served yet" : undefined),
  },
  {
    title: `Apply a Deployment of ${replicas}`,
    text: [
      "Nothing in it says where. The splitter makes a part for each cluster, the syncer takes the part there, Pods start,",
      "and what they report comes back and is added up.",
    ],
    commands: (stage) => [
      `kubectl apply -f ${stage.file(`${name}.yaml`)}`,
      "kubectl get deployments --watch",
      `kubectl --kubeconfig ${stage.file(`${east}.kubeconfig`)} get pods -A`,
    ],
    run: (stage) => stage.deploy(name, replicas),
    until: (scene) => hasSplit(scene, { [east]: 15 }),
  },
  {
    title: `A second cluster: ${west}`,
    text: [
      "Half of the work moves, in the order that hurts nobody: started there first, stopped here afterwards.",
      `At no moment are fewer than ${replicas} ready.`,
    ],
    commands: (stage) => [
      `kubectl apply -f ${stage.file(`${west}.yaml`)}`,
      "kubectl get deployments --watch",
      `kubectl get events --field-selector involvedObject.name=${name}`,
    ],
    run: (stage) => stage.register(west),
    until: (scene) => isReady(scene, west) ?? hasSplit(scene, { [east]: 8, [west]: 7 }),
    invariant: fewerThanAsked,
  },
  {
    title: "Edit it once, everywhere",
    text: ["An edit of the whole is an edit of every part; each cluster rolls it out by itself."],
    commands: () => [
      `kubectl set image deployment/${name} web=nginx:1.28`,
      `kubectl rollout status deployment/${name}`,
    ],
    run: (stage) => stage.setImage(name, "nginx:1.28"),
    until: (scene) => {
      const whole = deploymentRowOf(scene);
      if (whole?.isObserved !== true) return "not all clusters have seen the new image";
      if (whole.updated !== replicas) return `${whole.updated} of ${replicas} are up to date`;
      return hasSplit(scene, { [east]: 8, [west]: 7 });
    },
  },
  {
    title: `${west} is lost`,
    text: [
      "Its network is gone. After a while of patience its share is started elsewhere. What runs in it is left alone:",
      "nobody can see it, so nobody deletes it.",
    ],
    commands: () => [
      "kubectl get synctargets",
      "kubectl get deployments --watch",
      `kubectl describe deployment ${name}`,
    ],
    run: (stage) => stage.cut(west),
    until: (scene) => {
      if (isReady(scene, west) === undefined) return `${west} still counts as ready`;
      return hasShare(scene, east, 15) ?? isComplete(scene);
    },
  },
  {
    title: `${west} is back`,
    text: [
      "What ran there still runs, and counts again. Only what was started in its place is stopped; nothing is restarted.",
    ],
    commands: () => ["kubectl get synctargets", "kubectl get deployments --watch"],
    run: (stage) => stage.heal(west),
    until: (scene) => isReady(scene, west) ?? hasSplit(scene, { [east]: 8, [west]: 7 }),
    invariant: fewerThanAsked,
  },
];

function isReady({ clusters }: DemoView, cluster: string): string | undefined {
  const row = clusters.find((one) => one.name === cluster);
  return row?.ready === "True"
    ? undefined
    : `${cluster} is not ready (${row?.reason ?? "unknown"})`;
}

function deploymentRowOf({ deployments = [] }: DemoView): DeploymentRow | undefined {
  return deployments.find((one) => one.name === name);
}

function isComplete(demoView: DemoView): string | undefined {
  const { ready = 0 } = deploymentRowOf(demoView) ?? {};
  return ready === replicas ? undefined : `${ready} of ${replicas} are ready`;
}

function hasShare(
  { deployments = [] }: DemoView,
  cluster: string,
  share: number,
): string | undefined {
  const part = deployments.find((one) => one.cluster === cluster);
  const is = part === undefined ? "nothing" : `${part.ready}/${part.replicas}`;
  const wanted = `${share}/${share}`;
  return is === wanted ? undefined : `${cluster} has ${is} instead of ${wanted}`;
}

function hasSplit(
  demoView: DemoView,
  shares: Readonly<Record<string, number>>,
): string | undefined {
  for (const [cluster, share] of Object.entries(shares)) {
    const missing = hasShare(demoView, cluster, share);
    if (missing !== undefined) return missing;
  }
  return isComplete(demoView);
}

function fewerThanAsked(demoView: DemoView): string | undefined {
  const { ready = 0 } = deploymentRowOf(demoView) ?? {};
  return ready < replicas ? `only ${ready} of ${replicas} are ready` : undefined;
}
