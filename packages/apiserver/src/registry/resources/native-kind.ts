/**
 * A native kind: a kind that Kubernetes builds in, with a spec that users write, a status that
 * controllers write, and the particulars of the kind.
 *
 * A NativeKind is data. A simulated cluster serves it as one of its built-in resources; a logical
 * cluster serves it while a definition names it (ADR 0083). Both add to it, or narrow its shape,
 * by copying the data.
 */
import { bounds } from "@kcp-ts/machinery/bounds";
import { hasAtMost, isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors, type NameErrors } from "@kcp-ts/machinery/names";
import {
  type Decoded,
  decodeShape,
  decodeShapeResumable,
  type MessageShape,
} from "@kcp-ts/machinery/shape";
import { type FieldError, statusError } from "@kcp-ts/machinery/status";
import { isSystemMaster } from "../../request/user.ts";
import { mutableMemberIfPresent } from "../mutable-members.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Draft, Strategy, SubresourceStrategy, WriteContext } from "../strategy.ts";
import { workloadPrinter } from "./printers/workload-printers.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  nameCell,
  nameColumn,
  objectIn,
  restoreMembers,
  startGeneration,
} from "./standard.ts";

export interface NativeKind {
  readonly group: string;
  /** `v1` if omitted. */
  readonly version?: string;
  readonly kind: string;
  readonly resource: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly isNamespaced?: boolean;
  readonly shape: MessageShape;
  /** The shape lacks fields that the defaults may set: they are dropped again. */
  readonly isNarrowed?: boolean;
  /** False for kinds without a status subresource. */
  readonly hasStatus?: boolean;
  /** False for kinds without metadata.generation. */
  readonly hasGeneration?: boolean;
  readonly nameErrors?: NameErrors;
  /** Sent with every response. */
  readonly warnings?: readonly string[];
  /** Sent for a valid object; `old` is set for an update. */
  readonly objectWarnings?: (object: JsonObject, old?: JsonObject) => string[];
  /**
   * Sets defaults for omitted fields; must not change existing fields. Runs when a body is decoded,
   * so that admission sees the defaults.
   */
  readonly setDefaults?: (draft: Draft) => void;
  /** Sets further fields of a new object. */
  readonly prepareNew?: (draft: Draft) => void;
  /** Sets further fields of an updated object. */
  readonly prepareUpdated?: (draft: Draft, old: JsonObject) => void;
  /** Sets fields of a status that are served even when they are empty, as Go serializes them. */
  readonly completeStatus?: (status: Draft, old: JsonObject) => void;
  /** Restores metadata that a write of the status may not change. */
  readonly restoreStatusMetadata?: (metadata: Draft, old: JsonObject) => void;
  /** `old` is set for an update: a rule may allow what was allowed before. */
  readonly validate?: (object: JsonObject, old?: JsonObject) => FieldError[];
  readonly validateUpdate?: (updated: JsonObject, old: JsonObject) => FieldError[];
  readonly validateStatus?: (updated: JsonObject, old: JsonObject) => FieldError[];
  readonly subresources?: readonly (readonly [string, SubresourceStrategy])[];
  readonly strategy?: Partial<Strategy>;
  /** Set for a version that is stored as another one. */
  readonly storage?: Pick<ResourceDefinition, "storageVersion" | "codec">;
}

export function nativeDefinition(options: NativeKind): ResourceDefinition {
  const { kind, shape, hasStatus = true, hasGeneration = true, isNamespaced = true } = options;
  const { prepareNew, validate = () => [] } = options;
  const printer = workloadPrinter(options.group, kind);
  const { withDefaults, prune } = completionOf(options);
  return builtIn({
    group: options.group,
    version: options.version ?? "v1",
    resource: options.resource,
    singular: kind.toLowerCase(),
    kind,
    isNamespaced,
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    subresources: new Map([
      ...(hasStatus ? [["status", statusEndpoint(options)] as const] : []),
      ...(options.subresources ?? []),
    ]),
    ...options.storage,
    warnings: options.warnings,
    strategy: {
      ...baseStrategy,
      nameErrors: options.nameErrors ?? dnsSubdomainErrors,
      shape,
      allowsUnconditionalUpdate: true,
      decode: (value) => withDefaults(decodeShape(shape, value)),
      *decodeResumable(value) {
        return withDefaults(yield* decodeShapeResumable(shape, value));
      },
      prepareForCreate(draft) {
        // Go has statuses by value: every object has one.
        if (hasStatus) draft["status"] = {};
        if (hasGeneration) startGeneration(draft);
        prepareNew?.(draft);
        prune(draft);
      },
      prepareForUpdate(draft, old) {
        if (hasStatus) restoreMembers(draft, old, "status");
        options.prepareUpdated?.(draft, old);
      },
      validate(object, context) {
        if (isAcceptedCopy(object, context)) return [];
        checkValueCount(object);
        return validate(object);
      },
      validateUpdate(updated, old, context) {
        if (isAcceptedCopy(old, context)) return [];
        checkValueCount(updated);
        return [...validate(updated, old), ...(options.validateUpdate?.(updated, old) ?? [])];
      },
      ...(options.objectWarnings === undefined ? {} : { warnings: options.objectWarnings }),
      columns: [nameColumn, ...(printer?.columns ?? [ageColumn])],
      cells: (object, nowMs) => [
        nameCell(object),
        ...(printer?.cells(object, nowMs) ?? [ageCell(object, nowMs)]),
      ],
      ...options.strategy,
    },
  });
}

