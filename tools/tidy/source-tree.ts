/**
 * The whole checkout as data: sources, packages and their doors, documents. Rules ask this and
 * never the disk.
 */
import { posix } from "node:path";
import { type Import, isTest, type SourceFile, sourceFile } from "./source-file.ts";
import { ownTestEntryPoints } from "./tables.ts";

export interface PackageManifest {
  /** The folder under packages/, which is also what follows the scope in its name. */
  readonly folder: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: readonly string[];
}

export interface TreeContents {
  readonly sources: Readonly<Record<string, string>>;
  readonly packages: readonly PackageManifest[];
  /** Programs that are started by name: scripts of the root package, files in bin/. */
  readonly entryPoints?: readonly string[];
  readonly documents?: Readonly<Record<string, string>>;
}

const scope = "@kcp-ts/";

export class SourceTree {
  readonly files: ReadonlyMap<string, SourceFile>;
  readonly packages: readonly PackageManifest[];
  readonly documents: ReadonlyMap<string, string>;
  readonly #entryPoints: readonly string[];
  #production: ReadonlySet<string> | undefined;
  #programFolders: ReadonlySet<string> | undefined;

  constructor({ sources, packages, entryPoints = [], documents = {} }: TreeContents) {
    const entries = Object.entries(sources).map(([path, text]) => [path, sourceFile(path, text)]);
    this.files = new Map(entries as [string, SourceFile][]);
    this.packages = packages;
    this.documents = new Map(Object.entries(documents));
    this.#entryPoints = entryPoints;
  }

  /** The file that an import means, when it is one of ours. */
  resolve(from: string, { specifier }: Pick<Import, "specifier">): string | undefined {
    if (specifier.startsWith(".")) return posix.join(posix.dirname(from), specifier);
    if (!specifier.startsWith(scope)) return undefined;
    const [folder, ...rest] = specifier.slice(scope.length).split("/");
    const manifest = this.packages.find((one) => one.folder === folder);
    const door = ["." as string, ...rest].join("/");
    return manifest === undefined ? undefined : doorFile(manifest, door);
  }

  /**
   * Files that a package offers to users: what its manifest exports, but for what is `internal`.
   */
  doors(): string[] {
    return this.packages.flatMap((manifest) =>
      Object.keys(manifest.exports).flatMap((door) => {
        if (door === "./internal") return [];
        const pattern = doorFile(manifest, door);
        if (pattern === undefined || !pattern.includes("*")) return pattern ?? [];
        const [head, tail] = pattern.split("*") as [string, string];
        return [...this.files.keys()].filter(
          (path) =>
            path.startsWith(head) &&
            path.endsWith(tail) &&
            !path.slice(head.length, -tail.length).includes("/"),
        );
      }),
    );
  }

  /**
   * What runs for users: reachable from doors and entry points. The rest is there for tests, or for
   * nothing.
   */
  production(): ReadonlySet<string> {
    const doors = this.doors().filter((door) => !ownTestEntryPoints.includes(door));
    this.#production ??= this.reachableFrom([...doors, ...this.#entryPoints]);
    return this.#production;
  }

  tests(): string[] {
    return [...this.files.keys()].filter(isTest);
  }

  /** What a file imports, and the programs that it starts by name. */
  #targets(path: string): string[] {
    const { imports = [], words = [] } = this.files.get(path) ?? {};
    const imported = imports.flatMap((one) => this.resolve(path, one) ?? []);
    const folder = folderOf(path);
    this.#programFolders ??= new Set(
      [...this.files.values()].filter((one) => one.startsByName).map((one) => folderOf(one.path)),
    );
    if (!this.#programFolders.has(folder)) return imported;
    return [...imported, ...words.map((word) => `${folder}/${word}.ts`)];
  }

  reachableFrom(roots: readonly string[]): ReadonlySet<string> {
    const reached = new Set<string>();
    const waiting = roots.filter((path) => this.files.has(path));
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      for (const target of this.#targets(path)) if (this.files.has(target)) waiting.push(target);
    }
    return reached;
  }
}

function folderOf(path: string): string {
  return posix.dirname(path);
}

function doorFile({ folder, exports }: PackageManifest, door: string): string | undefined {
  for (const [pattern, target] of Object.entries(exports)) {
    const source = target.replace(/^\.\/dist\//, `packages/${folder}/src/`).replace(/\.js$/, ".ts");
    if (pattern === door) return source;
    const [head, tail] = pattern.split("*");
    if (tail === undefined || !door.startsWith(head as string)) continue;
    return source.replace("*", door.slice((head as string).length));
  }
  return undefined;
}
