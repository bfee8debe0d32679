/**
 * ObservedObject: writes of an object that the program has read. The server rejects them with
 * Conflict when the name belongs to another object by then or, for `sameVersion`, when the object
 * has changed.
 *
 * A write by name alone can reach an object that was created after the program has decided: these
 * methods cannot be called without the object, and take its preconditions themselves.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { KubernetesObject, WriteInput } from "./object.ts";
import type {
  ApplyOptions,
  DeleteOptions,
  JsonPatchOperation,
  ObjectName,
  WriteOptions,
} from "./options.ts";
import type { ResourceClient } from "./resource-client.ts";

/** An object that was read, or the part of its metadata that identifies it. */
export interface ObjectIdentity {
  readonly metadata: {
    readonly name: string;
    /** Omitted or empty for cluster-scoped objects. */
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

export class ObservedObject<Object extends KubernetesObject> {
  readonly #resource: ResourceClient<Object>;
  readonly #name: ObjectName;
  readonly #preconditions: { readonly uid: string; readonly resourceVersion?: string };

  /** Throws a StatusError with the reason BadRequest for an object without uid or version. */
  constructor(
    resource: ResourceClient<Object>,
    { metadata: { name, namespace, uid, resourceVersion } }: ObjectIdentity,
    precision: "uid" | "version",
  ) {
    this.#resource = resource;
    this.#name = { namespace: namespace === "" ? undefined : namespace, name };
    const known = { uid: required(uid, name) };
    this.#preconditions =
      precision === "uid" ? known : { ...known, resourceVersion: required(resourceVersion, name) };
  }

  mergePatch(patch: JsonObject, options: WriteOptions = {}): Promise<Object> {
    return this.#resource.patch(this.#name, this.#merged(patch), options);
  }

  mergePatchStatus(patch: JsonObject, options: WriteOptions = {}): Promise<Object> {
    return this.#resource.patchStatus(this.#name, this.#merged(patch), options);
  }

  jsonPatch(operations: readonly JsonPatchOperation[], options: WriteOptions = {}) {
    return this.#resource.patch(this.#name, this.#tested(operations), options);
  }

  jsonPatchStatus(operations: readonly JsonPatchOperation[], options: WriteOptions = {}) {
    return this.#resource.patchStatus(this.#name, this.#tested(operations), options);
  }

  /** Server-side apply of the given fields of the status; omitted fields are given up. */
  applyStatusFields(status: object, options: ApplyOptions = {}): Promise<Object> {
    const { name, namespace } = this.#name;
    const named = namespace === undefined ? { name } : { name, namespace };
    const metadata = { ...named, ...this.#preconditions };
    const input = { metadata, status } as unknown as WriteInput<Object>;
    return this.#resource.applyStatus(input, options);
  }

  remove(options: Omit<DeleteOptions, "preconditions"> = {}): Promise<void> {
    const preconditions = this.#preconditions;
    return this.#resource.delete(this.#name, { ...options, preconditions });
  }

  #merged(patch: JsonObject) {
    const metadata = { ...(patch["metadata"] as JsonObject | undefined), ...this.#preconditions };
    return { type: "merge", patch: { ...patch, metadata } } as const;
  }

  #tested(operations: readonly JsonPatchOperation[]) {
    const tests = Object.entries(this.#preconditions).map(
      ([member, value]) => ({ op: "test", path: `/metadata/${member}`, value }) as const,
    );
    return { type: "json", operations: [...tests, ...operations] } as const;
  }
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== "") return value;
  const message = `refusing to write ${name}: its uid or its resourceVersion is not known`;
  throw new StatusError({ code: 400, reason: "BadRequest", message });
}