/** Defaults of what was decoded, and the fields that a narrowed shape leaves. */
function completionOf(options: NativeKind) {
  const { kind, shape, setDefaults } = options;
  const withDefaults = ({ value, unknownFields }: Decoded): Decoded => {
    // What follows takes one turn of the event loop each: defaults, rules, comparisons.
    if (!hasAtMost(bounds.nativeObject.valuesMax, value))
      throw statusError.tooLarge(`limit is ${bounds.nativeObject.valuesMax} values of a ${kind}`);
    setDefaults?.(value as Draft);
    return options.isNarrowed === true
      ? { value: decodeShape(shape, value as JsonObject).value, unknownFields }
      : { value, unknownFields };
  };
  const prune = (draft: Draft) => {
    if (options.isNarrowed !== true) return;
    const { value } = decodeShape(shape, draft);
    for (const member of Object.keys(draft))
      if (!isJsonObject(value) || value[member] === undefined) delete draft[member];
    Object.assign(draft, value);
  };
  return { withDefaults, prune };
}

/** Changes the status, and metadata as far as the kind permits it; the rest may be omitted. */
function statusEndpoint(options: NativeKind): SubresourceStrategy {
  const { completeStatus, restoreStatusMetadata, validateStatus = () => [] } = options;
  return {
    verbs: ["get", "patch", "update"],
    prepareForUpdate(draft, old) {
      for (const member of new Set([...Object.keys(draft), ...Object.keys(old)]))
        if (member !== "metadata" && member !== "status") restoreMembers(draft, old, member);
      restoreStatusMetadata?.(draft["metadata"] as Draft, old);
      const own = completeStatus && mutableMemberIfPresent(draft, "status");
      if (own !== undefined) completeStatus?.(own, old);
    },
    validateUpdate: (updated, old, context) =>
      isAcceptedCopy(old, context) ? [] : validateStatus(updated, old),
  };
}

/** For kinds whose status is written without any change of the metadata. */
export function restoreAllMetadata(metadata: Draft, old: JsonObject): void {
  for (const member of ["labels", "annotations", "finalizers", "ownerReferences"])
    restoreMembers(metadata, objectIn(old, "metadata"), member);
}

/**
 * Values of an object with its defaults, and without its metadata: rules look at all of them in one
 * turn of the event loop.
 */
const defaultedValuesMax = 30_000;

function checkValueCount({ metadata: _, ...object }: JsonObject): void {
  if (!hasAtMost(defaultedValuesMax, object))
    throw statusError.tooLarge(`limit is ${defaultedValuesMax} values with defaults`);
}

const copyLabelPrefix = "state.workload.kcp.io/";
const copyState = "Upsync";

/**
 * Whether the writer is the syncer of the physical cluster that the object is a copy from: the copy
 * is stored as the cluster has it. Every other write of a copy is validated, because clients choose
 * the labels of their objects.
 */
function isAcceptedCopy({ metadata }: JsonObject, context: WriteContext | undefined): boolean {
  const labels = isJsonObject(metadata) ? metadata["labels"] : undefined;
  if (context === undefined || !isJsonObject(labels as JsonValue)) return false;
  const states = Object.entries(labels as JsonObject);
  const { copyLabel, user } = context;
  if (copyLabel !== undefined)
    return states.some(([label, state]) => label === copyLabel && state === copyState);
  // The server's own control loops write copies of all clusters.
  if (user === undefined || !isSystemMaster(user)) return false;
  return states.some(([label, state]) => state === copyState && label.startsWith(copyLabelPrefix));
}
