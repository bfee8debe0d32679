/** Counts what a quota limits and says so in its status. */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, discover, type ObjectKey, type Resource, type StringMap } from "@kcp-ts/sdk";
import { type ResourceQuota, resourceQuotas } from "../api/index.ts";
import { type CountedName, countedBy, isAlwaysUnused } from "./counted-names.ts";
import type { FollowedResources } from "./followed-resources.ts";

export interface RecountOptions {
  /** Of the quota's cluster. */
  readonly client: Client;
  readonly followed: FollowedResources;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Longer than it takes from the charge to the stored object, which is the time of one write. */
const settleMs = 100;

/** A quota with this annotation is for the whole logical cluster, wherever it is. */
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
  // Read again: what was charged before the watches stood is in it, and what is charged from here on makes the update fail.
  const current = await quotas.find({ namespace, name }, { signal });
  if (current === undefined) return;
  const { status } = current;
  const place = isClusterScoped ? undefined : namespace;
  let used = await usedOf(hard, counted, place, options);
  if (isSame(status?.hard, hard) && isSame(status?.used, used)) return;
  if (status?.hard !== undefined) {
    // What is charged and not yet stored must not be taken for something that is gone.
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

/** Names of objects that can be counted here, and which resource each of them is. */
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
    // Of what is not defined there is nothing; what is defined later is charged from the first object on.
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
    // The type went away meanwhile, and its objects with it.
    if (isStatusError(error, "NotFound")) return 0;
    throw error;
  }
}

/** Scopes are about pods, which are not counted. */
function isScoped({ spec }: ResourceQuota): boolean {
  return (spec?.scopes ?? []).length > 0 || spec?.scopeSelector !== undefined;
}

function isSame(a: StringMap | undefined, b: StringMap): boolean {
  const [left, right] = [Object.entries(a ?? {}), Object.entries(b)];
  return left.length === right.length && right.every(([key, value]) => a?.[key] === value);
}
