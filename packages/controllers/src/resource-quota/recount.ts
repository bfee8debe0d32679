/** Counts the objects that a quota limits and writes the usage into its status. */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, discover, type ObjectKey, type Resource, type StringMap } from "@kcp-ts/sdk";
import { type ResourceQuota, resourceQuotas } from "../api/index.ts";
import { type CountedName, countedBy, isAlwaysUnused } from "./counted-names.ts";
import type { FollowedResources } from "./followed-resources.ts";

export interface RecountOptions {
  /** The client of the quota's cluster. */
  readonly client: Client;
  readonly followed: FollowedResources;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Longer than the time from a charge to the stored object, which is that of one write. */
const settleMs = 100;

/** A quota with this annotation limits the complete logical cluster, whatever its namespace. */
const clusterScopedAnnotation = "experimental.quota.kcp.io/cluster-scoped";

export async function recount(key: ObjectKey, options: RecountOptions): Promise<void> {
  const { client, followed, signal } = options;
  const { namespace, name } = key;
  const quotas = client.resource(resourceQuotas);
  const quota = await quotas.find({ namespace, name }, { signal });
  if (quota === undefined) {
    followed.drop(key);
    followed.sweep();
    return;
  }
  const hard = quota.spec?.hard ?? {};
  const isClusterScoped = quota.metadata.annotations?.[clusterScopedAnnotation] === "true";
  const counted = await resolve(Object.keys(hard), isScoped(quota), client, signal);
  const resources = [...new Set(counted.values())];
  const isWaiting = Object.keys(hard).some(
    (name) => countedBy(name) !== undefined && !counted.has(name) && !isScoped(quota),
  );
  await followed.use(key, resources, { isClusterScoped, isWaiting, signal });
  followed.sweep();
  // Read again: charges before the watches were accepted are in it, and later charges make the
  // update fail with a conflict.
  const current = await quotas.find({ namespace, name }, { signal });
  if (current === undefined) return;
  const { status } = current;
  const place = isClusterScoped ? undefined : namespace;
  let used = await usedOf(hard, counted, place, options);
  if (isSame(status?.hard, hard) && isSame(status?.used, used)) return;
  if (status?.hard !== undefined) {
    // An object that is charged and not yet stored must not count as deleted.
    await sleep(options.clock, settleMs, signal);
    used = await usedOf(hard, counted, place, options);
    if (isSame(status.hard, hard) && isSame(status.used, used)) return;
  }
  try {
    await quotas.updateStatus({ ...current, status: { hard, used } }, { signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

/** The countable names of the quota with their resources. */
async function resolve(
  names: readonly string[],
  isPodsOnly: boolean,
  client: Client,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Resource>> {
  const found = new Map<string, Resource>();
  const wanted = isPodsOnly
    ? []
    : names.flatMap((name): [string, CountedName][] => {
        const counted = countedBy(name);
        return counted === undefined ? [] : [[name, counted]];
      });
  if (wanted.length === 0) return found;
  const { groups } = await discover(client, { signal });
  for (const [name, { group, resource }] of wanted) {
    const served = groups
      .filter((one) => one.name === group)
      .flatMap(({ versions }) => versions.flatMap(({ resources }) => resources))
      .find((one) => one.resource === resource && one.verbs.includes("list"));
    if (served !== undefined) {
      const same = [...found.values()].find(
        (one) => one.group === group && one.resource === resource,
      );
      found.set(name, same ?? served);
    }
  }
  return found;
}

async function usedOf(
  hard: StringMap,
  counted: ReadonlyMap<string, Resource>,
  namespace: string | undefined,
  { client, signal }: RecountOptions,
): Promise<Record<string, string>> {
  const counts = new Map<Resource, number>();
  for (const resource of new Set(counted.values())) {
    const place = namespace === undefined || !resource.namespaced ? {} : { namespace };
    const isElsewhere = namespace !== undefined && !resource.namespaced;
    counts.set(resource, isElsewhere ? 0 : await count(client, resource, place, signal));
  }
  const used: [string, string][] = [];
  for (const name of Object.keys(hard)) {
    const resource = counted.get(name);
    if (resource !== undefined) used.push([name, String(counts.get(resource) ?? 0)]);
    // A resource that is not defined has no objects; after its definition, admission charges the
    // first object on.
    else if (isAlwaysUnused(name) || countedBy(name) !== undefined) used.push([name, "0"]);
  }
  return Object.fromEntries(used);
}

async function count(
  client: Client,
  resource: Resource,
  place: { readonly namespace?: string },
  signal: AbortSignal,
): Promise<number> {
  try {
    const page = await client.resource(resource).listMetadata({ ...place, limit: 1, signal });
    return page.items.length + (page.metadata.remainingItemCount ?? 0);
  } catch (error) {
    // The type was removed meanwhile, and its objects with it.
    if (isStatusError(error, "NotFound")) return 0;
    throw error;
  }
}

/** Scopes apply to Pods, which are not counted. */
function isScoped({ spec }: ResourceQuota): boolean {
  return (spec?.scopes ?? []).length > 0 || spec?.scopeSelector !== undefined;
}

function isSame(a: StringMap | undefined, b: StringMap): boolean {
  const [left, right] = [Object.entries(a ?? {}), Object.entries(b)];
  return left.length === right.length && right.every(([key, value]) => a?.[key] === value);
}
