/**
 * A strategy: one resource's own rules. Adding a resource means writing a strategy.
 *
 * The order is Kubernetes': prepareForCreate → validate → canonicalize, and the same for updates. A
 * strategy is pure: it reads neither the store nor the clock.
 */
import type { FieldSet, TypeSchema } from "@kcp-ts/machinery/apply";
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { WorkBudget } from "@kcp-ts/machinery/bounds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { PatchSchema } from "@kcp-ts/machinery/patch";
import type { Decoded, MessageShape } from "@kcp-ts/machinery/shape";
import type { FieldError } from "@kcp-ts/machinery/status";
import type { TableColumn } from "@kcp-ts/machinery/table";
import type { ApiResponse, HeaderRecord } from "../request/api-request.ts";
import type { ResourceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";

/** A mutable object before it is stored. */
export type Draft = { [member: string]: JsonValue };

/** The context of a request for a strategy, besides the object. */
export interface WriteContext {
  readonly nowMs: number;
  /** The user of the write; undefined for the server's own writes. */
  readonly user: UserInfo | undefined;
  /**
   * In the view of one physical cluster: objects with this label are copies of objects that the
   * cluster has accepted. The connection proves it, and the object does not.
   */
  readonly copyLabel?: string;
}

export interface Strategy {
  readonly shape: MessageShape;

  /** The schema for apply; by default it follows from the shape. */
  readonly applyType?: TypeSchema;

  /** The strategy adds fields to the sent object, which the sender does not own. */
  readonly ownsOnlySentFields?: boolean;

  /**
   * Decodes a body when the shape alone cannot; throws ShapeError. Custom kinds have a protobuf
   * encoding only through `protobufShape`.
   */
  readonly decode?: (value: JsonObject) => Decoded;

  /** Decodes a large body while yielding to the event loop. */
  readonly decodeResumable?: (value: JsonObject) => Resumable<Decoded>;

  /**
   * The shape that decodes protobuf bodies before `decode`; undefined without protobuf support.
   * Called only for protobuf bodies.
   */
  readonly protobufShape?: () => MessageShape | undefined;

  /**
   * Performs expensive parts of `validate` or `validateUpdate` of this draft in advance, while
   * yielding to the event loop; both reuse the results. Undefined when validation is cheap.
   */
  readonly prevalidate?: (
    draft: Draft,
    old: JsonObject | undefined,
    address: { readonly namespace: string },
  ) => Promise<void> | undefined;

  /**
   * The schema of strategic merge patches where the shape does not have it; "none" where they are
   * not supported.
   */
  readonly patchRules?: PatchSchema | "none";

  /**
   * Warnings for the sender of a valid object through the main endpoint; `old` is set for an
   * update.
   */
  readonly warnings?: (object: JsonObject, old?: JsonObject) => string[];
  /**
   * Whether the writes of a manager are recorded in managedFields; all are if omitted. For kinds
   * that a controller of the same process writes in great numbers.
   */
  readonly recordsFieldManager?: (manager: string) => boolean;
  /** Fields that the main endpoint does not change, so that its writers do not own them. */
  readonly resetFields?: FieldSet;

  /** The reasons why a name is invalid; empty when it is valid. `isPrefix` for generateName. */
  nameErrors(name: string, options?: { readonly isPrefix?: boolean }): string[];

  /** Drops fields that clients may not set, sets defaults. Metadata is already prepared. */
  prepareForCreate(draft: Draft, context: WriteContext): void;

  /** Without a context no writer is trusted. */
  validate(object: JsonObject, context?: WriteContext): ValidationResult;

  /** Restores the fields that this endpoint may not change. */
  prepareForUpdate(draft: Draft, old: JsonObject, context: WriteContext): void;

  validateUpdate(updated: JsonObject, old: JsonObject, context?: WriteContext): ValidationResult;

  /** Sets derived members, after everything else: labels that follow the name. */
  canonicalize?(draft: Draft): void;

  /** Changes the object when its deletion begins: a namespace becomes Terminating. */
  prepareForDelete?(draft: Draft): void;

  /** Whether another field than `metadata.finalizers` prevents the removal of the object. */
  isRemovalBlocked?(object: JsonObject): boolean;

  /**
   * The grace period in seconds before the object may be removed: Pods are stopped first. The
   * client's value may be undefined. Such an object is marked as deleted, and removed by another
   * delete with zero seconds.
   */
  gracePeriodSeconds?(object: JsonObject, asked: number | undefined): number;

  /** The reason why this object may never be deleted: the message of a 403. */
  deletionForbidden?(name: string): string | undefined;

  /** The reason why an object may not be deleted, where that depends on more than its name. */
  deletionRefusal?(object: JsonObject): string | undefined;

  /** Whether finalizers need no domain, as on custom kinds. */
  readonly allowsUnqualifiedFinalizers?: boolean;

  /** Whether an update without resourceVersion is last-write-wins rather than an error. */
  readonly allowsUnconditionalUpdate: boolean;

  /** Whether a PUT of a missing object creates it. */
  readonly allowsCreateOnUpdate: boolean;

  /** Whether DELETE responds with the object rather than with a Status. */
  readonly returnsDeletedObject: boolean;

  /** Fields beyond name and namespace that a field selector may use. */
  readonly selectableFields: ReadonlyMap<string, (object: JsonObject) => string>;

  /**
   * Those of them whose value, unless empty, is a verbatim string in the stored object: a selector
   * can exclude objects without parsing.
   */
  readonly verbatimFields?: ReadonlySet<string>;

  readonly columns: readonly TableColumn[];

  /**
   * The cells of one row, Name first. Columns of a CRD charge the budget, and are empty when it is
   * spent.
   */
  cells(object: JsonObject, nowMs: number, budget?: WorkBudget): JsonValue[];
}

/**
 * The validation errors, at once or, where validation may take long, as a Resumable: the caller
 * runs the first step, and yields to the event loop before each further one.
 */
export type ValidationResult = FieldError[] | Resumable<FieldError[]>;

/** Runs a validation synchronously: for kinds with small objects. */
export function runValidation(validationResult: ValidationResult): FieldError[] {
  return Array.isArray(validationResult) ? validationResult : runSync(validationResult);
}

/** The rules of a subresource such as `status` that differ; the object stays the same. */
export interface SubresourceStrategy {
  readonly verbs: readonly string[];
  /** Set when clients of the subresource see another kind than the object's own. */
  readonly view?: SubresourceView;
  /**
   * Set when the subresource stores nothing: a posted object is answered by an object of this kind.
   */
  readonly action?: SubresourceKind;
  readonly resetFields?: FieldSet;
  /**
   * Set when the subresource is an action rather than an object: logs, evictions. It passes all
   * stages, like other requests.
   */
  readonly connect?: (call: ConnectRequest) => ApiResponse | Promise<ApiResponse>;
  /** The target of admission before `connect`; absent where data is only read, as with logs. */
  readonly admissionTarget?: AdmissionTarget;
  /** As that of the main resource. */
  readonly prevalidate?: Strategy["prevalidate"];
  /** The errors of an update as sent, before admission. */
  validateSent?(sent: JsonObject, old: JsonObject): readonly FieldError[];
  prepareForUpdate(draft: Draft, old: JsonObject, context: WriteContext): void;
  validateUpdate(updated: JsonObject, old: JsonObject, context?: WriteContext): ValidationResult;
}

/** The object of admission for a subresource that responds by itself. */
export interface AdmissionTarget {
  /** `CONNECT`, for any method: options from the query. `CREATE`: a posted object. */
  readonly operation: "CONNECT" | "CREATE";
  readonly kind: SubresourceKind;
}

/** A request to a subresource that responds by itself. */
export interface ConnectRequest {
  readonly verb: string;
  readonly scope: ResourceScope;
  readonly headers: HeaderRecord;
  /** The stored object. */
  readonly object: JsonObject;
  /** With admitted options exactly these: the request is executed as it was admitted. */
  readonly query: URLSearchParams;
  readonly user: UserInfo;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** The body as sent, up to the maximal size of objects. */
  bytes(): Promise<Uint8Array>;
  /**
   * The body as an object of that kind, after mutating admission where it applies; a 400 for
   * another kind.
   */
  body(kind: SubresourceKind): Promise<JsonObject>;
  /**
   * Changes the object under the rules of the subresource; `build` is called again after a
   * conflict.
   */
  update(build: (present: JsonObject) => Draft): Promise<JsonObject>;
  /**
   * Runs admission for a change of the object that another component stores; returns the mutated
   * object, or throws the denial.
   */
  admitChange(wanted: JsonObject): Promise<JsonObject>;
}

/**
 * A subresource with a kind of its own, such as Scale: a small object that is computed from the
 * stored one, and written back into it.
 */
export interface SubresourceView extends SubresourceKind {
  /**
   * The view of the object, for reading or as the base of a change; throws a StatusError when there
   * is none.
   */
  read(object: JsonObject, purpose?: "show" | "change"): JsonObject;
  /** The object with the values of the view; throws a StatusError when they are invalid. */
  write(object: JsonObject, view: JsonObject): JsonObject;
}

export interface SubresourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly shape: MessageShape;
}
