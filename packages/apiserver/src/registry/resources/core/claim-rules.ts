/** The rules of PersistentVolumeClaims, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { quantityNanos } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import { fixedMemberErrors, nameErrorsAt, positiveQuantityErrors, required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const volumeModes = ["Block", "Filesystem"];

export function claimSpecErrors(spec: JsonObject, field: string): FieldError[] {
  const errors =
    listIn(spec["accessModes"]).length === 0
      ? [fieldError.required(`${field}.accessModes`, "at least 1 access mode is required")]
      : [];
  errors.push(
    ...labelSelectorErrors(spec["selector"], `${field}.selector`),
    ...accessModeErrors(spec, field),
  );
  const { storage } = objectIn(objectIn(spec, "resources"), "requests");
  const at = `${field}.resources[storage]`;
  if (storage === undefined) errors.push(fieldError.required(at));
  else errors.push(...positiveQuantityErrors(storage, at));
  errors.push(
    ...classNameErrors(spec, "storageClassName", field),
    ...volumeModeErrors(spec, field),
  );
  for (const member of ["dataSource", "dataSourceRef"]) {
    const source = spec[member];
    if (!isJsonObject(source)) continue;
    errors.push(...sourceErrors(source, `${field}.${member}`));
    const namespace = textIn(source, "namespace");
    if (namespace !== "")
      errors.push(...nameErrorsAt(namespace, `${field}.${member}.namespace`, dnsLabelErrors));
  }
  return [...errors, ...classNameErrors(spec, "volumeAttributesClassName", field)];
}

export function volumeModeErrors(spec: JsonObject, field: string): FieldError[] {
  const { volumeMode } = spec;
  if (volumeMode === undefined || volumeModes.includes(String(volumeMode))) return [];
  return [fieldError.notSupported(`${field}.volumeMode`, volumeMode, volumeModes)];
}

export function accessModeErrors(spec: JsonObject, field: string): FieldError[] {
  const at = `${field}.accessModes`;
  const modes = listIn(spec["accessModes"]).filter((mode) => accessModes.includes(String(mode)));
  const isShared = modes.some((mode) => mode !== "ReadWriteOncePod");
  return [
    ...itemErrors<string>(spec["accessModes"], at, (mode) =>
      accessModes.includes(mode) ? [] : [fieldError.notSupported(at, mode, accessModes)],
    ),
    ...(isShared && modes.includes("ReadWriteOncePod")
      ? [fieldError.forbidden(at, "may not use ReadWriteOncePod with other access modes")]
      : []),
  ];
}

export function classNameErrors(spec: JsonObject, member: string, field: string): FieldError[] {
  const name = textIn(spec, member);
  return name === "" ? [] : nameErrorsAt(name, `${field}.${member}`, dnsSubdomainErrors);
}

function sourceErrors(source: JsonObject, field: string): FieldError[] {
  const [group, kind] = [textIn(source, "apiGroup"), textIn(source, "kind")];
  const isForeign = group === "" && kind !== "PersistentVolumeClaim";
  const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
  return [
    ...required(source, "name", field),
    ...required(source, "kind", field),
    ...(isForeign ? [fieldError.invalid(field, kind, detail)] : []),
    ...(group === "" ? [] : nameErrorsAt(group, `${field}.apiGroup`, dnsSubdomainErrors)),
  ];
}

const updateForbidden =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/**
 * Only a bound claim grows, only one that is not bound gets a volume, and only one without a class
 * gets the default class.
 */
export function claimUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  const isBound = textIn(objectIn(updated, "status"), "phase") === "Bound";
  const errors: FieldError[] = [];
  const { storageClassName } = getsClass(old, now) ? before : now;
  const fixed = fixedPart({ ...now, storageClassName: storageClassName ?? null }, before, isBound);
  const others = { ...before, storageClassName: before["storageClassName"] ?? null };
  if (!jsonEqual(fixed, fixedPart(others, before, isBound)))
    errors.push(fieldError.forbidden("spec", updateForbidden));
  const [size, sizeBefore] = [storageIn(now), storageIn(before)];
  const capacity = nanos(objectIn(objectIn(old, "status"), "capacity")["storage"]);
  if (size < sizeBefore && size <= capacity)
    errors.push(
      fieldError.forbidden(
        "spec.resources.requests.storage",
        "field can not be less than status.capacity",
      ),
    );
  return [...errors, ...fixedMemberErrors(now, before, "volumeMode")];
}

/** The former annotation of a class holds as well. */
function getsClass(old: JsonObject, { storageClassName }: JsonObject): boolean {
  if (objectIn(old, "spec")["storageClassName"] !== undefined) return false;
  const annotations = objectIn(objectIn(old, "metadata"), "annotations");
  const former = annotations["volume.beta.kubernetes.io/storage-class"] ?? storageClassName;
  return storageClassName !== undefined && former === storageClassName;
}

function fixedPart(spec: JsonObject, before: JsonObject, isBound: boolean): JsonObject {
  const { volumeName, volumeAttributesClassName, resources, ...rest } = spec;
  const { requests, ...otherResources } = isJsonObject(resources) ? resources : {};
  const { storage: _, ...others } = isJsonObject(requests) ? requests : {};
  return {
    ...rest,
    ...(textIn(before, "volumeName") === "" ? {} : { volumeName: volumeName ?? null }),
    ...(isBound ? {} : { volumeAttributesClassName: volumeAttributesClassName ?? null }),
    resources: { ...otherResources, requests: isBound ? others : (requests ?? null) },
  };
}

function storageIn(spec: JsonObject): bigint {
  return nanos(objectIn(objectIn(spec, "resources"), "requests")["storage"]);
}

function nanos(amount: unknown): bigint {
  return amount === undefined ? 0n : (quantityNanos(String(amount))?.nanos ?? 0n);
}
