/** Local variables of comprehensions, innermost first. */
import type { Type } from "../types/type.ts";

export class Scopes {
  readonly #stack: { name: string; type: Type }[] = [];

  find(name: string): Type | undefined {
    for (let i = this.#stack.length - 1; i >= 0; i--) {
      const local = this.#stack[i];
      if (local?.name === name) return local.type;
    }
    return undefined;
  }

  /** Runs `action` with the local variables in scope. */
  with<T>(locals: readonly { name: string; type: Type }[], action: () => T): T {
    this.#stack.push(...locals);
    const result = action();
    this.#stack.length -= locals.length;
    return result;
  }
}
