/**
 * EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted, by which
 * keys. The first provider of a resource writes; all of them read.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { StorageKey } from "../storage/index.ts";
import { type KeyService, type KeySource, localKey, serviceKey } from "./key-source.ts";

export interface EncryptionRule {
  /** As in `secrets`, `widgets.example.com`, `*.example.com`, `*.*`. */
  readonly resources: readonly string[];
  /** "identity" writes values as they are. */
  readonly providers: readonly (KeySource | "identity")[];
}

export class EncryptionConfigError extends Error {
  override readonly name = "EncryptionConfigError";
}

const apiVersion = "apiserver.config.k8s.io/v1";
const aesKeyBytes = new Set([16, 24, 32]);

export function parseEncryptionConfig(
  document: JsonValue | undefined,
  services: ReadonlyMap<string, KeyService> = new Map(),
): readonly EncryptionRule[] {
  const root = objectAt(document, "the document");
  if (root["apiVersion"] !== apiVersion || root["kind"] !== "EncryptionConfiguration")
    throw new EncryptionConfigError(`expected kind EncryptionConfiguration of ${apiVersion}`);
  return listAt(root["resources"], "resources").map((entry, index) => {
    const at = `resources[${index}]`;
    const rule = objectAt(entry, at);
    const resources = listAt(rule["resources"], `${at}.resources`).map(String);
    const providers = listAt(rule["providers"], `${at}.providers`).flatMap((provider, i) =>
      providerOf(objectAt(provider, `${at}.providers[${i}]`), `${at}.providers[${i}]`, services),
    );
    return { resources, providers };
  });
}

function providerOf(
  provider: Readonly<Record<string, JsonValue>>,
  at: string,
  services: ReadonlyMap<string, KeyService>,
): readonly (KeySource | "identity")[] {
  const [kind = "", ...others] = Object.keys(provider);
  if (others.length > 0) throw new EncryptionConfigError(`${at}: one provider for each entry`);
  const settings = provider[kind] ?? null;
  switch (kind) {
    case "identity":
      return ["identity"];
    case "aesgcm":
      return listAt(objectAt(settings, `${at}.aesgcm`)["keys"], `${at}.aesgcm.keys`).map(
        (entry, i) => aesKey(entry, `${at}.aesgcm.keys[${i}]`),
      );
    case "kms": {
      const name = String(objectAt(settings, `${at}.kms`)["name"] ?? "");
      const service = services.get(name);
      if (service === undefined)
        throw new EncryptionConfigError(
          `${at}.kms: there is no key service ${JSON.stringify(name)}; an embedder passes it as keyServices`,
        );
      return [serviceKey(name, service)];
    }
    default:
      throw new EncryptionConfigError(
        `${at}: ${kind} is not supported; use aesgcm, kms or identity`,
      );
  }
}

function aesKey(entry: JsonValue, at: string): KeySource {
  const { name, secret } = objectAt(entry, at);
  const bytes = Buffer.from(typeof secret === "string" ? secret : "", "base64");
  if (typeof name !== "string" || !/^[\w.-]{1,63}$/.test(name))
    throw new EncryptionConfigError(`${at}.name: 1 to 63 letters, digits, dots and dashes`);
  if (!aesKeyBytes.has(bytes.length))
    throw new EncryptionConfigError(
      `${at}.secret: ${bytes.length} bytes; expected 16, 24 or 32 in base64: head -c 32 /dev/urandom | base64`,
    );
  return localKey(name, bytes);
}

function objectAt(value: JsonValue | undefined, at: string): Readonly<Record<string, JsonValue>> {
  if (value !== undefined && isJsonObject(value)) return value as Record<string, JsonValue>;
  throw new EncryptionConfigError(`${at} is not an object`);
}

function listAt(value: JsonValue | undefined, at: string): readonly JsonValue[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new EncryptionConfigError(`${at} is not a list with entries`);
}

/** The first rule of a resource counts, as in Kubernetes. */
export function ruleFor(
  rules: readonly EncryptionRule[],
  { group, resource }: { readonly group: string; readonly resource: string },
): EncryptionRule | undefined {
  const own = group === "" ? resource : `${resource}.${group}`;
  const names = new Set([own, `*.${group}`, "*.*"]);
  return rules.find(({ resources }) => resources.some((name) => names.has(name)));
}

/** The prefixes of all keys that rules may match: those of named resources, or of everything. */
export function prefixesOf(rules: readonly EncryptionRule[]): readonly StorageKey[] {
  const names = rules.flatMap(({ resources }) => resources);
  if (names.some((name) => name.startsWith("*."))) return ["/" as StorageKey];
  return [...new Set(names)].map((name) => {
    const [resource = "", group = ""] = name.split(/\.(.*)/s);
    return `/${group}/${resource}/` as StorageKey;
  });
}
