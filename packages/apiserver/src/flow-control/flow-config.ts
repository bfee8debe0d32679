/**
 * FlowSchemas and PriorityLevelConfigurations in the form that flow control uses, read from API
 * objects.
 *
 * The objects were validated when they were written; absent fields have the defaults of the API.
 */
import { type JsonObject, listOf, objectOf, objectsOf } from "@kcp-ts/machinery/json";

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
  const spec = objectOf(object["spec"]);
  const isExempt = spec["type"] === "Exempt";
  const share = objectOf(spec[isExempt ? "exempt" : "limited"]);
  const response = objectOf(share["limitResponse"]);
  const queuing = objectOf(response["queuing"]);
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
  const spec = objectOf(object["spec"]);
  const method = objectOf(spec["distinguisherMethod"])["type"];
  return {
    ...identityOf(object),
    level: textAt(objectOf(spec["priorityLevelConfiguration"]), "name"),
    precedence: numberAt(spec, "matchingPrecedence", precedenceDefault),
    distinguisher: method === "ByUser" || method === "ByNamespace" ? method : undefined,
    rules: objectsOf(spec["rules"]).map(readRule),
  };
}

function readRule(rule: JsonObject): FlowRule {
  return {
    subjects: objectsOf(rule["subjects"]).map(readSubject),
    resourceRules: objectsOf(rule["resourceRules"]).map((each) => ({
      verbs: textsAt(each, "verbs"),
      groups: textsAt(each, "apiGroups"),
      resources: textsAt(each, "resources"),
      namespaces: textsAt(each, "namespaces"),
      isClusterScope: each["clusterScope"] === true,
    })),
    nonResourceRules: objectsOf(rule["nonResourceRules"]).map((each) => ({
      verbs: textsAt(each, "verbs"),
      paths: textsAt(each, "nonResourceURLs"),
    })),
  };
}

function readSubject(subject: JsonObject): FlowSubject {
  const kind = subject["kind"] as FlowSubject["kind"];
  const member = kind === "ServiceAccount" ? "serviceAccount" : kind === "Group" ? "group" : "user";
  const named = objectOf(subject[member]);
  return { kind, name: textAt(named, "name"), namespace: textAt(named, "namespace") };
}

function identityOf(object: JsonObject): { name: string; uid: string } {
  const metadata = objectOf(object["metadata"]);
  return { name: textAt(metadata, "name"), uid: textAt(metadata, "uid") };
}

function textsAt(object: JsonObject, member: string): string[] {
  return listOf(object[member]).map(String);
}

function textAt(object: JsonObject, member: string): string {
  return String(object[member] ?? "");
}

function numberAt(object: JsonObject, member: string, otherwise: number): number {
  const value = object[member];
  return typeof value === "number" ? value : otherwise;
}
