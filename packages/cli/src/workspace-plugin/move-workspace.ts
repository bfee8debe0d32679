/**
 * `kubectl kcp move workspace root:org:team --to-shard b`: moves a workspace to another shard while
 * it is read and written, and tells how far it is.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { Progress, type ProgressCheck } from "./progress.ts";
import { resolveWorkspace } from "./server-address.ts";
import { type Session, workspaces } from "./session.ts";

export interface MoveWorkspaceOptions {
  readonly toShard?: string;
  readonly subtree?: boolean;
  readonly cancel?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly output?: string;
}

interface Move {
  readonly path: string;
  readonly status: MoveStatus;
}

interface MoveStatus {
  readonly from: string;
  readonly to: string;
  readonly cluster: string;
  readonly stage: string;
  readonly objects: number;
  readonly changes: number;
  readonly pauseMs: number | null;
  readonly message: string | null;
}

/** Parents first: each workspace is complete on its shard before the next one moves. */
export async function moveWorkspaces(
  session: Session,
  names: readonly string[],
  options: MoveWorkspaceOptions,
): Promise<void> {
  const { toShard, output, cancel, wait = process.stdout.isTTY === true } = options;
  if (output !== undefined && output !== "json")
    throw new Error(`invalid --output ${JSON.stringify(output)}: it is json`);
  const moves: Move[] = [];
  for (const name of names) {
    const top = resolveWorkspace(session.address.workspace, name);
    const paths = options.subtree === true ? await subtreeOf(session, top) : [top];
    for (const path of paths) {
      const begun = cancel === true ? cancelMove(session, path) : begin(session, path, toShard);
      const move = { path, status: await begun };
      // A subtree moves one workspace at a time.
      const isAwaited = cancel !== true && (wait || paths.length > 1);
      moves.push(isAwaited ? await untilMoved(session, move, options) : move);
    }
  }
  if (output === "json") session.print(JSON.stringify(moves.map(json), undefined, 2));
  else if (cancel === true)
    for (const { path, status } of moves) session.print(`the move of ${path} to ${status.to} ends`);
  else if (!wait)
    for (const { path, status } of moves) session.print(`${path} moves to ${status.to}`);
}

async function begin(session: Session, path: string, to: string | undefined): Promise<MoveStatus> {
  if (to === undefined || to === "") throw new Error("say where to: --to-shard <name>");
  return statusIn(
    await session
      .clientIn(path)
      .json({
        method: "POST",
        path: "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster/move",
        body: { to },
      }),
  );
}

/** The shard that a move leaves knows it: every shard is asked. */
async function cancelMove(session: Session, path: string): Promise<MoveStatus> {
  const cluster = await clusterOf(session, path);
  const client = session.clientIn("root");
  const shards = await client.json({ method: "GET", path: "/apis/core.kcp.io/v1alpha1/shards" });
  const items = isJsonObject(shards) && Array.isArray(shards["items"]) ? shards["items"] : [];
  for (const shard of items) {
    const name = String(memberOf(memberOf(shard, "metadata"), "name"));
    const moves = memberOf(await shardRequest(session, name, "GET"), "moves");
    const found = (Array.isArray(moves) ? moves : []).find(
      (move) => memberOf(move, "cluster") === cluster && !isOver(String(memberOf(move, "stage"))),
    );
    if (found !== undefined) return statusIn(await shardRequest(session, name, "DELETE", cluster));
  }
  throw new Error(`${path} is not moving`);
}

async function untilMoved(
  session: Session,
  { path, status }: Move,
  { timeout, output }: MoveWorkspaceOptions,
): Promise<Move> {
  let last = status;
  const late = `${path} has not moved yet: it goes on (--cancel ends it)`;
  const progress = new Progress(session, timeout, output === "json");
  await progress.until(async () => {
    if (!isOver(last.stage))
      last = statusIn(await shardRequest(session, last.from, "GET", last.cluster));
    return lineOf(path, last);
  }, late);
  if (last.stage === "Cancelled")
    throw new Error(`${path} stays on ${last.from}: ${last.message ?? "the move was cancelled"}`);
  return { path, status: last };
}

function lineOf(path: string, status: MoveStatus): ProgressCheck {
  const { stage, objects, changes, from, to, pauseMs, message } = status;
  const isDone = isOver(stage);
  if (stage === "Done") {
    if (from === to) return { isDone, line: `${path} is on ${to} already` };
    const pause = pauseMs === null ? "" : `; writes waited for ${Math.ceil(pauseMs)} ms`;
    return { isDone, line: `${path} moved from ${from} to ${to}${pause}` };
  }
  const trouble = message === null ? "" : ` (${message})`;
  return { isDone, line: `${path}: ${stage}, ${objects} objects, ${changes} changes${trouble}` };
}

async function subtreeOf(session: Session, top: string): Promise<readonly string[]> {
  const paths = [top];
  for (const path of paths) {
    const { items } = await session.clientIn(path).resource(workspaces).list();
    for (const { metadata } of items) paths.push(`${path}:${metadata.name}`);
  }
  return paths;
}

async function clusterOf(session: Session, path: string): Promise<string> {
  const cluster = await session
    .clientIn(path)
    .json({ method: "GET", path: "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster" });
  const annotations = memberOf(memberOf(cluster, "metadata"), "annotations");
  return String(memberOf(annotations, "kcp.io/cluster"));
}

function shardRequest(
  session: Session,
  shard: string,
  method: "GET" | "DELETE",
  cluster?: string,
): Promise<JsonValue> {
  const client = session.clientIn("root");
  const prefix = client.basePath.replace(/\/clusters\/[^/]+$/, "");
  const query = cluster === undefined ? "" : `?cluster=${encodeURIComponent(cluster)}`;
  const path = `/apis/core.kcp.io/v1alpha1/shards/${shard}/moves${query}`;
  return client.withBasePath(`${prefix}/shards/${shard}`).json({ method, path });
}

function isOver(stage: string): boolean {
  return stage === "Done" || stage === "Cancelled";
}

function json({ path, status }: Move): JsonObject {
  return { path, ...status };
}

function statusIn(value: JsonValue): MoveStatus {
  return value as unknown as MoveStatus;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
