/** Rules of the volumes that a container mounts, in the words of Kubernetes. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { backstepErrors, relativePathErrors } from "./path-rules.ts";

/** The volumes of a Pod by their names. */
export type Volumes = ReadonlyMap<string, JsonObject>;

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

export function mountErrors(container: JsonObject, at: string, volumes: Volumes): FieldError[] {
  const field = `${at}.volumeMounts`;
  const devices = valuesOf(container, "volumeDevices", "devicePath");
  const devicePaths = new Set(devices.values());
  const paths = new Set<string>();
  return itemErrors<JsonObject>(container["volumeMounts"], field, (mount, place) => {
    const [name, path] = [textIn(mount, "name"), textIn(mount, "mountPath")];
    const errors = required(mount, "name", place);
    if (!volumes.has(name)) errors.push(fieldError.notFound(`${place}.name`, name));
    errors.push(...required(mount, "mountPath", place));
    const invalidPath = (text: string) =>
      errors.push(fieldError.invalid(`${place}.mountPath`, path, text));
    if (paths.has(path)) invalidPath("must be unique");
    paths.add(path);
    if (devices.has(name))
      errors.push(
        fieldError.invalid(`${place}.name`, name, "must not already exist in volumeDevices"),
      );
    if (devicePaths.has(path)) invalidPath("must not already exist as a path in volumeDevices");
    // Kubernetes reports the fields of all mounts under one path.
    return [
      ...errors,
      ...subPathErrors(mount, field, place),
      ...propagationErrors(mount, `${field}.mountPropagation`, container),
      ...recursionErrors(mount, `${field}.recursiveReadOnly`),
    ];
  });
}

function subPathErrors(mount: JsonObject, field: string, place: string): FieldError[] {
  const [path, expression] = [textIn(mount, "subPath"), textIn(mount, "subPathExpr")];
  const errors = path === "" ? [] : relativePathErrors(path, `${field}.subPath`);
  if (expression === "") return errors;
  const both = "subPathExpr and subPath are mutually exclusive";
  return [
    ...errors,
    ...(path === "" ? [] : [fieldError.invalid(`${place}.subPathExpr`, expression, both)]),
    ...relativePathErrors(expression, `${field}.subPathExpr`),
  ];
}

function propagationErrors(mount: JsonObject, at: string, container: JsonObject): FieldError[] {
  const { mountPropagation } = mount;
  if (mountPropagation === undefined) return [];
  const value = String(mountPropagation);
  if (!propagations.includes(value)) return [fieldError.notSupported(at, value, propagations)];
  const isPrivileged = objectIn(container, "securityContext")["privileged"] === true;
  return value !== "Bidirectional" || isPrivileged
    ? []
    : [
        fieldError.forbidden(
          at,
          "Bidirectional mount propagation is available only to privileged containers",
        ),
      ];
}

function recursionErrors(mount: JsonObject, at: string): FieldError[] {
  const { recursiveReadOnly, mountPropagation } = mount;
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return [];
  const value = String(recursiveReadOnly);
  if (!recursions.includes(value)) return [fieldError.notSupported(at, value, recursions)];
  const errors: FieldError[] = [];
  if (mount["readOnly"] !== true)
    errors.push(fieldError.forbidden(at, "may only be specified when readOnly is true"));
  if (mountPropagation !== undefined && mountPropagation !== "None")
    errors.push(
      fieldError.forbidden(
        at,
        "may only be specified when mountPropagation is None or not specified",
      ),
    );
  return errors;
}

export function deviceErrors(container: JsonObject, at: string, volumes: Volumes): FieldError[] {
  const mounts = valuesOf(container, "volumeMounts", "mountPath");
  const mountPaths = new Set(mounts.values());
  const [names, paths] = [new Set<string>(), new Set<string>()];
  return itemErrors<JsonObject>(container["volumeDevices"], `${at}.volumeDevices`, (device, at) => {
    const [name, path] = [textIn(device, "name"), textIn(device, "devicePath")];
    const errors = required(device, "name", at);
    const invalid = (member: string, value: string, text: string) =>
      errors.push(fieldError.invalid(`${at}.${member}`, value, text));
    if (names.has(name)) invalid("name", name, "must be unique");
    const volume = volumes.get(name);
    const isClaimed =
      volume?.["persistentVolumeClaim"] !== undefined || volume?.["ephemeral"] !== undefined;
    if (volume === undefined) errors.push(fieldError.notFound(`${at}.name`, name));
    else if (!isClaimed)
      invalid(
        "name",
        name,
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
      );
    errors.push(...required(device, "devicePath", at));
    if (paths.has(path)) invalid("devicePath", path, "must be unique");
    if (backstepErrors(path, at).length > 0)
      invalid("devicePath", path, "can not contain backsteps ('..')");
    else paths.add(path);
    if (mounts.has(name)) invalid("name", name, "must not already exist in volumeMounts");
    if (mountPaths.has(path))
      invalid("devicePath", path, "must not already exist as a path in volumeMounts");
    if (name !== "") names.add(name);
    return errors;
  });
}

function valuesOf(
  container: JsonObject,
  list: string,
  member: string,
): ReadonlyMap<string, string> {
  const items = listIn(container[list]) as readonly JsonObject[];
  return new Map(items.map((item) => [textIn(item, "name"), textIn(item, member)]));
}
