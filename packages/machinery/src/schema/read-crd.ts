/**
 * Reads a CustomResourceDefinition from JSON and applies its defaults.
 *
 * Reading never fails half way: members of the wrong type are reported as problems (the caller
 * responds with 400, as Kubernetes' decoder does) and read as absent.
 */
import { isJsonObject, type JsonObject, type JsonValue, member, setMember } from "../json/index.ts";
import type {
  CrdConversion,
  CrdNames,
  CrdSubresources,
  CrdVersion,
  CustomResourceDefinition,
  PrinterColumn,
  WebhookClientConfig,
} from "./crd.ts";

export interface ReadCrd {
  readonly definition: CustomResourceDefinition;
  readonly problems: readonly string[];
}

/** Versions of one CRD; Kubernetes has no limit, real ones have up to ten. */
export const crdVersionsMax = 100;

export function readCustomResourceDefinition(json: JsonValue): ReadCrd {
  const reader = new CrdReader();
  return { definition: reader.definition(json), problems: reader.problems };
}

/** The CRD with Kubernetes' defaults; the input is not changed. */
export function defaultCustomResourceDefinition(crd: JsonObject): JsonObject {
  const spec = objectMember(crd, "spec");
  const names = objectMember(spec, "names");
  const kind = member(names, "kind");
  const newNames: { [key: string]: JsonValue } = { ...names };
  if (typeof kind === "string" && kind !== "") {
    if (!isFilled(member(names, "singular"))) newNames["singular"] = kind.toLowerCase();
    if (!isFilled(member(names, "listKind"))) newNames["listKind"] = `${kind}List`;
  }
  const conversion = member(spec, "conversion");
  const newSpec: { [key: string]: JsonValue } = { ...spec, names: newNames };
  newSpec["conversion"] = isJsonObject(conversion)
    ? withDefaultPort(conversion)
    : { strategy: "None" };
  const status = objectMember(crd, "status");
  const stored = member(status, "storedVersions");
  const storage = storageVersion(member(spec, "versions"));
  const needsStored = !(Array.isArray(stored) && stored.length > 0) && storage !== undefined;
  return {
    ...crd,
    spec: newSpec,
    ...(needsStored ? { status: { ...status, storedVersions: [storage] } } : {}),
  };
}

function isFilled(value: JsonValue | undefined): boolean {
  return typeof value === "string" && value !== "";
}

function objectMember(object: JsonObject, key: string): JsonObject {
  const value = member(object, key);
  return isJsonObject(value) ? value : {};
}

function withDefaultPort(conversion: JsonObject): JsonObject {
  const webhook = member(conversion, "webhook");
  if (!isJsonObject(webhook)) return conversion;
  const clientConfig = member(webhook, "clientConfig");
  if (!isJsonObject(clientConfig)) return conversion;
  const service = member(clientConfig, "service");
  if (!isJsonObject(service) || (member(service, "port") ?? null) !== null) return conversion;
  const filled = { ...clientConfig, service: { ...service, port: 443 } };
  return { ...conversion, webhook: { ...webhook, clientConfig: filled } };
}

function storageVersion(versions: JsonValue | undefined): string | undefined {
  if (!Array.isArray(versions)) return undefined;
  for (const version of versions as readonly JsonValue[]) {
    if (!isJsonObject(version) || member(version, "storage") !== true) continue;
    const name = member(version, "name");
    if (typeof name === "string") return name;
  }
  return undefined;
}

class CrdReader {
  readonly problems: string[] = [];

