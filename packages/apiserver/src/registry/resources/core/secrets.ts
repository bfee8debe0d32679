import type { Resumable } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import { secret } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../resource-definition.ts";
import type { Draft } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  nameCell,
  nameColumn,
  namespacedNames,
  standardVerbs,
} from "../standard.ts";
import { immutabilityErrors, keyErrors, sizeOf } from "./keyed-data.ts";

/** All values together, as in Kubernetes. */
export const secretBytesMax = 1 << 20;

export const secrets: ResourceDefinition = {
  group: "",
  version: "v1",
  resource: "secrets",
  singular: "secret",
  kind: "Secret",
  listKind: "SecretList",
  isNamespaced: true,
  shortNames: [],
  categories: [],
  verbs: standardVerbs,
  identity: "",
  itemsCarryKind: false,
  subresources: new Map(),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: secret,
    allowsUnconditionalUpdate: true,
    prepareForCreate: prepareSecret,
    prepareForUpdate: prepareSecret,
    validate: (object) => dataErrors(object),
    validateUpdate: (updated, old) => {
      const errors = [...immutabilityErrors(updated, old, ["data"])];
      if (updated["type"] !== old["type"]) {
        errors.push(fieldError.invalid("type", updated["type"] as JsonValue, "field is immutable"));
      }
      return dataErrors(updated, errors);
    },
    selectableFields: new Map([["type", (object: JsonObject) => String(object["type"] ?? "")]]),
    columns: [
      nameColumn,
      {
        name: "Type",
        type: "string",
        format: "",
        description: "What the data is for.",
        priority: 0,
      },
      {
        name: "Data",
        type: "string",
        format: "",
        description: "How many keys there are.",
        priority: 0,
      },
      ageColumn,
    ],
    cells: (object, nowMs) => [
      nameCell(object),
      String(object["type"] ?? ""),
      Object.keys((object["data"] ?? {}) as JsonObject).length,
      ageCell(object, nowMs),
    ],
  },
};

/** stringData is write-only: it is merged into data and dropped. */
function prepareSecret(draft: Draft): void {
  if (typeof draft["type"] !== "string" || draft["type"] === "") draft["type"] = "Opaque";
  const { stringData } = draft;
  delete draft["stringData"];
  if (!isJsonObject(stringData) || Object.keys(stringData).length === 0) return;
  const data: Draft = { ...(draft["data"] as JsonObject | undefined) };
  for (const [key, text] of Object.entries(stringData)) {
    setMember(data, key, Buffer.from(text as string, "utf8").toString("base64"));
  }
  draft["data"] = data;
}

/** Yields to the event loop where there are many keys. */
function* dataErrors(
  object: JsonObject,
  errors: readonly FieldError[] = [],
): Resumable<FieldError[]> {
  const data = (object["data"] ?? {}) as JsonObject;
  const keys = Object.keys(data);
  const found = yield* keyErrors("data", keys);
  if ((yield* sizeOf({ data, keys, encoding: "base64" }, secretBytesMax)) > secretBytesMax)
    found.push(fieldError.tooLong("data", secretBytesMax));
  const ofType = typeErrors(String(object["type"]), data, object["metadata"] as JsonObject);
  return [...errors, ...found, ...ofType];
}

function typeErrors(type: string, data: JsonObject, metadata: JsonObject): FieldError[] {
  const missing = (key: string) => !Object.hasOwn(data, key);
  const requires = (...keys: string[]) =>
    keys.filter(missing).map((key) => fieldError.required(`data[${key}]`));
  switch (type) {
    case "kubernetes.io/service-account-token": {
      const field = "metadata.annotations[kubernetes.io/service-account.name]";
      const annotations = (metadata["annotations"] ?? {}) as JsonObject;
      return annotations["kubernetes.io/service-account.name"] ? [] : [fieldError.required(field)];
    }
    case "kubernetes.io/dockercfg":
      return jsonErrors(data, ".dockercfg");
    case "kubernetes.io/dockerconfigjson":
      return jsonErrors(data, ".dockerconfigjson");
    case "kubernetes.io/basic-auth":
      return missing("username") && missing("password")
        ? [fieldError.required("data[username]"), fieldError.required("data[password]")]
        : [];
    case "kubernetes.io/ssh-auth":
      return data["ssh-privatekey"] ? [] : [fieldError.required("data[ssh-privatekey]")];
    case "kubernetes.io/tls":
      return requires("tls.crt", "tls.key");
    default:
      return [];
  }
}

function jsonErrors(data: JsonObject, key: string): FieldError[] {
  if (!Object.hasOwn(data, key)) return [fieldError.required(`data[${key}]`)];
  try {
    parseBounded(bounds.embeddedText, Buffer.from(data[key] as string, "base64"));
    return [];
  } catch (error) {
    return [
      fieldError.invalid(
        `data[${key}]`,
        "<secret contents redacted>",
        error instanceof Error ? error.message : "not JSON",
      ),
    ];
  }
}
