/**
 * ReviewedRequest: a request during the calls of webhooks and policies, with its objects and the
 * lookups that they need, each made once.
 */
import { WorkBudget, workBounds } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { JsonPatchBudget } from "@kcp-ts/machinery/patch";
import type { AdmissionRequest } from "./admission.ts";
import { ByteGate } from "./byte-gate.ts";
import { AuthorizerDecisions } from "./expressions/decisions.ts";
import type { Match } from "./matching/criteria.ts";
import type { MatchedOperation } from "./matching/rules.ts";
import { type EncodedObjects, ObjectEncoder, type VersionedObjects } from "./object-encoder.ts";
import type { AdmissionSources, EquivalentKind, TargetKind } from "./sources.ts";

/** A connection holds the bytes that are sent twice, plain and encrypted. */
const sentBytesMax = 8 << 20;

export class ReviewedRequest {
  readonly request: AdmissionRequest;
  readonly sources: AdmissionSources;
  readonly old: JsonObject | null;
  readonly asRequested: Match & { readonly equivalent: undefined };
  readonly matchedOperation: MatchedOperation;
  /** The namespace of the object; a Namespace has its own name. */
  readonly namespace: string;
  readonly decisions: AuthorizerDecisions;
  /** Counts the bytes of the responses of webhooks. */
  readonly answers = new WorkBudget(workBounds.admissionAnswers);
  /** Counts what the JSON patches of policies and webhooks copy and shift. */
  readonly patching = new JsonPatchBudget();
  /** Limits the bytes that are sent to webhooks at a time. */
  readonly sending = new ByteGate(sentBytesMax);
  #object: JsonObject | null;
  #namespace: JsonObject | null | undefined;
  #equivalents: Promise<readonly EquivalentKind[]> | undefined;
  readonly #described = new Map<TargetKind, JsonObject>();
  readonly #versioned = new Map<EquivalentKind, VersionedObjects>();
  readonly #reviews = new WorkBudget(workBounds.admissionReviews);
  readonly #encoders = new Map<TargetKind, ObjectEncoder>();

  constructor(
    request: AdmissionRequest,
    object: JsonObject | null,
    old: JsonObject | null,
    sources: AdmissionSources,
  ) {
    const { group, version, resource, kind, operation, subresource, name } = request;
    const isNamespace = group === "" && resource === "namespaces";
    this.request = request;
    this.sources = sources;
    this.old = old;
    this.#object = object;
    this.namespace = isNamespace && operation !== "CREATE" ? name : request.namespace;
    this.asRequested = { kind: { group, version, resource, kind }, equivalent: undefined };
    this.matchedOperation = {
      operation,
      subresource,
      name,
      isNamespaced: request.namespace !== "",
    };
    this.decisions = new AuthorizerDecisions(request, sources);
  }

  get object(): JsonObject | null {
    return this.#object;
  }

  /** Replaces the object after a mutation. */
  set object(object: JsonObject) {
    this.#object = object;
    this.#versioned.clear();
  }

  /** Null for cluster-scoped objects. */
  async namespaceObject(): Promise<JsonObject | null> {
    if (this.#namespace === undefined) {
      const { cluster } = this.request;
      this.#namespace =
        this.namespace === ""
          ? null
          : ((await this.sources.namespace(cluster, this.namespace)) ?? null);
    }
    return this.#namespace;
  }

  equivalents(): Promise<readonly EquivalentKind[]> {
    this.#equivalents ??= this.sources.equivalents(this.request);
    return this.#equivalents;
  }

  async versionedAs({ equivalent }: Match): Promise<VersionedObjects> {
    const { object, old } = this;
    if (equivalent === undefined) return { object, old };
    let shown = this.#versioned.get(equivalent);
    if (shown === undefined) {
      shown = {
        object: object === null ? null : await equivalent.convert(object),
        old: old === null ? null : await equivalent.convert(old),
      };
      this.#versioned.set(equivalent, shown);
    }
    return shown;
  }

  /** The objects of an AdmissionReview as JSON; webhooks that receive the same kind share them. */
  encodedObjects(match: Match): Promise<EncodedObjects> {
    let encoder = this.#encoders.get(match.kind);
    if (encoder === undefined) {
      encoder = new ObjectEncoder(this.#reviews);
      this.#encoders.set(match.kind, encoder);
    }
    return encoder.encode(this.#object, () => this.versionedAs(match));
  }

  /** The fields of an AdmissionReview's request, without the objects. */
  describe({ kind }: Match): JsonObject {
    let described = this.#described.get(kind);
    if (described === undefined) {
      described = this.#describe(kind);
      this.#described.set(kind, described);
    }
    return described;
  }

  #describe(kind: TargetKind): JsonObject {
    const { request } = this;
    const asked = this.asRequested.kind;
    const { subresource } = request;
    const sub = subresource === "" ? {} : { subResource: subresource };
    const requestSub = subresource === "" ? {} : { requestSubResource: subresource };
    return {
      kind: kind === asked ? { ...request.gvk } : gvk(kind),
      resource: gvr(kind),
      ...sub,
      requestKind: { ...request.gvk },
      requestResource: gvr(asked),
      ...requestSub,
      ...nameOf(request, this.#object),
      ...(this.namespace === "" ? {} : { namespace: this.namespace }),
      operation: request.operation,
      userInfo: userInfo(request),
      dryRun: request.isDryRun,
      options: request.operation === "CONNECT" ? null : request.options,
    };
  }
}

/** A generated name is only known from the object. */
function nameOf({ name }: AdmissionRequest, object: JsonObject | null): JsonObject {
  if (name !== "") return { name };
  const { metadata } = object ?? {};
  const generated = isJsonObject(metadata) ? metadata["name"] : undefined;
  return typeof generated === "string" && generated !== "" ? { name: generated } : {};
}

function gvk({ group, version, kind }: TargetKind): JsonObject {
  return { group, version, kind };
}

function gvr({ group, version, resource }: TargetKind): JsonObject {
  return { group, version, resource };
}

function userInfo({ user }: AdmissionRequest): JsonObject {
  const { username, uid, groups, extra } = user;
  return {
    username,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    groups: groups as JsonValue,
    ...(extra === undefined ? {} : { extra: extra as unknown as JsonObject }),
  };
}

/** A namespace as expressions see it. */
export function namespaceValue(namespace: JsonObject | null): JsonObject | null {
  if (namespace === null || !isJsonObject(namespace["metadata"])) return namespace;
  const { managedFields: _m, ownerReferences: _o, ...metadata } = namespace["metadata"];
  return { ...namespace, metadata };
}
