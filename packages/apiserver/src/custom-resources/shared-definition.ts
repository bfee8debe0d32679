/**
 * SharedDefinition: the part of a definition that all logical clusters with an equal definition
 * share: its names, its versions, and (created on first use) their strategies.
 *
 * Schemas are kept compressed. A large one takes megabytes once it is compiled, and most are unused
 * most of the time; so compiled schemas live in a limited cache and are compiled again from the
 * compressed text when needed.
 */
import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { InternPool, type Resumable } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseResumable,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  type CrdConversion,
  type CrdNames,
  type CrdVersion,
  type CustomResourceDefinition,
  compareVersionPriority,
  nativeKindAnnotation,
} from "@kcp-ts/machinery/schema";
import { convertedVersions } from "../registry/index.ts";
import { SharedVersion } from "./shared-version.ts";

const interned = new InternPool<SharedDefinition>();

/** Definitions that are equal in everything that serving depends on share one object. */
export function internDefinition(
  object: JsonObject,
  definition: CustomResourceDefinition,
  isTerminating: boolean,
): SharedDefinition {
  const { acceptedNames } = (object["status"] ?? {}) as JsonObject;
  const isNative = standsForNativeKind(object);
  const text = stringifyJson([object["spec"] as JsonValue, acceptedNames ?? null, isNative]);
  const content = createHash("sha256").update(text).digest("base64url");
  const key = isTerminating ? `${content}/terminating` : content;
  return interned.get(
    key,
    () => new SharedDefinition(content, definition, { isTerminating, isNative }),
  );
}

function standsForNativeKind({ metadata }: JsonObject): boolean {
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return (
    annotations !== undefined &&
    isJsonObject(annotations) &&
    annotations[nativeKindAnnotation] === "true"
  );
}

export class SharedDefinition {
  /** A hash of everything that the schemas and names are derived from. */
  readonly content: string;
  readonly group: string;
  readonly names: CrdNames;
  readonly isNamespaced: boolean;
  readonly isTerminating: boolean;
  /** Versions that the server has as native kinds are served by its own implementation. */
  readonly isNative: boolean;
  readonly storageVersion: string;
  readonly conversion: CrdConversion | undefined;
  /** The served versions, the preferred one first. */
  readonly versions: readonly SharedVersion[];
  /** All versions, for conversion: objects may be stored in a version that is no longer served. */
  readonly #all: ReadonlyMap<string, SharedVersion>;

  constructor(
    content: string,
    { spec, status }: CustomResourceDefinition,
    { isTerminating, isNative }: { readonly isTerminating: boolean; readonly isNative: boolean },
  ) {
    this.content = content;
    this.group = spec.group;
    this.names = status.acceptedNames;
    this.isNamespaced = spec.scope === "Namespaced";
    this.isTerminating = isTerminating;
    this.isNative = isNative;
    this.storageVersion = spec.versions.find(({ storage }) => storage)?.name ?? "";
    this.conversion = spec.conversion;
    const all = [...spec.versions, ...this.#impliedVersions(spec.versions)]
      .toSorted((a, b) => compareVersionPriority(a.name, b.name))
      .map((version) => new SharedVersion(this, version, compressSchema(version)));
    this.#all = new Map(all.map((version) => [version.version, version]));
    this.versions = all.filter(({ isServed }) => isServed);
  }

  version(name: string): SharedVersion | undefined {
    return this.#all.get(name);
  }

  /**
   * The versions that the server converts for a native kind, though the definition names only the
   * one in which objects are stored.
   */
  #impliedVersions(named: readonly CrdVersion[]): CrdVersion[] {
    const stored = named.find(({ storage }) => storage);
    if (!this.isNative || stored?.served !== true) return [];
    const { group, names, storageVersion: version } = this;
    const known = new Set(named.map(({ name }) => name));
    return convertedVersions({ group, version, resource: names.plural })
      .filter((name) => !known.has(name))
      .map((name) => ({ ...stored, name, storage: false, schema: undefined }));
  }
}

/** The compressed text of a schema. */
export interface CompressedSchema {
  /** The length of the text. */
  readonly length: number;
  decompress(): Resumable<JsonObject | undefined>;
}

/** Definitions have several states with the same schemas, and versions often share one. */
const packedSchemas = new InternPool<CompressedSchema>();

const noSchema: CompressedSchema = {
  length: 0,
  // biome-ignore lint/correctness/useYield: there is nothing to rest from.
  *decompress() {
    return undefined;
  },
};

function compressSchema({ schema }: CrdVersion): CompressedSchema {
  if (schema === undefined) return noSchema;
  const text = stringifyJson(schema);
  const hash = createHash("sha256").update(text).digest("base64url");
  return packedSchemas.get(hash, () => {
    const packed = deflateRawSync(text, { level: 1 });
    return {
      length: text.length,
      *decompress() {
        const unpacked = inflateRawSync(packed).toString("utf8");
        yield;
        return (yield* parseResumable(unpacked)).value as JsonObject;
      },
    };
  });
}
