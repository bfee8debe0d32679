/** What a hostile tenant does: a few requests, each of which is measured. */
import type { SeededRandom } from "@kcp-ts/testkit";
import type { HostileRequest } from "../bench/hold-case.ts";
import type { HostileHosts } from "./hostile-hosts.ts";
import type { RawConnections } from "./raw-connections.ts";

export interface Step extends Omit<HostileRequest, "method" | "body"> {
  readonly method: HostileRequest["method"] | "HEAD";
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** A definition that was created is served before the next step. */
  readonly waitsForDefinition?: boolean;
  /** Whoever does not read what it asked for: the answer stays open until the attack is over. */
  readonly isUnread?: boolean;
}

export interface AttackContext {
  readonly random: SeededRandom;
  readonly hosts: HostileHosts;
  readonly connections: RawConnections;
}

export interface Attack {
  readonly name: string;
  steps(context: AttackContext): Iterable<Step> | AsyncIterable<Step>;
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

export const tableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io";
export const metadataAccept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
export const protobuf = "application/vnd.kubernetes.protobuf";

export function times<Item>(count: number, item: (i: number) => Item): Item[] {
  return Array.from({ length: count }, (_, i) => item(i));
}

/** Any size up to the greatest, small ones as often as large ones. */
export function anySize(random: SeededRandom, greatest: number): number {
  return Math.max(1, Math.floor(greatest ** (0.3 + 0.7 * random.next())));
}
