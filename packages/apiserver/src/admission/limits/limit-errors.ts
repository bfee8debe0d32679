/** What of an object is outside of the bounds of a LimitRange, in the words of Kubernetes. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import {
  type Amounts,
  formatAmount,
  objectAt,
  objectsAt,
  parseAmount,
  parseAmounts,
  podAmounts,
} from "@kcp-ts/machinery/quota";

interface Observed {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

/** `limits` are the items of the LimitRange. */
export function limitErrors(
  resource: string,
  object: JsonObject,
  limits: readonly JsonObject[],
): readonly string[] {
  const spec = objectAt(object, "spec");
  const errors = limits.flatMap((limit) =>
    resource === "pods" ? podErrors(limit, spec) : claimErrors(limit, spec),
  );
  return [...new Set(errors)];
}

function podErrors(limit: JsonObject, spec: JsonObject): readonly string[] {
  switch (limit["type"]) {
    case "Container": {
      const containers = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")];
      return containers.flatMap((container) => boundErrors(limit, observedOf(container)));
    }
    case "Pod": {
      const [requests, limits] = [podAmounts(spec, "requests"), podAmounts(spec, "limits")];
      return boundErrors(limit, { requests, limits });
    }
    default:
      return [];
  }
}

function observedOf(container: JsonObject): Observed {
  const { requests, limits } = objectAt(container, "resources");
  return { requests: parseAmounts(requests), limits: parseAmounts(limits) };
}

function boundErrors(limit: JsonObject, observed: Observed): readonly string[] {
  return [
    ...eachBound(limit, "min", (name, bound) => minError(limit, name, bound, observed)),
    ...eachBound(limit, "max", (name, bound) => maxError(limit, name, bound, observed)),
    ...eachBound(limit, "maxLimitRequestRatio", (name, bound) =>
      ratioError(limit, name, bound, observed),
    ),
  ];
}

/** Of a claim, only what it requests is bounded. */
function claimErrors(limit: JsonObject, spec: JsonObject): readonly string[] {
  if (limit["type"] !== "PersistentVolumeClaim") return [];
  const { requests } = objectAt(spec, "resources");
  const observed = { requests: parseAmounts(requests), limits: new Map() };
  return [
    ...eachBound(limit, "min", (name, bound) => minError(limit, name, bound, observed)),
    ...eachBound(limit, "max", (name, bound) => {
      const text = `maximum ${name} usage per PersistentVolumeClaim is ${String(bound)}`;
      const request = observed.requests.get(name);
      if (request === undefined) return `${text}.  No request is specified`;
      const isTooMuch = milli(request) > milli(parseAmount(bound));
      return isTooMuch ? `${text}, but request is ${formatAmount(request)}` : undefined;
    }),
  ];
}

function eachBound(
  limit: JsonObject,
  member: string,
  check: (name: string, bound: JsonValue) => string | undefined,
): readonly string[] {
  const bounds = objectAt(limit, member);
  return Object.keys(bounds)
    .toSorted()
    .flatMap((name) => check(name, bounds[name] as JsonValue) ?? []);
}

function minError(
  { type }: JsonObject,
  name: string,
  bound: JsonValue,
  { requests, limits }: Observed,
): string | undefined {
  const text = `minimum ${name} usage per ${String(type)} is ${String(bound)}`;
  const [request, limit] = [requests.get(name), limits.get(name)];
  const least = milli(parseAmount(bound));
  if (request === undefined) return `${text}.  No request is specified`;
  if (milli(request) < least) return `${text}, but request is ${formatAmount(request)}`;
  if (limit !== undefined && milli(limit) < least)
    return `${text}, but limit is ${formatAmount(limit)}`;
  return undefined;
}

function maxError(
  { type }: JsonObject,
  name: string,
  bound: JsonValue,
  { requests, limits }: Observed,
): string | undefined {
  const text = `maximum ${name} usage per ${String(type)} is ${String(bound)}`;
  const [request, limit] = [requests.get(name), limits.get(name)];
  const most = milli(parseAmount(bound));
  if (limit === undefined) return `${text}.  No limit is specified`;
  if (milli(limit) > most) return `${text}, but limit is ${formatAmount(limit)}`;
  if (request !== undefined && milli(request) > most)
    return `${text}, but request is ${formatAmount(request)}`;
  return undefined;
}

function ratioError(
  { type }: JsonObject,
  name: string,
  bound: JsonValue,
  { requests, limits }: Observed,
): string | undefined {
  const text = `${name} max limit to request ratio per ${String(type)} is ${String(bound)}`;
  const [request, limit] = [requests.get(name), limits.get(name)].map((one) =>
    one === undefined ? 0n : milli(one),
  ) as [bigint, bigint];
  if (request === 0n) return `${text}, but no request is specified or request is 0`;
  if (limit === 0n) return `${text}, but no limit is specified or limit is 0`;
  const ratio = Number(limit) / Number(request);
  const isTooMuch = ratio * 1000 > Number(milli(parseAmount(bound)));
  return isTooMuch ? `${text}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

/** Thousandths, rounded up, as finely as Kubernetes compares. */
function milli({ nanos }: { readonly nanos: bigint }): bigint {
  return (nanos + 999_999n) / 1_000_000n;
}
