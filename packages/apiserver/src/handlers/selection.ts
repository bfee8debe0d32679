/**
 * From selector texts to a Selection over stored entries.
 *
 * A watch over all logical clusters has its selection asked of every write to its resource: what can be told from the key, or from the bytes
 * without parsing them, is told from these.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type FieldRequirement,
  type FieldSelector,
  type LabelOperator,
  type LabelSelector,
  parseFieldSelector,
  parseLabelSelector,
  SelectorSyntaxError,
} from "@kcp-ts/machinery/selectors";
import { statusError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../registry/index.ts";
import { type Entry, parseObjectKey } from "../storage/index.ts";
import {
  decodeObject,
  hasOwnershipMetadata,
  labelsMayContain,
  mayContain,
} from "../stored-object/index.ts";
import { cachedLabels, hasCachedLabels, type Selection } from "../watch-cache/index.ts";

export interface Selectors {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** The name in the path of a single-object watch, or empty. */
  readonly name: string;
  /** See `ListOptions`. */
  readonly isOwnership?: boolean | undefined;
}

export interface SelectionResult {
  /** Undefined selects everything. */
  readonly selection: Selection | undefined;
  /** The one name that can match, when a field selector says so. */
  readonly name: string | undefined;
  /** To be asked besides of each object as it is served, where only a webhook can tell from the stored one what that has in its fields. */
  readonly ofServed?: ((served: Entry) => boolean) | undefined;
}

export function selectionOf(definition: ResourceDefinition, selectors: Selectors): SelectionResult {
  const asked = requestedSelection(definition, selectors);
  const { isVisible, wasVisible, entersModified } = definition;
  if (isVisible === undefined) return asked;
  const { selection, name } = asked;
  const within = (isShown: (entry: Entry) => boolean) => (entry: Entry) =>
    isShown(entry) && (selection === undefined || selection.matches(entry));
  const matches = within(isVisible);
  const matched = wasVisible === undefined ? matches : within(wasVisible);
  return { selection: { matches, matched, entersModified }, name };
}

function requestedSelection(definition: ResourceDefinition, selectors: Selectors): SelectionResult {
  const { labelSelector, fieldSelector, name, isOwnership } = selectors;
  const isAll = labelSelector === "" && fieldSelector === "" && name === "";
  if (isAll) return { selection: isOwnership ? ownership : undefined, name: undefined };
  if (isOwnership) throw statusError.badRequest("kcpSelection takes no other selector beside it");
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
  const isTold = isServedLater(definition) ? isMetadata : () => true;
  const storedFields = fields.requirements.filter(isTold);
  const selected = fields.exactValue("metadata.name");
  if (name !== "" && selected !== undefined && selected !== name) {
    throw statusError.badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const onlyName = name === "" ? selected : name;
  const ending = onlyName !== undefined && plainName.test(onlyName) ? `/${onlyName}` : "";
  const words = verbatimWords(definition, fields.requirements);
  const hasLabels = labelMatcher(definition, labels);
  const isNameOnly =
    ending !== "" &&
    labels.isEmpty &&
    fields.requirements.every(
      ({ field, operator, value }) =>
        field === "metadata.name" && operator === "=" && value === onlyName,
    );
  const matches = (entry: Entry): boolean =>
    entry.key.endsWith(ending) &&
    (isNameOnly ||
      (words.every((word) => mayContain(entry, word)) &&
        (labels.isEmpty || hasLabels(entry)) &&
        (name === "" || parseObjectKey(entry.key).name === name) &&
        (storedFields.length === 0 || meets(storedFields, fieldReader(definition, entry)))));
  return { selection: { matches }, name: onlyName, ofServed: servedMatcher(definition, fields) };
}

/** Fields that a version declares are those of that version: they are looked at when the webhook has answered. */
function servedMatcher(
  definition: ResourceDefinition,
  fields: FieldSelector,
): SelectionResult["ofServed"] {
  if (!isServedLater(definition)) return undefined;
  const declared = fields.requirements.filter((one) => !isMetadata(one));
  if (declared.length === 0) return undefined;
  return (served) => {
    const object = decodeObject(served);
    return meets(declared, (field) => declaredField(definition, field, object));
  };
}

function isMetadata({ field }: FieldRequirement): boolean {
  return field === "metadata.name" || field === "metadata.namespace";
}

function meets(
  requirements: readonly FieldRequirement[],
  read: (field: string) => string,
): boolean {
  return requirements.every(
    ({ field, operator, value }) => (read(field) === value) === (operator === "="),
  );
}

function isServedLater({ form }: ResourceDefinition): boolean {
  return form !== undefined && form.presentNow === undefined;
}

function declaredField(definition: ResourceDefinition, field: string, object: JsonObject): string {
  return definition.strategy.selectableFields.get(field)?.(object) ?? "";
}

/** What stands in a key as it is; see `storage/key.ts`. */
const plainName = /^[A-Za-z0-9.:_-]+$/;

/** Byte sequences without which an object cannot match. */
function verbatimWords(
  { strategy, form }: ResourceDefinition,
  requirements: readonly FieldRequirement[],
): readonly Buffer[] {
  if (form !== undefined) return [];
  return requirements
    .filter(({ field, operator, value }) => {
      const isExact = operator === "=" && plainName.test(value);
      return isExact && strategy.verbatimFields?.has(field) === true;
    })
    .map(({ value }) => Buffer.from(`"${value}"`));
}

/** Whoever is to have a label mentions its key: looking for that is far cheaper than reading labels, but not than knowing them. */
function labelMatcher(
  definition: ResourceDefinition,
  labels: LabelSelector,
): (entry: Entry) => boolean {
  const words = requiredLabels(definition, labels);
  return (entry) =>
    (hasCachedLabels(entry) || words.every((word) => labelsMayContain(entry, word))) &&
    labels.matches(cachedLabels(entry));
}

function requiredLabels(
  { form }: ResourceDefinition,
  { requirements }: LabelSelector,
): readonly Buffer[] {
  if (form !== undefined) return [];
  return requirements
    .filter(({ operator }) => demandsKey.has(operator))
    .map(({ key }) => Buffer.from(`"${key}"`));
}

const demandsKey: ReadonlySet<LabelOperator> = new Set(["=", "==", "in", "exists"]);

const ownership: Selection = { matches: hasOwnershipMetadata, tellsEveryDeletion: true };

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
    return declaredField(definition, field, object);
  };
}
