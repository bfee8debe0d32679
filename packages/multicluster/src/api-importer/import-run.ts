/**
 * One run of the importer for one cluster: writes its served APIs as APIResourceImports, and
 * deletes imports of APIs that it no longer serves.
 */
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
  /** The APIs that the cluster serves. */
  readonly found: ImportResult;
  /** The existing imports of this cluster. */
  readonly known: readonly APIResourceImport[];
  readonly upstreamClient: Client;
  readonly signal: AbortSignal;
}

export interface ImportOutcome {
  readonly imported: number;
  /** Skipped resources by name, with the reason. */
  readonly skipped: ReadonlyMap<string, string>;
}

export interface ServedRequest {
  /** Names as in `spec.resources`. */
  readonly resources: readonly string[];
  /** Those of them that a cluster may lack without a word. */
  readonly optional: ReadonlySet<string>;
  /** Resources that the control plane serves natively. */
  readonly native: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** The requested APIs that the cluster serves, in all versions. */
export function readServed(
  downstreamClient: Client,
  { resources, optional, native, signal }: ServedRequest,
): Promise<ImportResult> {
  return importApis(downstreamClient, {
    resources: resources.includes(allResources) ? undefined : resources,
    versions: "all",
    optional,
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
    const uid = before?.metadata.uid;
    const metadata = { ...wanted.metadata, ...(uid === undefined ? {} : { uid }) };
    const options = { fieldManager: importerFieldManager, force: true, signal };
    await imports.apply({ ...wanted, metadata }, options);
  }
  await retire(run);
  return { imported, skipped };
}

/**
 * An API that is missing in an incomplete discovery may exist: imports are deleted only after a
 * complete discovery.
 */
async function retire({ found, known, upstreamClient, signal }: ImportRun): Promise<void> {
  if (!found.isComplete) return;
  const imports = upstreamClient.resource(apiResourceImports);
  for (const one of known) {
    if (found.served.has(versionedNameOf(one.spec))) continue;
    try {
      await imports.sameObject(one).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

/**
 * A text that changes whenever the APIs of a cluster may have changed: servers publish an index of
 * their OpenAPI documents with a hash for each group. Undefined for servers without an index; they
 * are read every time.
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
