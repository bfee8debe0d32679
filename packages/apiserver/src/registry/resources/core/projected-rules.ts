/** Rules of volumes that have files from objects of the API, in the words of Kubernetes. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { required } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { fieldRefErrors, fileFields, resourceRefErrors } from "./field-source-rules.ts";
import { fileModeErrors, keyPathErrors, projectedPathErrors } from "./path-rules.ts";
import type { SourceRule } from "./volume-source-rules.ts";

/** A volume with the keys of one object, which this member names. */
export const keyedVolume =
  (nameMember: string): SourceRule =>
  (source, at) => [
    ...required(source, nameMember, at),
    ...fileModeErrors(source, "defaultMode", at),
    ...itemErrors<JsonObject>(source["items"], `${at}.items`, keyPathErrors),
  ];

export const downwardVolume: SourceRule = (source, at) => [
  ...fileModeErrors(source, "defaultMode", at),
  // All items are reported under one path.
  ...itemErrors<JsonObject>(source["items"], at, (item) => downwardFileErrors(item, at)),
];

function downwardFileErrors(file: JsonObject, at: string): FieldError[] {
  const errors = [
    ...required(file, "path", at),
    ...projectedPathErrors(textIn(file, "path"), `${at}.path`),
  ];
  const hasResource = isJsonObject(file["resourceFieldRef"]);
  if (isJsonObject(file["fieldRef"])) {
    errors.push(...fieldRefErrors(objectIn(file, "fieldRef"), `${at}.fieldRef`, fileFields));
    const both = "fieldRef and resourceFieldRef can not be specified simultaneously";
    if (hasResource) errors.push(fieldError.invalid(at, "resource", both));
  } else if (hasResource)
    errors.push(
      ...resourceRefErrors(objectIn(file, "resourceFieldRef"), `${at}.resourceFieldRef`, true),
    );
  else errors.push(fieldError.required(at, "one of fieldRef and resourceFieldRef is required"));
  return [...errors, ...fileModeErrors(file, "mode", at)];
}

/** The paths of a projected volume so far: two sources cannot have the same one. */
class Paths {
  readonly #taken = new Set<string>();

  errors(path: string, at: string, shown = path): FieldError[] {
    if (path !== "" && this.#taken.has(path))
      return [fieldError.invalid(at, shown, "conflicting duplicate paths")];
    this.#taken.add(path);
    return [];
  }
}

type ProjectionRule = (source: JsonObject, at: string, volume: VolumePaths) => FieldError[];

interface VolumePaths {
  readonly at: string;
  readonly paths: Paths;
}

const keyedProjection: ProjectionRule = (source, at, { at: volume, paths }) => [
  ...required(source, "name", at),
  ...itemErrors<JsonObject>(source["items"], `${at}.items`, (item, field) => [
    ...keyPathErrors(item, field),
    ...paths.errors(textIn(item, "path"), volume, textIn(source, "name")),
  ]),
];

const downwardProjection: ProjectionRule = (source, at, { at: volume, paths }) =>
  itemErrors<JsonObject>(source["items"], at, (item) => [
    ...downwardFileErrors(item, at),
    ...paths.errors(textIn(item, "path"), volume),
  ]);

const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;

const token: ProjectionRule = (source, at, { at: volume }) => {
  const seconds = Number(source["expirationSeconds"] ?? 0);
  const path = textIn(source, "path");
  const limit =
    seconds < tokenSecondsMin
      ? "less than 10 minutes"
      : seconds > tokenSecondsMax
        ? "larger than 2^32 seconds"
        : undefined;
  return [
    ...(limit === undefined
      ? []
      : [
          fieldError.invalid(
            `${at}.expirationSeconds`,
            seconds,
            `may not specify a duration ${limit}`,
          ),
        ]),
    ...(path === ""
      ? required(source, "path", volume)
      : projectedPathErrors(path, `${volume}.path`)),
  ];
};

/** Sources of features that clusters may lack are left to the clusters. */
const projections: ReadonlyMap<string, ProjectionRule> = new Map([
  ["secret", keyedProjection],
  ["configMap", keyedProjection],
  ["downwardAPI", downwardProjection],
  ["serviceAccountToken", token],
]);

export const projectedVolume: SourceRule = (source, at) => {
  const paths = new Paths();
  return [
    ...fileModeErrors(source, "defaultMode", at),
    ...itemErrors<JsonObject>(source["sources"], `${at}.sources`, (projection, field) => {
      const given = [...projections].filter(([name]) => isJsonObject(projection[name]));
      const errors = given.flatMap(([name, rule]) =>
        rule(objectIn(projection, name), `${field}.${name}`, { at, paths }),
      );
      return given.length > 1
        ? [
            ...errors,
            fieldError.forbidden(field, "may not specify more than 1 volume type per source"),
          ]
        : errors;
    }),
  ];
};

/** Tokens are those of an account, which a Pod, unlike a template, must have. */
export function tokenAccountErrors(spec: JsonObject, field: string): FieldError[] {
  if (textIn(spec, "serviceAccountName") !== "") return [];
  return itemErrors<JsonObject>(spec["volumes"], `${field}.volumes`, (volume, at) =>
    listIn(objectIn(volume, "projected")["sources"]).flatMap((source, index) =>
      isJsonObject(source) && source["serviceAccountToken"] !== undefined
        ? [
            fieldError.forbidden(
              `${at}.projected.sources[${index}].serviceAccountToken`,
              "must not be specified when serviceAccountName is not set",
            ),
          ]
        : [],
    ),
  );
}
