/**
 * AuditRecord: one request in the audit log: the common part of its events, and the attributes that
 * stages of the pipeline add.
 */
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
import { AuditAnnotations } from "./audit-annotations.ts";
import type { AuditRule, AuditStage } from "./policy.ts";

/** A request as audit sees it. */
export interface AuditContext {
  readonly request: ApiRequest;
  readonly scope: RequestScope | undefined;
  readonly user: UserInfo;
  /** The user who impersonates `user`. */
  readonly impersonator?: UserInfo | undefined;
  readonly auditId: string;
  readonly receivedAt: number;
}

/** Larger bodies are omitted, and an annotation says so. */
export const auditObjectBytesMax = 1 << 20;

export class AuditRecord {
  readonly rule: AuditRule;
  /** Whether the request failed with an internal error. */
  isPanic = false;
  /** Whether too many such requests arrived in this second. */
  isRateLimited = false;
  requestBody: Uint8Array | undefined;
  #isJson = false;
  responseBody: Uint8Array | undefined;
  #object: ObjectNames = {};
  readonly #context: AuditContext;
  readonly #annotations = new AuditAnnotations();

  constructor(context: AuditContext, rule: AuditRule) {
    this.#context = context;
    this.rule = rule;
    const { scope } = context;
    if (scope === undefined) return;
    this.annotate("kcp.io/cluster", scope.cluster);
    this.annotate("tenancy.kcp.io/workspace", scope.cluster);
  }

  annotate(key: string, value: string): void {
    this.#annotations.add(key, value);
  }

  /**
   * Adds an annotation of a tenant's webhook or policy: its key must have the right form, and it
   * may require a level with bodies.
   */
  annotateFromTenant(key: string, value: string, level: "Metadata" | "Request"): void {
    if (level === "Request" && !this.#showsRequestBody) return;
    this.#annotations.addFromTenant(key, value);
  }

  /** The body as JSON, which the event contains instead of the bytes. */
  setRequestJson(json: Uint8Array): void {
    if (this.requestBody === undefined) return;
    this.requestBody = json;
    this.#isJson = true;
  }

  /**
   * Adds metadata of the object: first as sent, then, if an object was created, as stored. The path
   * takes precedence.
   */
  setObjectRef({ namespace, name, uid, resourceVersion }: JsonObject): void {
    const before = this.#object;
    this.#object = {
      namespace: textOf(namespace) ?? before.namespace,
      name: textOf(name) ?? before.name,
      uid: textOf(uid) ?? before.uid,
      resourceVersion: textOf(resourceVersion) ?? before.resourceVersion,
    };
  }

  /** Whether the response is more than a rejection or a public document. */
  isSuccessfulResourceResponse({ status }: ApiResponse): boolean {
    return status < 400 && this.#context.scope?.kind === "resource";
  }

  /** Secrets are only included at level RequestResponse, which includes everything. */
  get #showsRequestBody(): boolean {
    const { level } = this.rule;
    return level === "RequestResponse" || (level === "Request" && !this.#isSecret);
  }

  get #isSecret(): boolean {
    const { scope } = this.#context;
    return scope?.kind === "resource" && containsSecrets(scope);
  }

  /** The bytes that must be parsed for an event about the response. */
  bodyBytes(response: ApiResponse | undefined): number {
    const request = this.#showsRequestBody ? auditedBytes(this.requestBody) : 0;
    const answer = this.rule.level === "RequestResponse" ? auditedBytes(this.responseBody) : 0;
    return (
      request + answer + auditedBytes(response === undefined ? undefined : statusBodyOf(response))
    );
  }

  /** Omits the bodies from now on. */
  omitBodies(why: string): void {
    this.annotate("audit.kcp.io/body-left-out", why);
    this.requestBody = undefined;
    this.responseBody = undefined;
  }

  /** Builds the event, and yields to the event loop while it parses bodies. */
  *event(
    stage: AuditStage,
    nowMs: number,
    response: ApiResponse | undefined,
    decode: Decode | undefined,
  ): Resumable<JsonObject> {
    const { request, scope, user, impersonator, auditId, receivedAt } = this.#context;
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
    if (!this.#annotations.isEmpty) event["annotations"] = this.#annotations.toJson();
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

/**
 * The Status of a rejection, as the client received it; the level decides about the bodies of other
 * responses.
 */
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

/** The bytes of a body that will be parsed: 0 if it is too long. */
function auditedBytes(bytes: Uint8Array | undefined): number {
  return bytes === undefined || bytes.length > auditObjectBytesMax ? 0 : bytes.length;
}

/**
 * Removes the query and a user before the host: neither authenticates here, but some clients send
 * secrets in them all the same.
 */
function withoutCredentials(target: string): string {
  const plain = target.includes("@") ? target.replace(credentialsOfHost, "$1REDACTED@") : target;
  return plain.includes("?") ? plain.replace(credentialParameter, "$1REDACTED") : plain;
}

const credentialsOfHost = /^((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/?#]*@/i;

const credentialParameter =
  /([?&](?:access_token|id_token|refresh_token|token|password|client_secret|api_key)=)[^&#]*/gi;

/** Decodes a request body of any content type to JSON; undefined when that is not possible. */
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

/** No valid name is longer; longer ones must not fill the log. */
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
    // Responses may be other than JSON, or too large; the event then contains no object.
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

/** Six decimal digits, as in Kubernetes' MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
