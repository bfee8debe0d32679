/** AdmissionRequest of a write: the write as admission plugins see it. */
import type { TypeSchema } from "@kcp-ts/machinery/apply";
import { runYielding } from "@kcp-ts/machinery/base";
import { cloneJson, cloneResumable, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { applyTypeOf } from "@kcp-ts/machinery/shape";
import { statusError } from "@kcp-ts/machinery/status";
import type {
  AdmissionRequest,
  GroupVersionKind,
  MutableObject,
  ObjectDecoder,
  Operation,
} from "../admission/index.ts";
import type { BuildObject, ResourceDefinition, Validator, WriteResult } from "../registry/index.ts";
import type { ServiceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { checkValueCount, decodeDraft, decodeLargeDraft, isLargeObject } from "./decode-object.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";

interface Address {
  readonly namespace: string;
  readonly name: string;
}

/** Attributes of the admission request that the scope does not contain. */
interface AdmissionDetails {
  /** The namespace and name of the object, when the path does not contain them. */
  readonly address?: Address;
  /** Set when the subresource is a kind of its own. */
  readonly view?: GroupVersionKind & { readonly codec: ObjectDecoder };
  /** DeleteOptions, which the body contains. */
  readonly options?: JsonObject;
}

/** A class with lazy members: attributes that plugins rarely read are only computed on demand. */
export class HandlerAdmissionRequest implements AdmissionRequest {
  readonly operation: Operation;
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly service: ServiceScope | undefined;
  readonly isDryRun: boolean;
  sent: MutableObject | undefined;
  /** The admission request of this write as a CREATE, if the object was missing in some attempt. */
  created: AdmissionRequest | undefined;
  readonly #handled: HandlerRequest;
  readonly #details: AdmissionDetails;

  /** Throws when the subresource rejects the object that was sent. */
  checkSent(sent: JsonObject, old: JsonObject): void {
    if (this.subresource === "") return;
    const { definition } = this.#handled;
    const strategy = definition.subresources.get(this.subresource);
    const errors = strategy?.validateSent?.(sent, old) ?? [];
    if (errors.length > 0) throw statusError.invalid(definition, this.name, errors);
  }

  constructor(
    handled: HandlerRequest,
    operation: Operation,
    isDryRun: boolean,
    details: AdmissionDetails = {},
  ) {
    const { scope, definition } = handled;
    const { address = scope, view } = details;
    this.#handled = handled;
    this.#details = details;
    this.operation = operation;
    this.cluster = requireSingleCluster(scope);
    this.group = definition.group;
    this.version = definition.version;
    this.resource = definition.resource;
    this.kind = view === undefined ? definition.kind : view.kind;
    this.subresource = scope.subresource;
    this.namespace = definition.isNamespaced ? address.namespace : "";
    this.name = address.name;
    this.user = handled.user;
    this.service = scope.service;
    this.isDryRun = isDryRun;
  }

  get gvk(): GroupVersionKind {
    const { group, version, kind } = this.#details.view ?? this.#handled.definition;
    return { group, version, kind };
  }

  get signal(): AbortSignal {
    return this.#handled.signal;
  }

  get decoder(): ObjectDecoder {
    return this.#details.view?.codec ?? new DefinitionDecoder(this.#handled.definition);
  }

  get options(): JsonObject {
    return this.#details.options ?? optionsOf(this.operation, this.#handled.scope.query);
  }

  warn(text: string): void {
    this.#handled.warnings.push(text);
  }

  annotate(key: string, value: string, level?: "Metadata" | "Request"): void {
    this.#handled.annotate(key, value, level);
  }

  /**
   * The same write as a CREATE, when there is no object to update; the identical request in every
   * attempt.
   */
  asCreate(): AdmissionRequest {
    this.created ??= new HandlerAdmissionRequest(
      this.#handled,
      "CREATE",
      this.isDryRun,
      this.#details,
    );
    return this.created;
  }
}

export class DefinitionDecoder implements ObjectDecoder {
  readonly #definition: ResourceDefinition;

  constructor(definition: ResourceDefinition) {
    this.#definition = definition;
  }

  async decode(value: JsonObject, how?: "strictly"): Promise<MutableObject> {
    const isStrict = how === "strictly" && !this.#definition.itemsCarryKind;
    const fieldValidation = isStrict ? "Strict" : "Ignore";
    const options = { isDryRun: false, fieldValidation, fieldManager: "" } as const;
    const body = { value, duplicates: [] };
    const isLarge = isLargeObject(value);
    if (isLarge) checkValueCount(value);
    const decode = isLarge ? decodeLargeDraft : decodeDraft;
    return await decode(this.#definition, body, options, [], statusError.badRequest);
  }

  get applyType(): TypeSchema {
    const { applyType, shape } = this.#definition.strategy;
    return applyType ?? applyTypeOf(shape);
  }
}

const optionKinds = { CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions" };

function optionsOf(operation: Operation, query: URLSearchParams): JsonObject {
  if (operation === "CONNECT") return {};
  const dryRun = query.getAll("dryRun").filter((each) => each !== "");
  const { fieldManager, fieldValidation } = Object.fromEntries(query) as Record<string, string>;
  return {
    kind: optionKinds[operation],
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...(fieldManager ? { fieldManager } : {}),
    ...(fieldValidation ? { fieldValidation } : {}),
  };
}

/**
 * Wraps a build with mutating admission. Plugins get a copy of the object in each attempt, because
 * a build may return an object that it keeps. An update that turns out to create its object is
 * admitted as CREATE.
 */
export function withMutatingAdmission(
  { admission, authorizeVerb }: HandlerDependencies,
  request: AdmissionRequest,
  build: BuildObject,
): BuildObject {
  return async (old) => {
    const present = effectiveRequest(request, old);
    request.sent = undefined;
    present.sent = undefined;
    if (present !== request) {
      await authorizeVerb(present, "create");
      await admission.admit(present);
    }
    const wanted = await build(old);
    if (old !== undefined && present instanceof HandlerAdmissionRequest)
      present.checkSent(wanted, old);
    if (!admission.mutates(present, wanted)) return wanted;
    const draft = isLargeObject(wanted)
      ? await runYielding(cloneResumable<MutableObject>(wanted))
      : cloneJson<MutableObject>(wanted);
    await admission.mutate(present, draft, old);
    request.sent = present.sent;
    return draft;
  };
}

/** Validating admission in the form that the registry calls. */
export function validatingAdmission(
  { admission }: HandlerDependencies,
  request: AdmissionRequest,
): Validator {
  return (object, old) => admission.validate(effectiveRequest(request, old), object, old);
}

/** Stores the admitted object. A write that fails is rolled back: its quota is released. */
export async function storeAdmitted(
  { admission }: HandlerDependencies,
  request: AdmissionRequest,
  store: () => Promise<WriteResult>,
): Promise<WriteResult> {
  let outcome: WriteResult["outcome"] | undefined;
  try {
    const written = await store();
    outcome = written.outcome;
    return written;
  } finally {
    const creation =
      request instanceof HandlerAdmissionRequest ? (request.created ?? request) : request;
    const isStored =
      creation.operation === "CREATE" ? outcome === "created" : outcome !== undefined;
    if (!isStored) await admission.rollback(creation);
    if (outcome === undefined && creation !== request) await admission.rollback(request);
  }
}

function effectiveRequest(
  request: AdmissionRequest,
  old: JsonObject | undefined,
): AdmissionRequest {
  return old === undefined &&
    request.operation === "UPDATE" &&
    request instanceof HandlerAdmissionRequest
    ? request.asCreate()
    : request;
}
