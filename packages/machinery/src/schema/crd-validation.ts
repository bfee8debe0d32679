/**
 * Validates a create or an update of a CustomResourceDefinition. Pure: names of other CRDs,
 * conditions and the conversion of stored objects are not checked.
 *
 * Kubernetes keeps the common parts of all versions (schema, columns, subresources, selectable
 * fields) at the top of its internal form, where errors are reported:
 * `spec.validation.openAPIV3Schema…` for a CRD of one version, `spec.versions[1].schema…`
 * otherwise.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { type JsonValue, jsonEqual } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import type { CrdSpec, CrdVersion, CustomResourceDefinition } from "./crd.ts";
import { hasRecognizedReviewVersion, isCaBundle, validateConversion } from "./crd-conversion.ts";
import {
  type CrdNameOptions,
  validateApproval,
  validateCrdName,
  validateGroup,
  validateNames,
  validateRequiredNames,
} from "./crd-names.ts";
import {
  selectableFieldsMax,
  validateDeprecation,
  validatePrinterColumn,
  validateSelectableFields,
  validateSubresources,
} from "./crd-version.ts";
import { dns1035LabelErrors } from "./dns-names.ts";
import { definitionNodesMax, errorsMax } from "./limits.ts";
import { readSchema } from "./read-schema.ts";
import type { RuleEvaluator } from "./rule-evaluator.ts";
import type { SchemaProps } from "./schema-props.ts";
import {
  anySchema,
  ratchetedOptions,
  strictSchemaValidation,
  validateSchemaResumable,
} from "./schema-validation.ts";

export interface CrdValidationOptions extends Partial<CrdNameOptions> {
  readonly evaluator?: RuleEvaluator;
  /** Reports every error at its version, even where Kubernetes reports it once for all. */
  readonly perVersionPaths?: boolean;
}

export function validateCustomResourceDefinition(
  crd: CustomResourceDefinition,
  options: CrdValidationOptions = {},
): FieldError[] {
  return runSync(validateCustomResourceDefinitionResumable(crd, undefined, options));
}

export function validateCustomResourceDefinitionUpdate(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition,
  options: CrdValidationOptions = {},
): FieldError[] {
  return runSync(validateCustomResourceDefinitionResumable(crd, old, options));
}

/** A create or an update, resumably: a CRD may be large, and other requests proceed meanwhile. */
export function validateCustomResourceDefinitionResumable(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  options: CrdValidationOptions = {},
): Resumable<FieldError[]> {
  return old === undefined ? judgeNew(crd, options) : judgeUpdate(crd, old, options);
}

function* judgeNew(
  crd: CustomResourceDefinition,
  options: CrdValidationOptions,
): Resumable<FieldError[]> {
  return [
    ...validateCrdName(crd, nameOptions(options)),
    ...(yield* new SpecValidation(crd, undefined, options).validate()),
    ...validateStatusPart(crd),
    ...validateApproval(crd, undefined),
    ...validatePreserve(crd.spec),
  ].slice(0, errorsMax);
}

function* judgeUpdate(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition,
  options: CrdValidationOptions,
): Resumable<FieldError[]> {
  const errors = yield* new SpecValidation(crd, old, options).validate();
  const immutable = (field: string, value: string, before: string): void => {
    if (value !== before) errors.push(fieldError.invalid(field, value, "field is immutable"));
  };
  if (old.status.established) {
    immutable("spec.scope", crd.spec.scope, old.spec.scope);
    immutable("spec.names.kind", crd.spec.names.kind, old.spec.names.kind);
  }
  immutable("spec.group", crd.spec.group, old.spec.group);
  immutable("spec.names.plural", crd.spec.names.plural, old.spec.names.plural);
  errors.push(...validateStatusPart(crd), ...validateApproval(crd, old));
  if (!old.spec.preserveUnknownFields) errors.push(...validatePreserve(crd.spec));
  return errors.slice(0, errorsMax);
}

