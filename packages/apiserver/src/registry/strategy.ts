/**
 * A strategy: one resource's own rules. Adding a resource is writing one of these.
 *
 * The order is Kubernetes': prepareForCreate → validate → canonicalize, and the same for updates. A strategy is pure: it neither
 * reads storage nor the clock beyond what it is handed.
 */
import type { FieldSet, TypeSchema } from "@kcp-ts/machinery/apply";
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { WorkBudget } from "@kcp-ts/machinery/bounds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { PatchSchema } from "@kcp-ts/machinery/patch";
import type { Decoded, MessageShape } from "@kcp-ts/machinery/shape";
import type { FieldError } from "@kcp-ts/machinery/status";
import type { TableColumn } from "@kcp-ts/machinery/table";
import type { ApiResponse, HeaderRecord, MaybePromise } from "../request/api-request.ts";
import type { ResourceScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";

/** An object on its way in: ours to change until it is stored. */
export type Draft = { [member: string]: JsonValue };

/** What a strategy may know of the request besides the object. */
export interface WriteContext {
  readonly nowMs: number;
  /** Who writes; undefined when the server itself does. */
  readonly user: UserInfo | undefined;
}

export interface Strategy {
  readonly shape: MessageShape;

  /** How apply sees the kind; by default it follows from the shape. */
  readonly applyType?: TypeSchema;

  /** Its own rules add to what is sent, and the sender does not come to own that. */
  readonly isOwnedAsSent?: boolean;

  /** Reads a body when the shape alone cannot; throws ShapeError. Custom kinds have no protobuf form but by `protobufShape`. */
  readonly decode?: (value: JsonObject) => Decoded;

  /** The same for a large body, where it takes more than one turn of the event loop should. */
  readonly decodeInPieces?: (value: JsonObject) => Resumable<Decoded>;

  /** By what the protobuf of clients is read before `decode` sees it; undefined where clients have none. Asked only when protobuf comes. */
  readonly protobufShape?: () => Promise<MessageShape | undefined>;

  /**
   * Does ahead, and in pieces with turns for others between them, what `validate` or `validateUpdate` of this draft would take long for; they find it
   * done then. Undefined when it takes no time worth waiting for.
   */
  readonly judgeAhead?: (
    draft: Draft,
    old: JsonObject | undefined,
    address: { readonly namespace: string },
  ) => Promise<void> | undefined;

  /** How strategic merge patches apply where the shape does not say; "none" where they are not accepted. */
  readonly patchRules?: PatchSchema | "none";

  /** What the sender of an acceptable object is told. */
  readonly warnings?: (object: JsonObject) => string[];
  /** Whose writes are recorded as owners of fields; everybody's if left out. For kinds that a program of the same process writes in great numbers. */
  readonly recordsOwner?: (manager: string) => boolean;
  /** Fields that the main endpoint does not let anybody change, so that nobody comes to own them through it. */
  readonly resetFields?: FieldSet;

  /** Why a name is not acceptable; empty when it is. `isPrefix` for generateName. */
  nameErrors(name: string, options?: { readonly isPrefix?: boolean }): string[];

  /** Drops what a client may not set, fills in defaults. Metadata is already in order. */
  prepareForCreate(draft: Draft, context: WriteContext): void;

  validate(object: JsonObject): ValidationResult;

  /** Puts back what this endpoint may not change. */
  prepareForUpdate(draft: Draft, old: JsonObject, context: WriteContext): void;

  validateUpdate(updated: JsonObject, old: JsonObject): ValidationResult;

  /** Derived members, after everything else: labels that follow the name. */
  canonicalize?(draft: Draft): void;

  /** Marks the object when its deletion begins: a namespace becomes Terminating. */
  prepareForDelete?(draft: Draft): void;

  /** Whether something besides `metadata.finalizers` holds the object back from removal. */
  isHeldBack?(object: JsonObject): boolean;

  /**
   * Seconds that the object has before it may be removed, where deletion takes time: Pods are stopped first. What the client asks for may be
   * undefined. Such an object is marked, and goes when it is deleted again with zero seconds.
   */
  gracePeriodSeconds?(object: JsonObject, asked: number | undefined): number;

  /** Why this object may not be deleted at all: a 403's text. */
  deletionForbidden?(name: string): string | undefined;

  /** The same of one that was looked at, where that depends on more than its name. */
  deletionRefusal?(object: JsonObject): string | undefined;

  /** Whether finalizers need no domain, as on custom kinds. */
  readonly allowsPlainFinalizers?: boolean;

  /** Whether an update without resourceVersion is last-write-wins rather than an error. */
  readonly allowsUnconditionalUpdate: boolean;

  /** Whether a PUT of a missing object creates it. */
  readonly allowsCreateOnUpdate: boolean;

  /** Whether DELETE answers with the object rather than with a Status. */
  readonly returnsDeletedObject: boolean;

  /** Fields beyond name and namespace that a field selector may use. */
  readonly selectableFields: ReadonlyMap<string, (object: JsonObject) => string>;

  /** Those of them whose value, unless empty, stands in the stored object as a string, as it is: a selector need not parse to exclude. */
  readonly verbatimFields?: ReadonlySet<string>;

  readonly columns: readonly TableColumn[];

  /** The cells of one row, Name first. Columns that a tenant wrote charge the budget, and are empty when it is spent. */
  cells(object: JsonObject, nowMs: number, budget?: WorkBudget): JsonValue[];
}

/** What is wrong, at once or, where finding out may take long, in pieces: whoever asks does the first one, and lets others have their turn before each further. */
export type ValidationResult = FieldError[] | Resumable<FieldError[]>;

/** All of it at once: for kinds whose objects are small. */
export function runValidation(verdict: ValidationResult): FieldError[] {
  return Array.isArray(verdict) ? verdict : runSync(verdict);
}

/** What a subresource such as `status` changes about the rules; the object stays the same. */
export interface SubresourceStrategy {
  readonly verbs: readonly string[];
  /** Set when clients of the subresource see another kind than the object's own. */
  readonly view?: SubresourceView;
  /** Set when the subresource stores nothing: what is posted to it is answered by an object of this kind. */
  readonly action?: SubresourceKind;
  readonly resetFields?: FieldSet;
  /** Set when the subresource is something to do rather than something to read: logs, evictions. Behind every gate, like all others. */
  readonly connect?: (call: ConnectRequest) => MaybePromise<ApiResponse>;
  /** What admission is asked before `connect`; nothing where something is only shown, as logs are. */
  readonly admitted?: AdmissionTarget;
  /** What is wrong with an update as it was sent, before admission is asked about it. */
  validateSent?(sent: JsonObject, old: JsonObject): readonly FieldError[];
  prepareForUpdate(draft: Draft, old: JsonObject, context: WriteContext): void;
  validateUpdate(updated: JsonObject, old: JsonObject): ValidationResult;
}

/** What admission is shown of a request to a subresource that answers by itself. */
export interface AdmissionTarget {
  /** `CONNECT`, whatever the method: options that the query says. `CREATE`: an object that is posted. */
  readonly operation: "CONNECT" | "CREATE";
  readonly kind: SubresourceKind;
}

/** A request to a subresource that answers by itself. */
export interface ConnectRequest {
  readonly verb: string;
  readonly scope: ResourceScope;
  readonly headers: HeaderRecord;
  /** As it is stored. */
  readonly object: JsonObject;
  /** Where it makes options that admission was asked about, those and nothing else: what was judged is what is done. */
  readonly query: URLSearchParams;
  readonly user: UserInfo;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** The body as it was sent, up to the size that objects may have. */
  bytes(): Promise<Uint8Array>;
  /** The body as an object of that kind, and as admission left it where it was asked about it; a 400 when it is another. */
  body(kind: SubresourceKind): Promise<JsonObject>;
  /** Changes the object under the rules of the subresource; `build` is called again when somebody else was faster. */
  update(build: (present: JsonObject) => Draft): Promise<JsonObject>;
  /** Asks admission about a change of the object that is made elsewhere; what it lets the object become, or its refusal. */
  admitChange(wanted: JsonObject): Promise<JsonObject>;
}

/** A subresource that is a kind of its own, such as Scale: a small object made from the stored one, and written back into it. */
export interface SubresourceView extends SubresourceKind {
  /** The object as the subresource shows it, or as a change starts from it; throws a StatusError when it cannot be shown. */
  read(object: JsonObject, purpose?: "show" | "change"): JsonObject;
  /** The object with what the subresource says; throws a StatusError when that is not acceptable. */
  write(object: JsonObject, view: JsonObject): JsonObject;
}

export interface SubresourceKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly shape: MessageShape;
}
