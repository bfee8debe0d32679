/** One request in the audit log: what its events have in common, and what is found out about it on its way. */

import type { Resumable } from "@kcp-ts/machinery/base";
import { bounds, isBoundExceeded, parseBoundedResumable } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import { header } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { containsSecrets } from "../request/secret-kinds.ts";
import type { UserInfo } from "../request/user.ts";
import { AuditAnnotations } from "./audit-notes.ts";
import type { AuditRule, AuditStage } from "./policy.ts";

/** A request as audit sees it. */
export interface AuditContext {
  readonly request: ApiRequest;
  readonly scope: RequestScope | undefined;
  readonly user: UserInfo;
  /** Who acts as the user. */
  readonly impersonator?: UserInfo | undefined;
  readonly auditId: string;
  readonly receivedAt: number;
}

/** Bodies beyond this are left out, and an annotation says so. */
export const auditObjectBytesMax = 1 << 20;

export class AuditRecord {
  readonly rule: AuditRule;
  /** Nobody meant the request to fail as it did. */
  isPanic = false;
  /** There are too many like it in this second. */
  isCrowdedOut = false;
  requestBody: Uint8Array | undefined;
  #isJson = false;
  responseBody: Uint8Array | undefined;
  #object: ObjectNames = {};
  readonly #exchange: AuditContext;
  readonly #notes = new AuditAnnotations();

  constructor(exchange: AuditContext, rule: AuditRule) {
    this.#exchange = exchange;
    this.rule = rule;
    const { scope } = exchange;
    if (scope === undefined) return;
    this.annotate("kcp.io/cluster", scope.cluster);
    this.annotate("tenancy.kcp.io/workspace", scope.cluster);
  }

  annotate(key: string, value: string): void {
    this.#notes.add(key, value);
  }

  /** A note of somebody who is told about the request: it must have a key of the right form, and may need a level that shows bodies. */
  annotateFor(key: string, value: string, level: "Metadata" | "Request"): void {
    if (level === "Request" && !this.#showsRequestBody) return;
    this.#notes.addForeign(key, value);
  }

  /** What the body says as JSON, which is shown instead of it. */
  noteJson(json: Uint8Array): void {
    if (this.requestBody === undefined) return;
    this.requestBody = json;
    this.#isJson = true;
  }

  /** What the object says of itself: first as it was sent, then, if one was created, as it was stored. The path's word stands before it. */
  noteObject({ namespace, name, uid, resourceVersion }: JsonObject): void {
    const before = this.#object;
    this.#object = {
      namespace: textOf(namespace) ?? before.namespace,
      name: textOf(name) ?? before.name,
      uid: textOf(uid) ?? before.uid,
      resourceVersion: textOf(resourceVersion) ?? before.resourceVersion,
    };
  }

  /** Whether the answer is more than a refusal or what everybody may see. */
  gives({ status }: ApiResponse): boolean {
    return status < 400 && this.#exchange.scope?.kind === "resource";
  }

  /** What is secret is shown at level RequestResponse only, where everything is. */
  get #showsRequestBody(): boolean {
    const { level } = this.rule;
    return level === "RequestResponse" || (level === "Request" && !this.#isSecret);
  }

