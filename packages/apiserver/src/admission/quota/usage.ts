/** The resource names under which a quota counts an object, and the messages about quotas. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { parseQuantity } from "@kcp-ts/machinery/shape";

/** Kinds of the core group that quotas count under a name of their own. */
const shortNames: ReadonlySet<string> = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

/** The names under which a quota may count an object of the resource. */
export function countedResourceNames(group: string, resource: string): readonly string[] {
  if (group !== "") return [`count/${resource}.${group}`];
  const general = `count/${resource}`;
  return shortNames.has(resource) ? [resource, general] : [general];
}

/** The status of a quota, as text. */
export interface QuotaStatus {
  readonly hard: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
}

export function statusOf(quota: JsonObject): QuotaStatus {
  const { hard, used } = (quota["status"] ?? {}) as Partial<QuotaStatus>;
  return { hard: hard ?? {}, used: used ?? {} };
}

/** The names that the quota limits. */
export function limitedNames({ hard }: QuotaStatus, names: readonly string[]): readonly string[] {
  return names.filter((name) => Object.hasOwn(hard, name));
}

/** The reason why one more object exceeds the quota; undefined when it does not. */
export function quotaExceededMessage(
  quota: string,
  { hard, used }: QuotaStatus,
  names: readonly string[],
): string | undefined {
  const unknown = names.filter((name) => !Object.hasOwn(used, name));
  if (unknown.length > 0)
    return `status unknown for quota: ${quota}, resources: ${unknown.toSorted().join(",")}`;
  const exceeded = names.filter((name) => countOf(used[name]) + 1 > countOf(hard[name])).toSorted();
  if (exceeded.length === 0) return undefined;
  const shown = (of: (name: string) => string | undefined) =>
    exceeded.map((name) => `${name}=${of(name)}`).join(",");
  return `exceeded quota: ${quota}, requested: ${shown(() => "1")}, used: ${shown((name) => used[name])}, limited: ${shown((name) => hard[name])}`;
}

/** The status with so many objects more, or fewer. */
export function withUsage(
  status: QuotaStatus,
  names: readonly string[],
  objects: number,
): QuotaStatus {
  const used = { ...status.used };
  for (const name of names) {
    const count = Math.max(0, countOf(used[name]) + objects);
    Object.defineProperty(used, name, {
      value: canonical(count),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return { ...status, used };
}

/** Quantities as numbers: objects are counted in whole numbers. */
export function countOf(quantity: string | undefined): number {
  const match = /^([+-]?[\d.]+)([a-zA-Z]*)(?:e(-?\d+))?$/.exec(quantity ?? "0");
  const [, digits = "0", suffix = "", exponent = "0"] = match ?? [];
  return Number(digits) * (factors.get(suffix) ?? 1) * 10 ** Number(exponent);
}

const factors: ReadonlyMap<string, number> = new Map([
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

function canonical(count: number): string {
  const parsed = parseQuantity(String(count));
  return "canonical" in parsed ? parsed.canonical : String(count);
}
