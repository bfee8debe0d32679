/**
 * What a workspace and those below it contain, as a file: a line of JSON for each object, in the
 * order in which they are created again, and a last line that counts them.
 */
import { open } from "node:fs/promises";
import { kcpVersion, systemClock } from "@kcp-ts/machinery/base";
import { type ApiResource, type Client, discover, type KubernetesObject } from "@kcp-ts/sdk";
import { workspaces } from "@kcp-ts/sdk/kinds";

const format = "kcp-workspace/1";

export interface ContentHead {
  readonly format: typeof format;
  /** The path of the workspace that was saved. */
  readonly workspace: string;
  readonly createdAt: string;
  readonly kcpVersion: string;
}

export interface ContentLine {
  /** Of the workspace, below the one that was saved: empty for that one itself. */
  readonly path: readonly string[];
  readonly object: KubernetesObject;
}

/** They follow from others, or are about clients that are gone. */
const derived = new Set([
  "events",
  "leases.coordination.k8s.io",
  "endpoints",
  "endpointslices.discovery.k8s.io",
  "controllerrevisions.apps",
  "workspaces.tenancy.kcp.io",
  "logicalclusters.core.kcp.io",
  "apiexportendpointslices.apis.kcp.io",
  "workloadplacements.scheduling.kcp.io",
  "apiresourceimports.apiresource.kcp.io",
  "certificatesigningrequests.certificates.k8s.io",
]);
const clusterLabel = "workload.kcp.io/cluster";
const pageSize = 500;

/** Writes the file; resolves with the number of objects. */
export async function saveWorkspace(
  client: Client,
  { workspace, file, signal }: { workspace: string; file: string; signal: AbortSignal },
): Promise<number> {
  const handle = await open(file, "w", 0o600);
  let count = 0;
  try {
    const write = (line: object) => handle.write(`${JSON.stringify(line)}\n`);
    const createdAt = new Date(systemClock.now()).toISOString();
    await write({ format, workspace, createdAt, kcpVersion } satisfies ContentHead);
    for await (const line of contentOf(client, workspace, [], signal)) {
      await write(line);
      count++;
    }
    await write({ end: count });
    await handle.sync();
  } finally {
    await handle.close();
  }
  return count;
}

async function* contentOf(
  client: Client,
  root: string,
  path: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ContentLine> {
  const own = client.inCluster([root, ...path].join(":"));
  const { groups } = await discover(own, { signal });
  for (const resource of savedResources(groups.flatMap(({ versions }) => versions))) {
    const { group, version, kind } = resource;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    for await (const object of own.resource(resource).items({ pageSize, signal }))
      if (isSaved(object)) yield { path, object: { ...object, apiVersion, kind } };
  }
  for await (const child of own.resource(workspaces).items({ pageSize, signal })) {
    const { metadata, spec } = child;
    if (metadata.deletionTimestamp !== undefined || metadata.name === undefined) continue;
    const { name, labels, annotations } = metadata;
    const { group, version, kind } = workspaces;
    const object = {
      ...{ apiVersion: `${group}/${version}`, kind },
      metadata: { name, labels, annotations },
      spec: { type: spec?.type },
    } as KubernetesObject;
    yield { path, object };
    yield* contentOf(client, root, [...path, name], signal);
  }
}

/** Each resource in its preferred version, those that others need first. */
function savedResources(
  versions: readonly { readonly resources: readonly ApiResource[] }[],
): readonly ApiResource[] {
  const found = new Map<string, ApiResource>();
  for (const resource of versions.flatMap(({ resources }) => resources)) {
    const name = nameOf(resource);
    const isWritable = ["list", "create"].every((verb) => resource.verbs.includes(verb));
    if (isWritable && !derived.has(name) && !name.startsWith("events.") && !found.has(name))
      found.set(name, resource);
  }
  return [...found.values()].sort((a, b) => rankOf(a) - rankOf(b));
}

function nameOf({ group, resource }: Pick<ApiResource, "group" | "resource">): string {
  return group === "" ? resource : `${resource}.${group}`;
}

const first = [
  "namespaces",
  "customresourcedefinitions.apiextensions.k8s.io",
  "apiresourceschemas.apis.kcp.io",
  "apiexports.apis.kcp.io",
  "apibindings.apis.kcp.io",
  "serviceaccounts",
  "secrets",
  "configmaps",
];

function rankOf(resource: ApiResource): number {
  const at = first.indexOf(nameOf(resource));
  return at < 0 ? first.length : at;
}

function isSaved({ metadata, ...object }: KubernetesObject): boolean {
  const { name = "", labels, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || labels?.[clusterLabel] !== undefined) return false;
  const { type } = object as { readonly type?: unknown };
  return name !== "kube-root-ca.crt" && type !== "kubernetes.io/service-account-token";
}

/** Reads the file once; throws unless it is complete. */
export async function readContent(
  file: string,
): Promise<{ readonly head: ContentHead; readonly lines: readonly ContentLine[] }> {
  const handle = await open(file, "r");
  const lines: ContentLine[] = [];
  let head: ContentHead | undefined;
  let isComplete = false;
  try {
    for await (const text of handle.readLines()) {
      const line = JSON.parse(text) as ContentHead & ContentLine & { readonly end?: number };
      if (head === undefined) {
        if (line.format !== format)
          throw new Error(`${file} is no backup of a workspace, which begins with ${format}`);
        head = line;
      } else if (line.end !== undefined) isComplete = line.end === lines.length;
      else lines.push(line);
    }
  } finally {
    await handle.close();
  }
  if (head === undefined || !isComplete)
    throw new Error(`${file} is cut short: it has ${lines.length} objects and no end`);
  return { head, lines };
}
