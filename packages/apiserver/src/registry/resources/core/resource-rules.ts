/** Rules of requests and limits of resources, in the words of Kubernetes. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { isIntegerQuantity, quantityNanos } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { nameErrorsAt, negativeQuantityErrors } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

/** Resources of which a container cannot request less than its limit. */
export function isOvercommitable(name: string): boolean {
  return !name.startsWith("hugepages-") && isNative(name);
}

/** A resource without a domain, or with Kubernetes' own. */
function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

export const standardResources: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
]);

/** Names without a domain that mean something, besides those of containers. */
const otherResources: ReadonlySet<string> = new Set([
  ...["storage", "requests.cpu", "requests.memory", "requests.storage", "limits.cpu"],
  ...["requests.ephemeral-storage", "limits.memory", "limits.ephemeral-storage"],
  ...["pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"],
  ...["persistentvolumeclaims", "services.nodeports", "services.loadbalancers"],
]);

export function isOfContainers(name: string): boolean {
  return standardResources.has(name) || name.startsWith("hugepages-");
}

/** The name of a resource of some kind of object. */
export function resourceNameErrors(name: string, at: string): FieldError[] {
  const malformed = qualifiedNameErrors(name).map((text) => fieldError.invalid(at, name, text));
  const isKnown = isOfContainers(name) || otherResources.has(name) || name.includes("/");
  if (malformed.length > 0 || isKnown) return malformed;
  return [fieldError.invalid(at, name, "must be a standard resource type or fully qualified")];
}

export function containerResourceNameErrors(name: string, at: string): FieldError[] {
  const errors = resourceNameErrors(name, at);
  if (!name.includes("/"))
    return isOfContainers(name)
      ? errors
      : [...errors, fieldError.invalid(at, name, "must be a standard resource for containers")];
  const isExtended =
    !isNative(name) &&
    !name.startsWith("requests.") &&
    qualifiedNameErrors(`requests.${name}`).length === 0;
  return isNative(name) || isExtended
    ? errors
    : [...errors, fieldError.invalid(at, name, "doesn't follow extended resource name standard")];
}

function podResourceNameErrors(name: string, at: string): FieldError[] {
  const errors = resourceNameErrors(name, at);
  const isOfPods = name === "cpu" || name === "memory" || name.startsWith("hugepages-");
  return errors.length > 0 || isOfPods
    ? errors
    : [fieldError.notSupported(at, name, ["cpu", "hugepages-", "memory"])];
}

function amountErrors(name: string, amount: JsonValue, at: string): FieldError[] {
  const isWhole = !name.includes("/") || isIntegerQuantity(String(amount));
  return [
    ...negativeQuantityErrors(amount, at),
    ...(isWhole ? [] : [fieldError.invalid(at, amount, "must be an integer")]),
  ];
}

/** The names of a Pod's claims of devices. */
export class ClaimNames {
  readonly #names = new Set<string>();
  #listed: string | undefined;

  add(name: string): void {
    this.#names.add(name);
    this.#listed = undefined;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The end of a message; each container may have errors that show it. */
  get listed(): string {
    this.#listed ??=
      this.#names.size === 0 ? " which is empty" : `: ${[...this.#names].sort().join(", ")}`;
    return this.#listed;
  }
}

/** `claims` are the names of the Pod's claims; undefined for a Pod itself, which has none here. */
export function resourceErrors(
  resources: JsonObject,
  field: string,
  claims?: ClaimNames,
  nameErrors = containerResourceNameErrors,
): FieldError[] {
  const errors: FieldError[] = [];
  const limits = objectIn(resources, "limits");
  const requests = objectIn(resources, "requests");
  for (const [part, amounts] of [["limits", limits] as const, ["requests", requests] as const])
    for (const [name, amount] of Object.entries(amounts) as [string, JsonValue][]) {
      const at = `${field}.${part}[${name}]`;
      errors.push(...nameErrors(name, at), ...amountErrors(name, amount, at));
      const limit = limits[name];
      if (part === "limits") continue;
      if (limit !== undefined)
        errors.push(...overLimitErrors(name, String(amount), String(limit), `${field}.requests`));
      else if (!isOvercommitable(name))
        errors.push(
          fieldError.required(
            `${field}.limits`,
            "Limit must be set for non overcommitable resources",
          ),
        );
    }
  const given = [limits, requests].flatMap((amounts) => Object.keys(amounts));
  const isHuge = given.some((name) => name.startsWith("hugepages-"));
  if (isHuge && !given.some((name) => name === "cpu" || name === "memory"))
    errors.push(fieldError.forbidden(field, "HugePages require cpu or memory"));
  return [...errors, ...claimErrors(resources, `${field}.claims`, claims ?? new ClaimNames())];
}

function overLimitErrors(name: string, amount: string, limit: string, at: string): FieldError[] {
  const [one, other] = [quantityNanos(amount)?.nanos, quantityNanos(limit)?.nanos];
  if (one === undefined || other === undefined || one === other) return [];
  if (!isOvercommitable(name))
    return [fieldError.invalid(at, amount, `must be equal to ${name} limit of ${limit}`)];
  return one > other
    ? [fieldError.invalid(at, amount, `must be less than or equal to ${name} limit of ${limit}`)]
    : [];
}

function claimErrors(resources: JsonObject, field: string, claims: ClaimNames): FieldError[] {
  const used = new Set<string>();
  /** The names of claims of which single requests are used. */
  const usedInPart = new Set<string>();
  return itemErrors<JsonObject>(resources["claims"], field, (claim, at) => {
    const [name, request] = [textIn(claim, "name"), textIn(claim, "request")];
    const key = request === "" ? name : `${name}/${request}`;
    const errors: FieldError[] = [];
    const overlaps = usedInPart.has(name);
    if (name === "") errors.push(fieldError.required(at));
    else if (used.has(name)) errors.push(fieldError.duplicate(at, name));
    else {
      if (request !== "") errors.push(...nameErrorsAt(request, `${at}.request`, dnsLabelErrors));
      if (used.has(key) || (request === "" && overlaps)) errors.push(fieldError.duplicate(at, key));
      used.add(key);
      if (request !== "") usedInPart.add(name);
    }
    if (claims.has(name)) return errors;
    const detail = `must be one of the names in pod.spec.resourceClaims${claims.listed}`;
    return name === "" ? errors : [...errors, fieldError.notFound(at, name, detail)];
  });
}

/** The resources of a whole Pod: at least what its containers request. */
export function podResourceErrors(spec: JsonObject, field: string): FieldError[] {
  const at = `${field}.resources`;
  const resources = objectIn(spec, "resources");
  if (spec["resources"] === undefined) return [];
  if (objectIn(spec, "os")["name"] === "windows")
    return [fieldError.forbidden(at, "may not be set for a windows pod")];
  const errors =
    listIn(resources["claims"]).length === 0
      ? []
      : [fieldError.forbidden(`${at}.claims`, "claims may not be set for Resources at pod-level")];
  return [...errors, ...resourceErrors(resources, at, undefined, podResourceNameErrors)];
}
