/**
 * Reads fields of YAML from users and from untrusted sources: by type, own keys only, with the path
 * in the error.
 */
import { isJsonObject, type JsonObject, member } from "@kcp-ts/machinery/json";

/** What a person has to mend: the message says it, without a stack of the SDK below. */
export class KubeconfigError extends Error {
  static override readonly name: string = "KubeconfigError";
  override readonly name = "KubeconfigError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.stack = `${this.name}: ${message}`;
  }
}

export class Fields {
  readonly #object: JsonObject;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (!isJsonObject(value)) throw new KubeconfigError(`${path}: must be an object`);
    this.#object = value;
    this.#path = path;
  }

  /**
   * Undefined for a field that is absent, null or empty: kubeconfigs written by tools are full of
   * empty strings.
   */
  text(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string") this.#refuse(name, "a string");
    return value;
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined) this.#refuse(name, "set");
    return value;
  }

  flag(name: string): boolean {
    const value = this.#get(name) ?? false;
    if (typeof value !== "boolean") this.#refuse(name, "true or false");
    return value;
  }

  texts(name: string): readonly string[] {
    return this.#list(name).map((item) => {
      if (typeof item !== "string") this.#refuse(name, "a list of strings");
      return item;
    });
  }

  objects(name: string): readonly Fields[] {
    return this.#list(name).map((item, i) => new Fields(item, `${this.#path}.${name}[${i}]`));
  }

  object(name: string): Fields | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : new Fields(value, `${this.#path}.${name}`);
  }

  /** The keys of this object, in the order of the file. */
  names(): readonly string[] {
    return Object.keys(this.#object);
  }

  raw(name: string): JsonObject[string] | undefined {
    return this.#get(name);
  }

  #list(name: string): readonly unknown[] {
    const value = this.#get(name) ?? [];
    if (!Array.isArray(value)) this.#refuse(name, "a list");
    return value as readonly unknown[];
  }

  #get(name: string): JsonObject[string] | undefined {
    return member(this.#object, name) ?? undefined;
  }

  #refuse(name: string, what: string): never {
    throw new KubeconfigError(`${this.#path}.${name}: must be ${what}`);
  }
}
