/** Bundles: folders with the YAML of applications, as `kubectl apply -f` takes them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseYamlDocuments } from "@kcp-ts/apiserver";

export interface BundleObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface Bundle {
  readonly name: string;
  /** In the order in which they are applied. */
  readonly objects: readonly BundleObject[];
}

export async function readBundles(folder: string): Promise<readonly Bundle[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const bundles: Bundle[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!entry.isDirectory()) continue;
    const files = (await readdir(join(folder, entry.name))).sort();
    const texts = await Promise.all(
      files
        .filter((file) => /\.ya?ml$/.test(file))
        .map((file) => readFile(join(folder, entry.name, file), "utf8")),
    );
    const objects = texts.flatMap(parseYamlDocuments).flatMap(itemsOf);
    bundles.push({ name: entry.name, objects: objects.toSorted((a, b) => rank(a) - rank(b)) });
  }
  return bundles;
}

/** A list stands for its items, whatever it is a list of. */
function itemsOf(document: unknown): BundleObject[] {
  const { items, kind } = (document ?? {}) as { items?: readonly unknown[]; kind?: string };
  if (kind === undefined) return [];
  return kind.endsWith("List") && Array.isArray(items)
    ? items.flatMap(itemsOf)
    : [document as BundleObject];
}

/** What others need comes first; what may refuse others comes last. */
function rank({ kind }: BundleObject): number {
  if (kind === "Namespace") return 0;
  if (kind === "CustomResourceDefinition") return 1;
  return isGuard(kind) ? 3 : 2;
}

export function isGuard(kind: string): boolean {
  return /^(Validating|Mutating)(Webhook|Admission)/.test(kind);
}
