/**
 * The verbs of a subresource whose objects are not those of its resource, such as Scale or
 * TokenRequest.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { CallOptions, Client } from "./client.ts";
import { type ObjectName, type Patch, patchContentTypes, type WriteOptions } from "./options.ts";
import { withQuery } from "./query.ts";
import { type Resource, resourcePath } from "./resource.ts";

export class SubresourceClient<Sub> {
  readonly #client: Client;
  readonly #resource: Resource;
  readonly #name: string;

  constructor(client: Client, resource: Resource, name: string) {
    this.#client = client;
    this.#resource = resource;
    this.#name = name;
  }

  async get(target: ObjectName, { signal }: CallOptions = {}): Promise<Sub> {
    const path = this.#path(target);
    return (await this.#client.json({ method: "GET", path, signal })) as unknown as Sub;
  }

  create(target: ObjectName, body: Sub, options: WriteOptions = {}): Promise<Sub> {
    return this.#write("POST", target, body as unknown as JsonValue, options);
  }

  update(target: ObjectName, body: Sub, options: WriteOptions = {}): Promise<Sub> {
    return this.#write("PUT", target, body as unknown as JsonValue, options);
  }

  patch(target: ObjectName, patch: Patch, options: WriteOptions = {}): Promise<Sub> {
    const body = (patch.type === "json" ? patch.operations : patch.patch) as JsonValue;
    return this.#write("PATCH", target, body, options, patchContentTypes[patch.type]);
  }

  async #write(
    method: "POST" | "PUT" | "PATCH",
    target: ObjectName,
    body: JsonValue,
    options: WriteOptions,
    contentType?: string,
  ): Promise<Sub> {
    const { signal, dryRun, fieldValidation } = options;
    const path = withQuery(this.#path(target), {
      dryRun: dryRun ? "All" : undefined,
      fieldManager: options.fieldManager ?? this.#client.fieldManager,
      fieldValidation,
    });
    const answer = await this.#client.json({ method, path, body, contentType, signal });
    return answer as unknown as Sub;
  }

  #path(target: ObjectName): string {
    return resourcePath(this.#resource, { ...target, subresource: this.#name });
  }
}
