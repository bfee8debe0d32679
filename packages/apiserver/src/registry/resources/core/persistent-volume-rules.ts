/** The rules of PersistentVolumes, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { fixedMemberErrors, oneOf, positiveQuantityErrors, required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { accessModeErrors, classNameErrors, volumeModes } from "./claim-rules.ts";
import { csiDriverNameErrors } from "./csi-driver-name.ts";
import { nodeTermErrors } from "./pod-rules.ts";

/** The members of a volume's spec that say where it is. */
const sources = [
  ...["gcePersistentDisk", "awsElasticBlockStore", "hostPath", "glusterfs", "nfs", "rbd"],
  ...["iscsi", "cinder", "cephfs", "fc", "flocker", "flexVolume", "azureFile", "vsphereVolume"],
  ...["quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO", "local"],
  ...["storageos", "csi"],
] as const;
const pathTypes = [
  ...["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"],
  ...["FileOrCreate", "Socket"],
];

export function volumeSpecErrors(spec: JsonObject, field: string): FieldError[] {
  const errors =
    listIn(spec["accessModes"]).length === 0 ? [fieldError.required(`${field}.accessModes`)] : [];
  errors.push(
    ...accessModeErrors(spec, field),
    ...capacityErrors(spec["capacity"], `${field}.capacity`),
    ...oneOf(spec, "persistentVolumeReclaimPolicy", ["Delete", "Recycle", "Retain"], field),
    ...affinityErrors(spec, field),
    ...volumeSourceErrors(spec, field),
  );
  const isRecycled = spec["persistentVolumeReclaimPolicy"] === "Recycle";
  if (isRecycled && /^\/+\.?$/.test(textIn(objectIn(spec, "hostPath"), "path")))
    errors.push(
      fieldError.forbidden(
        `${field}.persistentVolumeReclaimPolicy`,
        "may not be 'recycle' for a hostPath mount of '/'",
      ),
    );
  return [
    ...errors,
    ...classNameErrors(spec, "storageClassName", field),
    ...oneOf(spec, "volumeMode", volumeModes, field),
    ...classNameErrors(spec, "volumeAttributesClassName", field),
  ];
}

function capacityErrors(capacity: JsonValue | undefined, field: string): FieldError[] {
  const amounts = Object.entries(isJsonObject(capacity) ? capacity : {}) as [string, JsonValue][];
  const errors = amounts.length === 0 ? [fieldError.required(field)] : [];
  if (amounts.length !== 1 || amounts[0]?.[0] !== "storage")
    errors.push(fieldError.notSupported(field, capacity ?? null, ["storage"]));
  for (const [name, amount] of amounts) {
    const at = `${field}[${name}]`;
    if (isNegativeQuantity(String(amount)))
      errors.push(fieldError.invalid(at, Number(amount), "must be a valid resource quantity"));
    errors.push(...positiveQuantityErrors(amount, at));
  }
  return errors;
}

function affinityErrors(spec: JsonObject, field: string): FieldError[] {
  const { nodeAffinity } = spec;
  if (!isJsonObject(nodeAffinity)) return [];
  const at = `${field}.nodeAffinity.required`;
  const { required: needed } = nodeAffinity;
  if (!isJsonObject(needed))
    return [fieldError.required(at, "must specify required node constraints")];
  const terms = `${at}.nodeSelectorTerms`;
  return listIn(needed["nodeSelectorTerms"]).length === 0
    ? [fieldError.required(terms, "must have at least one node selector term")]
    : itemErrors(needed["nodeSelectorTerms"], terms, nodeTermErrors);
}

function volumeSourceErrors(spec: JsonObject, field: string): FieldError[] {
  const [first, ...others] = sources.filter((source) => isJsonObject(spec[source]));
  if (first === undefined) return [fieldError.required(field, "must specify a volume type")];
  const at = `${field}.${first}`;
  const source = objectIn(spec, first);
  const errors = (sourceRules.get(first) ?? (() => []))(source, at);
  if (first === "local" && spec["nodeAffinity"] === undefined)
    errors.push(
      fieldError.required(`${field}.nodeAffinity`, "Local volume requires node affinity"),
    );
  return [
    ...errors,
    ...others.map((other) =>
      fieldError.forbidden(`${field}.${other}`, "may not specify more than 1 volume type"),
    ),
  ];
}

const sourceRules: ReadonlyMap<string, (source: JsonObject, at: string) => FieldError[]> = new Map([
  [
    "hostPath",
    (source, at) =>
      textIn(source, "path") === ""
        ? [fieldError.required(`${at}.path`)]
        : [...backstepErrors(source, at), ...pathTypeErrors(source, at)],
  ],
  [
    "nfs",
    (source, at) => [
      ...required(source, "server", at),
      ...required(source, "path", at),
      ...(textIn(source, "path").startsWith("/")
        ? []
        : [fieldError.invalid(`${at}.path`, textIn(source, "path"), "must be an absolute path")]),
    ],
  ],
  [
    "csi",
    (source, at) => [
      ...csiDriverNameErrors(textIn(source, "driver"), `${at}.driver`),
      ...required(source, "volumeHandle", at),
    ],
  ],
  [
    "local",
    (source, at) =>
      textIn(source, "path") === ""
        ? [fieldError.required(`${at}.path`)]
        : backstepErrors(source, at),
  ],
]);

function backstepErrors(source: JsonObject, at: string): FieldError[] {
  const path = textIn(source, "path");
  const hasBackstep = path.split("/").includes("..");
  return hasBackstep ? [fieldError.invalid(`${at}.path`, path, "must not contain '..'")] : [];
}

function pathTypeErrors(source: JsonObject, at: string): FieldError[] {
  const type = textIn(source, "type");
  return pathTypes.includes(type) ? [] : [fieldError.notSupported(`${at}.type`, type, pathTypes)];
}

export function volumeUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  const field = "spec.persistentvolumesource";
  const isMoved = sources.some((source) => !jsonEqual(now[source] ?? null, before[source] ?? null));
  return [
    ...(isMoved ? [fieldError.forbidden(field, `${field} is immutable after creation`)] : []),
    ...fixedMemberErrors(now, before, "volumeMode"),
  ];
}
