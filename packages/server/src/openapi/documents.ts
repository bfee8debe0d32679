/**
 * The OpenAPI documents of a cluster, made from what it serves and remembered.
 *
 * Documents belong to a list of definitions, so that clusters that serve the same share them; the document of one group and version is
 * shared further, by all lists that have the same definitions in it. Making them is cut into slices: a cluster can bring hundreds
 * of kinds, and others wait meanwhile.
 */
import { createHash } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { toBytes } from "../content/index.ts";
import { apiVersionOf, type ResourceDefinition } from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import { assemble, type DocumentV2, partsOf } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";

export interface Document {
  readonly bytes: Buffer;
  readonly hash: string;
}

/** By key: `api/v1`, `apis/rbac.authorization.k8s.io/v1`. */
export type DocumentsV3 = ReadonlyMap<string, Document>;
export type HashedV2 = DocumentV2 & { readonly hash: string };

type Definitions = readonly ResourceDefinition[];

const v3Documents = new WeakMap<Definitions, MaybePromise<DocumentsV3>>();
const v2Documents = new WeakMap<Definitions, MaybePromise<HashedV2>>();

export function documentsV3(definitions: Definitions, clock: Clock): MaybePromise<DocumentsV3> {
  return remembered(v3Documents, definitions, () => {
    const groups = [...byVersion(definitions)];
    return inSlices(groups, clock, ([key, served]): [string, Document] => [
      key,
      shared(served),
    ]).then((documents) => new Map(documents));
  });
}

export function documentV2(definitions: Definitions, clock: Clock): MaybePromise<HashedV2> {
  return remembered(v2Documents, definitions, () =>
    inSlices(definitions, clock, partsOf).then((parts) => {
      const document = assemble(parts);
      return { ...document, hash: hashOf(document.json) };
    }),
  );
}

/** What is being made is waited for, not made again; what failed is not remembered. */
function remembered<Made>(
  known: WeakMap<Definitions, MaybePromise<Made>>,
  definitions: Definitions,
  make: () => Promise<Made>,
): MaybePromise<Made> {
  const present = known.get(definitions);
  if (present !== undefined) return present;
  const making = make();
  known.set(definitions, making);
  making.then(
    (made) => known.set(definitions, made),
    () => known.delete(definitions),
  );
  return making;
}

/** Work in one go; then others have their turn. */
const sliceMs = 5;

async function inSlices<Item, Result>(
  items: readonly Item[],
  clock: Clock,
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let startedAt = clock.monotonic();
  for (const item of items) {
    results.push(work(item));
    if (clock.monotonic() - startedAt < sliceMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    startedAt = clock.monotonic();
  }
  return results;
}

function byVersion(definitions: Definitions): Map<string, ResourceDefinition[]> {
  const groups = new Map<string, ResourceDefinition[]>();
  for (const definition of definitions) {
    const key = `${definition.group === "" ? "api" : "apis"}/${apiVersionOf(definition)}`;
    const served = groups.get(key);
    if (served === undefined) groups.set(key, [definition]);
    else served.push(definition);
  }
  return groups;
}

interface Shared {
  readonly definitions: Definitions;
  readonly document: Document;
}

/** Under the first definition of each; few lists begin alike and go on differently. */
const sharedDocuments = new WeakMap<ResourceDefinition, Shared[]>();
const alternativesMax = 16;

function shared(definitions: readonly ResourceDefinition[]): Document {
  const first = definitions[0] as ResourceDefinition;
  const alternatives = sharedDocuments.get(first) ?? [];
  const found = alternatives.find(
    (each) =>
      each.definitions.length === definitions.length &&
      each.definitions.every((definition, i) => definition === definitions[i]),
  );
  if (found !== undefined) return found.document;
  const bytes = toBytes(documentV3(definitions));
  const document = { bytes, hash: hashOf(bytes) };
  const kept = alternatives.slice(-(alternativesMax - 1));
  sharedDocuments.set(first, [...kept, { definitions, document }]);
  return document;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha512").update(bytes).digest("hex").toUpperCase();
}
