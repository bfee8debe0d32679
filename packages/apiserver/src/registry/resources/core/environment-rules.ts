/** Rules of the environment of containers, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { configMapKeyErrors, dnsSubdomainErrors, type NameErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { nameErrorsAt, required, requiredLabel } from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";
import { environmentFields, fieldRefErrors, resourceRefErrors } from "./field-source-rules.ts";
import { backstepErrors } from "./path-rules.ts";
import type { SourceRule } from "./volume-source-rules.ts";

const variableText =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";

const variableNameErrors: NameErrors = (name) => (/^[ -<>-~]+$/.test(name) ? [] : [variableText]);

function keyErrors(selector: JsonObject, at: string, check: NameErrors): FieldError[] {
  const key = textIn(selector, "key");
  return key === "" ? required(selector, "key", at) : nameErrorsAt(key, `${at}.key`, check);
}

const objectKey: SourceRule = (selector, at) => [
  ...nameErrorsAt(textIn(selector, "name"), `${at}.name`, dnsSubdomainErrors),
  ...keyErrors(selector, at, configMapKeyErrors),
];

const fileKey: SourceRule = (selector, at) => {
  const missing = required(selector, "path", at);
  return [
    ...keyErrors(selector, at, variableNameErrors),
    ...requiredLabel(selector, "volumeName", at),
    ...(missing.length > 0 ? missing : backstepErrors(textIn(selector, "path"), `${at}.path`)),
  ];
};

const sources: ReadonlyMap<string, SourceRule> = new Map<string, SourceRule>([
  ["fieldRef", (source, at) => fieldRefErrors(source, at, environmentFields)],
  ["resourceFieldRef", (source, at) => resourceRefErrors(source, at, false)],
  ["configMapKeyRef", objectKey],
  ["secretKeyRef", objectKey],
  ["fileKeyRef", fileKey],
]);

export function environmentErrors(env: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(env, field, (variable, at) => {
    const name = textIn(variable, "name");
    const errors =
      name === ""
        ? required(variable, "name", at)
        : nameErrorsAt(name, `${at}.name`, variableNameErrors);
    return isJsonObject(variable["valueFrom"])
      ? [...errors, ...valueFromErrors(variable, `${at}.valueFrom`)]
      : errors;
  });
}

function valueFromErrors(variable: JsonObject, at: string): FieldError[] {
  const from = objectIn(variable, "valueFrom");
  const given = [...sources].filter(([name]) => isJsonObject(from[name]));
  const errors = given.flatMap(([name, rule]) => rule(objectIn(from, name), `${at}.${name}`));
  const message =
    given.length === 0
      ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
      : textIn(variable, "value") !== ""
        ? "may not be specified when `value` is not empty"
        : given.length > 1
          ? "may not have more than one field specified at a time"
          : undefined;
  return message === undefined ? errors : [...errors, fieldError.invalid(at, "", message)];
}

/** The names of objects may be beginnings of names, for historical reasons. */
function objectNameErrors(reference: JsonObject, at: string): FieldError[] {
  const name = textIn(reference, "name");
  if (name === "") return required(reference, "name", at);
  return dnsSubdomainErrors(name, { isPrefix: true }).map((text) =>
    fieldError.invalid(`${at}.name`, name, text),
  );
}

export function environmentSourceErrors(list: JsonValue | undefined, field: string): FieldError[] {
  return itemErrors<JsonObject>(list, field, (source, at) => {
    const prefix = textIn(source, "prefix");
    const given = ["configMapRef", "secretRef"].filter((one) => isJsonObject(source[one]));
    const errors = [
      ...(prefix === "" ? [] : nameErrorsAt(prefix, `${at}.prefix`, variableNameErrors)),
      ...given.flatMap((one) => objectNameErrors(objectIn(source, one), `${at}.${one}`)),
    ];
    if (given.length === 1) return errors;
    const message =
      given.length === 0
        ? "must specify one of: `configMapRef` or `secretRef`"
        : "may not have more than one field specified at a time";
    return [...errors, fieldError.invalid(field, "", message)];
  });
}

/** Values of files come from folders that are empty at first. */
export function fileVolumeErrors(
  container: JsonObject,
  at: string,
  volumes: ReadonlyMap<string, JsonObject>,
): FieldError[] {
  return itemErrors<JsonObject>(container["env"], `${at}.env`, (variable, field) => {
    const from = objectIn(objectIn(variable, "valueFrom"), "fileKeyRef");
    if (objectIn(variable, "valueFrom")["fileKeyRef"] === undefined) return [];
    const name = textIn(from, "volumeName");
    const place = `${field}.valueFrom.fileKeyRef.volumeName`;
    const volume = volumes.get(name);
    if (volume === undefined) return [fieldError.notFound(place, name)];
    return volume["emptyDir"] === undefined
      ? [fieldError.invalid(place, name, "referenced volume must be of type emptyDir")]
      : [];
  });
}
