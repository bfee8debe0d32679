/**
 * Creates what a workspace contained in another one. Objects get new UIDs: references to owners
 * follow, and paths of exports below the saved workspace lead to the new one. What exists stays as
 * it is.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, discover, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import { workspaces } from "@kcp-ts/sdk/kinds";
import type { ContentHead, ContentLine } from "./workspace-content.ts";

export interface RestoredWorkspace {
  readonly created: number;
  /** As in `configmaps root:org:team/default/web`. */
  readonly existed: readonly string[];
}

interface Restoring {
  readonly client: Client;
  readonly from: string;
  readonly to: string;
  readonly uids: Map<string, string>;
  readonly knownUids: ReadonlySet<string>;
  readonly resources: Map<string, ReadonlyMap<string, Resource<KubernetesObject>>>;
  readonly signal: AbortSignal;
}

const retryMs = 300;
/** Definitions are served, and bindings bound, within seconds. */
const withinMs = 60_000;

export async function restoreWorkspace(
  client: Client,
  { head, lines }: { readonly head: ContentHead; readonly lines: readonly ContentLine[] },
  { workspace: to, signal }: { readonly workspace: string; readonly signal: AbortSignal },
): Promise<RestoredWorkspace> {
  const knownUids = new Set(lines.map(({ object }) => object.metadata.uid ?? ""));
  const from = head.workspace;
  const context: Restoring = {
    ...{ client, from, to, knownUids, signal },
    ...{ uids: new Map(), resources: new Map() },
  };
  await ensureWorkspace(client, to, signal);
  const existed: string[] = [];
  let created = 0;
  let waiting = lines;
  let progressAtMs = systemClock.monotonic();
  while (waiting.length > 0) {
    const later: ContentLine[] = [];
    let problem: unknown;
    for (const line of waiting) {
      const outcome = await createLine(line, context);
      if (outcome === "created") created++;
      else if (outcome === "existed") existed.push(describe(line, to));
      else {
        later.push(line);
        problem = outcome;
      }
    }
    if (later.length < waiting.length) progressAtMs = systemClock.monotonic();
    else if (systemClock.monotonic() - progressAtMs > withinMs)
      throw new Error(`${describe(later[0] as ContentLine, to)} cannot be created`, {
        cause: problem,
      });
    else await sleep(systemClock, retryMs, signal);
    // Kinds that were not served may be.
    if (later.length > 0) context.resources.clear();
    waiting = later;
  }
  return { created, existed };
}

function describe({ path, object }: ContentLine, to: string): string {
  const { namespace, name } = object.metadata;
  const place = [[to, ...path].join(":"), namespace, name].filter((one) => one !== undefined);
  return `${object.kind} ${place.join("/")}`;
}

/** The last part of the path is made, if its parent exists. */
async function ensureWorkspace(client: Client, path: string, signal: AbortSignal): Promise<void> {
  const parts = path.split(":");
  const name = parts.pop() ?? "";
  if (parts.length === 0) return;
  const resource = client.inCluster(parts.join(":")).resource(workspaces);
  try {
    await resource.create({ metadata: { name } }, { signal });
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
}

/** An error is returned for what may go later. */
async function createLine(
  { path, object }: ContentLine,
  context: Restoring,
): Promise<"created" | "existed" | Error> {
  const { client, to, uids, knownUids, signal } = context;
  const cluster = [to, ...path].join(":");
  const owners = object.metadata.ownerReferences ?? [];
  if (owners.some(({ uid }) => knownUids.has(uid) && !uids.has(uid)))
    return new Error("its owner is not there yet");
  try {
    const resource = await resourceOf(object, cluster, context);
    if (resource === undefined)
      return new Error(`${object.apiVersion} ${object.kind} is not served`);
    const handle = client.inCluster(cluster).resource(resource);
    const { namespace, name = "" } = object.metadata;
    const target = namespace === undefined ? { name } : { namespace, name };
    try {
      const { metadata } = await handle.create(renewed(object, context), { signal });
      uids.set(object.metadata.uid ?? "", metadata.uid ?? "");
      return "created";
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
      const { metadata } = await handle.get(target, { signal });
      uids.set(object.metadata.uid ?? "", metadata.uid ?? "");
      return "existed";
    }
  } catch (error) {
    // A namespace, a definition, or permission by a role that follows.
    if (isStatusError(error, "NotFound") || isStatusError(error, "Forbidden")) return error;
    throw error;
  }
}

async function resourceOf(
  { apiVersion = "", kind = "" }: KubernetesObject,
  cluster: string,
  { client, resources, signal }: Restoring,
): Promise<Resource<KubernetesObject> | undefined> {
  let known = resources.get(cluster);
  if (known === undefined) {
    const { groups } = await discover(client.inCluster(cluster), { signal });
    const all = groups.flatMap(({ versions }) => versions.flatMap((one) => one.resources));
    known = new Map(
      all.map((one) => {
        const version = one.group === "" ? one.version : `${one.group}/${one.version}`;
        return [`${version} ${one.kind}`, one as Resource<KubernetesObject>];
      }),
    );
    resources.set(cluster, known);
  }
  return known.get(`${apiVersion} ${kind}`);
}

/** The object without what a server fills in. */
function renewed(object: KubernetesObject, context: Restoring): KubernetesObject {
  const { uids, knownUids, from, to } = context;
  const {
    metadata,
    status: _status,
    ...rest
  } = object as KubernetesObject & { readonly status?: unknown };
  const { name, namespace, labels, annotations, finalizers, ownerReferences = [] } = metadata;
  const { "kcp.io/cluster": _cluster, ...kept } = annotations ?? {};
  const owners = ownerReferences
    .filter(({ uid }) => knownUids.has(uid))
    .map((owner) => ({ ...owner, uid: uids.get(owner.uid) as string }));
  const made = {
    ...rest,
    metadata: {
      ...{ name, namespace, labels, annotations: kept, finalizers },
      ...(owners.length === 0 ? {} : { ownerReferences: owners }),
    },
  } as KubernetesObject;
  if (object.kind === "APIBinding") return withPath(made, from, to);
  if (object.kind === "APIExport") return withoutIdentity(made);
  return made;
}

interface Binding {
  readonly spec?: { readonly reference?: { readonly export?: { readonly path?: string } } };
}

function withPath(object: KubernetesObject, from: string, to: string): KubernetesObject {
  const { spec } = object as Binding;
  const path = spec?.reference?.export?.path;
  if (path !== from && path?.startsWith(`${from}:`) !== true) return object;
  const reference = { export: { ...spec?.reference?.export, path: to + path.slice(from.length) } };
  return { ...object, spec: { ...spec, reference } } as KubernetesObject;
}

/** An export has a key of its own: two with the same one would be the same API. */
function withoutIdentity(object: KubernetesObject): KubernetesObject {
  const { identity: _identity, ...spec } =
    (object as { spec?: Record<string, unknown> }).spec ?? {};
  return { ...object, spec } as KubernetesObject;
}
