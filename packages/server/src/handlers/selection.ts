/** From selector texts to a Selection over stored entries. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  parseFieldSelector,
  parseLabelSelector,
  SelectorSyntaxError,
} from "@kcp-ts/machinery/selectors";
import { statusError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../registry/index.ts";
import { type Entry, parseObjectKey } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { cachedLabels, type Selection } from "../watch-cache/index.ts";

export interface Selectors {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** The name in the path of a single-object watch, or empty. */
  readonly name: string;
}

export interface SelectionResult {
  /** Undefined selects everything. */
  readonly selection: Selection | undefined;
  /** The one name that can match, when a field selector says so. */
  readonly name: string | undefined;
}

export function selectionOf(definition: ResourceDefinition, selectors: Selectors): SelectionResult {
  const { labelSelector, fieldSelector, name } = selectors;
  if (labelSelector === "" && fieldSelector === "" && name === "")
    return { selection: undefined, name: undefined };
  try {
    return build(definition, selectors);
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    throw statusError.badRequest(error.message);
  }
}

function build(
  definition: ResourceDefinition,
  { labelSelector, fieldSelector, name }: Selectors,
): SelectionResult {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  for (const { field } of fields.requirements) checkField(definition, field);
  const selected = fields.exactValue("metadata.name");
  if (name !== "" && selected !== undefined && selected !== name) {
    throw statusError.badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const onlyName = name === "" ? selected : name;
  const matches = (entry: Entry): boolean =>
    (labels.isEmpty || labels.matches(cachedLabels(entry))) &&
    (name === "" || parseObjectKey(entry.key).name === name) &&
    (fields.isEmpty || fields.matches(fieldReader(definition, entry)));
  return { selection: { matches }, name: onlyName };
}

function checkField(definition: ResourceDefinition, field: string): void {
  const { selectableFields } = definition.strategy;
  if (field === "metadata.name" || (field === "metadata.namespace" && definition.isNamespaced))
    return;
  if (selectableFields.has(field)) return;
  throw statusError.badRequest(
    selectableFields.size > 0
      ? `field label not supported: ${field}`
      : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

/** Name and namespace come from the key; other fields parse the object, once. */
function fieldReader(definition: ResourceDefinition, entry: Entry): (field: string) => string {
  const { name, namespace } = parseObjectKey(entry.key);
  let object: JsonObject | undefined;
  return (field) => {
    if (field === "metadata.name") return name;
    if (field === "metadata.namespace") return namespace;
    object ??= decodeObject(definition.form?.presentNow?.(entry) ?? entry);
    return definition.strategy.selectableFields.get(field)?.(object) ?? "";
  };
}
