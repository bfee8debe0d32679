/** An attack of a hostile tenant: a few requests, each of which the campaign measures. */
import type { SeededRandom } from "@kcp-ts/testkit";
import type { HostileRequest } from "../bench/hold-case.ts";
import type { HostileHosts } from "./hostile-hosts.ts";
import type { NativeKind } from "./native-kinds.ts";
import type { RawConnections } from "./raw-connections.ts";
import type { ServedKind } from "./served-kinds.ts";

export interface Step extends Omit<HostileRequest, "method" | "body"> {
  readonly method: HostileRequest["method"] | "HEAD" | "OPTIONS";
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The path is the server's, not the workspace's. */
  readonly isFromRoot?: boolean;
  /** The campaign waits until the created definition is served. */
  readonly waitsForDefinition?: boolean;
  /** The response stays open until the attack ends, and the client does not read it. */
  readonly isUnread?: boolean;
  /** The response stays open until the attack ends, and the client reads it. */
  readonly isWatched?: boolean;
  /** The request is sent this many times at once; the response is that of the first one. */
  readonly copies?: number;
  /** The client resets the request after so many milliseconds. */
  readonly resetAfterMs?: number;
}

/** The status and the first 4,096 characters of the body; status 0 without a response. */
export interface StepResponse {
  readonly status: number;
  readonly text: string;
}

export interface AttackContext {
  readonly random: SeededRandom;
  readonly hosts: HostileHosts;
  readonly connections: RawConnections;
  /** The kinds that every workspace serves. */
  readonly kinds: readonly ServedKind[];
  /** The kinds that a workspace serves when a definition names them. */
  readonly natives: readonly NativeKind[];
  /** The name of the tenant's workspace below root. */
  readonly workspace: string;
}

export interface Attack {
  readonly name: string;
  /** A step's `yield` evaluates to its response. */
  steps(context: AttackContext): Generator<Step, void, StepResponse>;
}

export const post = (path: string, object: object | string): Step => ({
  method: "POST",
  path,
  body: typeof object === "string" ? object : JSON.stringify(object),
});

export const get = (path: string, accept?: string): Step => ({
  method: "GET",
  path,
  ...(accept === undefined ? {} : { accept }),
});

export const patch = (path: string, type: PatchType, body: object | string): Step => ({
  method: "PATCH",
  path,
  contentType: `application/${type}`,
  body: typeof body === "string" ? body : JSON.stringify(body),
});

export type PatchType =
  | "json-patch+json"
  | "merge-patch+json"
  | "strategic-merge-patch+json"
  | "apply-patch+yaml";

export const tableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io";
export const metadataAccept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
export const objectMetadataAccept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
export const protobuf = "application/vnd.kubernetes.protobuf";

/** The representations of a list and of a watch. */
export const accepts = [
  "application/json",
  "application/yaml",
  tableAccept,
  metadataAccept,
  protobuf,
  `${protobuf};as=Table;v=v1;g=meta.k8s.io`,
  `${protobuf};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`,
  "application/yaml;as=Table;v=v1;g=meta.k8s.io",
] as const;

export const watchAccepts = [
  "application/json",
  "application/yaml",
  tableAccept,
  objectMetadataAccept,
  protobuf,
  `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`,
] as const;

export function times<Item>(count: number, item: (i: number) => Item): Item[] {
  return Array.from({ length: count }, (_, i) => item(i));
}

/** A size up to `greatest`; small sizes are as frequent as large ones. */
export function anySize(random: SeededRandom, greatest: number): number {
  return Math.max(1, Math.floor(greatest ** (0.3 + 0.7 * random.next())));
}

/** JSON of any shape, with up to `values` values. */
export function anyJson(random: SeededRandom, values: number): string {
  const count = anySize(random, values);
  switch (random.integer(7)) {
    case 0:
      return `[${times(count, (i) => String(i)).join()}]`;
    case 1:
      return `{${times(Math.min(count, 19_900), (i) => `"k${i}":1`).join()}}`;
    case 2:
      return `"${"aé世😀\\n".repeat(count)}"`;
    case 3:
      return `${"[".repeat(Math.min(count, 900))}${"]".repeat(Math.min(count, 900))}`;
    case 4:
      return `[${times(count >> 2, (i) => `{"k":"k${i}","v":[${i}]}`).join()}]`;
    case 5:
      return `"${"x".repeat(count * 30)}"`;
    default:
      return `{"0":{"metadata":{"name":"y","finalizers":["a/b"],"uid":"","annotations":{"kcp.io/cluster":"root"}}},"1":{"metadata":{}}}`;
  }
}
