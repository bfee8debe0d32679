/** One definition in one logical cluster: small, because there can be very many. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type CustomResourceDefinition,
  readCustomResourceDefinition,
} from "@kcp-ts/machinery/schema";
import type { ResourceDefinition } from "../registry/index.ts";
import type { Entry, Revision } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import { findCondition, isConditionTrue } from "./conditions.ts";
import type { Conversion } from "./conversion.ts";
import { CustomDefinition } from "./custom-definition.ts";
import { type SharedDefinition, shareDefinition } from "./shared-definition.ts";

export class DefinitionRecord {
  readonly uid: string;
  readonly shared: SharedDefinition;
  /** What was written later than this was written under the present schema. */
  readonly since: Revision;
  readonly modifiedAt: Revision;
  /** Names are accepted, or once were. */
  readonly isServed: boolean;
  /** Some of its names belong to others. */
  readonly isRefused: boolean;
  #definitions: Map<string, ResourceDefinition> | undefined;
  #retirement: Set<() => void> | undefined;

  constructor(entry: Entry, previous: DefinitionRecord | undefined) {
    const object = decodeObject(entry);
    const definition = readCustomResourceDefinition(object).definition;
    this.uid = uidOf(object);
    this.shared = shareDefinition(object, definition, isConditionTrue(object, "Terminating"));
    this.modifiedAt = entry.modifiedAt;
    this.isServed = isServed(object, definition);
    this.isRefused = findCondition(object, "NamesAccepted")?.["status"] === "False";
    const isSame = previous?.uid === this.uid && previous.shared.content === this.shared.content;
    this.since = isSame ? previous.since : entry.modifiedAt;
    if (isSame) this.#retirement = previous.#retirement;
    else previous?.retire();
  }

  /** The served version, or undefined. */
  version(name: string, conversion: Conversion): ResourceDefinition | undefined {
    const known = this.#definitions?.get(name);
    if (known !== undefined) return known;
    const version = this.shared.version(name);
    if (!this.isServed || version === undefined || !version.isServed) return undefined;
    const definition = new CustomDefinition(version, this, conversion);
    this.#definitions ??= new Map();
    this.#definitions.set(name, definition);
    return definition;
  }

  /** The version that objects are stored in, served or not: what deletion goes through. */
  stored(conversion: Conversion): ResourceDefinition | undefined {
    const version = this.shared.version(this.shared.storageVersion);
    return version === undefined ? undefined : new CustomDefinition(version, this, conversion);
  }

  onRetired(callback: () => void): () => void {
    this.#retirement ??= new Set();
    const callbacks = this.#retirement;
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  retire(): void {
    const callbacks = [...(this.#retirement ?? [])];
    this.#retirement?.clear();
    for (const callback of callbacks) callback();
  }
}

function uidOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["uid"]);
}

function isServed(object: JsonObject, { status }: CustomResourceDefinition): boolean {
  if (status.acceptedNames.plural === "" || status.acceptedNames.kind === "") return false;
  return isConditionTrue(object, "NamesAccepted") || status.established;
}
