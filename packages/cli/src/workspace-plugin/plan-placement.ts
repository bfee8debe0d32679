/**
 * `kubectl kcp plan drain us-east1`, `plan join …`, `plan -f edited.yaml`: shows the replicas that
 * would move, without moving them.
 */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { parseManifests } from "@kcp-ts/controlplane";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { PlannedChange, ReviewedPlan } from "@kcp-ts/multicluster";
import {
  type Client,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
  RestMapper,
} from "@kcp-ts/sdk";
import { replicaAssignmentText } from "./explain-placement.ts";
import { createPlacementReview } from "./placement-review.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

export interface PlanOptions {
  readonly filename?: readonly string[];
  readonly output?: string;
}

export interface JoinOptions extends PlanOptions {
  readonly labels?: readonly string[];
  readonly allocatable?: readonly string[];
}

export function planDrain(session: Session, name: string, options: PlanOptions): Promise<void> {
  return printPlan(session, { drain: name }, options);
}

export function planLoss(session: Session, name: string, options: PlanOptions): Promise<void> {
  return printPlan(session, { loss: name }, options);
}

export function planCordon(
  session: Session,
  name: string,
  isCordoned: boolean,
  options: PlanOptions,
): Promise<void> {
  return printPlan(session, isCordoned ? { cordon: name } : { uncordon: name }, options);
}

/** A cluster that would be registered, Ready, and serve the same APIs as the others. */
export function planJoin(session: Session, name: string, options: JoinOptions): Promise<void> {
  const allocatable = pairs(options.allocatable, "--allocatable cpu=64");
  const target = {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name, labels: pairs(options.labels, "--labels region=eu") },
    spec: {},
    status: Object.keys(allocatable).length === 0 ? {} : { allocatable },
  };
  return printPlan(session, { join: target }, options);
}

/** The objects as the server would store them: applied with dry run. */
export async function planFiles(session: Session, options: PlanOptions): Promise<void> {
  const { filename = [] } = options;
  if (filename.length === 0)
    throw new Error("name what would happen, as in plan drain us-east1, or objects with -f");
  const client = session.clientIn(session.address.workspace);
  const mapper = new RestMapper(client);
  const objects: KubernetesObject[] = [];
  for (const file of filename) {
    const source = file === "-" ? await text(process.stdin) : await readFile(file, "utf8");
    for (const manifest of parseManifests(source, file)) {
      const object = manifest as unknown as DynamicObject;
      objects.push(await storedForm(client, mapper, object, session.namespace));
    }
  }
  await printPlan(session, { objects }, options);
}

async function storedForm(
  client: Client,
  mapper: RestMapper,
  object: DynamicObject,
  namespace: string,
): Promise<KubernetesObject> {
  const [version = "", group = ""] = String(object["apiVersion"]).split("/").reverse();
  const kind = String(object["kind"]);
  const found = await mapper.resourceOf({ group, version, kind });
  if (found === undefined)
    throw new Error(`this workspace serves no ${kind} of ${group}/${version}`);
  const { resource, namespaced } = found;
  const type = client.resource(
    defineResource<DynamicObject>({ group, version, resource, kind, namespaced }),
  );
  const { managedFields: _, ...metadata } = object.metadata;
  const at = namespaced ? { namespace: metadata.namespace ?? namespace } : {};
  const whole = { ...object, metadata: { ...metadata, ...at } };
  // An object that was read from the server and edited replaces the stored one; a manifest is
  // applied.
  if (metadata.resourceVersion !== undefined) return await type.update(whole, { dryRun: true });
  try {
    const options = { dryRun: true, force: true, fieldManager: "kubectl-kcp-plan" };
    return await type.apply(whole, options);
  } catch (error) {
    if (isStatusError(error, "NotFound"))
      throw new Error(`${kind} ${metadata.name} cannot be applied: ${(error as Error).message}`);
    throw error;
  }
}

async function printPlan(
  session: Session,
  change: PlannedChange,
  options: PlanOptions,
): Promise<void> {
  const { plan } = await createPlacementReview(session, { plan: change });
  if (plan === undefined) throw new Error("the server does not say what would move");
  if (options.output === "json") session.print(JSON.stringify(plan, undefined, 2));
  else
    for (const line of [...linesOf(plan), ...unseenLines(plan), ...endLines(plan, change)])
      session.print(line);
}

