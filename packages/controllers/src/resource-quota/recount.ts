/** Sums what objects use of a quota and writes it into the status of the quota. */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type Amounts,
  addAmounts,
  formatAmount,
  hasScopes,
  isObjectCount,
  type MeasuredResource,
  type MutableAmounts,
  matchesScopes,
  measuredBy,
  usageOf,
  zero,
} from "@kcp-ts/machinery/quota";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, discover, type ObjectKey, type Resource, type StringMap } from "@kcp-ts/sdk";
import { resourceQuotas } from "../api/index.ts";
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
  const counted = await resolve(Object.keys(hard), client, signal);
  const resources = [...new Set(counted.values())];
  const isWaiting = Object.keys(hard).some(
    (name) => measuredBy(name) !== undefined && !counted.has(name),
  );
  await followed.use(key, resources, { isClusterScoped, isWaiting, signal });
  followed.sweep();
  // Read again: charges before the watches were accepted are in it, and later charges make the
  // update fail with a conflict.
  const current = await quotas.find({ namespace, name }, { signal });
  if (current === undefined) return;
  const { status } = current;
  const place = isClusterScoped ? undefined : namespace;
  const spec = (current.spec ?? {}) as JsonObject;
  let used = await usedOf(spec, counted, place, options);
  if (isSame(status?.hard, hard) && isSame(status?.used, used)) return;
  if (status?.hard !== undefined) {
    // An object that is charged and not yet stored must not count as deleted.
    await sleep(options.clock, settleMs, signal);
    used = await usedOf(spec, counted, place, options);
    if (isSame(status.hard, hard) && isSame(status.used, used)) return;
  }
  try {
    await quotas.updateStatus({ ...current, status: { hard, used } }, { signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

/** The names of the quota that measure objects, with the resources of these. */
async function resolve(
  names: readonly string[],
  client: Client,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Resource>> {
  const found = new Map<string, Resource>();
  const wanted = names.flatMap((name): [string, MeasuredResource][] => {
    const measured = measuredBy(name);
    return measured === undefined ? [] : [[name, measured]];
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

/** Where the objects are; all namespaces if undefined. */
type Place = string | undefined;

/** `spec` is that of the quota. A resource that is not served has no objects. */
async function usedOf(
  spec: JsonObject,
  counted: ReadonlyMap<string, Resource>,
  place: Place,
  options: RecountOptions,
): Promise<Record<string, string>> {
  const names = Object.keys((spec["hard"] ?? {}) as StringMap);
  const usages = new Map<Resource, Amounts>();
  for (const resource of new Set(counted.values())) {
    const own = names.filter((name) => counted.get(name) === resource);
    const isElsewhere = place !== undefined && !resource.namespaced;
    const isCounted = own.every(isObjectCount) && !hasScopes(spec);
    if (isElsewhere) usages.set(resource, new Map());
    else if (isCounted) usages.set(resource, await count(resource, own, place, options));
    else usages.set(resource, await sum(resource, spec, place, options));
  }
  return Object.fromEntries(
    names.flatMap((name): [string, string][] => {
      const usage = usages.get(counted.get(name) as Resource);
      const isUnmeasured = measuredBy(name) === undefined && name.includes("/");
      return isUnmeasured ? [] : [[name, formatAmount(usage?.get(name) ?? zero)]];
    }),
  );
}

/** All objects count the same, so that none is read. */
async function count(
  resource: Resource,
  names: readonly string[],
  place: Place,
  { client, signal }: RecountOptions,
): Promise<Amounts> {
  const listed = { ...placed(resource, place), limit: 1, signal };
  const page = await ifServed(client.resource(resource).listMetadata(listed));
  const { items = [], metadata } = page ?? {};
  const nanos = BigInt(items.length + (metadata?.remainingItemCount ?? 0)) * 1_000_000_000n;
  return new Map(names.map((name) => [name, { nanos, isBinary: false }]));
}

/** The objects of one page; only their sum is kept. */
const pageObjects = 250;

async function sum(
  resource: Resource,
  spec: JsonObject,
  place: Place,
  { client, clock, signal }: RecountOptions,
): Promise<Amounts> {
  const total: MutableAmounts = new Map();
  let next: string | undefined;
  do {
    const listed = { ...placed(resource, place), limit: pageObjects, signal };
    const following = next === undefined ? listed : { ...listed, continue: next };
    const page = await ifServed(client.resource(resource).list(following));
    for (const item of page?.items ?? []) {
      const object = item as unknown as JsonObject;
      if (!matchesScopes(spec, resource, object)) continue;
      addAmounts(total, usageOf(resource, object, clock.now()));
    }
    next = page?.metadata.continue || undefined;
  } while (next !== undefined);
  return total;
}

function placed(resource: Resource, place: Place): { readonly namespace?: string } {
  return place === undefined || !resource.namespaced ? {} : { namespace: place };
}

/** Undefined where the type was removed meanwhile, and its objects with it. */
async function ifServed<Page>(listing: Promise<Page>): Promise<Page | undefined> {
  try {
    return await listing;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

function isSame(a: StringMap | undefined, b: StringMap): boolean {
  const [left, right] = [Object.entries(a ?? {}), Object.entries(b)];
  return left.length === right.length && right.every(([key, value]) => a?.[key] === value);
}
