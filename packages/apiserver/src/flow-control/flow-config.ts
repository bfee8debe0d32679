/**
 * FlowSchemas and PriorityLevelConfigurations in the form that flow control uses, read from API
 * objects.
 *
 * The objects were validated when they were written; absent fields have the defaults of the API.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

export interface PriorityLevelConfig {
  readonly name: string;
  readonly uid: string;
  readonly isExempt: boolean;
  readonly nominalShares: number;
  readonly lendablePercent: number;
  /** Undefined: the level may borrow all seats that other levels lend. */
  readonly borrowingLimitPercent: number | undefined;
  /** Undefined: a request that finds no seat is rejected. */
  readonly queuing: QueuingConfig | undefined;
}

export interface QueuingConfig {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

export interface FlowSchemaConfig {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  /** The lower precedence matches first; equal ones are ordered by name. */
  readonly precedence: number;
  readonly distinguisher: "ByUser" | "ByNamespace" | undefined;
  readonly rules: readonly FlowRule[];
}

export interface FlowRule {
  readonly subjects: readonly FlowSubject[];
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly PathRule[];
}

export interface FlowSubject {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
  readonly namespace: string;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly isClusterScope: boolean;
}

export interface PathRule {
  readonly verbs: readonly string[];
  readonly paths: readonly string[];
}

const queuingDefaults: QueuingConfig = { queues: 64, handSize: 8, queueLengthLimit: 50 };
const nominalSharesDefault = 30;
const precedenceDefault = 1000;

export function readPriorityLevel(object: JsonObject): PriorityLevelConfig {
  const spec = objectAt(object, "spec");
  const isExempt = spec["type"] === "Exempt";
  const share = objectAt(spec, isExempt ? "exempt" : "limited");
  const response = objectAt(share, "limitResponse");
  const queuing = objectAt(response, "queuing");
  const borrowing = share["borrowingLimitPercent"];
  return {
    ...identityOf(object),
    isExempt,
    nominalShares: numberAt(share, "nominalConcurrencyShares", isExempt ? 0 : nominalSharesDefault),
    lendablePercent: numberAt(share, "lendablePercent", 0),
    borrowingLimitPercent: typeof borrowing === "number" ? borrowing : undefined,
    queuing:
      response["type"] !== "Queue"
        ? undefined
        : {
            queues: numberAt(queuing, "queues", queuingDefaults.queues),
            handSize: numberAt(queuing, "handSize", queuingDefaults.handSize),
            queueLengthLimit: numberAt(
              queuing,
              "queueLengthLimit",
              queuingDefaults.queueLengthLimit,
            ),
          },
  };
}

export function readFlowSchema(object: JsonObject): FlowSchemaConfig {
  const spec = objectAt(object, "spec");
  const method = objectAt(spec, "distinguisherMethod")["type"];
  return {
    ...identityOf(object),
    level: textAt(objectAt(spec, "priorityLevelConfiguration"), "name"),
    precedence: numberAt(spec, "matchingPrecedence", precedenceDefault),
    distinguisher: method === "ByUser" || method === "ByNamespace" ? method : undefined,
    rules: objectsAt(spec, "rules").map(readRule),
  };
}

function readRule(rule: JsonObject): FlowRule {
  return {
    subjects: objectsAt(rule, "subjects").map(readSubject),
    resourceRules: objectsAt(rule, "resourceRules").map((each) => ({
      verbs: textsAt(each, "verbs"),
      groups: textsAt(each, "apiGroups"),
      resources: textsAt(each, "resources"),
      namespaces: textsAt(each, "namespaces"),
      isClusterScope: each["clusterScope"] === true,
    })),
    nonResourceRules: objectsAt(rule, "nonResourceRules").map((each) => ({
      verbs: textsAt(each, "verbs"),
      paths: textsAt(each, "nonResourceURLs"),
    })),
  };
}

function readSubject(subject: JsonObject): FlowSubject {
  const kind = subject["kind"] as FlowSubject["kind"];
  const member = kind === "ServiceAccount" ? "serviceAccount" : kind === "Group" ? "group" : "user";
  const named = objectAt(subject, member);
  return { kind, name: textAt(named, "name"), namespace: textAt(named, "namespace") };
}

function identityOf(object: JsonObject): { name: string; uid: string } {
  const metadata = objectAt(object, "metadata");
  return { name: textAt(metadata, "name"), uid: textAt(metadata, "uid") };
}

function objectAt(object: JsonObject, member: string): JsonObject {
  const value = object[member];
  return isJsonObject(value) ? value : {};
}

function listAt(object: JsonObject, member: string): readonly JsonValue[] {
  const value = object[member];
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function objectsAt(object: JsonObject, member: string): JsonObject[] {
  return listAt(object, member).filter(isJsonObject);
}

function textsAt(object: JsonObject, member: string): string[] {
  return listAt(object, member).map(String);
}

function textAt(object: JsonObject, member: string): string {
  return String(object[member] ?? "");
}

function numberAt(object: JsonObject, member: string, otherwise: number): number {
  const value = object[member];
  return typeof value === "number" ? value : otherwise;
}
