/** The rules of StorageClasses and of the kinds around CSI drivers, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { csiDriverNameErrors } from "../core/csi-driver-name.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import {
  fixedMemberErrors,
  labelNameErrorsAt,
  labelValueErrorsAt,
  nameErrorsAt,
  negativeErrors,
  negativeQuantityErrors,
  oneOf,
  oneOfIfSet,
  required,
} from "../rules.ts";
import { duplicateErrors, itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const parametersMax = 512;
const nodeIdCharactersMax = 256;
const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;
const periodSecondsMin = 10;

export function storageClassErrors(object: JsonObject): FieldError[] {
  const provisioner = textIn(object, "provisioner").toLowerCase();
  return [
    ...(provisioner === ""
      ? [fieldError.required("provisioner")]
      : labelNameErrorsAt(provisioner, "provisioner")),
    ...parameterErrors(object),
    ...oneOf(object, "reclaimPolicy", ["Delete", "Retain"], ""),
    ...oneOf(object, "volumeBindingMode", ["Immediate", "WaitForFirstConsumer"], ""),
    ...topologyErrors(object["allowedTopologies"]),
  ];
}

export function storageClassUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  return ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"].flatMap((member) =>
    fixedMemberErrors(updated, old, member),
  );
}

function parameterErrors(object: JsonObject): FieldError[] {
  const names = Object.keys(objectIn(object, "parameters"));
  if (names.length > parametersMax) return [fieldError.tooLong("parameters", parametersMax)];
  return names.includes("")
    ? [fieldError.invalid("parameters", "", "field can not be empty.")]
    : [];
}

function topologyErrors(topologies: JsonValue | undefined): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<JsonObject>(topologies, "allowedTopologies", (term, at) => {
    const field = `${at}.matchLabelExpressions`;
    const values = new Map<string, readonly JsonValue[]>();
    const errors = itemErrors<JsonObject>(term["matchLabelExpressions"], field, (one, path) => {
      const key = textIn(one, "key");
      const listed = listIn(one["values"]);
      const found = listed.length === 0 ? [fieldError.required(`${path}.values`)] : [];
      found.push(
        ...duplicateErrors(one["values"], `${path}.values`),
        ...itemErrors<string>(one["values"], `${path}.values`, labelValueErrorsAt),
        ...labelNameErrorsAt(key, `${path}.key`),
      );
      if (values.has(key)) found.push(fieldError.duplicate(`${path}.key`, key));
      values.set(key, listed.toSorted());
      return found;
    });
    const text = JSON.stringify([...values]);
    if (seen.has(text)) errors.push(fieldError.duplicate(field, ""));
    seen.add(text);
    return errors;
  });
}

export function attributesClassErrors(object: JsonObject): FieldError[] {
  const driver = textIn(object, "driverName").toLowerCase();
  const isEmpty = Object.keys(objectIn(object, "parameters")).length === 0;
  return [
    ...(driver === ""
      ? [fieldError.required("driverName")]
      : labelNameErrorsAt(driver, "driverName")),
    ...parameterErrors(object),
    ...(isEmpty
      ? [fieldError.required("parameters", "must contain at least one key/value pair")]
      : []),
  ];
}

export function attributesClassUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  return ["driverName", "parameters"].flatMap((member) =>
    jsonEqual(updated[member] ?? null, old[member] ?? null)
      ? []
      : [fieldError.forbidden(member, `updates to ${member} are forbidden.`)],
  );
}

export function driverErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const period = spec["nodeAllocatableUpdatePeriodSeconds"];
  const inSecrets = spec["serviceAccountTokenInSecrets"];
  const errors = [
    ...oneOfIfSet(spec, "fsGroupPolicy", ["File", "None", "ReadWriteOnceWithFSType"], "spec"),
    ...tokenErrors(spec["tokenRequests"]),
    ...itemErrors<string>(spec["volumeLifecycleModes"], "spec.volumeLifecycleModes", (mode) =>
      lifecycleModes.includes(mode)
        ? []
        : [fieldError.notSupported("spec.volumeLifecycleModes", mode, lifecycleModes)],
    ),
  ];
  if (period !== undefined && Number(period) < periodSecondsMin)
    errors.push(
      fieldError.invalid(
        "spec.nodeAllocatableUpdatePeriodSeconds",
        period,
        `must be greater than or equal to ${periodSecondsMin} seconds`,
      ),
    );
  if (inSecrets !== undefined && listIn(spec["tokenRequests"]).length === 0)
    errors.push(
      fieldError.invalid(
        "spec.serviceAccountTokenInSecrets",
        inSecrets,
        "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ),
    );
  return errors;
}

const lifecycleModes = ["Persistent", "Ephemeral"];

export function driverWarnings(object: JsonObject, old?: JsonObject): string[] {
  const spec = objectIn(object, "spec");
  const requests = listIn(spec["tokenRequests"]);
  const before = old === undefined ? [] : listIn(objectIn(old, "spec")["tokenRequests"]);
  const isUnclear = requests.length > 0 && spec["serviceAccountTokenInSecrets"] === undefined;
  return isUnclear && !jsonEqual(requests, before)
    ? [
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
      ]
    : [];
}

export function driverUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  return [
    ...fixedMemberErrors(now, before, "attachRequired", "spec.attachedRequired"),
    ...fixedMemberErrors(now, before, "volumeLifecycleModes", "spec.volumeLifecycleModes"),
  ];
}

function tokenErrors(requests: JsonValue | undefined): FieldError[] {
  const audiences = new Set<string>();
  return itemErrors<JsonObject>(requests, "spec.tokenRequests", (request, at) => {
    const audience = textIn(request, "audience");
    if (audiences.has(audience)) return [fieldError.duplicate(`${at}.audience`, audience)];
    audiences.add(audience);
    const { expirationSeconds: seconds } = request;
    const error = (detail: string) => [
      fieldError.invalid(`${at}.expirationSeconds`, seconds ?? null, detail),
    ];
    if (seconds === undefined) return [];
    if (Number(seconds) < tokenSecondsMin)
      return error("may not specify a duration less than 10 minutes");
    return Number(seconds) > tokenSecondsMax
      ? error("may not specify a duration larger than 2^32 seconds")
      : [];
  });
}

export function nodeDriverErrors(object: JsonObject): FieldError[] {
  const names = new Set<string>();
  const { drivers } = objectIn(object, "spec");
  return itemErrors<JsonObject>(drivers, "spec.drivers", (driver, at) => {
    const [name, node] = [textIn(driver, "name"), textIn(driver, "nodeID")];
    const errors = [
      ...csiDriverNameErrors(name, `${at}.name`),
      ...required(driver, "nodeID", at),
      ...negativeErrors(objectIn(driver, "allocatable"), ["count"], `${at}.allocatable`),
    ];
    if (node.length > nodeIdCharactersMax)
      errors.push(
        fieldError.invalid(
          `${at}.nodeID`,
          node,
          `must be ${nodeIdCharactersMax} characters or less`,
        ),
      );
    if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
    names.add(name);
    return [...errors, ...topologyKeyErrors(driver["topologyKeys"], at)];
  });
}

/** The field is the driver, as in Kubernetes. */
function topologyKeyErrors(keys: JsonValue | undefined, field: string): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<string>(keys, field, (key) => {
    const errors = seen.has(key) ? [fieldError.duplicate(field, key)] : [];
    seen.add(key);
    return [...errors, ...labelNameErrorsAt(key, field)];
  });
}