export function validateStoredVersions(
  storedVersions: readonly string[],
  versions: readonly CrdVersion[],
): FieldError[] {
  const path = "status.storedVersions";
  if (storedVersions.length === 0)
    return [fieldError.invalid(path, storedVersions, "must have at least one stored version")];
  const errors: FieldError[] = [];
  for (const { name, storage } of versions) {
    if (storage && !storedVersions.includes(name))
      errors.push(
        fieldError.invalid(path, storedVersions, `must have the storage version ${name}`),
      );
  }
  for (const [i, name] of storedVersions.entries()) {
    if (versions.some((version) => version.name === name)) continue;
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    errors.push(fieldError.invalid(`${path}[${i}]`, name, detail));
  }
  return errors;
}

function nameOptions({ allowBuiltInGroups = false }: CrdValidationOptions): CrdNameOptions {
  return { allowBuiltInGroups };
}

function validateStatusPart({ spec, status }: CustomResourceDefinition): FieldError[] {
  return [
    ...validateNames(status.acceptedNames, "status.acceptedNames"),
    ...validateStoredVersions(status.storedVersions, spec.versions),
  ];
}

function validatePreserve({ preserveUnknownFields }: CrdSpec): FieldError[] {
  if (!preserveUnknownFields) return [];
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
  return [fieldError.invalid("spec.preserveUnknownFields", true, detail)];
}

type SharedPart = "schema" | "subresources" | "printerColumns" | "selectableFields";

class SpecValidation {
  readonly #spec: CrdSpec;
  readonly #old: CrdSpec | undefined;
  readonly #wasEstablished: boolean;
  readonly #options: CrdValidationOptions;
  readonly #errors: FieldError[] = [];
  readonly #shared = new Map<SharedPart, boolean>();
  #nodes = 0;
  /**
   * Schemas that were accepted once stay accepted: a change of metadata does not pay for them, and
   * they may be large.
   */
  readonly #isUnchanged: boolean;
  /** Parsed once; undefined where there is none, it is unchanged, or it cannot be parsed. */
  readonly #schemas: (SchemaProps | undefined)[] = [];

  constructor(
    { spec }: CustomResourceDefinition,
    old: CustomResourceDefinition | undefined,
    options: CrdValidationOptions,
  ) {
    this.#spec = spec;
    this.#old = old?.spec;
    this.#wasEstablished = old?.status.established === true;
    this.#options = options;
    this.#isUnchanged = jsonEqual(spec as unknown as JsonValue, old?.spec as unknown as JsonValue);
  }

