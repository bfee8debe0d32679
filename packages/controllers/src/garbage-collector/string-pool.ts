/**
 * StringPool: strings that thousands of nodes have in common are kept once, such as the namespace
 * and the owner of ten thousand dependents.
 */
import type { OwnerReference } from "@kcp-ts/sdk";

/** Beyond this number the pool is emptied and filled again: nodes keep their strings. */
const entriesMax = 4096;

export class StringPool {
  readonly #texts = new Map<string, string>();
  readonly #owners = new Map<string, readonly OwnerReference[]>();

  text<Text extends string>(text: Text): Text {
    const known = this.#texts.get(text);
    if (known !== undefined) return known as Text;
    if (this.#texts.size >= entriesMax) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  owners(owners: readonly OwnerReference[]): readonly OwnerReference[] {
    const text = JSON.stringify(owners);
    const known = this.#owners.get(text);
    if (known !== undefined) return known;
    if (this.#owners.size >= entriesMax) this.#owners.clear();
    this.#owners.set(text, owners);
    return owners;
  }
}
