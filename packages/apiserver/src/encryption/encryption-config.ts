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

/** Where the services that `kms` providers name are found. */
export interface KeyServices {
  /** By the names of providers, from an embedder. */
  readonly named?: ReadonlyMap<string, KeyService> | undefined;
  /** The plug-in at `unix:///path`; throws when it is no such address. */
  readonly pluginAt?: ((endpoint: string, timeoutMs: number) => KeyService) | undefined;
}

const noServices: KeyServices = {};
const pluginTimeoutMs = 3000;

export class EncryptionConfigError extends Error {
  override readonly name = "EncryptionConfigError";
}

const apiVersion = "apiserver.config.k8s.io/v1";
const aesKeyBytes = new Set([16, 24, 32]);

export function parseEncryptionConfig(
  document: JsonValue | undefined,
  services: KeyServices = noServices,
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
  services: KeyServices,
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
    case "kms":
      return [kmsKey(objectAt(settings, `${at}.kms`), `${at}.kms`, services)];
    default:
      throw new EncryptionConfigError(
        `${at}: ${kind} is not supported; use aesgcm, kms or identity`,
      );
  }
}

function kmsKey(
  settings: Readonly<Record<string, JsonValue>>,
  at: string,
  { named, pluginAt }: KeyServices,
): KeySource {
  const { name, endpoint, timeout, apiVersion: version = "v2" } = settings;
  if (typeof name !== "string" || !/^[\w.-]{1,63}$/.test(name))
    throw new EncryptionConfigError(`${at}.name: 1 to 63 letters, digits, dots and dashes`);
  const service = named?.get(name);
  if (service !== undefined) return serviceKey(name, service);
  if (version !== "v2")
    throw new EncryptionConfigError(`${at}.apiVersion: ${String(version)}; only v2 is supported`);
  if (typeof endpoint !== "string" || pluginAt === undefined)
    throw new EncryptionConfigError(
      `${at}.endpoint: the plug-in's socket, as in unix:///run/kms.sock`,
    );
  try {
    return serviceKey(name, pluginAt(endpoint, timeoutOf(timeout, at)));
  } catch (error) {
    if (error instanceof TypeError)
      throw new EncryptionConfigError(`${at}.endpoint: ${error.message}`);
    throw error;
  }
}

function timeoutOf(timeout: JsonValue | undefined, at: string): number {
  if (timeout === undefined) return pluginTimeoutMs;
  const [, amount, unit] = /^(\d{1,6})(ms|s)$/.exec(String(timeout)) ?? [];
  if (amount === undefined || Number(amount) === 0)
    throw new EncryptionConfigError(`${at}.timeout: ${String(timeout)}; expected 500ms or 3s`);
  return Number(amount) * (unit === "s" ? 1000 : 1);
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
