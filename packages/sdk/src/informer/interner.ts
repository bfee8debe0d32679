/**
 * Interner: parts that thousands of cached objects have in common are kept once.
 *
 * Managed fields are the same for all objects that one program writes, and so are timestamps, kinds
 * and namespaces of many objects. Cached objects are never changed, so they can share parts.
 */
import type { KubernetesObject, ManagedFieldsEntry, OwnerReference } from "../client/index.ts";

/** Beyond this number the interner is emptied and filled again: cached objects keep their parts. */
const entriesMax = 4096;
/** Longer parts are rarely equal, and comparing them is expensive. */
const partCharactersMax = 8192;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

export class Interner {
  readonly #texts = new Map<string, string>();
  readonly #parts = new Map<string, unknown>();

  /**
   * Replaces the parts of a freshly parsed object that equal known parts. The object is changed in
   * place: no other code has a reference to it yet.
   */
  intern(object: KubernetesObject): void {
    const mutable = object as Mutable<KubernetesObject>;
    mutable.apiVersion = this.#text(object.apiVersion);
    mutable.kind = this.#text(object.kind);
    const metadata = object.metadata as Mutable<KubernetesObject["metadata"]>;
    if (metadata.namespace !== undefined) metadata.namespace = this.#text(metadata.namespace);
    if (metadata.creationTimestamp !== undefined) {
      metadata.creationTimestamp = this.#text(metadata.creationTimestamp);
    }
    if (metadata.ownerReferences !== undefined) {
      metadata.ownerReferences = this.#part<readonly OwnerReference[]>(metadata.ownerReferences);
    }
  }

  /**
   * Apart from `share`, because a transform may have dropped the managed fields, and comparing them
   * is expensive.
   */
  internManagedFields(entries: readonly ManagedFieldsEntry[]): void {
    for (const entry of entries as readonly Mutable<ManagedFieldsEntry>[]) {
      if (entry.time !== undefined) entry.time = this.#text(entry.time);
      if (entry.manager !== undefined) entry.manager = this.#text(entry.manager);
      if (entry.apiVersion !== undefined) entry.apiVersion = this.#text(entry.apiVersion);
      if (entry.fieldsV1 !== undefined) entry.fieldsV1 = this.#part(entry.fieldsV1);
    }
  }

  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= entriesMax) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  #part<Part>(part: Part): Part {
    const text = JSON.stringify(part);
    if (text.length > partCharactersMax) return part;
    const known = this.#parts.get(text);
    if (known !== undefined) return known as Part;
    if (this.#parts.size >= entriesMax) this.#parts.clear();
    this.#parts.set(text, part);
    return part;
  }
}