  *validate(): Resumable<FieldError[]> {
    for (const [i, version] of this.#spec.versions.entries()) {
      this.#schemas.push(this.#read(version, i));
      if (this.#nodes > definitionNodesMax && this.#nodes > this.#oldNodes()) {
        const detail = `must not have more than ${definitionNodesMax} sub-schemas in all versions together`;
        return [fieldError.forbidden("spec.versions", detail)];
      }
      yield;
    }
    const { group, scope, names, versions, conversion, preserveUnknownFields } = this.#spec;
    const errors = this.#errors;
    errors.push(...validateGroup(group, nameOptions(this.#options)));
    if (scope === "") errors.push(fieldError.required("spec.scope"));
    else if (scope !== "Cluster" && scope !== "Namespaced")
      errors.push(fieldError.notSupported("spec.scope", scope, ["Cluster", "Namespaced"]));
    this.#requireSchemas();
    if (preserveUnknownFields && this.#anySchema(({ default: value }) => value !== undefined)) {
      const detail = "must be false in order to use defaults in the schema";
      errors.push(fieldError.invalid("spec.preserveUnknownFields", true, detail));
    }
    for (const [i, version] of versions.entries()) yield* this.#version(version, i);
    this.#versionSet();
    errors.push(...validateRequiredNames(names, "spec.names"));
    errors.push(...validateNames(names, "spec.names"));
    yield* this.#sharedParts();
    if (conversion !== undefined && conversion.strategy !== "None" && preserveUnknownFields) {
      const detail = "must be None if spec.preserveUnknownFields is true";
      errors.push(fieldError.invalid("spec.conversion.strategy", conversion.strategy, detail));
    }
    const oldReviews = this.#old?.conversion?.reviewVersions ?? [];
    const requireRecognizedVersion =
      oldReviews.length === 0 || hasRecognizedReviewVersion(oldReviews);
    const oldBundle = this.#old?.conversion?.clientConfig?.caBundle ?? "";
    const requireValidCaBundle =
      this.#wasEstablished && (oldBundle === "" || isCaBundle(oldBundle));
    errors.push(
      ...validateConversion(conversion, { requireRecognizedVersion, requireValidCaBundle }),
    );
    return errors;
  }

  #read({ name, schema }: CrdVersion, index: number): SchemaProps | undefined {
    if (schema === undefined || this.#isUnchanged) return undefined;
    const path = `spec.versions[${index}].schema.openAPIV3Schema`;
    let read = readSchema(schema, { path });
    // A schema that was stored under larger limits may stay unchanged.
    if (read.schema === undefined && jsonEqual(schema, this.#oldVersion(name)?.schema))
      read = readSchema(schema, { path, isAccepted: true });
    this.#nodes += read.nodes;
    for (const problem of read.problems) {
      const colon = problem.lastIndexOf(": ");
      this.#errors.push(fieldError.invalid(problem.slice(0, colon), "", problem.slice(colon + 2)));
    }
    return read.schema;
  }

  #oldNodes(): number {
    let nodes = 0;
    for (const { schema } of this.#old?.versions ?? [])
      if (schema !== undefined) nodes += readSchema(schema, { isAccepted: true }).nodes;
    return nodes;
  }

  #requireSchemas(): void {
    const wasComplete = this.#old?.versions.every(({ schema }) => schema !== undefined) !== false;
    for (const [i, version] of this.#spec.versions.entries()) {
      if (version.schema !== undefined) continue;
      const path = `spec.versions[${i}].schema.openAPIV3Schema`;
      if (wasComplete) this.#errors.push(fieldError.required(path));
      else if (version.served && !this.#spec.preserveUnknownFields)
        this.#errors.push(fieldError.required(path, "because otherwise all fields are pruned"));
    }
  }

  *#version(version: CrdVersion, index: number): Resumable<void> {
    const path = `spec.versions[${index}]`;
    const complaints = dns1035LabelErrors(version.name);
    if (complaints.length > 0)
      this.#errors.push(fieldError.invalid(`${path}.name`, version.name, complaints.join(",")));
    this.#errors.push(...validateDeprecation(version.deprecated, version.deprecationWarning, path));
    if (!this.#isShared("schema")) yield* this.#schema(index, `${path}.schema`, hasStatus(version));
    if (!this.#isShared("subresources"))
      this.#errors.push(...validateSubresources(version.subresources, `${path}.subresources`));
    if (!this.#isShared("printerColumns")) this.#columns(version, path);
    if (!this.#isShared("selectableFields")) this.#selectable(index, `${path}.selectableFields`);
  }

  #versionSet(): void {
    const { versions } = this.#spec;
    const shown = versions.map(({ name, served, storage }) => ({
      Name: name,
      Served: served,
      Storage: storage,
    }));
    if (new Set(versions.map(({ name }) => name)).size < versions.length) {
      const detail = "must contain unique version names";
      this.#errors.push(fieldError.invalid("spec.versions", shown, detail));
    }
    if (versions.filter(({ storage }) => storage).length !== 1) {
      const detail = "must have exactly one version marked as storage version";
      this.#errors.push(fieldError.invalid("spec.versions", shown, detail));
    }
  }

  /** The common parts of all versions in upstream's internal form. */
  *#sharedParts(): Resumable<void> {
    const [first] = this.#spec.versions;
    if (first === undefined) return;
    if (this.#isShared("schema"))
      yield* this.#schema(0, "spec.validation", this.#spec.versions.some(hasStatus));
    if (this.#isShared("subresources"))
      this.#errors.push(...validateSubresources(first.subresources, "spec.subresources"));
    if (this.#isShared("printerColumns")) this.#columns(first, "spec");
    if (this.#isShared("selectableFields")) this.#selectable(0, "spec.selectableFields");
  }

  #isShared(part: SharedPart): boolean {
    const known = this.#shared.get(part);
    if (known !== undefined) return known;
    const isShared = this.#options.perVersionPaths !== true && this.#isEqualInAll(part);
    this.#shared.set(part, isShared);
    return isShared;
  }

  #isEqualInAll(part: SharedPart): boolean {
    const [first, ...others] = this.#spec.versions;
    if (first === undefined) return false;
    return others.every((version) =>
      jsonEqual(version[part] as JsonValue | undefined, first[part] as JsonValue | undefined),
    );
  }

  #columns(version: CrdVersion, path: string): void {
    for (const [i, column] of version.printerColumns.entries())
      this.#errors.push(...validatePrinterColumn(column, `${path}.additionalPrinterColumns[${i}]`));
  }

  #selectable(index: number, path: string): void {
    const version = this.#spec.versions[index] as CrdVersion;
    const schema = this.#schemas[index];
    if (version.selectableFields.length === 0 || schema === undefined) return;
    const before = this.#oldVersion(version.name)?.selectableFields ?? [];
    const allowTooMany =
      before.length > selectableFieldsMax && jsonEqual(before, version.selectableFields);
    this.#errors.push(
      ...validateSelectableFields(version.selectableFields, schema, path, { allowTooMany }),
    );
  }

  /**
   * Validated strictly first; only if that fails, the errors that the stored CRD already has are
   * tolerated.
   */
  *#schema(index: number, path: string, statusEnabled: boolean): Resumable<void> {
    const schema = this.#schemas[index];
    if (schema === undefined) return;
    const version = this.#spec.versions[index] as CrdVersion;
    const { evaluator } = this.#options;
    const strict = { ...strictSchemaValidation, statusEnabled, evaluator };
    const at = `${path}.openAPIV3Schema`;
    let errors = yield* validateSchemaResumable(schema, at, strict);
    if (errors.length > 0 && this.#old !== undefined) {
      const forgiven = yield* this.#forgiven();
      const oldSchema = this.#oldVersion(version.name)?.schema;
      const isUnchanged = oldSchema !== undefined && jsonEqual(oldSchema, version.schema);
      errors = yield* validateSchemaResumable(schema, at, {
        ...strict,
        ...forgiven,
        requireStructural:
          forgiven.requireStructural !== false || !this.#spec.preserveUnknownFields,
        suppressRuleCost: isUnchanged,
      });
    }
    this.#errors.push(...errors);
    yield;
  }

  *#forgiven(): Resumable<Partial<typeof strictSchemaValidation>> {
    const forgiven: Record<string, boolean> = {};
    for (const version of this.#old?.versions ?? []) {
      const old =
        version.schema === undefined
          ? undefined
          : readSchema(version.schema, { isAccepted: true }).schema;
      if (old === undefined) continue;
      for (const [rule, required] of Object.entries(ratchetedOptions(old))) {
        if (required === false) forgiven[rule] = false;
      }
      yield;
    }
    return forgiven;
  }

  #oldVersion(name: string): CrdVersion | undefined {
    return this.#old?.versions.find((version) => version.name === name);
  }

  #anySchema(test: (schema: SchemaProps) => boolean): boolean {
    return this.#schemas.some((schema) => schema !== undefined && anySchema(schema, test));
  }
}

function hasStatus({ subresources }: CrdVersion): boolean {
  return subresources?.status === true;
}
