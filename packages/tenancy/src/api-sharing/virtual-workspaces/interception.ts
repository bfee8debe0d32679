/**
 * Objects that intercept the requests of a consumer's workspace, and those that say where what was
 * intercepted is sent.
 */
import type { Draft } from "@kcp-ts/apiserver/registry";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { isJsonObject, type JsonObject, jsonEqual, listOf, textOf } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import type { Claim } from "../records.ts";
import {
  type ClaimedWrite,
  claimForbidden,
  coversAll,
  storedEntry,
  storedObjects,
  type WriteValidator,
} from "./claimed-write.ts";

/**
 * A webhook or policy intercepts writes to other objects: the provider must be able to read all of
 * these objects, and to change them if the webhook or policy mutates them.
 */
export function validateInterception(
  verbs: readonly string[],
  interceptionOf: (object: JsonObject) => Interception,
): WriteValidator {
  return (write, draft, old) => {
    const now = interceptionOf(draft);
    if (old !== undefined && jsonEqual([...now.all], [...interceptionOf(old).all]))
      return undefined;
    const uncovered = uncoveredBy(write, now.rules, verbs);
    if (uncovered !== undefined) throw interceptionForbidden(write, draft, verbs, uncovered);
    return undefined;
  };
}

/** A resource of the rules that the provider may not read, and change, completely. */
function uncoveredBy(
  write: ClaimedWrite,
  rules: readonly JsonObject[],
  verbs: readonly string[],
): string | undefined {
  for (const rule of rules) {
    const resources = listOf(rule["resources"]).map((one) => textOf(one).split("/")[0] as string);
    for (const group of listOf(rule["apiGroups"]).map(textOf))
      for (const resource of resources)
        if (!coversAll(write, { group, resource }, verbs))
          return `${resource}${group === "" ? "" : `.${group}`}`;
  }
  return undefined;
}

function interceptionForbidden(
  { claim }: ClaimedWrite,
  draft: Draft,
  verbs: readonly string[],
  uncovered: string,
): Error {
  const message = `no accepted permission claim to ${verbs.join(" and ")} all ${uncovered} allows to intercept them`;
  return claimForbidden(claim, draft, message);
}

/** A binding puts a policy into effect: it needs the same as that policy. */
export function validatePolicyBinding(verbs: readonly string[], resource: string): WriteValidator {
  return (write, draft, old) => {
    if (old !== undefined && jsonEqual(draft["spec"] ?? {}, old["spec"] ?? {})) return undefined;
    return validateBoundPolicy(write, draft, verbs, resource);
  };
}

async function validateBoundPolicy(
  write: ClaimedWrite,
  draft: Draft,
  verbs: readonly string[],
  resource: string,
): Promise<void> {
  const name = textOf(member(draft, "spec")["policyName"]);
  const entry = await storedEntry(
    write,
    { group: admissionGroup, resource },
    { namespace: "", name },
  );
  if (entry === undefined) {
    const message = `policy ${quote(name)} does not exist: a permission claim binds only what it can read`;
    throw claimForbidden(write.claim, draft, message);
  }
  const uncovered = uncoveredBy(write, constraintsOf(decodeObject(entry)).rules, verbs);
  if (uncovered !== undefined) throw interceptionForbidden(write, draft, verbs, uncovered);
}

/**
 * A Service, its Endpoints or EndpointSlices, its status included: webhooks that name the Service
 * send what they intercept to these addresses.
 */
export function validateAddress(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  const names = new Set([draft, old ?? {}].flatMap((one) => servicesOf(write.claim, one)));
  const isSame = old !== undefined && jsonEqual(addressesOf(draft), addressesOf(old));
  return isSame && sameNames(write.claim, draft, old)
    ? undefined
    : validateServices(write, draft, names);
}

function addressesOf({ metadata: _, ...addresses }: JsonObject): JsonObject {
  return addresses;
}

function sameNames(claim: Claim, draft: JsonObject, old: JsonObject): boolean {
  return jsonEqual(servicesOf(claim, draft), servicesOf(claim, old));
}

const serviceLabels = ["kubernetes.io/service-name", "multicluster.kubernetes.io/service-name"];

/** The names of the Services that an object gives addresses to. */
function servicesOf({ resource }: Claim, object: JsonObject): string[] {
  const metadata = member(object, "metadata");
  if (resource !== "endpointslices") return [textOf(metadata["name"])];
  const labels = member(metadata, "labels");
  return serviceLabels.map((label) => textOf(labels[label]));
}

const hookResources = {
  validatingwebhookconfigurations: ["get"],
  mutatingwebhookconfigurations: ["get", "update"],
} as const;

async function validateServices(
  write: ClaimedWrite,
  draft: Draft,
  names: ReadonlySet<string>,
): Promise<void> {
  const isNamed = ({ clientConfig }: JsonObject) => {
    const service = member((clientConfig ?? {}) as JsonObject, "service");
    return service["namespace"] === write.namespace && names.has(textOf(service["name"]));
  };
  for (const name of names) {
    if (name === "") continue;
    for (const [resource, verbs] of Object.entries(hookResources))
      for await (const one of storedObjects(write, { group: admissionGroup, resource }, name)) {
        const rules = webhooksOf(one).all.filter(isNamed).flatMap(rulesOf);
        const uncovered = uncoveredBy(write, rules, verbs);
        if (uncovered !== undefined) throw interceptionForbidden(write, draft, verbs, uncovered);
      }
    for await (const one of storedObjects(write, definitions, name))
      if (isNamed(member(member(member(one, "spec"), "conversion"), "webhook")))
        throw claimForbidden(
          write.claim,
          draft,
          "the address of conversion webhooks cannot be set by a permission claim",
        );
  }
}

const admissionGroup = "admissionregistration.k8s.io";
const definitions = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" };

interface Interception {
  /** All fields that decide which requests are intercepted, and which endpoint receives them. */
  readonly all: readonly JsonObject[];
  readonly rules: readonly JsonObject[];
}

export function webhooksOf(object: JsonObject): Interception {
  const all = listOf(object["webhooks"]).filter(isJsonObject);
  return { all, rules: all.flatMap(rulesOf) };
}

function rulesOf({ rules }: JsonObject): JsonObject[] {
  return listOf(rules).filter(isJsonObject);
}

export function constraintsOf(object: JsonObject): Interception {
  const spec = member(object, "spec");
  const rules = listOf(member(spec, "matchConstraints")["resourceRules"]).filter(isJsonObject);
  return { all: [spec], rules };
}
