/**
 * A resource in a few lines, for embedders: names, a shape, and its own rules. Built-in kinds with
 * more rules write a complete ResourceDefinition.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { MessageShape } from "@kcp-ts/machinery/shape";
import type { FieldError } from "@kcp-ts/machinery/status";
import type { TableColumn } from "@kcp-ts/machinery/table";
import type { ResourceDefinition } from "./resource-definition.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  nameCell,
  nameColumn,
  namespacedNames,
  standardVerbs,
} from "./resources/standard.ts";
import type { Draft, SubresourceStrategy } from "./strategy.ts";

export interface SimpleResource {
  /** An own domain, which precedes the version in paths. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural; the kind in lower case with an `s` if omitted. */
  readonly resource?: string;
  readonly shape: MessageShape;
  /** True if omitted. */
  readonly isNamespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /**
   * Whether there is a status that only `/status` writes, and a spec that only the main endpoint
   * writes.
   */
  readonly hasStatus?: boolean;
  /** Sets defaults of omitted members, before validation. */
  readonly setDefaults?: (draft: Draft) => void;
  readonly validate?: (object: JsonObject) => FieldError[];
  /** Columns between Name and Age in kubectl's output. */
  readonly columns?: readonly SimpleColumn[];
}

export interface SimpleColumn {
  readonly name: string;
  readonly cell: (object: JsonObject) => JsonValue;
  readonly type?: "string" | "integer" | "number" | "boolean" | "date";
  readonly description?: string;
}

export function simpleResource(options: SimpleResource): ResourceDefinition {
  const { group, version, kind, columns = [], hasStatus = false } = options;
  const singular = kind.toLowerCase();
  const validate = options.validate ?? (() => []);
  const setDefaults = options.setDefaults ?? (() => {});
  const status: SubresourceStrategy = {
    verbs: ["get", "patch", "update"],
    prepareForUpdate: (draft, old) => keepAllBut(draft, old, "status"),
    validateUpdate: validate,
  };
  return {
    group,
    version,
    kind,
    singular,
    resource: options.resource ?? `${singular}s`,
    listKind: `${kind}List`,
    isNamespaced: options.isNamespaced ?? true,
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    verbs: standardVerbs,
    identity: "",
    itemsCarryKind: false,
    subresources: new Map(hasStatus ? [["status", status]] : []),
    strategy: {
      ...baseStrategy,
      ...namespacedNames,
      shape: options.shape,
      allowsUnconditionalUpdate: true,
      prepareForCreate(draft) {
        if (hasStatus) delete draft["status"];
        (draft["metadata"] as Draft)["generation"] = 1;
        setDefaults(draft);
      },
      prepareForUpdate(draft, old) {
        if (hasStatus) keep(draft, old, "status");
        setDefaults(draft);
      },
      validate,
      validateUpdate: validate,
      columns: [nameColumn, ...columns.map(tableColumn), ageColumn],
      cells: (object, nowMs) => [
        nameCell(object),
        ...columns.map(({ cell }) => cell(object)),
        ageCell(object, nowMs),
      ],
    },
  };
}

function tableColumn({ name, type = "string", description = "" }: SimpleColumn): TableColumn {
  return { name, type, format: "", description, priority: 0 };
}

function keep(draft: Draft, old: JsonObject, member: string): void {
  const value = old[member];
  if (value === undefined) delete draft[member];
  else draft[member] = value;
}

/** Metadata has rules of its own, which are the same for all endpoints. */
function keepAllBut(draft: Draft, old: JsonObject, member: string): void {
  const members = new Set([...Object.keys(draft), ...Object.keys(old)]);
  for (const each of members) if (each !== member && each !== "metadata") keep(draft, old, each);
}
