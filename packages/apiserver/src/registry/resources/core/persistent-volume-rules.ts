/** The rules of PersistentVolumes, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { fixedMemberErrors, oneOf, positiveQuantityErrors } from "../rules.ts";
import { listIn, objectIn, textIn } from "../standard.ts";
import { nodeSelectorErrors } from "./affinity-rules.ts";
import { accessModeErrors, classNameErrors, volumeModeErrors } from "./claim-rules.ts";
import { flexVolume, oneSourceErrors, persistentSources } from "./volume-source-rules.ts";

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
    ...volumeModeErrors(spec, field),
    ...attributesErrors(spec, field),
  ];
}

const mountAnnotation = "volume.beta.kubernetes.io/mount-options";
/** Sources whose volumes take the options of that annotation. */
const mountedSources = [
  ...["gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi"],
  ...["cinder", "cephfs", "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"],
];

export function mountOptionErrors(object: JsonObject): FieldError[] {
  const annotations = objectIn(objectIn(object, "metadata"), "annotations");
  const spec = objectIn(object, "spec");
  if (annotations[mountAnnotation] === undefined) return [];
  if (mountedSources.some((source) => spec[source] !== undefined)) return [];
  const detail = "may not specify mount options for this volume type";
  return [fieldError.forbidden(`metadata.annotations.${mountAnnotation}`, detail)];
}

/** Only drivers know attributes. */
function attributesErrors(spec: JsonObject, field: string): FieldError[] {
  const name = spec["volumeAttributesClassName"];
  if (name === undefined) return [];
  const [at, empty] = [`${field}.volumeAttributesClassName`, "an empty string is disallowed"];
  const csi = "has to be specified when using volumeAttributesClassName";
  return [
    ...(name === ""
      ? [fieldError.required(at, empty)]
      : classNameErrors(spec, "volumeAttributesClassName", field)),
    ...(spec["csi"] === undefined ? [fieldError.required(`${field}.csi`, csi)] : []),
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
  return nodeSelectorErrors(needed, at);
}

function volumeSourceErrors(spec: JsonObject, field: string): FieldError[] {
  // Kubernetes accepts a FlexVolume beside another source.
  const isFlexible = isJsonObject(spec["flexVolume"]);
  const others = [...persistentSources.keys()].filter((source) => isJsonObject(spec[source]));
  const flex = isFlexible ? flexVolume(objectIn(spec, "flexVolume"), `${field}.flexVolume`) : [];
  const errors =
    isFlexible && others.length === 0
      ? flex
      : [...oneSourceErrors(spec, field, persistentSources), ...flex];
  if (others[0] === "local" && spec["nodeAffinity"] === undefined)
    errors.push(
      fieldError.required(`${field}.nodeAffinity`, "Local volume requires node affinity"),
    );
  return errors;
}

export function volumeUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  const field = "spec.persistentvolumesource";
  const isMoved = [...persistentSources.keys(), "flexVolume"].some(
    (source) => !jsonEqual(now[source] ?? null, before[source] ?? null),
  );
  return [
    ...(isMoved ? [fieldError.forbidden(field, `${field} is immutable after creation`)] : []),
    ...fixedMemberErrors(now, before, "volumeMode"),
  ];
}
