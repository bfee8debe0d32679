/** One run of the importer for one cluster: what it serves becomes APIResourceImports, and what it no longer serves is retired. */
import { createHash } from "node:crypto";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  allResources,
  apiResourceImports,
  importerFieldManager,
  type SyncTarget,
} from "../api/index.ts";
import { type ImportResult, importApis, nameOf } from "../api-import/index.ts";
import { importOf, isSameImport, schemaCharactersMax, versionedNameOf } from "./import-object.ts";

export interface ImportRun {
  readonly target: SyncTarget;
  /** What the cluster serves. */
  readonly found: ImportResult;
  /** Those of this cluster, as they are now. */
  readonly known: readonly APIResourceImport[];
  readonly upstreamClient: Client;
  readonly signal: AbortSignal;
}

export interface ImportOutcome {
  readonly imported: number;
  /** By name, with the reason. */
  readonly skipped: ReadonlyMap<string, string>;
}

export interface ServedRequest {
  /** As in `spec.resources`. */
  readonly resources: readonly string[];
  /** What the control plane serves by itself. */
  readonly native: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** What of it the cluster serves, in all versions. */
export function readServed(
  downstreamClient: Client,
  { resources, native, signal }: ServedRequest,
): Promise<ImportResult> {
  return importApis(downstreamClient, {
    resources: resources.includes(allResources) ? undefined : resources,
    versions: "all",
    without: native,
    signal,
  });
}

export async function writeImports(run: ImportRun): Promise<ImportOutcome> {
  const { target, found, known, upstreamClient, signal } = run;
  const skipped = new Map(found.skipped);
  const imports = upstreamClient.resource(apiResourceImports);
  const byName = new Map(known.map((one) => [one.metadata.name, one]));
  let imported = 0;
  for (const api of found.apis) {
    const wanted = importOf(api, target);
    if (JSON.stringify(wanted.spec.openAPIV3Schema).length > schemaCharactersMax) {
      skipped.set(nameOf({ ...api, resource: api.plural }), "its schema is too large");
      continue;
    }
    imported += 1;
    const before = byName.get(wanted.metadata.name ?? "");
    if (before !== undefined && isSameImport(before, wanted)) continue;
    await imports.apply(wanted, { fieldManager: importerFieldManager, force: true, signal });
  }
  await retire(run);
  return { imported, skipped };
}

/** What a cluster does not tell of may still be there: only when it tells of everything, silence means that an API is gone. */
async function retire({ found, known, upstreamClient, signal }: ImportRun): Promise<void> {
  if (!found.isComplete) return;
  const imports = upstreamClient.resource(apiResourceImports);
  for (const { metadata, spec } of known) {
    if (found.served.has(versionedNameOf(spec))) continue;
    try {
      const { name, uid = "" } = metadata;
      await imports.delete({ name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

/**
 * Changes whenever the APIs of a cluster may have changed: servers give their OpenAPI an index with a hash for each group. Undefined
 * from those that do not; they are read anew every time.
 */
export async function fingerprint(
  client: Client,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { text } = await client.read({ method: "GET", path: "/openapi/v3", signal });
    return createHash("sha256").update(text).digest("base64");
  } catch (error) {
    if (isStatusError(error, "NotFound") || isStatusError(error, "Forbidden")) return undefined;
    throw error;
  }
}
