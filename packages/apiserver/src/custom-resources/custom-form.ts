/**
 * From stored objects of a custom kind to served ones, and back.
 *
 * Whatever is stored was shaped by the schema of the storage version, so bytes that were written in that version since the definition last
 * changed are served as they are. All others are parsed, converted, pruned and defaulted; what came out is remembered with the entry.
 */
import { type Resumable, runSync, runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { apiVersionOf, type VersionCodec } from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import type { Entry, Revision } from "../storage/index.ts";
import {
  decodeObject,
  decodeObjectResumable,
  encodeObjectResumable,
  hasTypeMetaPrefix,
  typeMetaPrefix,
} from "../stored-object/index.ts";
import { type Conversion, isTrivial } from "./conversion.ts";
import type { SharedVersion } from "./shared-version.ts";

export interface CustomVersionCodecOptions {
  readonly version: SharedVersion;
  /** What was written later than this was written under the present schema. */
  readonly since: Revision;
  readonly conversion: Conversion;
  /** The logical cluster that the definition is in. */
  readonly owner: ClusterName;
}

export class CustomVersionCodec implements VersionCodec {
  readonly #version: SharedVersion;
  readonly #since: Revision;
  readonly #conversion: Conversion;
  readonly #owner: ClusterName;
  readonly #apiVersion: string;
  readonly #head: Buffer;
  readonly #turned = new WeakMap<Entry, Entry>();
  readonly presentNow: ((entry: Entry) => Entry) | undefined;

  constructor({ version, since, conversion, owner }: CustomVersionCodecOptions) {
    this.#version = version;
    this.#since = since;
    this.#conversion = conversion;
    this.#owner = owner;
    this.#apiVersion = apiVersionOf(version);
    this.#head = typeMetaPrefix(version.kind, this.#apiVersion);
    this.presentNow = isTrivial(version.definition)
      ? (entry) => this.#presentOne(entry)
      : undefined;
  }

  get name(): string {
    return `${this.#version.definition.content}/${this.#version.version}`;
  }

  present(entries: readonly Entry[]): MaybePromise<readonly Entry[]> {
    if (this.presentNow !== undefined) return runSyncFirst(this.#presentAll(entries));
    const isAtHand = (entry: Entry) => this.#isRight(entry) || this.#turned.has(entry);
    if (entries.every(isAtHand)) return entries.map((entry) => this.#turned.get(entry) ?? entry);
    return this.#convert(entries);
  }

  toStored(object: JsonObject): MaybePromise<JsonObject> {
    const { definition } = this.#version;
    if (this.#version.version === definition.storageVersion) return object;
    const stored = definition.version(definition.storageVersion) as SharedVersion;
    const apiVersion = apiVersionOf(stored);
    const shape = (converted: JsonObject) =>
      stored.compiled().schema.restore(converted).value as JsonObject;
    if (isTrivial(definition)) return shape({ ...object, apiVersion });
    return this.#conversion
      .convert(definition, [object], apiVersion, this.#owner)
      .then(([converted]) => shape(converted as JsonObject));
  }

  /** Written in this version, under the present schema. */
  #isRight(entry: Entry): boolean {
    return entry.modifiedAt > this.#since && hasTypeMetaPrefix(entry, this.#head);
  }

  #known(entry: Entry): Entry | undefined {
    return this.#isRight(entry) ? entry : this.#turned.get(entry);
  }

  #presentOne(entry: Entry): Entry {
    const known = this.#known(entry);
    if (known !== undefined) return known;
    const object = decodeObject(entry);
    const converted = { ...object, apiVersion: this.#apiVersion };
    return runSync(this.#shapeInPieces(entry, object, converted));
  }

  async #convert(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const missing = entries.filter((entry) => !this.#isRight(entry) && !this.#turned.has(entry));
    const shown = new Map<Entry, Entry>();
    for (const batch of batchesOf(missing)) await this.#convertBatch(batch, shown);
    return entries.map((entry) => shown.get(entry) ?? this.#turned.get(entry) ?? entry);
  }

  async #convertBatch(batch: readonly Entry[], shown: Map<Entry, Entry>): Promise<void> {
    const objects: JsonObject[] = [];
    for (const entry of batch) objects.push(await runSyncFirst(decodeObjectResumable(entry)));
    const { definition } = this.#version;
    const converted = await this.#conversion.convert(
      definition,
      objects,
      this.#apiVersion,
      this.#owner,
    );
    for (const [i, entry] of batch.entries()) {
      const [from, to] = [objects[i] as JsonObject, converted[i] as JsonObject];
      shown.set(entry, await runSyncFirst(this.#shapeInPieces(entry, from, to)));
    }
  }

  *#presentAll(entries: readonly Entry[]): Resumable<readonly Entry[]> {
    const shown: Entry[] = [];
    for (const entry of entries) {
      const known = this.#known(entry);
      if (known === undefined) yield;
      shown.push(known ?? (yield* this.#presentInPieces(entry)));
    }
    return shown;
  }

  *#presentInPieces(entry: Entry): Resumable<Entry> {
    const object = yield* decodeObjectResumable(entry);
    yield;
    return yield* this.#shapeInPieces(entry, object, { ...object, apiVersion: this.#apiVersion });
  }

  *#shapeInPieces(entry: Entry, stored: JsonObject, converted: JsonObject): Resumable<Entry> {
    const shaped = this.#restored(stored, converted);
    yield;
    const turned =
      shaped === undefined ? entry : { ...entry, value: yield* encodeObjectResumable(shaped) };
    this.#turned.set(entry, turned);
    return turned;
  }

  /** The object as the schema wants it; undefined when it is stored as that. */
  #restored(stored: JsonObject, converted: JsonObject): JsonObject | undefined {
    const { value } = this.#version.compiled().schema.restore(converted);
    const isSame = value === converted && stored["apiVersion"] === this.#apiVersion;
    return isSame ? undefined : (value as JsonObject);
  }
}

/** Bytes of objects that are sent to a webhook in one review: what comes back fits into what an answer may be. */
const batchBytes = 1 << 20;

function* batchesOf(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    bytes += entry.value.length;
    if (batch.length > 0 && bytes > batchBytes) {
      yield batch;
      batch = [];
      bytes = entry.value.length;
    }
    batch.push(entry);
  }
  if (batch.length > 0) yield batch;
}