/** What a drain would leave in its cluster, or a loss would take; and the command to type next. */
function endLines({ moves }: ReviewedPlan, { drain, loss }: PlannedChange): readonly string[] {
  if (loss !== undefined)
    return moves.flatMap(({ kind, namespace, name, from, to, unscheduled }) => {
      const missing = sumOf(from) - sumOf(to) - unscheduled;
      const it = `${kind.toLowerCase()}/${name} in namespace ${namespace}`;
      return missing > 0 ? [`${counted(missing, "replica")} of ${it} would wait for ${loss}`] : [];
    });
  if (drain === undefined) return [];
  const staying = moves.filter(({ to }) => (to[drain] ?? 0) > 0);
  return [
    "",
    staying.length === 0
      ? `${drain} would be empty; next: kubectl kcp drain ${drain}`
      : `${drain} would not be empty: ${counted(staying.length, "workload")} would stay (${staying
          .map(({ kind, namespace, name }) => `${kind.toLowerCase()}/${name} -n ${namespace}`)
          .join(", ")})`,
  ];
}

function unseenLines({ hiddenMoves, workspacesNotReviewed }: ReviewedPlan): readonly string[] {
  return [
    ...(hiddenMoves === 0
      ? []
      : [`${counted(hiddenMoves, "workload")} that you may not list would move, too`]),
    ...(workspacesNotReviewed === 0
      ? []
      : [
          `${counted(workspacesNotReviewed, "workspace")} that use these clusters were not looked at`,
        ]),
  ];
}

function linesOf({ moves, replicas, unchanged }: ReviewedPlan): readonly string[] {
  const stay = `${counted(unchanged, "workload")} ${unchanged === 1 ? "stays" : "stay"}`;
  if (moves.length === 0) return [`nothing would move: ${stay}`];
  const what = ({ kind, namespace, name }: PlannedMove) =>
    `${kind.toLowerCase()}/${name} in namespace ${namespace}`;
  const moving = moves.filter(({ from, to }) => !isSame(from, to)).length;
  const stuck = moves.length - moving;
  return [
    ...textTable([
      ["NAMESPACE", "WORKLOAD", "FROM", "TO"],
      ...moves.map((move) => [
        move.ofOtherTenant === true ? `${move.namespace} (other tenant)` : move.namespace,
        `${move.kind.toLowerCase()}/${move.name}`,
        replicaAssignmentText(move.from),
        destinationText(move),
      ]),
    ]),
    "",
    `${counted(replicas, "replica")} of ${counted(moving, "workload")} would move, ${stay}${stuck === 0 ? "" : `, ${stuck} cannot move`}`,
    ...moves.flatMap((move) =>
      move.rejectedBy.map(
        ({ cluster, reason, message }) =>
          `${what(move)} would stay in ${cluster} (${reason}): ${message}`,
      ),
    ),
    ...moves
      .filter(({ unscheduled }) => unscheduled > 0)
      .map(
        (move) =>
          `${counted(move.unscheduled, "replica")} of ${what(move)} would be unschedulable${move.reasons.length === 0 ? "" : `: ${move.reasons.join("; ")}`}`,
      ),
  ];
}

type PlannedMove = ReviewedPlan["moves"][number];

function destinationText({ from, to, rejectedBy, unscheduled }: PlannedMove): string {
  const text = replicaAssignmentText(to);
  if (!isSame(from, to)) return rejectedBy.length === 0 ? text : `${text} (some stay)`;
  const [first] = rejectedBy;
  if (first !== undefined) return `stays (${first.reason})`;
  return unscheduled === 0 ? text : "stays (Unschedulable)";
}

function sumOf(shares: PlannedMove["to"]): number {
  return Object.values(shares).reduce((sum, share) => sum + share, 0);
}

function isSame(from: PlannedMove["from"], to: PlannedMove["to"]): boolean {
  return replicaAssignmentText(from) === replicaAssignmentText(to);
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function pairs(texts: readonly string[] = [], example: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((one) => {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(one) ?? [];
      if (key === undefined || value === undefined)
        throw new Error(`invalid ${JSON.stringify(one)}: as in ${example}`);
      return [key, value];
    }),
  );
}
