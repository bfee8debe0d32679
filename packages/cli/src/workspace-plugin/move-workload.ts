/**
 * `kubectl kcp move deployment/web --to us-west1`: one attribute of the object says where its replicas go, and they go there without a gap. What is printed is
 * what was done, so that the next time one can do it by hand.
 */
import { clusterLabel, selectorAnnotation, syncTargets } from "@kcp-ts/controlplane";
import { parseLabelSelector } from "@kcp-ts/machinery/selectors";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Condition,
  defineResource,
  findCondition,
  type KubernetesObject,
  type ResourceClient,
} from "@kcp-ts/sdk";
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
  readonly status?: {
    readonly readyReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}

const kinds: readonly (readonly [names: readonly string[], group: string, kind: string])[] = [
  [["deployments", "deployment", "deploy"], "apps", "Deployment"],
  [["statefulsets", "statefulset", "sts"], "apps", "StatefulSet"],
  [["daemonsets", "daemonset", "ds"], "apps", "DaemonSet"],
  [["jobs", "job"], "batch", "Job"],
  [["cronjobs", "cronjob", "cj"], "batch", "CronJob"],
];

/** Everywhere: no selector at all. */
const everywhere = "*";

export async function moveWorkload(
  session: Session,
  what: string,
  options: MoveOptions,
): Promise<void> {
  const client = session.clientIn(session.address.workspace);
  const { namespace = session.namespace, to } = options;
  const { resource, name, text } = workloadOf(client, what);
  const selector = selectorOf(to);
  const places = await placesOf(client, selector, to);
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
  if (!wait) return;
  const progress = new Progress(session, options.timeout);
  const late = `${text} has not moved yet: it goes on, see its condition Placed (kubectl describe -n ${namespace} ${text})`;
  await progress.until(() => look(resource, { namespace, name, text, places, where }), late);
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

/** Names of clusters with commas, or a selector over their labels. */
function selectorOf(to: string): string | undefined {
  if (to === everywhere) return undefined;
  if (/[=!() ]/.test(to)) {
    parseLabelSelector(to);
    return to;
  }
  const names = to.split(",").filter((name) => name !== "");
  if (names.length === 0)
    throw new Error("invalid --to: a cluster, or a selector over their labels");
  return names.length === 1
    ? `${clusterLabel}=${names[0]}`
    : `${clusterLabel} in (${names.join(",")})`;
}

/** The clusters that it goes to; undefined for those who may not see them. */
async function placesOf(
  client: Client,
  selector: string | undefined,
  to: string,
): Promise<ReadonlySet<string> | undefined> {
  let targets: readonly KubernetesObject[];
  try {
    targets = (await client.resource(syncTargets).list({})).items;
  } catch (error) {
    if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
  const parsed = selector === undefined ? undefined : parseLabelSelector(selector);
  const matching = targets.filter(
    ({ metadata }) =>
      parsed?.matches({ ...metadata.labels, [clusterLabel]: metadata.name }) !== false,
  );
  if (matching.length > 0) return new Set(matching.map(({ metadata }) => metadata.name));
  const all = targets.map(({ metadata }) => metadata.name).sort();
  throw new Error(
    all.length === 0
      ? "no clusters are registered in this workspace: register one with a SyncTarget"
      : `no cluster is ${to}: there are ${all.join(", ")}`,
  );
}

interface Wanted {
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
  readonly places: ReadonlySet<string> | undefined;
  readonly where: string;
}

async function look(
  resource: ResourceClient<Workload>,
  { namespace, name, text, places, where }: Wanted,
) {
  const { items } = await resource.list({ namespace, labelSelector: `kcp.io/owned-by=${name}` });
  const whole = await resource.get({ namespace, name });
  const placed = findCondition(whole.status?.conditions, "Placed");
  const shares = items.map(({ metadata, spec, status }) => ({
    cluster: metadata.labels?.[clusterLabel] ?? "",
    ready: status?.readyReplicas ?? 0,
    replicas: spec?.replicas ?? 0,
  }));
  const isElsewhere = shares.some(
    ({ cluster, replicas }) => replicas > 0 && places?.has(cluster) === false,
  );
  const isThere = shares.some(
    ({ cluster, replicas }) => replicas > 0 && places?.has(cluster) !== false,
  );
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
