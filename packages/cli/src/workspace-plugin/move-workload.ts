/**
 * `kubectl kcp move deployment/web --to us-west1`: one annotation of the object selects the
 * clusters of its replicas, which move without a gap in availability. The command prints the change
 * that it makes, so that users can make it by hand the next time.
 */
import { parseLabelSelector } from "@kcp-ts/machinery/selectors";
import { clusterLabel, selectorAnnotation } from "@kcp-ts/multicluster";
import {
  type Client,
  type Condition,
  defineResource,
  findCondition,
  type KubernetesObject,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { createPlacementReview } from "./placement-review.ts";
import { Progress } from "./progress.ts";
import type { Session } from "./session.ts";

export interface MoveOptions {
  readonly to: string;
  readonly namespace?: string;
  readonly wait?: boolean;
  readonly timeout?: string;
}

interface Workload extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number; readonly conditions?: readonly Condition[] };
}

const kinds: readonly (readonly [names: readonly string[], group: string, kind: string])[] = [
  [["deployments", "deployment", "deploy"], "apps", "Deployment"],
  [["statefulsets", "statefulset", "sts"], "apps", "StatefulSet"],
  [["daemonsets", "daemonset", "ds"], "apps", "DaemonSet"],
  [["jobs", "job"], "batch", "Job"],
  [["cronjobs", "cronjob", "cj"], "batch", "CronJob"],
];

/** All clusters: no selector at all. */
const everywhere = "*";

/** All workloads are changed first: waiting for one does not delay the next. */
export async function moveWorkloads(
  session: Session,
  workloads: readonly string[],
  options: MoveOptions,
): Promise<void> {
  const waits: (() => Promise<void>)[] = [];
  for (const what of workloads) waits.push(await moveWorkload(session, what, options));
  for (const wait of waits) await wait();
}

/** Resolves with what waits until the workload has moved. */
async function moveWorkload(
  session: Session,
  what: string,
  options: MoveOptions,
): Promise<() => Promise<void>> {
  const client = session.clientIn(session.address.workspace);
  const { namespace = session.namespace, to } = options;
  const { resource, name, text } = workloadOf(client, what);
  const { selector, clusters } = await destinationOf(session, to, namespace);
  const patch = { metadata: { annotations: { [selectorAnnotation]: selector ?? null } } };
  const before = await resource.find({ namespace, name });
  if (before === undefined)
    throw new Error(`there is no ${text} in namespace ${namespace}: is it in another (-n)?`);
  const was = before.metadata.annotations?.[selectorAnnotation];
  const where = to === everywhere ? "wherever there is room" : to;
  if (was === selector) session.print(`${text} already goes to ${where}`);
  else {
    await resource.patch({ namespace, name }, { type: "merge", patch });
    session.print(`${text} moves to ${where}`);
    const now =
      selector === undefined
        ? `${selectorAnnotation}-`
        : `${selectorAnnotation}=${quoted(selector)}`;
    session.note(`It was: kubectl annotate -n ${namespace} ${text} --overwrite ${now}`);
  }
  const { wait = process.stdout.isTTY === true } = options;
  if (!wait) return async () => {};
  const progress = new Progress(session, options.timeout);
  const late = `${text} has not moved yet: it goes on, see its condition Scheduled (kubectl describe -n ${namespace} ${text})`;
  return () =>
    progress.until(() => look(resource, { namespace, name, text, clusters, where }), late);
}

function workloadOf(client: Client, what: string) {
  const [typed = "", name = "", ...rest] = what.split("/");
  const [word = "", group] = typed.toLowerCase().split(/\.(.*)/s);
  const found = kinds.find(
    ([names, known]) => names.includes(word) && (group === undefined || group === known),
  );
  if (found === undefined || name === "" || rest.length > 0)
    throw new Error(
      `cannot move ${JSON.stringify(what)}: name a workload, as in deployment/web (${kinds.map(([, , kind]) => kind).join(", ")})`,
    );
  const [[plural = ""], ofGroup, kind] = found;
  const resource = client.resource(
    defineResource<Workload>({
      group: ofGroup,
      version: "v1",
      resource: plural,
      kind,
      namespaced: true,
    }),
  );
  return { resource, name, text: `${kind.toLowerCase()}.${ofGroup}/${name}` };
}

interface MoveDestination {
  /** Undefined for all clusters. */
  readonly selector: string | undefined;
  /** The target clusters. */
  readonly clusters: ReadonlySet<string>;
}

/** Names of clusters separated by commas, or a selector over their labels. */
async function destinationOf(
  session: Session,
  to: string,
  namespace: string,
): Promise<MoveDestination> {
  const clusters = async (selector: string) =>
    (await createPlacementReview(session, { clusters: { selector, namespace } })).clusters ?? [];
  const isSelector = /[=!() ]/.test(to);
  if (isSelector) parseLabelSelector(to);
  const all = await clusters("");
  const names = isSelector || to === everywhere ? [] : namesIn(to, all);
  const selector = to === everywhere ? undefined : isSelector ? to : selectorOf(names);
  const found = selector === undefined ? all : await clusters(selector);
  if (found.length > 0) return { selector, clusters: new Set(found) };
  throw new Error(
    all.length === 0
      ? "there are no clusters for this workspace: register one with a SyncTarget, or use those of another workspace (kubectl kcp bind compute)"
      : `no cluster is ${to}: there are ${all.join(", ")}`,
  );
}

/**
 * A cluster of another workspace may be named by its name there, if only one cluster has that name.
 */
function namesIn(to: string, all: readonly string[]): readonly string[] {
  const names = to.split(",").filter((name) => name !== "");
  if (names.length === 0)
    throw new Error("invalid --to: a cluster, or a selector over their labels");
  return names.map((name) => {
    const longer = all.filter((one) => one.startsWith(`${name}.`));
    return all.includes(name) || longer.length !== 1 ? name : (longer[0] ?? name);
  });
}

function selectorOf(names: readonly string[]): string {
  return names.length === 1
    ? `${clusterLabel}=${names[0]}`
    : `${clusterLabel} in (${names.join(",")})`;
}

interface MoveRequest {
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
  readonly clusters: ReadonlySet<string>;
  readonly where: string;
}

async function look(
  resource: ResourceClient<Workload>,
  { namespace, name, text, clusters, where }: MoveRequest,
) {
  const { items } = await resource.list({
    namespace,
    labelSelector: `workload.kcp.io/owned-by=${name}`,
  });
  const whole = await resource.get({ namespace, name });
  const placed = findCondition(whole.status?.conditions, "Scheduled");
  const shares = items.map(({ metadata, spec, status }) => ({
    cluster: metadata.labels?.[clusterLabel] ?? "",
    ready: status?.readyReplicas ?? 0,
    replicas: spec?.replicas ?? 0,
  }));
  const isElsewhere = shares.some(
    ({ cluster, replicas }) => replicas > 0 && !clusters.has(cluster),
  );
  const isThere = shares.some(({ cluster, replicas }) => replicas > 0 && clusters.has(cluster));
  const isDone =
    placed?.status === "True" && !isElsewhere && (isThere || whole.spec?.replicas === 0);
  const split = shares
    .map(({ cluster, ready, replicas }) => `${cluster} ${ready}/${replicas}`)
    .sort()
    .join(", ");
  return { isDone, line: isDone ? `${text} moved to ${where}: ${split}` : `${text}: ${split}` };
}

function quoted(text: string): string {
  return /^[\w./=,-]+$/.test(text) ? text : `'${text}'`;
}
