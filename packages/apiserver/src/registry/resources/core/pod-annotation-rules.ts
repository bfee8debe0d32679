/**
 * Rules of the annotations of Pods and templates that Kubernetes gives a meaning: profiles that are
 * fields now, the cost of a deletion, mirror Pods.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError, quote } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { objectIn, textIn } from "../standard.ts";
import { appArmorOf, appArmorPrefix, containersOf, seccompPrefix } from "./container-warnings.ts";
import { relativePathErrors } from "./path-rules.ts";

const mirror = "kubernetes.io/config.mirror";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const seccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
const int32Max = 2 ** 31 - 1;

/** `at` is the path of the annotations. */
export function podAnnotationErrors(
  annotations: JsonObject,
  spec: JsonObject,
  at: string,
): FieldError[] {
  const keys = Object.keys(annotations);
  if (keys.length === 0) return [];
  const errors: FieldError[] = [];
  const [copied, cost] = [annotations[mirror], annotations[deletionCost]];
  if (copied !== undefined && textIn(spec, "nodeName") === "")
    errors.push(
      fieldError.invalid(
        `${at}[${mirror}]`,
        copied,
        "must set spec.nodeName if mirror pod annotation is set",
      ),
    );
  if (cost !== undefined && !isInt32(String(cost)))
    errors.push(fieldError.invalid(`${at}[${deletionCost}]`, cost, "must be a 32bit integer"));
  for (const key of keys)
    if (key === seccompOfPod)
      errors.push(...seccompErrors(textIn(annotations, key), `${at}.${key}`));
  for (const key of keys)
    if (key.startsWith(seccompPrefix))
      errors.push(...seccompErrors(textIn(annotations, key), `${at}.${key}`));
  for (const key of keys)
    if (key.startsWith(appArmorPrefix))
      errors.push(...appArmorErrors(key, textIn(annotations, key), spec, at));
  return errors;
}

/** Without a sign or zeros before it. */
function isInt32(text: string): boolean {
  if (!/^(?:0|-?\d+)$/.test(text) || /^0./.test(text)) return false;
  const value = Number(text);
  return value >= -int32Max - 1 && value <= int32Max;
}

function seccompErrors(profile: string, at: string): FieldError[] {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return [];
  const local = "localhost/";
  return profile.startsWith(local)
    ? relativePathErrors(profile.slice(local.length), at)
    : [fieldError.invalid(at, profile, "must be a valid seccomp profile")];
}

function appArmorErrors(key: string, profile: string, spec: JsonObject, at: string): FieldError[] {
  const name = key.slice(appArmorPrefix.length);
  const field = `${at}[${key}]`;
  const isThere = containersOf(spec, "").some(({ container }) => container["name"] === name);
  const isProfile =
    ["", "runtime/default", "unconfined"].includes(profile) || profile.startsWith("localhost/");
  return [
    ...(isThere ? [] : [fieldError.invalid(field, name, "container not found")]),
    ...(isProfile
      ? []
      : [fieldError.invalid(field, profile, `invalid AppArmor profile name: ${quote(profile)}`)]),
  ];
}

/** An annotation and the field that replaced it say the same. */
export function profileMatchErrors(
  annotations: JsonObject,
  spec: JsonObject,
  at: string,
): FieldError[] {
  if (Object.keys(annotations).length === 0) return [];
  const ofPod = objectIn(spec, "securityContext");
  const containers = containersOf(spec, at);
  const isWindows = objectIn(spec, "os")["name"] === "windows";
  const seccomp = ["seccompProfile", "seccomp", ["runtime/default", "docker/default"]] as const;
  const appArmor = ["appArmorProfile", "apparmor", ["runtime/default"]] as const;
  return [
    ...matchErrors(
      annotations[seccompOfPod],
      ofPod["seccompProfile"],
      `${at}.securityContext`,
      seccomp,
    ),
    ...containers.flatMap(({ container, at: place }) => {
      const key = `${seccompPrefix}${textIn(container, "name")}`;
      const profile = objectIn(container, "securityContext")["seccompProfile"];
      return matchErrors(annotations[key], profile, `${place}.securityContext`, seccomp);
    }),
    ...(isWindows ? [] : containers).flatMap(({ container, at: place }) => {
      const key = `${appArmorPrefix}${textIn(container, "name")}`;
      const own = objectIn(container, "securityContext")["appArmorProfile"];
      const profile = own ?? ofPod["appArmorProfile"];
      return matchErrors(annotations[key], profile, `${place}.securityContext`, appArmor);
    }),
  ];
}

type ProfileKind = readonly [member: string, name: string, defaults: readonly string[]];

function matchErrors(
  annotation: unknown,
  profile: unknown,
  at: string,
  [member, name, defaults]: ProfileKind,
): FieldError[] {
  if (typeof annotation !== "string" || !isJsonObject(profile)) return [];
  const { type, localhostProfile } = profile;
  const local = "localhost/";
  const isOfType =
    type === "Unconfined"
      ? annotation === "unconfined"
      : type === "RuntimeDefault"
        ? defaults.includes(annotation)
        : type !== "Localhost" || annotation.startsWith(local);
  const text = `${name} type in annotation and field must match`;
  if (!isOfType) return [fieldError.forbidden(`${at}.${member}.type`, text)];
  return type === "Localhost" && annotation.slice(local.length) !== localhostProfile
    ? [
        fieldError.forbidden(
          `${at}.${member}.localhostProfile`,
          `${name} profile in annotation and field must match`,
        ),
      ]
    : [];
}

/** A new Pod gets the fields of what its annotations say. */
export function setAppArmorOfAnnotations(draft: Draft): void {
  const annotations = objectIn(objectIn(draft, "metadata"), "annotations");
  if (!Object.keys(annotations).some((key) => key.startsWith(appArmorPrefix))) return;
  const spec = mutableMember(draft, "spec");
  if (objectIn(spec, "os")["name"] === "windows") return;
  const ofPod = objectIn(spec, "securityContext")["appArmorProfile"];
  for (const member of ["initContainers", "containers", "ephemeralContainers"])
    for (const container of mutableItems(spec, member)) {
      const annotation = annotations[`${appArmorPrefix}${textIn(container, "name")}`];
      const own = objectIn(container, "securityContext")["appArmorProfile"];
      const profile = typeof annotation === "string" ? appArmorOf(annotation) : null;
      if (own !== undefined || profile === null) continue;
      if (JSON.stringify(profile) !== JSON.stringify(ofPod))
        mutableMember(container, "securityContext")["appArmorProfile"] = profile;
    }
}
