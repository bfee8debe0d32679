/**
 * Reads API objects from YAML and JSON files, several in one file or several files in a folder, as
 * kubectl -f does.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { parseYamlDocuments } from "../content/index.ts";

export type Manifest = JsonObject & { readonly apiVersion: string; readonly kind: string };

export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

const extensions = new Set([".yaml", ".yml", ".json"]);

/** A file, or the files of a folder in the order of their names, without subfolders. */
export async function readManifests(path: string): Promise<readonly Manifest[]> {
  const isFolder = (await stat(path)).isDirectory();
  const files = isFolder ? (await readdir(path)).sort().map((name) => join(path, name)) : [path];
  const chosen = isFolder ? files.filter((file) => extensions.has(extname(file))) : files;
  const contents = await Promise.all(chosen.map((file) => readFile(file, "utf8")));
  return contents.flatMap((text, at) => parseManifests(text, chosen[at] as string));
}

/** `source` is the name for errors. Lists are flattened, empty documents skipped. */
export function parseManifests(text: string, source: string): readonly Manifest[] {
  return parseDocuments(text, source).flatMap((document) => {
    if (document === null || document === undefined) return [];
    const { kind, apiVersion } = isJsonObject(document as JsonObject)
      ? (document as JsonObject)
      : {};
    if (typeof kind !== "string" || typeof apiVersion !== "string") {
      throw new ManifestError(`${source} has a document without apiVersion and kind`);
    }
    const { items } = document as JsonObject;
    return kind === "List" && Array.isArray(items)
      ? (items as Manifest[])
      : [document as unknown as Manifest];
  });
}

function parseDocuments(text: string, source: string): unknown[] {
  try {
    return parseYamlDocuments(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ManifestError(`${source} is not YAML: ${reason}`, { cause: error });
  }
}
