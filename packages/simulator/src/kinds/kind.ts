/**
 * The definition of a workload kind in a few lines: a spec that users write, a status that
 * controllers write, and the particulars of the kind.
 */
import {
  baseStrategy,
  builtIn,
  type Draft,
  mutableMemberIfPresent,
  nameCell,
  nameColumn,
  type ResourceDefinition,
  restoreMembers,
  type Strategy,
  type SubresourceStrategy,
  startGeneration,
  workloadPrinter,
} from "@kcp-ts/apiserver/kinds";
import { assert } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors, type NameErrors } from "@kcp-ts/machinery/names";
import type { MessageShape } from "@kcp-ts/machinery/shape";
import type { FieldError } from "@kcp-ts/machinery/status";

export interface KindOptions {
  readonly group: string;
  readonly version?: string;
  readonly kind: string;
  readonly resource: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly isNamespaced?: boolean;
  readonly shape: MessageShape;
  /** False for kinds without a status subresource. */
  readonly hasStatus?: boolean;
  /** False for kinds without metadata.generation. */
  readonly hasGeneration?: boolean;
  readonly nameErrors?: NameErrors;
  /**
   * Sets defaults for omitted fields; must not change existing fields. Runs on every write of the
   * main resource.
   */
  readonly setDefaults?: (draft: Draft) => void;
  /** Sets further fields of a new object; runs after the defaults. */
  readonly prepareNew?: (draft: Draft) => void;
  /** Sets fields of a status that are served even when they are empty, as Go serializes them. */
  readonly completeStatus?: (status: Draft) => void;
  readonly validate?: (object: JsonObject) => FieldError[];
  readonly validateUpdate?: (updated: JsonObject, old: JsonObject) => FieldError[];
  readonly subresources?: readonly (readonly [string, SubresourceStrategy])[];
  readonly strategy?: Partial<Strategy>;
}

export function defineKind(options: KindOptions): ResourceDefinition {
  const { kind, hasStatus = true, hasGeneration = true, isNamespaced = true } = options;
  const { setDefaults = () => {}, prepareNew = () => {}, validate = () => [] } = options;
  const printer = workloadPrinter(options.group, kind);
  assert(printer !== undefined, `no columns for ${kind}`);
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
      ...(hasStatus ? [["status", statusEndpoint(options.completeStatus)] as const] : []),
      ...(options.subresources ?? []),
    ]),
    strategy: {
      ...baseStrategy,
      nameErrors: options.nameErrors ?? dnsSubdomainErrors,
      shape: options.shape,
      allowsUnconditionalUpdate: true,
      prepareForCreate(draft) {
        if (hasStatus) delete draft["status"];
        if (hasGeneration) startGeneration(draft);
        setDefaults(draft);
        prepareNew(draft);
      },
      prepareForUpdate(draft, old) {
        if (hasStatus) restoreMembers(draft, old, "status");
        setDefaults(draft);
      },
      validate,
      validateUpdate: (updated, old) => [
        ...validate(updated),
        ...(options.validateUpdate?.(updated, old) ?? []),
      ],
      columns: [nameColumn, ...printer.columns],
      cells: (object, nowMs) => [nameCell(object), ...printer.cells(object, nowMs)],
      ...options.strategy,
    },
  });
}

/** Changes only the status: all other fields of the request, metadata included, may be omitted. */
function statusEndpoint(complete: KindOptions["completeStatus"]): SubresourceStrategy {
  return {
    verbs: ["get", "patch", "update"],
    prepareForUpdate(draft, old) {
      const { status } = draft;
      for (const member of Object.keys(draft)) delete draft[member];
      Object.assign(draft, old);
      if (status === undefined) delete draft["status"];
      else draft["status"] = status;
      const own = complete && mutableMemberIfPresent(draft, "status");
      if (own !== undefined) complete?.(own);
    },
    validateUpdate: () => [],
  };
}
