/** One definition in one logical cluster: small, because there can be very many. */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type CustomResourceDefinition,
  readCustomResourceDefinition,
} from "@kcp-ts/machinery/schema";
import type { ResourceDefinition } from "../registry/index.ts";
import type { Entry, Revision } from "../storage/index.ts";
import { decodeObjectResumable } from "../stored-object/index.ts";
import { findCondition, isConditionTrue } from "./conditions.ts";
import type { Conversion } from "./conversion.ts";
import { CustomDefinition } from "./custom-definition.ts";
import { internDefinition, type SharedDefinition } from "./shared-definition.ts";

interface ParsedDefinition {
  readonly uid: string;
  readonly shared: SharedDefinition;
  readonly since: Revision;
  readonly isServed: boolean;
  readonly isRefused: boolean;
}

/** A definition changes several times on its way into service, and is looked into when somebody asks for it. */
export class DefinitionRecord {
  readonly modifiedAt: Revision;
  #entry: Entry | undefined;
  /** What it replaces, until it is looked into. */
  #previous: DefinitionRecord | undefined;
  #successor: DefinitionRecord | undefined;
  #isRetired = false;
  #looked: ParsedDefinition | undefined;
  #definitions: Map<string, CustomDefinition> | undefined;
  #retirement: Set<() => void> | undefined;

  constructor(entry: Entry, previous: DefinitionRecord | undefined) {
    this.modifiedAt = entry.modifiedAt;
    this.#entry = entry;
    // One that was never looked into was never served here; elsewhere it may have been, so nothing is known of what came before.
    if (previous === undefined || previous.#looked === undefined) return;
    this.#previous = previous;
    previous.#successor = this;
    // Whoever watches its objects must know at once whether they are still the same.
    if (previous.#retirement !== undefined && previous.#retirement.size > 0) this.look();
  }

  get uid(): string {
    return this.look().uid;
  }
  get shared(): SharedDefinition {
    return this.look().shared;
  }
  /** What was written later than this was written under the present schema. */
  get since(): Revision {
    return this.look().since;
  }
  /** Names are accepted, or once were. */
  get isServed(): boolean {
    return this.look().isServed;
  }
  /** Some of its names belong to others. */
  get isRefused(): boolean {
    return this.look().isRefused;
  }

  /** Reads the definition, and lets go of its bytes. */
  look(): ParsedDefinition {
    return this.#looked ?? runSync(this.lookResumable());
  }

  /** The same ahead, with rests: a definition may be large. Whoever asks meanwhile reads it itself. */
  *lookResumable(): Resumable<ParsedDefinition> {
    if (this.#looked !== undefined) return this.#looked;
    const previous = this.#previous;
    const before = previous === undefined ? undefined : previous.#looked;
    const looked = yield* parseDefinition(this.#entry as Entry, before);
    if (this.#looked !== undefined) return this.#looked;
    this.#looked = looked;
    this.#entry = undefined;
    this.#previous = undefined;
    if (previous === undefined) return looked;
    if (before?.uid === looked.uid && before.since === looked.since)
      this.#retirement = previous.#retirement;
    else previous.retire();
    return looked;
  }

  /** The served version, or undefined. */
  version(name: string, conversion: Conversion, owner: ClusterName): CustomDefinition | undefined {
    const known = this.#definitions?.get(name);
    if (known !== undefined) return known;
    const version = this.shared.version(name);
    if (!this.isServed || version === undefined || !version.isServed) return undefined;
    const definition = new CustomDefinition(version, this, { conversion, owner });
    this.#definitions ??= new Map();
    this.#definitions.set(name, definition);
    return definition;
  }

  /** The version that objects are stored in, served or not: what deletion goes through. */
  stored(conversion: Conversion, owner: ClusterName): ResourceDefinition | undefined {
    const version = this.shared.version(this.shared.storageVersion);
    return version === undefined
      ? undefined
      : new CustomDefinition(version, this, { conversion, owner });
  }

  /** Calls back at once when it is so already. */
  onRetired(callback: () => void): () => void {
    if (this.#successor !== undefined) this.#successor.look();
    if (this.#isRetired) {
      callback();
      return () => {};
    }
    if (this.#successor !== undefined) return this.#successor.onRetired(callback);
    this.#retirement ??= new Set();
    const callbacks = this.#retirement;
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  retire(): void {
    this.#isRetired = true;
    const callbacks = [...(this.#retirement ?? [])];
    this.#retirement?.clear();
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
