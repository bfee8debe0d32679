/**
 * Compiles label and field selectors into a Selection over stored entries.
 *
 * The selection of a watch over all logical clusters is matched against every write to its
 * resource: matches that the key, or the unparsed bytes, decide are decided by these.
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
import {
  cachedLabels,
  hasCachedLabels,
  type IndexLookup,
  type Selection,
} from "../watch-cache/index.ts";

export interface Selectors {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  /** The name in the path of a single-object watch, or empty. */
  readonly name: string;
  /** See `ListOptions`. */
  readonly selectsOwnership?: boolean | undefined;
}

export interface SelectionResult {
  /** Undefined selects all objects. */
  readonly selection: Selection | undefined;
  /** The only name that can match, if a field selector determines it. */
  readonly name: string | undefined;
  /**
   * Also to be matched against each served object, when only a webhook can convert the stored
   * object to the version with the selected fields.
   */
  readonly matchesServed?: ((served: Entry) => boolean) | undefined;
}

export function selectionOf(definition: ResourceDefinition, selectors: Selectors): SelectionResult {
  const asked = requestedSelection(definition, selectors);
  const { isVisible, wasVisible, entersAsModified } = definition;
  if (isVisible === undefined) return asked;
  const { selection, name } = asked;
  const within = (isShown: (entry: Entry) => boolean) => (entry: Entry) =>
    isShown(entry) && (selection === undefined || selection.matches(entry));
  const matches = within(isVisible);
  const matchedBefore = wasVisible === undefined ? matches : within(wasVisible);
  const lookups = selection?.lookups;
  return { selection: { matches, matchedBefore, entersAsModified, lookups }, name };
}

function requestedSelection(definition: ResourceDefinition, selectors: Selectors): SelectionResult {
  const { labelSelector, fieldSelector, name, selectsOwnership } = selectors;
  const isAll = labelSelector === "" && fieldSelector === "" && name === "";
  if (isAll) return { selection: selectsOwnership ? ownership : undefined, name: undefined };
  if (selectsOwnership)
    throw statusError.badRequest("kcpSelection takes no other selector beside it");
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
  return {
    selection: {
      matches,
      lookups: [...labelLookups(labels), ...fieldLookups(definition, fields.requirements)],
    },
    name: onlyName,
    matchesServed: servedMatcher(definition, fields),
  };
}

/**
 * Selectable fields that a version declares are fields of that version: they are matched after the
 * webhook's conversion.
 */
function servedMatcher(
  definition: ResourceDefinition,
  fields: FieldSelector,
): SelectionResult["matchesServed"] {
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

function isServedLater({ codec }: ResourceDefinition): boolean {
  return codec !== undefined && codec.toServedSync === undefined;
}

function declaredField(definition: ResourceDefinition, field: string, object: JsonObject): string {
  return definition.strategy.selectableFields.get(field)?.(object) ?? "";
}

/** Names that keys contain unescaped; see `storage/key.ts`. */
const plainName = /^[A-Za-z0-9.:_-]+$/;

/** Byte sequences that every matching object contains. */
function verbatimWords(
  { strategy, codec }: ResourceDefinition,
  requirements: readonly FieldRequirement[],
): readonly Buffer[] {
  if (codec !== undefined) return [];
  return requirements
    .filter(({ field, operator, value }) => {
      const isExact = operator === "=" && plainName.test(value);
      return isExact && strategy.verbatimFields?.has(field) === true;
    })
    .map(({ value }) => Buffer.from(`"${value}"`));
}

/**
 * Matches labels. An object with a label contains its key: searching the bytes for the key is far
 * cheaper than parsing the labels, though not than cached labels.
 */
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
  { codec }: ResourceDefinition,
  { requirements }: LabelSelector,
): readonly Buffer[] {
  if (codec !== undefined) return [];
  return requirements
    .filter(({ operator }) => demandsKey.has(operator))
    .map(({ key }) => Buffer.from(`"${key}"`));
}

/** Labels with one required value. */
function labelLookups({ requirements }: LabelSelector): readonly IndexLookup[] {
  return requirements.flatMap(({ key, operator, values }) => {
    const [value, ...others] = values;
    if (!demandsValue.has(operator) || value === undefined || others.length > 0) return [];
    const valueIn = (entry: Entry) => {
      const labels = cachedLabels(entry);
      return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    };
    return [{ name: `label ${key}`, value, valueIn }];
  });
}

/**
 * Fields of built-in kinds with a required value. A served field of a converted object may change
 * with its definition, and so is searched for.
 */
function fieldLookups(
  definition: ResourceDefinition,
  requirements: readonly FieldRequirement[],
): readonly IndexLookup[] {
  if (definition.codec !== undefined) return [];
  return requirements.flatMap((requirement) => {
    const { field, operator, value } = requirement;
    if (operator !== "=" || isMetadata(requirement)) return [];
    const valueIn = (entry: Entry) => fieldReader(definition, entry)(field);
    return [{ name: `field ${definition.version} ${field}`, value, valueIn }];
  });
}

const demandsValue: ReadonlySet<LabelOperator> = new Set(["=", "==", "in"]);
const demandsKey: ReadonlySet<LabelOperator> = new Set(["=", "==", "in", "exists"]);

const ownership: Selection = { matches: hasOwnershipMetadata, reportsEveryDeletion: true };

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

/** Reads name and namespace from the key; other fields parse the object, once. */
function fieldReader(definition: ResourceDefinition, entry: Entry): (field: string) => string {
  const { name, namespace } = parseObjectKey(entry.key);
  let object: JsonObject | undefined;
  return (field) => {
    if (field === "metadata.name") return name;
    if (field === "metadata.namespace") return namespace;
    return cachedField(entry, `${definition.codec?.name ?? definition.version} ${field}`, () => {
      object ??= servedObject(definition, entry);
      return declaredField(definition, field, object);
    });
  };
}

function servedObject({ codec }: ResourceDefinition, entry: Entry): JsonObject {
  const { toServedObject, toServedSync } = codec ?? {};
  return toServedObject?.(entry) ?? decodeObject(toServedSync?.(entry) ?? entry);
}

/**
 * Selected fields of entries: each watch reads those of every change, and of the state before it,
 * in the turn of the change.
 */
const cachedFields = new WeakMap<Entry, Map<string, string>>();
const cachedLengthMax = 256;
const cachedFieldsMax = 16;

function cachedField(entry: Entry, name: string, read: () => string): string {
  let fields = cachedFields.get(entry);
  const known = fields?.get(name);
  if (known !== undefined) return known;
  const value = read();
  if (value.length > cachedLengthMax || (fields?.size ?? 0) >= cachedFieldsMax) return value;
  if (fields === undefined) {
    fields = new Map();
    cachedFields.set(entry, fields);
  }
  fields.set(name, value);
  return value;
}