  get #isSecret(): boolean {
    const { scope } = this.#exchange;
    return scope?.kind === "resource" && containsSecrets(scope);
  }

  /** How much is read for an event about the answer. */
  bodyBytes(response: ApiResponse | undefined): number {
    const request = this.#showsRequestBody ? auditedBytes(this.requestBody) : 0;
    const answer = this.rule.level === "RequestResponse" ? auditedBytes(this.responseBody) : 0;
    return (
      request + answer + auditedBytes(response === undefined ? undefined : statusBodyOf(response))
    );
  }

  /** From here on there are none to show. */
  leaveOutBodies(why: string): void {
    this.annotate("audit.kcp.io/body-left-out", why);
    this.requestBody = undefined;
    this.responseBody = undefined;
  }

  /** Rests between the steps of reading bodies. */
  *event(
    stage: AuditStage,
    nowMs: number,
    response: ApiResponse | undefined,
    decode: Decode | undefined,
  ): Resumable<JsonObject> {
    const { request, scope, user, impersonator, auditId, receivedAt } = this.#exchange;
    const { level } = this.rule;
    const hasBodies = stage !== "RequestReceived";
    const userAgent = header(request.headers, "user-agent");
    const event: { [member: string]: JsonValue } = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: auditId,
      stage,
      requestURI: withoutCredentials(request.target),
      verb: scope?.verb ?? request.method.toLowerCase(),
      user: userOf(impersonator ?? user),
      ...(impersonator === undefined ? {} : { impersonatedUser: userOf(user) }),
      sourceIPs: [request.remoteAddress],
      ...(userAgent === undefined ? {} : { userAgent }),
    };
    const objectRef = objectRefOf(scope, this.#object);
    if (objectRef !== undefined) event["objectRef"] = objectRef;
    if (response !== undefined) event["responseStatus"] = yield* statusOf(response);
    if (hasBodies && level === "Request" && this.#isSecret)
      this.annotate("audit.kcp.io/body-left-out", "it may hold secrets");
    if (hasBodies && this.#showsRequestBody && decode !== undefined)
      yield* this.#add(event, "requestObject", this.requestBody, (bytes) =>
        decode(bytes, this.#isJson ? "application/json" : header(request.headers, "content-type")),
      );
    if (hasBodies && level === "RequestResponse")
      yield* this.#add(event, "responseObject", this.responseBody, parseJsonBytes);
    event["requestReceivedTimestamp"] = microTime(receivedAt);
    event["stageTimestamp"] = microTime(nowMs);
    if (!this.#notes.isEmpty) event["annotations"] = this.#notes.toJson();
    return event as JsonObject;
  }

  *#add(
    event: { [member: string]: JsonValue },
    member: string,
    bytes: Uint8Array | undefined,
    decode: (bytes: Uint8Array) => Resumable<JsonValue | undefined>,
  ): Resumable<void> {
    if (bytes === undefined || bytes.length === 0) return;
    if (bytes.length > auditObjectBytesMax) {
      this.annotate("audit.k8s.io/truncated", "true");
      return;
    }
    const value = yield* decode(bytes);
    if (value !== undefined)
      event[member] = this.rule.omitManagedFields ? withoutManagedFields(value) : value;
  }
}

/** A refusal says why, as the client was told; bodies of other answers are the level's business. */
function* statusOf(response: ApiResponse): Resumable<JsonObject> {
  const body = statusBodyOf(response);
  const isShown = body !== undefined && body.length <= auditObjectBytesMax;
  const told = isShown ? yield* parseJsonBytes(body) : undefined;
  const { message, reason, status: outcome } = isJsonObject(told) ? told : ({} as JsonObject);
  return {
    metadata: {},
    ...(outcome === undefined ? {} : { status: outcome }),
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    code: response.status,
  };
}

function statusBodyOf({ status, body }: ApiResponse): Uint8Array | undefined {
  return status >= 400 && body instanceof Uint8Array ? body : undefined;
}

/** What is too long is not read. */
function auditedBytes(bytes: Uint8Array | undefined): number {
  return bytes === undefined || bytes.length > auditObjectBytesMax ? 0 : bytes.length;
}

/** No query and no user before a host gives access here, but some clients send their secrets there all the same. */
function withoutCredentials(target: string): string {
  const plain = target.includes("@") ? target.replace(credentialsOfHost, "$1REDACTED@") : target;
  return plain.includes("?") ? plain.replace(credentialParameter, "$1REDACTED") : plain;
}

const credentialsOfHost = /^((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/?#]*@/i;

const credentialParameter =
  /([?&](?:access_token|id_token|refresh_token|token|password|client_secret|api_key)=)[^&#]*/gi;

/** A request body as JSON, whatever it came as; undefined when it is none. */
export type Decode = (
  bytes: Uint8Array,
  contentType: string | undefined,
) => Resumable<JsonValue | undefined>;

function userOf({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined ? {} : { extra: extra as unknown as JsonObject }),
  };
}

interface ObjectNames {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** No valid name is longer; what is must not fill the log. */
const nameLengthMax = 512;

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= nameLengthMax
    ? value
    : undefined;
}

function objectRefOf(scope: RequestScope | undefined, object: ObjectNames): JsonObject | undefined {
  if (scope?.kind !== "resource") return undefined;
  const { resource, group, version, subresource } = scope;
  const namespace = scope.namespace === "" ? object.namespace : scope.namespace;
  const name = scope.name === "" ? object.name : scope.name;
  const { uid, resourceVersion } = object;
  return {
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(group === "" ? {} : { apiGroup: group }),
    apiVersion: version,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(subresource === "" ? {} : { subresource }),
  };
}

function* parseJsonBytes(bytes: Uint8Array): Resumable<JsonValue | undefined> {
  try {
    return (yield* parseBoundedResumable(bounds.auditBody, bytes)).value;
  } catch (error) {
    // Not all answers are JSON, nor small; those that are not have no object to show.
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return undefined;
    throw error;
  }
}

function withoutManagedFields(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const { metadata, items } = value;
  return {
    ...value,
    ...(isJsonObject(metadata) ? { metadata: withoutMember(metadata, "managedFields") } : {}),
    ...(Array.isArray(items) ? { items: items.map((each) => withoutManagedFields(each)) } : {}),
  };
}

function withoutMember(object: JsonObject, member: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== member));
}

/** Six digits behind the point, as Kubernetes' MicroTime has them. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
