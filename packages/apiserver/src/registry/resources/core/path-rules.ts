/** Rules of paths of files and of their modes, in the words of Kubernetes. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { required } from "../rules.ts";
import { textIn } from "../standard.ts";

export function backstepErrors(path: string, at: string): FieldError[] {
  const hasBackstep = path.split("/").includes("..");
  return hasBackstep ? [fieldError.invalid(at, path, "must not contain '..'")] : [];
}

/** A path within a folder. */
export function relativePathErrors(path: string, at: string): FieldError[] {
  return [
    ...(path.startsWith("/") ? [fieldError.invalid(at, path, "must be a relative path")] : []),
    ...backstepErrors(path, at),
  ];
}

/** A path within a volume that the kubelet fills. */
export function projectedPathErrors(path: string, at: string): FieldError[] {
  const errors = relativePathErrors(path, at);
  const isReserved = path.startsWith("..") && !path.startsWith("../");
  return isReserved
    ? [...errors, fieldError.invalid(at, path, "must not start with '..'")]
    : errors;
}

const modeMax = 0o777;
const modeText = "must be a number between 0 and 0777 (octal), both inclusive";

export function fileModeErrors(holder: JsonObject, member: string, at: string): FieldError[] {
  const mode = holder[member];
  if (mode === undefined || (Number(mode) >= 0 && Number(mode) <= modeMax)) return [];
  return [fieldError.invalid(`${at}.${member}`, mode, modeText)];
}

/** A key and the path of its file. */
export function keyPathErrors(item: JsonObject, at: string): FieldError[] {
  return [
    ...required(item, "key", at),
    ...required(item, "path", at),
    ...projectedPathErrors(textIn(item, "path"), `${at}.path`),
    ...fileModeErrors(item, "mode", at),
  ];
}
