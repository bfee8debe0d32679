/**
 * DefinitionRecord: one definition in one logical cluster: small, because there can be very many.
 */
import { type Resumable, runSync, runYielding } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type CustomResourceDefinition,
  readCustomResourceDefinition,
} from "@kcp-ts/machinery/schema";
import type { Entry, Revision } from "../storage/index.ts";
import { decodeObjectResumable, isBeingDeleted } from "../stored-object/index.ts";
import { findCondition, isConditionTrue } from "./conditions.ts";
import type { Conversion } from "./conversion.ts";
import { CustomDefinition } from "./custom-definition.ts";
import { internDefinition, type SharedDefinition } from "./shared-definition.ts";
import type { SharedVersion } from "./shared-version.ts";

interface ParsedDefinition {
  readonly uid: string;
  readonly shared: SharedDefinition;
  readonly since: Revision;
  readonly isServed: boolean;
  readonly isRefused: boolean;
}

/** Larger definitions are parsed with yields to the event loop. */
const shortBytes = 64 << 10;

/**
 * A definition changes several times until it is established, and is only parsed when it is
 * requested.
 */
export class DefinitionRecord {
  readonly modifiedAt: Revision;
  readonly isBeingRemoved: boolean;
  #entry: Entry | undefined;
  /** The record that this one replaces, until this one is parsed. */
  #previous: DefinitionRecord | undefined;
  #successor: DefinitionRecord | undefined;
  #isRetired = false;
  #parsed: ParsedDefinition | undefined;
  #preparing: Promise<void> | undefined;
  #definitions: Map<string, CustomDefinition> | undefined;
  #retiredCallbacks: Set<() => void> | undefined;

  constructor(entry: Entry, previous: DefinitionRecord | undefined) {
    this.modifiedAt = entry.modifiedAt;
    this.isBeingRemoved = isBeingDeleted(entry);
    this.#entry = entry;
    // A record that was never parsed was never served here; another server may have served it, so
    // the previous schema is unknown.
    if (previous === undefined || previous.#parsed === undefined) return;
    this.#previous = previous;
    previous.#successor = this;
    // Watches of its objects must know at once whether the definition is still the same.
    if (previous.#retiredCallbacks !== undefined && previous.#retiredCallbacks.size > 0)
      this.parse();
  }

  get uid(): string {
    return this.parse().uid;
  }
  get shared(): SharedDefinition {
    return this.parse().shared;
  }
  /** Objects written after this revision were written under the current schema. */
  get since(): Revision {
    return this.parse().since;
  }
  /** Whether the names are accepted, or once were. */
  get isServed(): boolean {
    return this.parse().isServed;
  }
  /** Whether some of its names belong to other definitions. */
  get hasNameConflict(): boolean {
    return this.parse().isRefused;
  }

  /** Parses the definition, and releases its bytes. */
  parse(): ParsedDefinition {
    return this.#parsed ?? runSync(this.parsed());
  }

  /**
   * Parses a large definition with yields to the event loop; undefined if `parse` is short work.
   */
  prepare(): Promise<void> | undefined {
    if (this.isReady) return undefined;
    this.#preparing ??= runYielding(this.parsed()).then(
      () => undefined,
      () => undefined, // The next request of the definition reports the error.
    );
    return this.#preparing;
  }

  /** Whether the definition is parsed, or short enough to be parsed on the spot. */
  get isReady(): boolean {
    return this.#parsed !== undefined || this.#isShort;
  }

  get #isShort(): boolean {
    return (this.#entry as Entry).value.length <= shortBytes;
  }

  /**
   * Parses ahead with yields to the event loop, because a definition may be large. A concurrent
   * request parses the definition itself.
   */
  *parsed(): Resumable<ParsedDefinition> {
    if (this.#parsed !== undefined) return this.#parsed;
    const previous = this.#previous;
    const before = previous === undefined ? undefined : previous.#parsed;
    const looked = yield* parseDefinition(this.#entry as Entry, before);
    if (this.#parsed !== undefined) return this.#parsed;
    this.#parsed = looked;
    this.#preparing = undefined;
    this.#entry = undefined;
    this.#previous = undefined;
    if (previous === undefined) return looked;
    if (before?.uid === looked.uid && before.since === looked.since)
      this.#retiredCallbacks = previous.#retiredCallbacks;
    else previous.retire();
    return looked;
  }

  /**
   * The served version, or undefined. Definitions of the group `core` and of no group have equal
   * names.
   */
  version(
    group: string,
    name: string,
    conversion: Conversion,
    owner: ClusterName,
  ): CustomDefinition | undefined {
    const known = this.#definitions?.get(name);
    if (known !== undefined) return known.group === group ? known : undefined;
    const version = this.shared.group === group ? this.shared.version(name) : undefined;
    if (!this.isServed || version === undefined || !version.isServed) return undefined;
    const definition = this.#definitionOf(version, conversion, owner);
    this.#definitions ??= new Map();
    this.#definitions.set(name, definition);
    return definition;
  }

  /** The storage version, served or not, through which objects are deleted. */
  stored(conversion: Conversion, owner: ClusterName): CustomDefinition | undefined {
    const version = this.shared.version(this.shared.storageVersion);
    return version && this.#definitionOf(version, conversion, owner);
  }

  #definitionOf(
    version: SharedVersion,
    conversion: Conversion,
    owner: ClusterName,
  ): CustomDefinition {
    const { uid: identity, since } = this.parse();
    return new CustomDefinition({
      version,
      identity,
      since,
      conversion,
      owner,
      terminatingReason: "create not allowed while custom resource definition is terminating",
      onRetired: (callback) => this.onRetired(callback),
    });
  }

  /** Calls back at once when the definition is already retired. */
  onRetired(callback: () => void): () => void {
    if (this.#successor !== undefined) this.#successor.parse();
    if (this.#isRetired) {
      callback();
      return () => {};
    }
    if (this.#successor !== undefined) return this.#successor.onRetired(callback);
    this.#retiredCallbacks ??= new Set();
    const callbacks = this.#retiredCallbacks;
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  retire(): void {
    this.#isRetired = true;
    const callbacks = [...(this.#retiredCallbacks ?? [])];
    this.#retiredCallbacks?.clear();
    for (const callback of callbacks) callback();
  }
}

function* parseDefinition(
  entry: Entry,
  previous: ParsedDefinition | undefined,
): Resumable<ParsedDefinition> {
  const object = yield* decodeObjectResumable(entry);
  yield;
  const definition = readCustomResourceDefinition(object).definition;
  yield;
  const uid = uidOf(object);
  const shared = internDefinition(object, definition, isConditionTrue(object, "Terminating"));
  const isSame = previous?.uid === uid && previous.shared.content === shared.content;
  return {
    uid,
    shared,
    since: isSame ? previous.since : entry.modifiedAt,
    isServed: isServed(object, definition),
    isRefused: findCondition(object, "NamesAccepted")?.["status"] === "False",
  };
}

function uidOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["uid"]);
}

function isServed(object: JsonObject, { status }: CustomResourceDefinition): boolean {
  if (status.acceptedNames.plural === "" || status.acceptedNames.kind === "") return false;
  return isConditionTrue(object, "NamesAccepted") || status.established;
}