  definition(json: JsonValue): CustomResourceDefinition {
    const root = this.#object(json, "") ?? {};
    const metadata = this.#object(root["metadata"], "metadata") ?? {};
    const spec = this.#object(root["spec"], "spec") ?? {};
    const status = this.#object(root["status"], "status") ?? {};
    return {
      name: this.#text(metadata, "name", "metadata"),
      annotations: this.#annotations(metadata["annotations"]),
      spec: {
        group: this.#text(spec, "group", "spec"),
        names: this.#names(spec["names"], "spec.names"),
        scope: this.#text(spec, "scope", "spec"),
        versions: this.#versions(spec["versions"]),
        conversion: this.#conversion(spec["conversion"]),
        preserveUnknownFields: this.#flag(spec, "preserveUnknownFields", "spec"),
      },
      status: {
        acceptedNames: this.#names(status["acceptedNames"], "status.acceptedNames"),
        storedVersions: this.#texts(status, "storedVersions", "status"),
        established: isEstablished(status["conditions"]),
      },
    };
  }

  #annotations(json: JsonValue | undefined): ReadonlyMap<string, string> {
    const annotations = new Map<string, string>();
    const object = this.#object(json, "metadata.annotations") ?? {};
    for (const key of Object.keys(object))
      annotations.set(key, this.#text(object, key, "metadata.annotations"));
    return annotations;
  }

