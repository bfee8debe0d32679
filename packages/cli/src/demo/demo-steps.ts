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
  readonly text: string;
  /** The commands to type, at the prompt or in another terminal in the demo's folder. */
  readonly commands: readonly string[];
  /** Does what the first command would do. Must be idempotent. */
  readonly run?: (environment: DemoEnvironment) => Promise<void>;
  /** The arguments of a `kubectl kcp` command whose output is shown. */
  readonly plugin?: readonly string[];
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
  await environment.prepareDeployment(name, replicas, east);
}

export const demoSteps: readonly DemoStep[] = [
  {
    title: "A control plane that runs nothing",
    text: "It speaks the API of Kubernetes. It has neither nodes nor Pods, and does not know what a Deployment is.",
    commands: ["kubectl get deployments", "kubectl api-resources"],
    until: ({ deployments }) => (deployments === undefined ? undefined : "deployments are served"),
  },
  {
    title: `Register a cluster: ${east}`,
    text: "A SyncTarget holds a kubeconfig. The control plane connects to the cluster, asks which APIs it serves, and serves them, too.",
    commands: [
      `kubectl apply -f ${east}.yaml`,
      "kubectl get clusters",
      "kubectl api-resources --api-group=apps",
    ],
    run: (stage) => stage.register(east),
    until: (scene) =>
      isReady(scene, east) ??
      (scene.deployments === undefined ? "deployments are not served yet" : undefined),
  },
  {
    title: `Apply a Deployment of ${replicas}`,
    text: "Nothing in it names a cluster. The control plane creates a Deployment for each cluster, the syncer copies it there, Pods start, and their status comes back. A client in the cluster sends requests to its Service.",
    commands: [
      `kubectl apply -f ${name}.yaml`,
      "kubectl get deployments --watch",
      `kubectl --kubeconfig ${east}.kubeconfig get pods -A`,
    ],
    run: (stage) => stage.deploy(name, replicas),
    until: (scene) => hasSplit(scene, { [east]: 15 }),
  },
  {
    title: `A second cluster: ${west}`,
    text: `Half of the replicas move. Each starts there first and stops here afterwards: at no moment are fewer than ${replicas} ready.`,
    commands: [
      `kubectl apply -f ${west}.yaml`,
      "kubectl get deployments --watch",
      `kubectl get events --field-selector involvedObject.name=${name}`,
    ],
    run: (stage) => stage.register(west),
    until: (scene) =>
      isReady(scene, west) ??
      hasSplit(scene, { [east]: 8, [west]: 7 }) ??
      hasEndpoints(scene, { [east]: 8, [west]: 7 }),
    invariant: fewerThanAsked,
  },
  {
    title: "Edit it once, everywhere",
    text: "An edit of the Deployment is an edit in every cluster. The clusters roll it out one after the other.",
    commands: [
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
    title: "Why is it there?",
    text: "For every cluster the desired replicas, the capacity and the reason, and the last decisions.",
    commands: [`kubectl kcp explain-placement deployment/${name}`],
    plugin: ["explain-placement", `deployment/${name}`],
    until: (scene) => hasSplit(scene, { [east]: 8, [west]: 7 }),
  },
  {
    title: `What would a drain of ${west} move?`,
    text: "A plan makes the decisions that the control plane would make, and carries none of them out.",
    commands: [`kubectl kcp plan drain ${west}`],
    plugin: ["plan", "drain", west],
    until: (scene) => hasSplit(scene, { [east]: 8, [west]: 7 }),
  },
  {
    title: `${west} is lost`,
    text: "Its network is gone. When its toleration has passed, its replicas start elsewhere. The requests go on: an endpoint that does not answer is skipped, and soon no longer listed. What runs in the lost cluster is left alone.",
    commands: [
      "kubectl get clusters",
      "kubectl get deployments --watch",
      `kubectl describe deployment ${name}`,
    ],
    run: (stage) => stage.cut(west),
    until: (scene) => {
      if (isReady(scene, west) === undefined) return `${west} still counts as ready`;
      return hasShare(scene, east, 15) ?? isComplete(scene) ?? hasEndpoints(scene, { [east]: 15 });
    },
    invariant: requestsFail,
  },
  {
    title: `${west} is back`,
    text: "What ran there still runs, and counts again. Only the replacements stop; nothing restarts.",
    commands: ["kubectl get clusters", "kubectl get deployments --watch"],
    run: (stage) => stage.heal(west),
    until: (scene) =>
      isReady(scene, west) ??
      hasSplit(scene, { [east]: 8, [west]: 7 }) ??
      hasEndpoints(scene, { [east]: 8, [west]: 7 }),
    invariant: (scene) => fewerThanAsked(scene) ?? requestsFail(scene),
  },
];

/** What a user may type next, and what it does. */
export const nextCommands: readonly (readonly [command: string, effect: string])[] = [
  [`kubectl kcp drain ${west} --wait`, "empty a cluster, without a gap"],
  [`kubectl kcp uncordon ${west}`, "use it again"],
  [`kubectl scale deployment ${name} --replicas 30`, "more replicas"],
  ["kubectl get events", "what happened, and why"],
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

function hasEndpoints(
  { traffic }: DemoView,
  wanted: Readonly<Record<string, number>>,
): string | undefined {
  const known = traffic?.endpoints ?? {};
  const names = new Set([...Object.keys(known), ...Object.keys(wanted)]);
  const other = [...names].find((cluster) => (known[cluster] ?? 0) !== (wanted[cluster] ?? 0));
  return other === undefined
    ? undefined
    : `${known[other] ?? 0} endpoints in ${other} instead of ${wanted[other] ?? 0}`;
}

function requestsFail({ traffic }: DemoView): string | undefined {
  const { failed = 0 } = traffic ?? {};
  return failed > 0 ? `${failed} requests failed` : undefined;
}