export function nodeDriverUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const driversOf = (object: JsonObject) =>
    listIn(objectIn(object, "spec")["drivers"]).filter(isJsonObject);
  const before = new Map(driversOf(old).map((driver) => [driver["name"], driver]));
  const lasting = ({ allocatable: _, ...rest }: JsonObject) => rest;
  return driversOf(updated).flatMap((driver) => {
    const known = before.get(driver["name"]);
    return known === undefined || jsonEqual(lasting(driver), lasting(known))
      ? []
      : [fieldError.invalid("spec.drivers", lasting(driver), "field is immutable")];
  });
}

export function capacityErrors(object: JsonObject): FieldError[] {
  const { capacity } = object;
  return [
    ...labelSelectorErrors(object["nodeTopology"], "nodeTopology"),
    ...nameErrorsAt(textIn(object, "storageClassName"), "storageClassName", dnsSubdomainErrors),
    ...(capacity === undefined ? [] : negativeQuantityErrors(capacity, "capacity")),
  ];
}

export function capacityUpdateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  return ["nodeTopology", "storageClassName"].flatMap((member) =>
    fixedMemberErrors(updated, old, member),
  );
}

export function attachmentErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  return [
    ...csiDriverNameErrors(textIn(spec, "attacher"), "spec.attacher"),
    ...attachmentSourceErrors(objectIn(spec, "source"), "spec.source"),
    ...nameErrorsAt(textIn(spec, "nodeName"), "spec.nodeName", dnsSubdomainErrors),
  ];
}

function attachmentSourceErrors(source: JsonObject, field: string): FieldError[] {
  const { inlineVolumeSpec: inline, persistentVolumeName: name } = source;
  const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (inline === undefined && name === undefined) return [fieldError.required(field, detail)];
  if (inline !== undefined && name !== undefined) return [fieldError.forbidden(field, detail)];
  if (name !== undefined)
    return nameErrorsAt(String(name), `${field}.persistentVolumeName`, dnsSubdomainErrors);
  const at = `${field}.inlineVolumeSpec`;
  return isJsonObject(inline) && !isJsonObject(inline["csi"])
    ? [fieldError.required(`${at}.csi`, "has to be specified in the context of inline volumes")]
    : [];
}
