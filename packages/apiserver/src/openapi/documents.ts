/**
 * Creates and caches the OpenAPI documents of a cluster from its served resources.
 *
 * Documents belong to a list of definitions, so that clusters with the same APIs share them; the
 * document of one group and version is also shared by all lists with the same definitions in it.
 * Creating documents yields to the event loop: a cluster can have hundreds of kinds, each of them
 * large.
 */
import { createHash } from "node:crypto";
import { type Resumable, runYielding } from "@kcp-ts/machinery/base";
import { apiVersionOf, type ResourceDefinition } from "../registry/index.ts";
import { type DocumentV2, documentOf } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";
import { discoveryPaths, groupPath, pathDocument } from "./path-documents.ts";

export interface Document {
  readonly bytes: Buffer;
  readonly hash: string;
}

/** By key, in their order: `api`, `api/v1`, `apis/rbac.authorization.k8s.io/v1`, `version`. */
export type DocumentsV3 = ReadonlyMap<string, Document>;
export type HashedV2 = DocumentV2 & { readonly hash: string };

type Definitions = readonly ResourceDefinition[];

const v3Documents = new WeakMap<Definitions, Promise<DocumentsV3>>();
const v2Documents = new WeakMap<Definitions, Promise<HashedV2>>();

export function documentsV3(definitions: Definitions): Promise<DocumentsV3> {
  return cachedByDefinitions(v3Documents, definitions, makeV3);
}

function* makeV3(definitions: Definitions): Resumable<DocumentsV3> {
  const documents = new Map<string, Document>(pathDocuments(discoveryPaths));
  for (const [key, served] of byVersion(definitions)) {
    documents.set(key, yield* shared(served));
    yield;
  }
  for (const definition of definitions) {
    const key = `apis/${definition.group}`;
    if (definition.group === "" || documents.has(key)) continue;
    documents.set(key, groupDocument(definition));
    yield;
  }
  return new Map([...documents].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The documents of paths that are the same everywhere; created once. */
export function pathDocuments(paths: typeof discoveryPaths): ReadonlyMap<string, Document> {
  let made = madeDocuments.get(paths);
  if (made === undefined) {
    made = new Map(Object.entries(paths).map(([key, path]) => [key, small(pathDocument(path))]));
    madeDocuments.set(paths, made);
  }
  return made;
}

const madeDocuments = new WeakMap<typeof discoveryPaths, ReadonlyMap<string, Document>>();
const groupDocuments = new WeakMap<ResourceDefinition, Document>();

function groupDocument(definition: ResourceDefinition): Document {
  const known = groupDocuments.get(definition);
  if (known !== undefined) return known;
  const document = small(pathDocument(groupPath(definition.group)));
  groupDocuments.set(definition, document);
  return document;
}

function small(bytes: Buffer): Document {
  return { bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}

export function documentV2(definitions: Definitions): Promise<HashedV2> {
  return cachedByDefinitions(v2Documents, definitions, makeV2);
}

function* makeV2(definitions: Definitions): Resumable<HashedV2> {
  const document = yield* documentOf(definitions);
  return { ...document, hash: yield* hashOf(document.json) };
}

/** Concurrent callers share one creation; a failed one is not cached. */
function cachedByDefinitions<Made>(
  known: WeakMap<Definitions, Promise<Made>>,
  definitions: Definitions,
  make: (definitions: Definitions) => Resumable<Made>,
): Promise<Made> {
  const present = known.get(definitions);
  if (present !== undefined) return present;
  const making = runYielding(make(definitions));
  known.set(definitions, making);
  making.catch(() => known.delete(definitions));
  return making;
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

/** Keyed by the first definition of each list; few lists begin alike and differ later. */
const sharedDocuments = new WeakMap<ResourceDefinition, Shared[]>();
const alternativesMax = 16;

function* shared(definitions: Definitions): Resumable<Document> {
  const first = definitions[0] as ResourceDefinition;
  const found = sharedDocuments
    .get(first)
    ?.find(
      (each) =>
        each.definitions.length === definitions.length &&
        each.definitions.every((definition, i) => definition === definitions[i]),
    );
  if (found !== undefined) return found.document;
  const bytes = yield* documentV3(definitions);
  const document = { bytes, hash: yield* hashOf(bytes) };
  // Read after yielding: other callers may have created documents meanwhile.
  const kept = (sharedDocuments.get(first) ?? []).slice(-(alternativesMax - 1));
  sharedDocuments.set(first, [...kept, { definitions, document }]);
  return document;
}

const hashedBytes = 1 << 20;

function* hashOf(bytes: Uint8Array): Resumable<string> {
  const hash = createHash("sha512");
  for (let at = 0; at < bytes.length; at += hashedBytes) {
    yield;
    hash.update(bytes.subarray(at, at + hashedBytes));
  }
  return hash.digest("hex").toUpperCase();
}
