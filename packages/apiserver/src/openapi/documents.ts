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
import { documentOf, type EncodingV2 } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";
import { type DocumentedKind, documentedKinds } from "./documented-kinds.ts";
import { discoveryPaths, groupPath, pathDocument } from "./path-documents.ts";

export interface Document {
  /** The bytes, in one part or, of a large document, in several. */
  readonly parts: readonly Buffer[];
  readonly hash: string;
}

/** By key, in their order: `api`, `api/v1`, `apis/rbac.authorization.k8s.io/v1`, `version`. */
export type DocumentsV3 = ReadonlyMap<string, Document>;

type Definitions = readonly ResourceDefinition[];

const v3Documents = new WeakMap<Definitions, Promise<DocumentsV3>>();
const v2Documents = {
  json: new WeakMap<Definitions, Promise<Document>>(),
  protobuf: new WeakMap<Definitions, Promise<Document>>(),
};

export function documentsV3(definitions: Definitions): Promise<DocumentsV3> {
  return cachedByDefinitions(v3Documents, definitions, makeV3);
}

function* makeV3(definitions: Definitions): Resumable<DocumentsV3> {
  const documents = new Map<string, Document>(pathDocuments(discoveryPaths));
  for (const [key, served] of byVersion(yield* documentedKinds(definitions, "v3"))) {
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
  return { parts: [bytes], hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}

/** Each encoding is created when a client first asks for it: few clients ask for both. */
export function documentV2(definitions: Definitions, encoding: EncodingV2): Promise<Document> {
  return cachedByDefinitions(v2Documents[encoding], definitions, function* () {
    return yield* hashed(yield* documentOf(yield* documentedKinds(definitions, "v2"), encoding));
  });
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

function byVersion(kinds: readonly DocumentedKind[]): Map<string, DocumentedKind[]> {
  const groups = new Map<string, DocumentedKind[]>();
  for (const kind of kinds) {
    const { definition } = kind;
    const key = `${definition.group === "" ? "api" : "apis"}/${apiVersionOf(definition)}`;
    const served = groups.get(key);
    if (served === undefined) groups.set(key, [kind]);
    else served.push(kind);
  }
  return groups;
}

interface Shared {
  readonly kinds: readonly DocumentedKind[];
  readonly document: Document;
}

/** Keyed by the first definition of each list; few lists begin alike and differ later. */
const sharedDocuments = new WeakMap<ResourceDefinition, Shared[]>();
const alternativesMax = 16;

function* shared(kinds: readonly DocumentedKind[]): Resumable<Document> {
  const first = (kinds[0] as DocumentedKind).definition;
  const found = sharedDocuments.get(first)?.find((each) => isSame(each.kinds, kinds));
  if (found !== undefined) return found.document;
  const document = yield* hashed(yield* documentV3(kinds));
  // Read after yielding: other callers may have created documents meanwhile.
  const kept = (sharedDocuments.get(first) ?? []).slice(-(alternativesMax - 1));
  const key = kinds.map(({ definition, isOpaque }) => ({ definition, isOpaque }));
  sharedDocuments.set(first, [...kept, { kinds: key, document }]);
  return document;
}

function isSame(one: readonly DocumentedKind[], other: readonly DocumentedKind[]): boolean {
  return (
    one.length === other.length &&
    one.every(
      ({ definition, isOpaque }, i) =>
        definition === other[i]?.definition && isOpaque === other[i].isOpaque,
    )
  );
}

const hashedBytes = 1 << 20;

function* hashed(parts: readonly Buffer[]): Resumable<Document> {
  const hash = createHash("sha512");
  for (const part of parts) {
    for (let at = 0; at < part.length; at += hashedBytes) {
      yield;
      hash.update(part.subarray(at, at + hashedBytes));
    }
  }
  return { parts, hash: hash.digest("hex").toUpperCase() };
}
