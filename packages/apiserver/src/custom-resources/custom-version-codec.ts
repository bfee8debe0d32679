/**
 * Converts stored objects of a custom kind to served ones, and back.
 *
 * Stored objects have been pruned and defaulted by the schema of the storage version, so bytes that
 * were written in that version since the last change of the definition are served as they are. All
 * others are parsed, converted, pruned and defaulted; unless it is large, the result is cached with
 * the entry.
 */
import { type Resumable, runSync, runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { apiVersionOf, type ParsedObject, type VersionCodec } from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import type { Entry, Revision } from "../storage/index.ts";
import {
  decodeObject,
  decodeObjectResumable,
  encodeObjectResumable,
  hasTypeMetaPrefix,
  typeMetaPrefix,
} from "../stored-object/index.ts";
import type { CompiledVersion } from "./compiled-version.ts";
import { type Conversion, isTrivial } from "./conversion.ts";
import type { SharedVersion } from "./shared-version.ts";

export interface CustomVersionCodecOptions {
  readonly version: SharedVersion;
  /** Objects written after this revision were written under the current schema. */
  readonly since: Revision;
  readonly conversion: Conversion;
  /** The logical cluster of the definition. */
  readonly owner: ClusterName;
}

export class CustomVersionCodec implements VersionCodec {
  readonly #version: SharedVersion;
  readonly #since: Revision;
  readonly #conversion: Conversion;
  readonly #owner: ClusterName;
  readonly #apiVersion: string;
  readonly #head: Buffer;
  /** Made for the first conversion: most definitions never convert. */
  #converted: WeakMap<Entry, Entry> | undefined;
  readonly toServedSync: ((entry: Entry) => Entry) | undefined;
  readonly toServedResumable: ((entry: Entry) => Resumable<Entry>) | undefined;
  readonly toServedObject: ((entry: Entry) => JsonObject) | undefined;
  readonly storesAsServed: boolean;

  constructor({ version, since, conversion, owner }: CustomVersionCodecOptions) {
    this.#version = version;
    this.#since = since;
    this.#conversion = conversion;
    this.#owner = owner;
    this.#apiVersion = apiVersionOf(version);
    this.#head = typeMetaPrefix(version.kind, this.#apiVersion);
    this.storesAsServed = version.version === version.definition.storageVersion;
    const isSync = isTrivial(version.definition);
    this.toServedSync = isSync ? (entry) => runSync(this.#servedResumable(entry)) : undefined;
    this.toServedResumable = isSync ? (entry) => this.#servedResumable(entry) : undefined;
    this.toServedObject = isSync ? (entry) => this.#servedObject(entry) : undefined;
  }

  get name(): string {
    return `${this.#version.definition.content}/${this.#version.version}`;
  }

  toServed(entries: readonly Entry[]): MaybePromise<readonly Entry[]> {
    const known = entries.map((entry) => this.#known(entry));
    if (known.every((entry) => entry !== undefined)) return known;
    if (this.toServedSync !== undefined) return runSyncFirst(this.#toServedAll(entries));
    return this.#convert(entries);
  }

  async toStored(object: JsonObject): Promise<JsonObject> {
    const { definition } = this.#version;
    if (this.storesAsServed) return object;
    const stored = definition.version(definition.storageVersion) as SharedVersion;
    const apiVersion = apiVersionOf(stored);
    const [converted] = isTrivial(definition)
      ? [{ ...object, apiVersion }]
      : await this.#conversion.convert(definition, [object], apiVersion, this.#owner);
    return runSyncFirst(restored(stored, converted as JsonObject));
  }

  /** Whether the entry was written in this version, under the current schema. */
  #isUpToDate(entry: Entry): boolean {
    return entry.modifiedAt > this.#since && hasTypeMetaPrefix(entry, this.#head);
  }

  #known(entry: Entry): Entry | undefined {
    return this.#isUpToDate(entry) ? entry : this.#converted?.get(entry);
  }

  async #convert(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const missing = entries.filter((entry) => this.#known(entry) === undefined);
    const shown = new Map<Entry, Entry>();
    for (const batch of batchesOf(missing, ({ value }) => value.length))
      await this.#convertBatch(batch, shown);
    return entries.map((entry) => shown.get(entry) ?? this.#known(entry) ?? entry);
  }

  async objectsToServed(parsed: readonly ParsedObject[]): Promise<readonly Entry[]> {
    const shown = new Map<ParsedObject, Entry>();
    const missing: ParsedObject[] = [];
    for (const each of parsed) {
      const isCurrent =
        each.modifiedAt > this.#since && each.object["apiVersion"] === this.#apiVersion;
      if (isCurrent) shown.set(each, await encodedEntry(each, each.object));
      else missing.push(each);
    }
    const { definition } = this.#version;
    for (const batch of batchesOf(missing, ({ length }) => length)) {
      const converted = await this.#conversion.convert(
        definition,
        batch.map(({ object }) => object),
        this.#apiVersion,
        this.#owner,
      );
      const { schema } = await runSyncFirst(this.#version.compiledResumable());
      for (const [i, each] of batch.entries()) {
        const to = converted[i] as JsonObject;
        shown.set(each, await encodedEntry(each, this.#restored(schema, each.object, to) ?? to));
      }
    }
    return parsed.map((each) => shown.get(each) as Entry);
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
      shown.set(entry, await runSyncFirst(this.#shapedResumable(entry, from, to)));
    }
  }

  *#toServedAll(entries: readonly Entry[]): Resumable<readonly Entry[]> {
    const shown: Entry[] = [];
    for (const entry of entries) {
      if (this.#known(entry) === undefined) yield;
      shown.push(yield* this.#servedResumable(entry));
    }
    return shown;
  }

  #servedObject(entry: Entry): JsonObject {
    const known = this.#known(entry);
    if (known !== undefined) return decodeObject(known);
    const stored = decodeObject(entry);
    const converted = { ...stored, apiVersion: this.#apiVersion };
    const { schema } = runSync(this.#version.compiledResumable());
    return this.#restored(schema, stored, converted) ?? stored;
  }

  *#servedResumable(entry: Entry): Resumable<Entry> {
    const known = this.#known(entry);
    if (known !== undefined) return known;
    const object = yield* decodeObjectResumable(entry);
    yield;
    return yield* this.#shapedResumable(entry, object, { ...object, apiVersion: this.#apiVersion });
  }

  *#shapedResumable(entry: Entry, stored: JsonObject, converted: JsonObject): Resumable<Entry> {
    const { schema } = yield* this.#version.compiledResumable();
    const shaped = this.#restored(schema, stored, converted);
    yield;
    const turned =
      shaped === undefined ? entry : { ...entry, value: yield* encodeObjectResumable(shaped) };
    // An entry of the watch cache lives long, and with it the copy that is cached for it.
    if (turned === entry || turned.value.length <= cachedBytesMax) {
      this.#converted ??= new WeakMap();
      this.#converted.set(entry, turned);
    }
    return turned;
  }

  /**
   * The object pruned and defaulted by the schema; undefined when the stored object is the same.
   */
  #restored(
    schema: CompiledVersion["schema"],
    stored: JsonObject,
    converted: JsonObject,
  ): JsonObject | undefined {
    const { value } = schema.restore(converted);
    const isSame = value === converted && stored["apiVersion"] === this.#apiVersion;
    return isSame ? undefined : (value as JsonObject);
  }
}

function* restored(version: SharedVersion, object: JsonObject): Resumable<JsonObject> {
  const { schema } = yield* version.compiledResumable();
  return schema.restore(object).value as JsonObject;
}

const cachedBytesMax = 64 << 10;

/** The bytes of objects in one ConversionReview: the response stays within its size limit. */
const batchBytes = 1 << 20;

function* batchesOf<Item>(
  items: readonly Item[],
  lengthOf: (item: Item) => number,
): Generator<readonly Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const length = lengthOf(item);
    bytes += length;
    if (batch.length > 0 && bytes > batchBytes) {
      yield batch;
      batch = [];
      bytes = length;
    }
    batch.push(item);
  }
  if (batch.length > 0) yield batch;
}

async function encodedEntry({ key, modifiedAt }: ParsedObject, object: JsonObject): Promise<Entry> {
  const value = await runSyncFirst(encodeObjectResumable(object));
  return { key, value, createdAt: modifiedAt, modifiedAt };
}