  #names(json: JsonValue | undefined, path: string): CrdNames {
    const names = this.#object(json, path) ?? {};
    return {
      plural: this.#text(names, "plural", path),
      singular: this.#text(names, "singular", path),
      kind: this.#text(names, "kind", path),
      listKind: this.#text(names, "listKind", path),
      shortNames: this.#texts(names, "shortNames", path),
      categories: this.#texts(names, "categories", path),
    };
  }

  #versions(json: JsonValue | undefined): readonly CrdVersion[] {
    const versions = this.#list(json, "spec.versions");
    if (versions.length > crdVersionsMax) {
      this.#problem("spec.versions", `must not have more than ${crdVersionsMax} entries`);
      return [];
    }
    return versions.map((version, i) => this.#version(version, `spec.versions[${i}]`));
  }

  #version(json: JsonValue, path: string): CrdVersion {
    const version = this.#object(json, path) ?? {};
    const schema = this.#object(version["schema"], `${path}.schema`)?.["openAPIV3Schema"];
    const warning = version["deprecationWarning"];
    return {
      name: this.#text(version, "name", path),
      served: this.#flag(version, "served", path),
      storage: this.#flag(version, "storage", path),
      deprecated: this.#flag(version, "deprecated", path),
      deprecationWarning:
        warning === undefined || warning === null
          ? undefined
          : this.#text(version, "deprecationWarning", path),
      schema: schema === null ? undefined : schema,
      subresources: this.#subresources(version["subresources"], `${path}.subresources`),
      printerColumns: this.#list(
        version["additionalPrinterColumns"],
        `${path}.additionalPrinterColumns`,
      ).map((column, i) => this.#column(column, `${path}.additionalPrinterColumns[${i}]`)),
      selectableFields: this.#list(version["selectableFields"], `${path}.selectableFields`).map(
        (field, i) => {
          const at = `${path}.selectableFields[${i}]`;
          return this.#text(this.#object(field, at) ?? {}, "jsonPath", at);
        },
      ),
    };
  }

  #subresources(json: JsonValue | undefined, path: string): CrdSubresources | undefined {
    const subresources = this.#object(json, path);
    if (subresources === undefined) return undefined;
    const scale = this.#object(subresources["scale"], `${path}.scale`);
    const selector = scale?.["labelSelectorPath"];
    return {
      status: this.#object(subresources["status"], `${path}.status`) !== undefined,
      scale:
        scale === undefined
          ? undefined
          : {
              specReplicasPath: this.#text(scale, "specReplicasPath", `${path}.scale`),
              statusReplicasPath: this.#text(scale, "statusReplicasPath", `${path}.scale`),
              labelSelectorPath:
                selector === undefined || selector === null
                  ? undefined
                  : this.#text(scale, "labelSelectorPath", `${path}.scale`),
            },
    };
  }

  #column(json: JsonValue, path: string): PrinterColumn {
    const column = this.#object(json, path) ?? {};
    return {
      name: this.#text(column, "name", path),
      type: this.#text(column, "type", path),
      format: this.#text(column, "format", path),
      description: this.#text(column, "description", path),
      priority: this.#integer(column, "priority", path),
      jsonPath: this.#text(column, "jsonPath", path),
    };
  }

  #conversion(json: JsonValue | undefined): CrdConversion | undefined {
    const path = "spec.conversion";
    const conversion = this.#object(json, path);
    if (conversion === undefined) return undefined;
    const webhook = this.#object(conversion["webhook"], `${path}.webhook`);
    return {
      strategy: this.#text(conversion, "strategy", path),
      clientConfig: this.#clientConfig(webhook?.["clientConfig"], `${path}.webhook.clientConfig`),
      reviewVersions: this.#texts(webhook ?? {}, "conversionReviewVersions", `${path}.webhook`),
    };
  }

  #clientConfig(json: JsonValue | undefined, path: string): WebhookClientConfig | undefined {
    const config = this.#object(json, path);
    if (config === undefined) return undefined;
    const service = this.#object(config["service"], `${path}.service`);
    const optionalText = (object: JsonObject, key: string, at: string): string | undefined =>
      (object[key] ?? null) === null ? undefined : this.#text(object, key, at);
    return {
      url: optionalText(config, "url", path),
      service:
        service === undefined
          ? undefined
          : {
              namespace: this.#text(service, "namespace", `${path}.service`),
              name: this.#text(service, "name", `${path}.service`),
              path: optionalText(service, "path", `${path}.service`),
              port: this.#integer(service, "port", `${path}.service`),
            },
      caBundle: this.#text(config, "caBundle", path),
    };
  }

  /** A null-prototype copy, so that `object[key]` sees own members only. */
  #object(json: JsonValue | undefined, path: string): JsonObject | undefined {
    if (json === undefined || json === null) return undefined;
    if (!isJsonObject(json)) {
      this.#problem(path, "must be an object");
      return undefined;
    }
    const own = Object.create(null) as { [key: string]: JsonValue };
    for (const key of Object.keys(json)) setMember(own, key, json[key] as JsonValue);
    return own;
  }

  #list(json: JsonValue | undefined, path: string): readonly JsonValue[] {
    if (json === undefined || json === null) return [];
    if (Array.isArray(json)) return json as readonly JsonValue[];
    this.#problem(path, "must be an array");
    return [];
  }

  #text(object: JsonObject, key: string, path: string): string {
    const value = object[key];
    if (typeof value === "string") return value;
    if (value !== undefined && value !== null) this.#problem(`${path}.${key}`, "must be a string");
    return "";
  }

  #texts(object: JsonObject, key: string, path: string): readonly string[] {
    return this.#list(object[key], `${path}.${key}`).map((item, i) => {
      if (typeof item === "string") return item;
      this.#problem(`${path}.${key}[${i}]`, "must be a string");
      return "";
    });
  }

  #flag(object: JsonObject, key: string, path: string): boolean {
    const value = object[key];
    if (typeof value === "boolean") return value;
    if (value !== undefined && value !== null) this.#problem(`${path}.${key}`, "must be a boolean");
    return false;
  }

  #integer(object: JsonObject, key: string, path: string): number {
    const value = object[key];
    if (Number.isSafeInteger(value)) return value as number;
    if (value !== undefined && value !== null)
      this.#problem(`${path}.${key}`, "must be an integer");
    return 0;
  }

  #problem(path: string, text: string): void {
    if (this.problems.length < 20) this.problems.push(`${path === "" ? "object" : path}: ${text}`);
  }
}

function isEstablished(conditions: JsonValue | undefined): boolean {
  if (!Array.isArray(conditions)) return false;
  return (conditions as readonly JsonValue[]).some(
    (condition) =>
      isJsonObject(condition) &&
      member(condition, "type") === "Established" &&
      member(condition, "status") === "True",
  );
}
